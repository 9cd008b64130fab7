#include "protocol/client/api_client.hpp"
#include "tests/integration/daemon.hpp"
#include "tests/support/history.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

namespace reprieve {

namespace {

using std::chrono::milliseconds;

workload a_workload(const std::string& name, const group_counts& counts) {
  workload w;
  w.name = name;
  w.grace_period = duration{0};
  for (const auto& [group, count] : counts) {
    auto& pods = w.groups.emplace_back();
    pods.name = group;
    pods.count = count;
    pods.pods.requests = {{"cpu", 1000}};
    pods.pods.annotations["simulation/stop-takes"] = "10ms";
  }
  return w;
}

workload_sight sight_of(const shown_object& shown) {
  workload_sight seen{shown.workload->uid, shown.workload->generation, {}};
  for (const auto& group : std::get<workload>(shown.what).groups)
    seen.counts[group.name] = group.count;
  return seen;
}

/// What a failed call tells: only where the server has looked at it, is it clear that nothing was
/// done.
call_end end_of(const absl::Status& how) {
  if (absl::IsNotFound(how))
    return call_end::not_found;
  if (absl::IsFailedPrecondition(how))
    return how.message().find("is being deleted") != absl::string_view::npos
             ? call_end::being_deleted
             : call_end::refused;
  return absl::IsInvalidArgument(how) || absl::IsPermissionDenied(how) ? call_end::refused
                                                                       : call_end::unknown;
}

/// Makes calls about a few workloads that others make calls about, too, and has them taken down.
class busy_client {
public:
  busy_client(int number, const std::string& server, history_recorder& recorder)
      : number_(number), luck_(static_cast<std::uint64_t>(number)), server_({{server}}),
        recorder_(recorder) {}

  void call() {
    const auto name = "w" + std::to_string(below(workloads));
    switch (below(7)) {
    case 0:
      remove(name);
      break;
    case 1:
    case 2:
      apply(name, workload_call::submit);
      break;
    case 3:
      apply(name, workload_call::scale);
      break;
    default:
      get(name);
    }
  }

private:
  static constexpr int workloads = 6;

  int below(int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(luck_);
  }

  void apply(const std::string& name, workload_call what) {
    const group_counts counts{{"a", 1 + below(3)}, {"b", 1 + below(2)}};
    const auto call = recorder_.begin(number_, name, what, counts);
    const auto applied = server_.apply({{a_workload(name, counts)}, false});
    // What became of it is told as it looked when the call came in, before others that came with
    // it: that is for people, and not looked at.
    recorder_.end(call, applied.ok() ? call_end::ok : end_of(applied.status()));
  }

  void remove(const std::string& name) {
    const auto call = recorder_.begin(number_, name, workload_call::remove);
    const auto removed = server_.remove({object_kind::workload, {name}});
    recorder_.end(call, removed.ok() ? call_end::ok : end_of(removed));
  }

  void get(const std::string& name) {
    const auto call = recorder_.begin(number_, name, workload_call::get);
    const auto found = server_.get({object_kind::workload, name, {}, {}});
    if (found.ok())
      recorder_.end(call, sight_of(found->front()));
    else
      recorder_.end(call, end_of(found.status()));
  }

  int number_;
  std::mt19937_64 luck_;
  api_client server_;
  history_recorder& recorder_;
};

TEST(api_history, is_explained_although_the_server_is_killed_again_and_again) {
  const temporary_directory data;
  auto daemon = std::make_unique<daemon_process>(data.path());
  ASSERT_TRUE(daemon->serves()) << daemon->output();
  const auto address = daemon->address();
  {
    node machine;
    machine.name = "n1";
    machine.capacity = {{"cpu", 8'000}};
    ASSERT_TRUE(api_client({{address}}).apply({{machine}, false}).ok());
  }
  history_recorder recorder;
  std::atomic<bool> over = false;
  std::vector<std::jthread> clients;
  for (int number = 1; number <= 6; ++number)
    clients.emplace_back([&, number] {
      for (busy_client client(number, address, recorder); !over;)
        client.call();
    });
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(milliseconds{700});
    daemon->kill();
    daemon =
      std::make_unique<daemon_process>(data.path(), std::vector<std::string>{"--listen", address});
    EXPECT_TRUE(daemon->serves()) << daemon->output();
  }
  std::this_thread::sleep_for(milliseconds{700});
  over = true;
  clients.clear();

  std::map<call_end, int> ends;
  const auto calls = recorder.calls();
  for (const auto& call : calls)
    ++ends[call.how];
  EXPECT_GT(ends[call_end::ok], 30);
  EXPECT_GT(ends[call_end::not_found], 10);
  EXPECT_GT(ends[call_end::unknown], 0);
  const auto verdict = check_history(calls);
  EXPECT_TRUE(verdict.undecided.empty());
  for (const auto& one : verdict.anomalies)
    ADD_FAILURE() << one.account;
  EXPECT_EQ(daemon->stop(), 0) << daemon->output();
}

} // namespace

} // namespace reprieve
