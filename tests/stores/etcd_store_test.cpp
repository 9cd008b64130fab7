#include "state/store/boot_clock.hpp"
#include "tests/stores/etcd_stores.hpp"
#include "tests/stores/store_backend.hpp"
#include "tests/stores/waiting.hpp"

#include <atomic>
#include <optional>

namespace reprieve {

namespace {

/// Has an etcd of its own, because it ill-treats it.
template <class Store>
class etcd_trouble : public testing::Test {
protected:
  void SetUp() override {
    if (!etcd_process::available())
      GTEST_SKIP() << "no etcd on this machine";
    etcd_.emplace();
  }

  etcd_process& etcd() {
    return *etcd_;
  }

  std::unique_ptr<Store> open(duration call_timeout = 5s, std::vector<std::string> endpoints = {}) {
    if (endpoints.empty())
      endpoints = {etcd_->endpoint()};
    return *Store::open({.endpoints = std::move(endpoints), .call_timeout = call_timeout});
  }

private:
  std::optional<etcd_process> etcd_;
};

template <class Store>
class any_etcd_store : public testing::Test {};

TYPED_TEST_SUITE(etcd_trouble, etcd_stores, etcd_store_names);
TYPED_TEST_SUITE(any_etcd_store, etcd_stores, etcd_store_names);

} // namespace

TYPED_TEST(etcd_trouble, lets_a_watch_resume_after_a_restart) {
  auto store = this->open();
  const auto from = commit(*store, {put{"a", "1"}})->current;
  watch_log log;
  const auto watch = store->watch(just("a"), from, log.callback());
  log.changes(1);
  this->etcd().kill();
  this->etcd().start();
  absl::StatusOr<transaction_result> written;
  ASSERT_TRUE(eventually([&] {
    written = commit(*store, {put{"a", "2"}});
    return written.ok();
  }));
  EXPECT_EQ(log.changes(2),
            "+a=1@" + std::to_string(from) + " +a=2@" + std::to_string(written->current));
}

TYPED_TEST(etcd_trouble, tells_a_watch_that_its_place_was_compacted_while_it_was_away) {
  auto store = this->open();
  const auto from = commit(*store, {put{"a", "1"}})->current;
  watch_log log;
  const auto watch = store->watch(just("a"), from, log.callback());
  log.changes(1);
  const auto endpoint = this->etcd().endpoint();
  this->etcd().kill();
  this->etcd().start_on(free_endpoint()); // where the watch does not find it
  {
    auto other = *etcd_store::open({.endpoints = {this->etcd().endpoint()}});
    ASSERT_TRUE(commit(*other, {put{"a", "2"}}).ok());
    const auto last = commit(*other, {put{"a", "3"}})->current;
    ASSERT_TRUE(compact(*other, last).ok());
  }
  this->etcd().kill();
  this->etcd().start_on(endpoint);
  const auto error = log.error();
  EXPECT_TRUE(absl::IsOutOfRange(error)) << error;
  EXPECT_EQ(log.changes(1), "+a=1@" + std::to_string(from));
}

TYPED_TEST(etcd_trouble, makes_a_write_unknown_that_then_happened_once_or_never) {
  auto store = this->open(500ms);
  ASSERT_TRUE(commit(*store, {put{"a", "before"}}).ok());
  this->etcd().pause();
  const auto lost = commit(*store, {put{"a", "lost"}});
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kUnknown) << lost.status();
  const auto unread = read(*store, {.range = just("a")});
  EXPECT_EQ(unread.status().code(), absl::StatusCode::kUnavailable) << unread.status();
  this->etcd().resume();
  ASSERT_TRUE(eventually([&] { return commit(*store, {put{"end", ""}}).ok(); }));
  const auto found = read(*store, {.range = just("a")})->values.at(0);
  EXPECT_EQ(found.version, found.value == "lost" ? 2 : 1);
}

TYPED_TEST(etcd_trouble, loses_a_lease_at_the_latest_when_it_may_have_expired) {
  auto store = this->open(1s);
  std::promise<void> lost;
  const auto granted = std::chrono::steady_clock::now();
  const auto lease = grant(*store, 2s, [&] { lost.set_value(); });
  ASSERT_TRUE(commit(*store, {put{"a", "1", *lease}}).ok());
  const auto paused = std::chrono::steady_clock::now();
  this->etcd().pause();
  ASSERT_EQ(lost.get_future().wait_for(patience), std::future_status::ready);
  const auto now = std::chrono::steady_clock::now();
  EXPECT_GE(now - granted, 2s);
  EXPECT_LE(now - paused, 2s + 500ms);
  this->etcd().resume();
  EXPECT_TRUE(eventually([&] { return value_of(*store, "a") == "(absent)"; }));
}

TYPED_TEST(etcd_trouble, is_counted_in_until_when_a_lease_lasts) {
  auto store = this->open(1s);
  std::promise<void> lost;
  const auto before = boot_time();
  const auto lease = grant(*store, 3s, [&] { lost.set_value(); });
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_GE(store->lasts_until(*lease), before + 3s);
  EXPECT_TRUE(eventually([&] { return store->lasts_until(*lease) > before + 4s; }));
  this->etcd().pause();
  const auto last = boot_time();
  ASSERT_EQ(lost.get_future().wait_for(patience), std::future_status::ready);
  EXPECT_LE(store->lasts_until(*lease), last + 3s);
  EXPECT_LE(store->lasts_until(*lease), boot_time());
  this->etcd().resume();
  EXPECT_EQ(store->lasts_until(*lease + 1), duration::zero());
}

TYPED_TEST(etcd_trouble, keeps_a_lease_over_a_short_restart) {
  auto store = this->open(1s);
  std::atomic<int> lost = 0;
  const auto lease = grant(*store, 4s, [&] { ++lost; });
  ASSERT_TRUE(commit(*store, {put{"a", "1", *lease}}).ok());
  this->etcd().kill();
  this->etcd().start();
  std::this_thread::sleep_for(4s);
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(value_of(*store, "a"), "1");
}

TYPED_TEST(etcd_trouble, does_not_carry_out_what_it_cannot_send) {
  auto store = this->open();
  this->etcd().kill();
  ASSERT_TRUE(
    eventually([&] { return absl::IsUnavailable(read(*store, {.range = just("a")}).status()); }));
  const auto written = commit(*store, {put{"a", "1"}});
  EXPECT_TRUE(absl::IsUnavailable(written.status())) << written.status();
}

TYPED_TEST(etcd_trouble, is_avoided_by_going_to_another_member) {
  auto store = this->open(5s, {free_endpoint(), this->etcd().endpoint()});
  watch_log log;
  const auto watch = store->watch(just("a"), 1, log.callback());
  const auto written = commit(*store, {put{"a", "1"}});
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(log.changes(1), "+a=1@" + std::to_string(written->current));
  EXPECT_TRUE(grant(*store, 2s).ok());
}

TYPED_TEST(etcd_trouble, does_not_keep_a_store_from_closing) {
  std::atomic<int> answered = 0;
  std::unique_ptr<watch_handle> watch;
  {
    auto store = this->open();
    ASSERT_TRUE(commit(*store, {put{"a", "1"}}).ok());
    ASSERT_TRUE(grant(*store, 5s).ok());
    watch = store->watch(just("a"), 0, [](auto) {});
    this->etcd().pause();
    store->commit({{}, {put{"a", "2"}}}, [&](auto result) {
      EXPECT_EQ(result.status().code(), absl::StatusCode::kUnknown) << result.status();
      ++answered;
    });
    store->read({.range = just("a")}, [&](auto result) {
      EXPECT_EQ(result.status().code(), absl::StatusCode::kUnavailable) << result.status();
      ++answered;
    });
    std::this_thread::sleep_for(100ms); // so that both are under way
  }
  EXPECT_EQ(answered, 2);
}

TYPED_TEST(any_etcd_store, touches_no_key_outside_its_prefix) {
  if (!etcd_process::available())
    GTEST_SKIP() << "no etcd on this machine";
  const auto prefix = fresh_prefix();
  const auto open = [](std::string with) {
    return *TypeParam::open({.endpoints = {shared_etcd().endpoint()}, .prefix = std::move(with)});
  };
  auto whole = open("");
  auto inner = open(prefix);
  auto beside = open(prefix + "x");
  ASSERT_TRUE(commit(*beside, {put{"a", "beside"}}).ok());
  const auto from = commit(*inner, {put{"a", "inner"}, put{"b", "inner"}})->current;
  EXPECT_EQ(value_of(*whole, prefix + "a"), "inner");
  watch_log log;
  const auto watch = inner->watch(with_prefix("b"), from, log.callback());
  EXPECT_EQ(log.changes(1), "+b=inner@" + std::to_string(from));
  ASSERT_TRUE(commit(*whole, {put{"zzz", "outside"}}).ok());
  ASSERT_TRUE(commit(*inner, {erase{{"b", std::string(no_end)}}}).ok());
  EXPECT_EQ(value_of(*inner, "a"), "inner");
  EXPECT_EQ(value_of(*whole, "zzz"), "outside");
  EXPECT_FALSE(read(*whole, {.range = with_prefix("")})->values.empty());
}

TEST(etcd_store, says_which_etcd_it_speaks_to) {
  if (!etcd_process::available())
    GTEST_SKIP() << "no etcd on this machine";
  auto store = *etcd_store::open({.endpoints = {shared_etcd().endpoint()}});
  const auto member = answer_to<etcd_member>([&](auto done) { store->ask_member(done); });
  ASSERT_TRUE(member.ok()) << member.status();
  EXPECT_EQ(member->version.substr(0, 2), "3.");
  EXPECT_GT(member->bytes, 0);
  EXPECT_TRUE(member->has_leader);
}

TYPED_TEST(any_etcd_store, refuses_options_that_cannot_work) {
  const etcd_options broken[] = {
    {},
    {.endpoints = {"http://localhost:2379"}},
    {.endpoints = {"localhost"}},
    {.endpoints = {"localhost:2379"}, .prefix = std::string(1'000, 'x')},
    {.endpoints = {"localhost:2379"}, .call_timeout = 0s},
    {.endpoints = {"localhost:2379"}, .tls = etcd_tls{.certificate = "half"}},
    {.endpoints = {"localhost:2379"}, .password = "of nobody"},
  };
  for (const auto& one : broken) {
    const auto opened = TypeParam::open(one);
    EXPECT_TRUE(absl::IsInvalidArgument(opened.status())) << opened.status();
  }
}

} // namespace reprieve
