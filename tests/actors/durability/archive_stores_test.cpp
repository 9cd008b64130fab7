// What is kept of finished decisions, on every store.

#include "actors/durability/archive_keeper.hpp"
#include "actors/durability/decision_archive.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "testbed/stored/stored_decisions.hpp"
#include "tests/stores/store_backend.hpp"
#include "tests/stores/waiting.hpp"
#include "tests/support/archive_check.hpp"

#include <gmock/gmock.h>

namespace reprieve {

namespace {

using testing::IsEmpty;

class archive_on : public testing::TestWithParam<backend_kind> {
protected:
  void SetUp() override {
    if (!GetParam().available())
      GTEST_SKIP() << "not on this machine";
    backend_ = GetParam().make();
    past_.count = 3000;
    past_.workloads = 10;
    past_.newest = std::chrono::system_clock::now() - 2h;
    const auto owned = commit(get(), {put{keys::owner("r"), "", 0}});
    ASSERT_TRUE(owned.ok()) << owned.status();
    ground_ = std::make_shared<ownership>(keys::owner("r"), owned->current);
  }

  store& get() {
    return backend_->get();
  }

  /// Keeps the archive until `kept` says that it is.
  template <class F>
  bool keep(const archive_limits& limits, F kept) {
    caf::actor_system_config config;
    caf::actor_system system{config};
    const auto door =
      system.spawn(serve_store, std::shared_ptr<store>(std::shared_ptr<void>{}, &get()));
    const auto beside = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
      return {[self](int) { self->quit(); }};
    });
    system.spawn(archive_keeper,
                 archive_keeper_settings{door, ground_, limits, wall_clock::of_this_process(),
                                         caf::actor_cast<caf::strong_actor_ptr>(beside)});
    const bool came = eventually(kept);
    caf::anon_send(beside, 0);
    return came;
  }

  std::vector<key_value> keys_below(std::string prefix) {
    auto found = read(get(), {.range = with_prefix(std::move(prefix))});
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? std::move(found->values) : std::vector<key_value>{};
  }

  std::int64_t kept_bytes() {
    std::int64_t bytes = 0;
    for (const auto& one : keys_below(std::string(keys::ended_decisions)))
      bytes += decode<archived_decision>(one.value)->bytes;
    return bytes;
  }

  decisions_found find(const decisions_wanted& wanted) {
    const auto found = answer_to<decisions_found>([&](auto done) {
      find_decisions([&](range_request range, auto then) { get().read(std::move(range), then); },
                     wanted, done);
    });
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(decisions_found{});
  }

  std::unique_ptr<store_backend> backend_;
  std::shared_ptr<ownership> ground_;
  stored_decisions past_;
};

TEST_P(archive_on, finds_the_newest_decisions_of_a_workload_and_one_by_its_name) {
  past_.write_to(get());
  const auto found = find({{}, {"past-000003"}});
  ASSERT_EQ(found.decisions.size(), 20U);
  EXPECT_TRUE(found.more);
  // It preempts in one and goes in the one before, of every ten.
  EXPECT_EQ(found.decisions[0].id, stored_decisions::id_of(2993));
  EXPECT_EQ(found.decisions[1].id, stored_decisions::id_of(2992));
  EXPECT_EQ(found.decisions[2].id, stored_decisions::id_of(2983));
  const auto one = find({stored_decisions::id_of(17), {}});
  ASSERT_EQ(one.decisions.size(), 1U);
  EXPECT_EQ(one.decisions.front().victims.size(), 1U);
  EXPECT_EQ(one.decisions.front().assignments.size(), 1U);
  EXPECT_THAT(find({"00000099.000001.default", {}}).decisions, IsEmpty());
  EXPECT_THAT(find({{}, {"past-00000"}}).decisions, IsEmpty());
}

TEST_P(archive_on, looks_at_the_newest_of_a_workload_for_a_pod_and_says_that_there_are_more) {
  past_.write_to(get());
  int looked_at = 0;
  const auto found = find({{}, {"past-000003"}, [&](const decision&) {
                             ++looked_at;
                             return false;
                           }});
  EXPECT_EQ(looked_at, 200);
  EXPECT_TRUE(found.more);
}

TEST_P(archive_on, is_kept_within_age_and_size) {
  past_.write_to(get());
  const auto all = kept_bytes();
  ASSERT_TRUE(keep({72h, all}, [&] {
    return keys::end_of(keys_below(std::string(keys::ended_decisions)).front().key)
           >= past_.newest - 72h;
  }));
  EXPECT_THAT(faults_of_archive(keys_below("d/")), IsEmpty());
  const auto aged = kept_bytes();
  EXPECT_LT(aged, all * 6 / 10);
  EXPECT_GT(aged, all * 4 / 10);

  ASSERT_TRUE(keep({72h, aged / 2}, [&] { return kept_bytes() <= aged / 2; }));
  EXPECT_THAT(faults_of_archive(keys_below("d/")), IsEmpty());
  EXPECT_GT(kept_bytes(), aged / 2 - 3000);
  EXPECT_EQ(find({{}, {"past-000003"}}).decisions.front().id, stored_decisions::id_of(2993));
  const auto gone = find({stored_decisions::id_of(17), {}});
  EXPECT_THAT(gone.decisions, IsEmpty());
  EXPECT_GT(gone.archive.let_go_until, past_.newest - 72h);
  EXPECT_TRUE(gone.archive.made_room);
}

TEST_P(archive_on, of_an_earlier_version_is_found_before_it_is_moved_and_after) {
  past_.write_as_version_4(get());
  ASSERT_TRUE(commit(get(), {put{keys::decision_body("00000001.999999.default", 0), "x", 0}}).ok());
  const auto before = find({{}, {"past-000003"}});
  ASSERT_EQ(before.decisions.size(), 20U);
  EXPECT_EQ(before.decisions[0].id, stored_decisions::id_of(2993));
  ASSERT_TRUE(keep({24h * 30, 1 << 30}, [&] {
    const auto record = keys_below(std::string(keys::archive));
    return !record.empty() && decode<archive_record>(record.front().value)->settled;
  }));
  EXPECT_THAT(keys_below(std::string(keys::done_decisions)), IsEmpty());
  EXPECT_THAT(faults_of_archive(keys_below("d/")), IsEmpty());
  EXPECT_EQ(find({{}, {"past-000003"}}).decisions, before.decisions);
}

TEST_P(archive_on, is_left_alone_by_one_who_has_lost_its_place) {
  past_.write_to(get());
  const auto all = kept_bytes();
  ASSERT_TRUE(commit(get(), {put{keys::owner("r"), "another", 0}}).ok());
  EXPECT_FALSE(
    keep({1h, 1}, [&, rounds = 0]() mutable { return kept_bytes() != all || ++rounds > 100; })
    && kept_bytes() != all);
}

INSTANTIATE_TEST_SUITE_P(, archive_on, testing::ValuesIn(backend_kinds()),
                         [](const auto& kind) { return kind.param.name; });

} // namespace

} // namespace reprieve
