#include "tests/stores/store_contract.hpp"

#include <atomic>

namespace reprieve {

class leases : public store_contract {
protected:
  /// A lease of the shortest life; `lost_` counts its losses.
  lease_id take() {
    const auto granted = grant(subject(), backend().shortest_lease(), [lost = lost_] { ++*lost; });
    EXPECT_TRUE(granted.ok()) << granted.status();
    return granted.value_or(0);
  }

  int lost() const {
    return *lost_;
  }

private:
  std::shared_ptr<std::atomic<int>> lost_ = std::make_shared<std::atomic<int>>(0);
};
REPRIEVE_FOR_EVERY_STORE(leases);

TEST_P(leases, are_written_with_their_keys) {
  const auto lease = take();
  EXPECT_NE(lease, 0);
  write({put{"a", "1", lease}});
  EXPECT_EQ(read(subject(), {.range = just("a")})->values[0].lease, lease);
}

TEST_P(leases, take_their_keys_with_them_at_one_revision_when_revoked) {
  const auto lease = take();
  write({put{"a", "1", lease}, put{"b", "1", lease}, put{"c", "1"}});
  watch_log log;
  const auto before = current();
  const auto watch = subject().watch(with_prefix(""), before + 1, log.callback());
  const auto revoked = revoke(subject(), lease);
  ASSERT_TRUE(revoked.ok()) << revoked.status();
  EXPECT_EQ(*revoked, before + 1);
  EXPECT_EQ(keys({.range = with_prefix("")}), "c");
  const auto at = "@" + std::to_string(*revoked);
  EXPECT_EQ(log.changes(2), "-a" + at + " -b" + at);
  EXPECT_EQ(lost(), 0);
}

TEST_P(leases, leave_a_key_that_was_written_again_without_them) {
  const auto first = take();
  const auto second = take();
  write({put{"a", "1", first}, put{"b", "1", first}, put{"c", "1", first}});
  write({put{"a", "2"}, put{"b", "2", second}});
  write({erase{just("c")}});
  write({put{"c", "2"}});
  ASSERT_TRUE(revoke(subject(), first).ok());
  EXPECT_EQ(keys({.range = with_prefix("")}), "a b c");
  ASSERT_TRUE(revoke(subject(), second).ok());
  EXPECT_EQ(keys({.range = with_prefix("")}), "a c");
}

TEST_P(leases, that_are_gone_are_not_found) {
  const auto lease = take();
  ASSERT_TRUE(revoke(subject(), lease).ok());
  const auto again = revoke(subject(), lease);
  EXPECT_TRUE(absl::IsNotFound(again.status())) << again.status();
  const auto written = commit(subject(), {put{"a", "1"}, put{"b", "1", lease}});
  EXPECT_TRUE(absl::IsNotFound(written.status())) << written.status();
  EXPECT_EQ(keys({.range = with_prefix("")}), "");
}

TEST_P(leases, that_are_gone_do_not_matter_where_a_comparison_fails) {
  const auto result =
    commit(subject(), transaction{{{"a", compared::version, 1}}, {put{"a", "1", 123'456}}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->succeeded);
}

TEST_P(leases, need_a_time_to_live) {
  EXPECT_TRUE(absl::IsInvalidArgument(grant(subject(), 0s).status()));
}

TEST_P(leases, are_kept_for_three_times_their_life) {
  const auto lease = take();
  write({put{"a", "1", lease}});
  backend().pass(3 * backend().shortest_lease());
  EXPECT_EQ(value_of(subject(), "a"), "1");
  EXPECT_EQ(lost(), 0);
  EXPECT_TRUE(revoke(subject(), lease).ok());
}

TEST_P(leases, report_once_that_they_are_lost) {
  const auto lease = take();
  write({put{"a", "1", lease}, put{"b", "1"}});
  backend().lose(lease);
  EXPECT_TRUE(eventually([&] { return lost() > 0; }));
  EXPECT_TRUE(eventually([&] { return keys({.range = with_prefix("")}) == "b"; }));
  const auto late = commit(subject(), {put{"a", "2", lease}});
  EXPECT_TRUE(absl::IsNotFound(late.status())) << late.status();
  backend().pass(backend().shortest_lease());
  EXPECT_EQ(lost(), 1);
}

TEST_P(leases, end_when_their_holder_is_gone) {
  const auto lease = take();
  write({put{"a", "1", lease}, put{"b", "1"}});
  const auto before = current();
  backend().outlive_holder(lease);
  EXPECT_TRUE(eventually([&] { return keys({.range = with_prefix("")}) == "b"; }));
  EXPECT_EQ(current(), before + 1);
}

} // namespace reprieve
