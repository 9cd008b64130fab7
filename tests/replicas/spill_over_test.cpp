#include "protocol/client/api_client.hpp"
#include "state/membership/shard_placement.hpp"
#include "state/records/keys.hpp"
#include "tests/replicas/decision_stream.hpp"
#include "tests/replicas/replica_cluster.hpp"
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
using owner_map = std::map<std::string, std::string>;

const std::string wide = "wide";
constexpr int nodes = 24;
constexpr int places_of_node = 8; // as `make_groups` has it

workload work(const std::string& name, int priority, int pods, int places_each, bool gang) {
  workload w;
  w.name = name;
  w.resource_group = wide;
  w.priority = priority;
  w.grace_period = milliseconds{100};
  w.resume.policy = resume_policy::never;
  auto& group = w.groups.emplace_back();
  group.name = "pods";
  group.count = pods;
  group.pods.requests = {{"gpu", 1000 * places_each}};
  group.pods.annotations["simulation/stop-takes"] = "50ms";
  if (gang) {
    group.min_count = pods;
    group.disruption = disruption_mode::pod_group;
  }
  return w;
}

template <class F>
bool soon(F condition) {
  for (int i = 0; i < 300; ++i) {
    if (condition())
      return true;
    std::this_thread::sleep_for(milliseconds{100});
  }
  return false;
}

/// The replicas that the wide group's node shards stand on.
std::set<std::string> spread_of(const owner_map& owners) {
  std::set<std::string> found;
  for (const auto& [shard, owner] : owners)
    if (shard.starts_with("n/" + wide + "."))
      found.insert(owner);
  return found;
}

/// The nodes that the workload's pods run on.
std::set<std::string> nodes_of(api_client& server, const std::string& workload) {
  std::set<std::string> found;
  get_request pods{object_kind::pod, {}, {}, {}};
  pods.workload = workload;
  if (const auto all = server.get(pods); all.ok())
    for (const auto& one : *all)
      if (const auto& p = std::get<pod>(one.what); p.phase == pod_phase::running)
        found.insert(p.node);
  return found;
}

/// Those of the nodes whose shards the replica owns.
int nodes_at(const std::set<std::string>& names, const std::string& replica,
             const owner_map& owners, std::uint32_t shards) {
  return static_cast<int>(std::ranges::count_if(names, [&](const std::string& name) {
    const auto owner = owners.find("n/" + shard_name(wide, shard_number(name, shards)));
    return owner != owners.end() && owner->second == replica;
  }));
}

void spill_over() {
  if (!etcd_process::available())
    GTEST_SKIP() << "there is no etcd to start";
  api_client::silence_transport();
  constexpr std::uint32_t shards = 6;
  replica_cluster cluster(
    {.more = {"--nodes-per-replica", std::to_string(nodes / 3), "--node-shards", "6"}});
  ASSERT_TRUE(cluster.serves()) << cluster.output();
  ASSERT_EQ(make_groups(cluster.servers(), {wide}, nodes), "") << cluster.output();
  ASSERT_TRUE(soon([&] { return spread_of(cluster.owners()).size() == 3; }))
    << "the group does not spill over";
  const auto before = cluster.settled_owners();
  api_client server({cluster.servers()});

  // Everything is full of work that may go, and a gang needs a whole node for each of its pods.
  ASSERT_TRUE(server.apply({{work("filler", 1, nodes * places_of_node, 1, false)}, false}).ok());
  const auto running = [&](const std::string& name) {
    return static_cast<int>(nodes_of(server, name).size());
  };
  ASSERT_TRUE(soon([&] { return running("filler") == nodes; })) << cluster.output();
  ASSERT_TRUE(server.apply({{work("gang", 50, nodes, places_of_node, true)}, false}).ok());
  ASSERT_TRUE(soon([&] { return running("gang") == nodes; })) << cluster.output();
  const auto taken = nodes_of(server, "gang");
  for (const auto& replica : spread_of(before))
    EXPECT_GT(nodes_at(taken, replica, before, shards), 0)
      << replica << " has none of the gang's nodes";
  const auto explained = server.explain({{}, "gang", {}});
  ASSERT_TRUE(explained.ok()) << explained.status();
  ASSERT_FALSE(explained->decisions.empty());
  EXPECT_EQ(explained->decisions.back().assignments.size(), std::size_t{nodes})
    << "one decision has the whole gang";
  EXPECT_FALSE(explained->decisions.back().victims.empty());

  // One that has nothing but what spilled over to it.
  int lost = -1;
  for (int i = 0; i < replica_cluster::count; ++i)
    if (const auto name = replica_cluster::name_of(i); before.at(coordinator_of(wide)) != name
                                                       && before.at("q/main") != name
                                                       && spread_of(before).contains(name))
      lost = i;
  ASSERT_NE(lost, -1);
  fmt::print("replica {} is killed\n", lost);
  cluster.kill_replica(lost);
  const auto name = replica_cluster::name_of(lost);
  ASSERT_TRUE(soon([&] {
    const auto now = cluster.owners();
    return now.size() == before.size()
           && std::ranges::none_of(now, [&](const auto& one) { return one.second == name; });
  }))
    << "nobody took over from it";
  for (const auto& [shard, owner] : cluster.settled_owners()) {
    const auto& had = before.at(shard);
    EXPECT_TRUE(owner == had || had == name)
      << shard << " moved from " << had << " to " << owner << " although its owner is there";
  }

  // What runs was not touched, and decisions go across the new owners as they did before.
  api_client survivors({cluster.servers(lost)});
  EXPECT_TRUE(soon([&] { return nodes_of(survivors, "gang") == taken; }));
  ASSERT_TRUE(soon([&] {
    return survivors.apply({{work("urgent", 100, nodes, places_of_node, true)}, false}).ok();
  }));
  EXPECT_TRUE(soon([&] { return nodes_of(survivors, "urgent").size() == std::size_t{nodes}; }))
    << cluster.output();
  EXPECT_TRUE(nodes_of(survivors, "gang").empty());
}

} // namespace

TEST(replicas, share_a_group_that_is_too_large_and_lose_only_a_part_of_it) {
  spill_over();
}

} // namespace reprieve::replicas
