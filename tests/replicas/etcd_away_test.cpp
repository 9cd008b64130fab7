#include "protocol/client/api_client.hpp"
#include "tests/replicas/load.hpp"
#include "tests/replicas/machine_journal.hpp"
#include "tests/replicas/replica_cluster.hpp"
#include "tests/replicas/verdict.hpp"
#include "tests/support/etcd_process.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

namespace reprieve::replicas {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

enum class away { stopped, killed };

void take_etcd_away(replica_cluster& cluster, away how) {
  for (int i = 0; i < replica_cluster::count; ++i)
    how == away::killed ? cluster.kill_etcd(i) : cluster.signal_etcd(i, SIGSTOP);
}

void bring_etcd_back(replica_cluster& cluster, away how) {
  for (int i = 0; i < replica_cluster::count; ++i)
    how == away::killed ? cluster.start_etcd(i) : cluster.signal_etcd(i, SIGCONT);
}

/// Of the kind that the load has under odd numbers.
workload one_pod(const std::string& name) {
  workload w;
  w.name = name;
  auto& pods = w.groups.emplace_back();
  pods.name = "pods";
  pods.count = 1;
  pods.pods.requests = {{"gpu", 1000}};
  return w;
}

/// What a person at the terminal sees of the cluster through one replica.
run_result look(const replica_cluster& cluster, int which, std::vector<std::string> words) {
  std::vector<std::string> whole{REPRIEVE_BINARIES "/reprieve", "--server", cluster.server(which)};
  whole.insert(whole.end(), words.begin(), words.end());
  return run_program(whole);
}

/// Every replica answers reads, and says how old the answer is; nobody takes a submission.
void expect_reads_only(const replica_cluster& cluster, const std::string& known, int round) {
  for (int i = 0; i < replica_cluster::count; ++i) {
    for (const auto& words : std::vector<std::vector<std::string>>{
           {"get", "workloads"}, {"get", "nodes"}, {"describe", "workload", known}}) {
      const auto seen = look(cluster, i, words);
      EXPECT_EQ(seen.code, 0) << "replica " << i << ", " << words[0] << ":\n" << seen.output;
      EXPECT_NE(seen.output.find(" old: who owns it does not answer"), std::string::npos)
        << "replica " << i << ", " << words[0] << " does not show its age:\n"
        << seen.output;
      EXPECT_NE(seen.output.find(words.back() == known ? known
                                 : words[1] == "nodes" ? "default-0"
                                                       : known),
                std::string::npos)
        << seen.output;
    }
    const auto why = look(cluster, i, {"explain", "workload", known});
    EXPECT_EQ(why.code, 0) << why.output;
    EXPECT_NE(why.output.find(" old: "), std::string::npos) << why.output;
    api_client server({{cluster.server(i)}});
    const auto submitted = server.apply(
      {{one_pod(fmt::format("w{}", 2001 + 2 * (round * replica_cluster::count + i)))}, false});
    EXPECT_FALSE(submitted.ok()) << "replica " << i << " acknowledged what nobody can keep";
  }
}

void take_etcd_away_for(milliseconds time, away how) {
  if (!etcd_process::available())
    GTEST_SKIP() << "there is no etcd to start";
  api_client::silence_transport();
  replica_cluster cluster;
  ASSERT_TRUE(cluster.serves()) << cluster.output();
  ASSERT_EQ(set_up(cluster.servers()), "") << cluster.output();
  ASSERT_TRUE(api_client({cluster.servers()}).apply({{one_pod("w1001")}, false}).ok());
  load people(cluster.servers(), 4);
  std::this_thread::sleep_for(seconds{4});

  take_etcd_away(cluster, how);
  const auto began = clock::now();
  // What was durable before may still be told to the machines, and leases have to run out before
  // every replica knows that it can't be sure of anything.
  std::this_thread::sleep_for(cluster.lease() + seconds{1});
  const auto orders = orders_in(cluster.journal());
  for (int round = 0; round == 0 || clock::now() - began < time; ++round) {
    expect_reads_only(cluster, "w1001", round);
    std::this_thread::sleep_for(milliseconds{500});
  }
  EXPECT_EQ(orders_in(cluster.journal()), orders)
    << "machines were told something that nobody can have written down";
  EXPECT_GT(orders, 0);
  bring_etcd_back(cluster, how);

  // Without a restart of anything else.
  const auto back = clock::now();
  for (int i = 0; i < replica_cluster::count; ++i) {
    api_client server({{cluster.server(i)}});
    absl::Status how_it_went;
    for (int tries = 0; tries < 300; ++tries) {
      how_it_went = server.apply({{one_pod(fmt::format("w{}", 1003 + 2 * i))}, false}).status();
      if (how_it_went.ok())
        break;
      std::this_thread::sleep_for(milliseconds{100});
    }
    EXPECT_TRUE(how_it_went.ok()) << "replica " << i << ": " << how_it_went;
  }
  fmt::print("all take submissions {} ms after etcd is back\n",
             std::chrono::duration_cast<milliseconds>(clock::now() - back).count());
  for (int i = 0; i < 200 && orders_in(cluster.journal()) <= orders; ++i)
    std::this_thread::sleep_for(milliseconds{100});
  EXPECT_GT(orders_in(cluster.journal()), orders) << "nothing goes on";
  check_all(cluster, people, 50, 10);
}

} // namespace

TEST(replicas, only_read_while_etcd_is_away_and_go_on_when_it_is_back) {
  take_etcd_away_for(seconds{8}, away::killed);
}

TEST(replicas, only_read_while_etcd_is_down_for_a_minute_and_go_on_when_it_is_back) {
  take_etcd_away_for(seconds{60}, away::killed);
}

TEST(replicas, only_read_while_etcd_hangs_for_a_minute_and_go_on_when_it_is_back) {
  take_etcd_away_for(seconds{60}, away::stopped);
}

} // namespace reprieve::replicas
