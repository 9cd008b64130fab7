// Who owns a resource group, through the real programs.

#include "tests/integration/live/replica_pair.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace reprieve {

namespace {

std::string node_of(const std::string& group, const std::string& name) {
  return fmt::format("kind: Node\nmetadata: {{name: {}-{}}}\n"
                     "spec: {{resourceGroup: {}, capacity: {{gpu: 64}}}}\n---\n",
                     group, name, group);
}

/// Nobody who submits something has to ask again because somebody else adds nodes.
TEST(owners_live, keep_their_groups_when_nodes_come_and_go) {
  replica_pair replicas;
  const std::array<std::string, 3> groups{"a", "b", "c"};
  std::string all;
  for (const auto& group : groups) {
    all += fmt::format("kind: ResourceGroup\nmetadata: {{name: {}}}\n---\n", group);
    for (int i = 0; i < 3; ++i)
      all += node_of(group, std::to_string(i));
  }
  // The second replica has just come, and is given its part.
  ASSERT_TRUE(within(std::chrono::seconds{15}, [&] { return replicas.apply(all).code == 0; }));
  int submitted = 0;
  const auto submit = [&](const std::string& group) {
    const auto name = fmt::format("w{}", ++submitted);
    return replicas.apply(work_of(name, {.more = "resourceGroup: " + group}),
                          static_cast<std::size_t>(submitted) % replica_pair::size);
  };
  for (const auto& group : groups) // and until the last has found its owner
    ASSERT_TRUE(within(std::chrono::seconds{15}, [&] { return submit(group).code == 0; }));

  for (int round = 0; round < 4; ++round)
    for (const auto& group : groups) {
      const auto added = replicas.apply(node_of(group, "more"));
      EXPECT_EQ(added.code, 0) << added.output;
      for (const auto& other : groups) {
        const auto done = submit(other);
        EXPECT_EQ(done.code, 0) << done.output;
      }
      const auto removed = replicas[0].cli({"delete", "node", group + "-more", "--force"});
      EXPECT_EQ(removed.code, 0) << removed.output;
      for (const auto& other : groups) {
        const auto done = submit(other);
        EXPECT_EQ(done.code, 0) << done.output;
      }
    }
}

std::string group_of(const std::string& name) {
  return fmt::format("kind: ResourceGroup\nmetadata: {{name: {}}}\n---\n", name);
}

/// A group, and what is in it from the beginning.
std::string group_in_use(const std::string& name) {
  return work_of(name + "-a", {.more = "resourceGroup: " + name})
         + work_of(name + "-b", {.more = "resourceGroup: " + name}) + "---\n" + group_of(name)
         + node_of(name, "1") + node_of(name, "2");
}

/// Whoever is asked may have to wait for the group's owner, which has to read its part first.
TEST(owners_live, of_new_groups_get_what_comes_with_them_through_any_replica) {
  replica_pair replicas;
  // The second replica has just come, and is given its part.
  ASSERT_TRUE(within(std::chrono::seconds{15}, [&] {
    return replicas.apply(node_of("default", "0"), 0).code == 0
           && replicas.apply(node_of("default", "1"), 1).code == 0;
  }));

  for (int round = 0; round < 3; ++round)
    for (std::size_t through = 0; through < replica_pair::size; ++through) {
      const auto done =
        replicas.apply(group_in_use(fmt::format("g{}-{}", round, through)), through);
      EXPECT_EQ(done.code, 0) << "through " << through << ": " << done.output;
    }
}

/// A node of the name might be in any group, and one that is new can't say yet that it is not.
TEST(owners_live, of_new_groups_keep_nobody_from_applying_something_in_another) {
  replica_pair replicas;
  ASSERT_TRUE(within(std::chrono::seconds{15}, [&] {
    return replicas.apply(node_of("default", "0"), 0).code == 0
           && replicas.apply(node_of("default", "1"), 1).code == 0;
  }));

  for (int round = 0; round < 3; ++round)
    for (std::size_t through = 0; through < replica_pair::size; ++through) {
      const auto name = fmt::format("g{}-{}", round, through);
      const auto empty = replicas.apply(group_of("empty-" + name), through);
      EXPECT_EQ(empty.code, 0) << "through " << through << ": " << empty.output;
      const auto done = replicas.apply(group_of(name) + node_of(name, "1"), through);
      EXPECT_EQ(done.code, 0) << "through " << through << ": " << done.output;
    }
}

} // namespace

} // namespace reprieve
