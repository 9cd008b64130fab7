#include "state/membership/shard_placement.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace reprieve::tests {

namespace {

constexpr std::int64_t plenty = 50'000;

std::vector<group_size> groups(int count, std::int64_t nodes = 100) {
  std::vector<group_size> all;
  for (int i = 0; i < count; ++i)
    all.push_back({fmt::format("group-{}", i), 4, 2, nodes});
  return all;
}

std::set<std::string> replicas(int count) {
  std::set<std::string> all;
  for (int i = 0; i < count; ++i)
    all.insert(fmt::format("replica-{}", i));
  return all;
}

std::map<std::string, int> parts_by_replica(const shard_owners& owners) {
  std::map<std::string, int> counts;
  for (const auto& [part, replica] : owners)
    ++counts[replica];
  return counts;
}

int moved(const shard_owners& before, const shard_owners& after) {
  return static_cast<int>(std::ranges::count_if(before, [&](const auto& one) {
    const auto found = after.find(one.first);
    return found == after.end() || found->second != one.second;
  }));
}

} // namespace

TEST(shard_placement, gives_every_part_of_a_group_to_one_replica) {
  const auto owners = place_shards(groups(20), replicas(3), {}, plenty);

  EXPECT_EQ(owners.size(), 20 * 7);
  for (const auto& group : groups(20))
    for (const auto& part : shards_of(group))
      EXPECT_EQ(owners.at(part), owners.at(coordinator_of(group.name))) << part;
}

TEST(shard_placement, is_the_same_again_and_stays_when_asked_with_what_is) {
  const auto owners = place_shards(groups(20), replicas(3), {}, plenty);

  EXPECT_EQ(place_shards(groups(20), replicas(3), {}, plenty), owners);
  EXPECT_EQ(place_shards(groups(20), replicas(3), owners, plenty), owners);
}

TEST(shard_placement, leaves_all_others_where_they_are_when_a_replica_goes) {
  const auto before = place_shards(groups(30), replicas(3), {}, plenty);
  auto left = replicas(3);
  left.erase("replica-1");

  const auto after = place_shards(groups(30), left, before, plenty);

  for (const auto& [part, replica] : before)
    EXPECT_TRUE(replica == "replica-1" || after.at(part) == replica) << part;
}

TEST(shard_placement, moves_no_more_than_its_share_to_a_replica_that_comes) {
  for (const int count : {3, 10, 60}) {
    const auto before = place_shards(groups(count), replicas(2), {}, plenty);

    const auto after = place_shards(groups(count), replicas(3), before, plenty);

    EXPECT_GT(parts_by_replica(after)["replica-2"], 0) << count;
    EXPECT_EQ(moved(before, after), parts_by_replica(after)["replica-2"]) << count;
    EXPECT_LE(moved(before, after), (count / 3 + 1) * 7) << count;
  }
}

TEST(shard_placement, spreads_groups_of_any_size_evenly) {
  std::mt19937 luck{7};
  for (int run = 0; run < 200; ++run) {
    auto some = groups(1 + static_cast<int>(luck() % 40));
    std::int64_t total = 0;
    std::int64_t heaviest = 0;
    for (auto& group : some) {
      group.nodes = luck() % 5000;
      total += group.nodes + 1;
      heaviest = std::max(heaviest, group.nodes + 1);
    }
    const auto on = replicas(1 + static_cast<int>(luck() % 6));
    std::map<std::string, std::int64_t> loads;
    const auto owners = place_shards(some, on, {}, plenty);
    for (const auto& group : some)
      loads[owners.at(coordinator_of(group.name))] += group.nodes + 1;
    for (const auto& [replica, load] : loads)
      EXPECT_LE(load, total / std::ssize(on) + heaviest + total / 10 + 1) << run;
  }
}

TEST(shard_placement, lets_the_node_shards_of_a_large_group_spill_over) {
  const std::vector<group_size> one{{"large", 8, 2, 80'000}};

  const auto owners = place_shards(one, replicas(3), {}, 40'000);

  const auto home = owners.at("c/large");
  EXPECT_EQ(owners.at("w/large.0"), home);
  EXPECT_EQ(owners.at("w/large.1"), home);
  std::map<std::string, int> shards;
  for (std::uint32_t k = 0; k < 8; ++k)
    ++shards[owners.at(fmt::format("n/large.{}", k))];
  EXPECT_EQ(shards[home], 4);
  EXPECT_EQ(shards.size(), 3U);
}

TEST(shard_placement, comes_to_rest_wherever_everything_is_at_first) {
  std::mt19937 luck{3};
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(luck() % end); };
  for (int run = 0; run < 2000; ++run) {
    std::vector<group_size> some;
    for (auto i = below(6) + 1; i > 0; --i)
      some.push_back({fmt::format("group-{}", i), 1 + below(8), 1 + below(2), below(100)});
    const auto on = replicas(1 + static_cast<int>(below(6)));
    const std::int64_t nodes_per_replica = 1 + below(60);
    shard_owners now;
    for (const auto& group : some)
      for (const auto& part : shards_of(group))
        if (below(4) > 0)
          now[part] = fmt::format("replica-{}", below(8));
    int rounds = 0;
    for (shard_owners before; before != now && rounds < 20; ++rounds)
      before = std::exchange(now, place_shards(some, on, now, nodes_per_replica));
    EXPECT_LT(rounds, 20) << run;
  }
}

TEST(shard_placement, leaves_everything_where_it_is_when_nodes_come_and_go) {
  for (const int count : {2, 3, 5, 8})
    for (const int on : {2, 3}) {
      auto some = groups(count, 3);
      const auto owners = place_shards(some, replicas(on), {}, plenty);
      for (auto& group : some) {
        ++group.nodes;
        EXPECT_EQ(place_shards(some, replicas(on), owners, plenty), owners) << group.name;
        --group.nodes;
      }
    }
}

TEST(shard_placement, leaves_everything_where_it_is_when_a_group_comes) {
  for (const int on : {2, 3}) {
    const auto before = place_shards(groups(3), replicas(on), {}, plenty);
    auto some = groups(3);
    some.push_back({"new", 4, 2, 0});

    EXPECT_EQ(moved(before, place_shards(some, replicas(on), before, plenty)), 0) << on;
  }
}

TEST(shard_placement, moves_a_group_at_last_where_others_beside_it_have_grown) {
  auto some = groups(4);
  const auto before = place_shards(some, replicas(2), {}, plenty);
  int moves = 0;
  auto now = before;
  for (int nodes = 100; nodes < 1'000; nodes += 10) {
    for (auto& group : some)
      if (before.at(coordinator_of(group.name)) == before.at(coordinator_of(some[0].name)))
        group.nodes = nodes;
    const auto next = place_shards(some, replicas(2), now, plenty);
    moves += next != now;
    now = next;
  }
  EXPECT_GE(moves, 1);
  EXPECT_LE(moves, 2);
}

TEST(shard_placement, gives_nothing_where_there_is_nobody) {
  EXPECT_TRUE(place_shards(groups(3), {}, {}, plenty).empty());
}

} // namespace reprieve::tests
