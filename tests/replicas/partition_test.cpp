#include "protocol/client/api_client.hpp"
#include "state/membership/shard_placement.hpp"
#include "tests/replicas/load.hpp"
#include "tests/replicas/replica_cluster.hpp"
#include "tests/replicas/verdict.hpp"
#include "tests/support/etcd_process.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace reprieve::replicas {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Cuts a replica off, both ways, while people are at work.
class partition {
public:
  explicit partition(replica_cluster& cluster) : cluster_(cluster) {}

  /// Who has no lease owns nothing, and says so to whoever still reaches it.
  void from_etcd(int which) {
    say(which, "etcd");
    cluster_.cut_from_etcd(which, true);
    std::this_thread::sleep_for(cluster_.lease() + seconds{2});
    EXPECT_FALSE(submit(which, "default").ok()) << "replica " << which << " can't have written it";
    EXPECT_TRUE(soon([&] { return !owns_anything(which) && all_groups_are_owned(); }))
      << "nobody took over from replica " << which;
    EXPECT_TRUE(soon([&] { return submit(other_than(which), "default").ok(); }));
    cluster_.cut_from_etcd(which, false);
    expect_back(which);
  }

  /// Who has its lease keeps what it owns, and decides on it; others can't reach it.
  void from_peers(int which) {
    const auto before = cluster_.settled_owners();
    say(which, "its peers");
    cluster_.cut_from_peers(which, true);
    std::this_thread::sleep_for(cluster_.lease() + seconds{2});
    for (const auto& group : resource_groups()) {
      const auto owner = owner_of(group, before);
      const int near = owner == replica_cluster::name_of(which) ? which : other_than(which);
      const int far = near == which ? other_than(which) : which;
      EXPECT_TRUE(soon([&] { return submit(near, group).ok(); }))
        << group << " is " << owner << "'s, which replica " << near << " reaches";
      EXPECT_FALSE(submit(far, group).ok())
        << group << " is " << owner << "'s, which replica " << far << " does not reach";
    }
    EXPECT_EQ(cluster_.owners(), before) << "nobody lost its lease";
    cluster_.cut_from_peers(which, false);
    expect_back(which);
  }

  void from_all(int which) {
    say(which, "etcd and its peers");
    cluster_.cut_from_etcd(which, true);
    cluster_.cut_from_peers(which, true);
    EXPECT_TRUE(soon([&] { return !owns_anything(which) && all_groups_are_owned(); }));
    EXPECT_TRUE(soon([&] { return submit(other_than(which), "default").ok(); }));
    EXPECT_FALSE(submit(which, "default").ok());
    cluster_.cut_from_etcd(which, false);
    cluster_.cut_from_peers(which, false);
    expect_back(which);
  }

private:
  static int other_than(int which) {
    return (which + 1) % replica_cluster::count;
  }

  static void say(int which, const std::string& from) {
    fmt::print("replica {} is cut off from {}\n", which, from);
    std::fflush(stdout);
  }

  static std::string owner_of(const std::string& group,
                              const std::map<std::string, std::string>& owners) {
    const auto found = owners.find(coordinator_of(group));
    return found == owners.end() ? std::string{} : found->second;
  }

  template <class F>
  static bool soon(F condition) {
    for (int i = 0; i < 200; ++i) {
      if (condition())
        return true;
      std::this_thread::sleep_for(milliseconds{100});
    }
    return false;
  }

  /// One pod more, by a name that nobody else has: those of odd numbers are no gangs.
  absl::Status submit(int through, const std::string& group) {
    workload w;
    w.name = fmt::format("w{}", submitted_ += 2);
    w.resource_group = group;
    auto& pods = w.groups.emplace_back();
    pods.name = "pods";
    pods.count = 1;
    pods.pods.requests = {{"gpu", 1000}};
    return api_client({{cluster_.server(through)}}).apply({{w}, false}).status();
  }

  bool owns_anything(int which) const {
    const auto owners = cluster_.owners();
    return std::ranges::any_of(
      owners, [&](const auto& one) { return one.second == replica_cluster::name_of(which); });
  }

  bool all_groups_are_owned() const {
    const auto owners = cluster_.owners();
    return std::ranges::all_of(resource_groups(),
                               [&](const auto& group) { return !owner_of(group, owners).empty(); });
  }

  /// It takes whatever comes, in every group.
  void expect_back(int which) {
    for (const auto& group : resource_groups())
      EXPECT_TRUE(soon([&] { return submit(which, group).ok(); }))
        << "replica " << which << " does not come back for " << group;
  }

  replica_cluster& cluster_;
  int submitted_ = 1001;
};

/// Each of the replicas in turn.
void cut_off(int times) {
  if (!etcd_process::available())
    GTEST_SKIP() << "there is no etcd to start";
  if (const auto why = private_network::enter(); !why.empty())
    GTEST_SKIP() << why << "; replica_faults_test cuts what it can by a proxy";
  api_client::silence_transport();
  replica_cluster cluster({.in_namespaces = true});
  ASSERT_TRUE(cluster.serves()) << cluster.output();
  ASSERT_EQ(set_up(cluster.servers()), "") << cluster.output();
  load people(cluster.servers(), 4);
  std::this_thread::sleep_for(seconds{2});
  partition parts(cluster);
  for (int i = 0; i < times; ++i) {
    const int which = i % replica_cluster::count;
    switch ((i + i / replica_cluster::count) % 3) {
    case 0:
      parts.from_etcd(which);
      break;
    case 1:
      parts.from_peers(which);
      break;
    default:
      parts.from_all(which);
    }
  }
  check_all(cluster, people, 20 * times, times);
}

} // namespace

TEST(replicas, lose_nothing_when_one_is_cut_off_both_ways) {
  cut_off(2);
}

TEST(replicas, lose_nothing_when_each_is_cut_off_both_ways_again_and_again) {
  cut_off(18);
}

} // namespace reprieve::replicas
