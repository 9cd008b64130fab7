// How programs end when they are asked to, with machines in a process of their own.

#include "testbed/processes/free_endpoint.hpp"
#include "tests/integration/live/live_cluster.hpp"
#include "tests/support/etcd_process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

namespace reprieve {

namespace {

using std::chrono::seconds;

/// Longer than that nobody waits for a program to end.
constexpr seconds a_few{8};

/// `reprieve machines` on a free port.
class machines_process {
public:
  machines_process()
      : process_({REPRIEVE_BINARIES "/reprieve", "machines", "--listen", "127.0.0.1:0", "--journal",
                  path("journal"), "--address-file", path("address")},
                 path("output")) {}

  /// Where they take orders; empty when they do not come up.
  std::string address() const {
    std::string told;
    within(seconds{10}, [&] { return !(told = file_contents(path("address"))).empty(); });
    return told.substr(0, told.find('\n'));
  }

  void kill() {
    process_.kill();
  }

  /// The exit code.
  int stop() {
    process_.signal(SIGTERM);
    return process_.wait(a_few);
  }

private:
  std::string path(const char* file) const {
    return (data_.path() / file).string();
  }

  temporary_directory data_;
  child_process process_;
};

/// Asks the daemon to end; the test fails unless it does in time and says that all is well.
void expect_end(daemon_process& daemon) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(daemon.stop(), 0) << daemon.output();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, a_few);
}

/// The calls in the audit file with a line of that stage.
std::set<std::string> recorded(const std::string& audit, const std::string& stage) {
  std::set<std::string> calls;
  std::istringstream lines(file_contents(audit));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line, nullptr, false);
    if (record.is_object() && record["stage"] == stage)
      calls.insert(record["id"]);
  }
  return calls;
}

class ending_live : public testing::Test {
protected:
  /// A daemon whose machines are at the address.
  void serve(const std::string& machines) {
    ASSERT_FALSE(machines.empty());
    daemon_ = std::make_unique<daemon_process>(
      data_.path() / "daemon",
      std::vector<std::string>{"--machines", machines, "--node-shards", "1"});
    ASSERT_TRUE(daemon_->serves()) << daemon_->output();
  }

  void apply(const std::string& manifests) {
    const auto file = (data_.path() / "manifests.yaml").string();
    std::ofstream(file) << manifests;
    const auto result = daemon_->cli({"apply", "-f", file});
    ASSERT_EQ(result.code, 0) << result.output;
  }

  /// A command that goes on by itself.
  std::unique_ptr<child_process> leave_open(const std::vector<std::string>& arguments) {
    return std::make_unique<child_process>(daemon_->command(arguments),
                                           (data_.path() / "open").string());
  }

  /// Likewise one that applies manifests.
  std::unique_ptr<child_process> begin_to_apply(const std::string& manifests) {
    const auto file = (data_.path() / ("begun" + std::to_string(begun_++) + ".yaml")).string();
    std::ofstream(file) << manifests;
    return leave_open({"apply", "-f", file});
  }

  temporary_directory data_;
  std::unique_ptr<daemon_process> daemon_;
  int begun_ = 0;
};

TEST_F(ending_live, a_replica_ends_beside_machines_that_run_pods) {
  machines_process machines;
  serve(machines.address());
  apply(nodes(1, "gpu: 4") + work_of("w", {.pods = 2}));
  ASSERT_TRUE(within(seconds{20}, [&] { return daemon_->pods("w", "Running") == 2; }));
  expect_end(*daemon_);
  EXPECT_EQ(machines.stop(), 0);
}

TEST_F(ending_live, a_replica_ends_beside_machines_with_streams_open) {
  machines_process machines;
  serve(machines.address());
  apply(nodes(1, "gpu: 4") + work_of("w", {}));
  ASSERT_TRUE(within(seconds{20}, [&] { return daemon_->pods("w", "Running") == 1; }));
  const auto watch = leave_open({"events", "--watch"});
  const auto heartbeats = leave_open({"heartbeat", "n0", "--every", "1s"});
  std::this_thread::sleep_for(seconds{2});
  expect_end(*daemon_);
}

TEST_F(ending_live, a_replica_that_does_not_serve_yet_ends_at_once) {
  const auto pipe = (data_.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& waits_for : {std::vector<std::string>{"--etcd", free_endpoint()},
                                std::vector<std::string>{"--tokens", pipe}}) {
    daemon_process early{data_.path() / "early", waits_for};
    std::this_thread::sleep_for(std::chrono::milliseconds{700});
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(early.stop(), 0) << early.output();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds{2}) << waits_for.front();
  }
}

TEST_F(ending_live, a_replica_ends_whose_machines_are_not_there) {
  serve(free_endpoint());
  std::this_thread::sleep_for(seconds{1});
  expect_end(*daemon_);
}

TEST_F(ending_live, a_replica_ends_whose_machines_were_killed) {
  machines_process machines;
  serve(machines.address());
  apply(nodes(1, "gpu: 4") + work_of("w", {}));
  ASSERT_TRUE(within(seconds{20}, [&] { return daemon_->pods("w", "Running") == 1; }));
  machines.kill();
  std::this_thread::sleep_for(seconds{1});
  expect_end(*daemon_);
}

TEST_F(ending_live, machines_end_beside_a_replica_that_goes_on) {
  machines_process machines;
  serve(machines.address());
  apply(nodes(1, "gpu: 4") + work_of("w", {}));
  ASSERT_TRUE(within(seconds{20}, [&] { return daemon_->pods("w", "Running") == 1; }));
  EXPECT_EQ(machines.stop(), 0);
  expect_end(*daemon_);
}

TEST_F(ending_live, a_replica_ends_with_calls_under_way_and_records_how_they_ended) {
  const auto audit = (data_.path() / "audit").string();
  daemon_ = std::make_unique<daemon_process>(
    data_.path() / "daemon", std::vector<std::string>{"--node-shards", "1", "--audit", audit});
  ASSERT_TRUE(daemon_->serves()) << daemon_->output();
  const auto are_begun = [&](std::size_t calls) {
    return within(seconds{20}, [&] { return recorded(audit, "begun").size() == calls; });
  };
  // This takes some seconds, and the others wait behind it. Two of such size are carried out at a
  // time, so that the last one may never be begun.
  const auto first = begin_to_apply(nodes(40'000, "gpu: 4"));
  ASSERT_TRUE(are_begun(1)) << daemon_->output();
  const auto second = begin_to_apply(nodes(12'000, "gpu: 8"));
  const auto third = begin_to_apply(nodes(12'000, "gpu: 8"));
  EXPECT_TRUE(are_begun(2)) << daemon_->output();
  expect_end(*daemon_);
  EXPECT_EQ(recorded(audit, "ended"), recorded(audit, "begun")) << daemon_->output();
}

TEST_F(ending_live, a_replica_ends_whose_store_does_not_answer_to_a_call_under_way) {
  if (!etcd_process::available())
    GTEST_SKIP() << "no etcd on this machine";
  etcd_process etcd;
  const auto audit = (data_.path() / "audit").string();
  daemon_ = std::make_unique<daemon_process>(
    data_.path() / "daemon", std::vector<std::string>{"--etcd", etcd.endpoint(), "--audit", audit});
  ASSERT_TRUE(daemon_->serves()) << daemon_->output();
  etcd.pause();
  const auto call = begin_to_apply(nodes(2, "gpu: 8"));
  EXPECT_TRUE(within(seconds{5}, [&] { return !recorded(audit, "begun").empty(); }));
  expect_end(*daemon_);
  EXPECT_EQ(recorded(audit, "ended"), recorded(audit, "begun"));
  etcd.resume();
}

TEST_F(ending_live, a_replica_that_cannot_begin_ends_beside_machines) {
  machines_process machines;
  const auto address = machines.address();
  const auto result =
    run_program({REPRIEVE_BINARIES "/reprieved", "--data", (data_.path() / "daemon").string(),
                 "--listen", "127.0.0.1:0", "--machines", address, "--peer-listen", address},
                a_few);
  EXPECT_EQ(result.code, 1) << result.output;
}

} // namespace

} // namespace reprieve
