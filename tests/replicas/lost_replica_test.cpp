#include "protocol/client/api_client.hpp"
#include "state/membership/shard_placement.hpp"
#include "tests/replicas/decision_stream.hpp"
#include "tests/replicas/replica_cluster.hpp"
#include "tests/replicas/stall_meter.hpp"
#include "tests/support/etcd_process.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

namespace reprieve::replicas {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds most_without_a_decision{1};

std::int64_t in_milliseconds(duration time) {
  return std::chrono::duration_cast<milliseconds>(time).count();
}

/// A deployment that decides all the time in several groups, and what is lost of it.
class deployment {
public:
  deployment(milliseconds lease, int nodes)
      : cluster({.lease = lease}), nodes_of_each_(nodes / static_cast<int>(groups.size())) {}

  std::string start() {
    return cluster.serves() ? make_groups(cluster.servers(), groups, nodes_of_each_)
                            : cluster.output();
  }

  /// The replica that keeps the queue tree, or another one that has a group.
  int choose(bool keeps_tree) {
    const auto owners = cluster.settled_owners();
    const auto tree = owners.find("q/main");
    for (int i = 0; i < replica_cluster::count; ++i) {
      const bool keeps = tree != owners.end() && tree->second == replica_cluster::name_of(i);
      if (keeps == keeps_tree && !groups_of(i, owners).empty())
        return i;
    }
    return -1;
  }

  std::set<std::string> groups_of(int which, const std::map<std::string, std::string>& owners) {
    std::set<std::string> found;
    for (const auto& group : groups)
      if (const auto at = owners.find(coordinator_of(group));
          at != owners.end() && at->second == replica_cluster::name_of(which))
        found.insert(group);
    return found;
  }

  /// Nobody who is lost has to say anything about one that is elsewhere.
  void read_nodes_of(const std::set<std::string>& lost, int but) {
    api_client client({cluster.servers(but)});
    for (const auto& group : groups) {
      if (lost.contains(group))
        continue;
      const auto found = client.get({object_kind::node, group + "-0", {}, {}});
      EXPECT_TRUE(found.ok()) << group << ": " << found.status();
      EXPECT_EQ(in_milliseconds(found.ok() ? found->age : duration{0}), 0) << group;
    }
  }

  /// Has `harm` done to the replica, and looks at what comes of it: groups of others go on with no
  /// gap longer than `others`, its own are decided on again within `its`, counted from the harm.
  template <class F>
  void lose(int which, duration others, duration its, F harm) {
    const auto lost = groups_of(which, cluster.owners());
    ASSERT_FALSE(lost.empty());
    ASSERT_LT(lost.size(), groups.size());
    const stall_meter machine;
    decision_stream stream(cluster.servers(which), groups, milliseconds{150});
    std::this_thread::sleep_for(seconds{3});
    const auto moment = time_of_day();
    harm();
    const auto done = time_of_day(); // until when it may have decided something itself
    if (others < its)
      read_nodes_of(lost, which);
    std::this_thread::sleep_for(std::max(its, others) + seconds{4});
    const auto end = time_of_day() - seconds{1};
    for (const auto& group : groups) {
      if (lost.contains(group)) {
        const auto again = stream.first_after(group, done);
        if (again == no_time) {
          ADD_FAILURE() << group << " is not decided on any more";
          continue;
        }
        const auto stalled = machine.between(moment, again);
        fmt::print("  {} (lost): decides again after {} ms ({} ms of stalls)\n", group,
                   in_milliseconds(again - moment), in_milliseconds(stalled));
        EXPECT_LE(in_milliseconds(again - moment), in_milliseconds(its + stalled)) << group;
      } else {
        const auto gap = stream.longest_gap(group, moment - seconds{1}, end);
        const auto stalled = machine.between(gap.began, gap.began + gap.length);
        fmt::print("  {}: at most {} ms between decisions, from {} ms on ({} ms of stalls)\n",
                   group, in_milliseconds(gap.length), in_milliseconds(gap.began - moment),
                   in_milliseconds(stalled));
        EXPECT_LE(in_milliseconds(gap.length), in_milliseconds(others + stalled)) << group;
      }
    }
    for (const auto& [why, often] : stream.refusals())
      fmt::print("  refused {} times: {}\n", often, why);
    std::fflush(stdout);
  }

  const std::vector<std::string> groups{"ash", "birch", "cedar", "elm", "fir", "oak"};
  replica_cluster cluster;

private:
  int nodes_of_each_;
};

/// Loses a replica, then the one that keeps the queue tree, then one together with etcd's leader.
void lose_replicas(milliseconds lease, int nodes) {
  if (!etcd_process::available())
    GTEST_SKIP() << "there is no etcd to start";
  api_client::silence_transport();
  deployment all(lease, nodes);
  auto& cluster = all.cluster;
  ASSERT_EQ(all.start(), "") << cluster.output();

  const int plain = all.choose(false);
  ASSERT_NE(plain, -1);
  fmt::print("replica {} is killed\n", plain);
  all.lose(plain, most_without_a_decision, lease + seconds{2},
           [&] { cluster.kill_replica(plain); });
  cluster.start_replica(plain);
  ASSERT_TRUE(cluster.serves());

  const int keeper = all.choose(true);
  ASSERT_NE(keeper, -1);
  fmt::print("replica {}, which keeps the queue tree, is killed\n", keeper);
  all.lose(keeper, most_without_a_decision, lease + seconds{2},
           [&] { cluster.kill_replica(keeper); });
  cluster.start_replica(keeper);
  ASSERT_TRUE(cluster.serves());

  const int with_etcd = all.choose(false);
  ASSERT_NE(with_etcd, -1);
  const int leader = cluster.etcd_leader();
  ASSERT_NE(leader, -1);
  fmt::print("replica {} and etcd's leader are killed\n", with_etcd);
  const auto without_a_leader = 2 * lease + seconds{3};
  all.lose(with_etcd, without_a_leader, without_a_leader, [&] {
    cluster.kill_etcd(leader);
    cluster.kill_replica(with_etcd);
  });
  if (testing::Test::HasFailure())
    fmt::print("{}\n", cluster.output());
}

} // namespace

TEST(replicas, others_go_on_and_its_own_resume_when_one_is_lost) {
  lose_replicas(milliseconds{2000}, 60);
}

TEST(replicas, others_go_on_and_its_own_resume_when_one_of_many_nodes_is_lost) {
  lose_replicas(milliseconds{5000}, 5000);
}

} // namespace reprieve::replicas
