// What is special to the store through etcd-cpp-apiv3; it runs the contract and the trouble that
// etcd may make with the others.

#include "state/store/etcd_cpp/etcd_cpp_store.hpp"
#include "tests/stores/store_backend.hpp"
#include "tests/stores/waiting.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

namespace reprieve {

namespace {

class etcd_cpp : public testing::Test {
protected:
  void SetUp() override {
    if (!etcd_process::available())
      GTEST_SKIP() << "no etcd on this machine";
  }

  static std::unique_ptr<etcd_cpp_store> open(duration call_timeout = 5s) {
    return *etcd_cpp_store::open({.endpoints = {shared_etcd().endpoint()},
                                  .prefix = fresh_prefix(),
                                  .call_timeout = call_timeout});
  }
};

} // namespace

TEST_F(etcd_cpp, refuses_to_compact_and_says_who_does) {
  auto store = open();
  const auto at = commit(*store, {put{"a", "1"}})->current;
  const auto refused = compact(*store, at);
  EXPECT_TRUE(absl::IsUnimplemented(refused.status())) << refused.status();
  EXPECT_NE(refused.status().message().find("--auto-compaction-retention"), std::string::npos);
  EXPECT_EQ(value_of(*store, "a"), "1");
}

TEST_F(etcd_cpp, takes_certificates_or_a_user_but_not_both) {
  const auto refused = etcd_cpp_store::open(
    {.endpoints = {"localhost:2379"}, .tls = etcd_tls{}, .user = "root", .password = "secret"});
  EXPECT_TRUE(absl::IsUnimplemented(refused.status())) << refused.status();
}

TEST_F(etcd_cpp, says_when_a_name_leads_nowhere) {
  auto store = *etcd_cpp_store::open({.endpoints = {"no-such-host.invalid:2379"}});
  const auto written = commit(*store, {put{"a", "1"}});
  EXPECT_TRUE(absl::IsUnavailable(written.status())) << written.status();
  EXPECT_NE(written.status().message().find("no-such-host.invalid:2379"), std::string::npos);
}

TEST_F(etcd_cpp, does_not_make_a_call_that_no_thread_is_free_for_in_time) {
  etcd_process etcd;
  auto store = *etcd_cpp_store::open({.endpoints = {etcd.endpoint()}, .call_timeout = 700ms});
  ASSERT_TRUE(commit(*store, {put{"a", "before"}}).ok());
  etcd.pause();
  constexpr int writes = 20;
  std::mutex mutex;
  std::vector<absl::StatusCode> answers;
  for (int i = 0; i < writes; ++i)
    store->commit({{}, {put{"a", "lost"}}}, [&](const auto& result) {
      const std::lock_guard lock(mutex);
      answers.push_back(result.status().code());
    });
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return answers.size() == writes;
  }));
  etcd.resume();
  const auto unknown = std::count(answers.begin(), answers.end(), absl::StatusCode::kUnknown);
  const auto unmade = std::count(answers.begin(), answers.end(), absl::StatusCode::kUnavailable);
  EXPECT_GT(unknown, 0);
  EXPECT_GT(unmade, 0);
  EXPECT_EQ(unknown + unmade, writes);
  ASSERT_TRUE(eventually([&] { return commit(*store, {put{"end", ""}}).ok(); }));
  EXPECT_LE(read(*store, {.range = just("a")})->values.at(0).version, 1 + unknown);
}

TEST_F(etcd_cpp, keeps_more_leases_than_it_has_threads) {
  auto store = open();
  std::atomic<int> lost = 0;
  std::vector<operation> writes;
  for (int i = 0; i < 20; ++i) {
    const auto lease = grant(*store, 3s, [&] { ++lost; });
    ASSERT_TRUE(lease.ok()) << lease.status();
    writes.push_back(put{"key-" + std::to_string(i), "", *lease});
  }
  ASSERT_TRUE(commit(*store, writes).ok());
  std::this_thread::sleep_for(7s);
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(read(*store, {.range = with_prefix("key-")})->values.size(), 20U);
}

} // namespace reprieve
