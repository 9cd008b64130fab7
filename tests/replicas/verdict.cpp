#include "tests/replicas/verdict.hpp"

#include "tests/replicas/machine_journal.hpp"
#include "tests/replicas/store_keys.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

namespace reprieve::replicas {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// For those who want to look at it by themselves.
void keep_history(const std::vector<recorded_call>& calls) {
  const char* kept = std::getenv("REPRIEVE_KEEP_HISTORY");
  auto* file = kept == nullptr ? nullptr : std::fopen(kept, "w");
  if (file == nullptr)
    return;
  for (const auto& call : calls)
    fmt::print(file, "{} {} {} {}\n", call.workload, call.invoked.count(), call.returned.count(),
               to_string(call));
  std::fclose(file);
}

void check_calls(const std::vector<recorded_call>& calls) {
  keep_history(calls);
  const auto began = clock::now();
  // Longer than any pause or cut, and than any caller waits for an answer.
  constexpr seconds latest_effect{60};
  const auto verdict = check_history(calls, {.effort = 1'000'000, .latest_effect = latest_effect});
  fmt::print("the history was checked in {} ms; {} workloads undecided\n",
             std::chrono::duration_cast<milliseconds>(clock::now() - began).count(),
             verdict.undecided.size());
  std::fflush(stdout);
  EXPECT_TRUE(verdict.undecided.empty()) << verdict.undecided.size();
  for (const auto& one : verdict.anomalies)
    ADD_FAILURE() << one.account;
}

} // namespace

void check_all(replica_cluster& cluster, load& people, int least_ok, int least_evictions) {
  ASSERT_TRUE(cluster.serves()) << cluster.output();
  std::this_thread::sleep_for(2 * cluster.lease());
  people.end();
  std::this_thread::sleep_for(seconds{3});
  people.look_at_all();

  int open = -1;
  for (int i = 0; i < 300 && open != 0; ++i) {
    open = open_decisions(cluster.etcd_endpoints());
    std::this_thread::sleep_for(milliseconds{100});
  }
  EXPECT_EQ(open, 0) << "decisions are neither done nor given up";
  const auto journal = cluster.journal();
  for (const auto& wrong : check_journal(journal))
    ADD_FAILURE() << wrong;
  const auto calls = people.calls();
  std::map<call_end, int> ends;
  for (const auto& call : calls)
    ++ends[call.how];
  fmt::print("{} calls: {} ok, {} refused, {} of unknown end; {} pods evicted\n", calls.size(),
             ends[call_end::ok], ends[call_end::refused], ends[call_end::unknown],
             evictions_in(journal));
  std::fflush(stdout);
  check_calls(calls);
  EXPECT_GT(ends[call_end::ok], least_ok);
  EXPECT_GT(evictions_in(journal), least_evictions);
  if (testing::Test::HasFailure())
    fmt::print("{}\n", cluster.output());
}

} // namespace reprieve::replicas
