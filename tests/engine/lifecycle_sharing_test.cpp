#include "tests/engine/counted_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

/// Replicas and the queues that share a cluster with a scheduler of its own (DESIGN 3.3, 3.4).
namespace reprieve::tests {

namespace {

using testing::HasSubstr;

/// The step of a cycle that has victims, where there is one.
const lifecycle_step* preemption_in(const lifecycle_outcome& outcome) {
  const auto found = std::ranges::find_if(
    outcome.steps, [](const lifecycle_step& step) { return !step.victims.empty(); });
  return found == outcome.steps.end() ? nullptr : &*found;
}

/// Until nothing changes any more, with those gone who leave.
bool ends(counted_world& world) {
  if (!world.settle())
    return false;
  world.let_go();
  return world.settle();
}

/// Queue `one` has all four GPUs, as nobody else asked; then `b` of queue `two` does.
counted_world lent_to_one(std::int32_t priority_of_b) {
  counted_world world;
  world.node("n1", 4).queue("one").queue("two").wants("a", 5, 4);
  world.deployment("a").queue = "one";
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.committed("a"), 4);
  world.wants("b", priority_of_b, 3);
  world.deployment("b").queue = "two";
  return world;
}

} // namespace

TEST(lifecycle_sharing, a_queue_gets_back_what_it_deserves_from_more_important_replicas) {
  auto world = lent_to_one(1);
  world.write(world.plan()); // the placement of b
  const auto outcome = world.plan();
  const auto* step = preemption_in(outcome);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->victims.size(), 2U) << "each deserves two";
  EXPECT_THAT(step->victims.front().reason, HasSubstr("its queue uses more than it deserves"));
  ASSERT_TRUE(ends(world));
  EXPECT_EQ(world.committed("a"), 2);
  EXPECT_EQ(world.committed("b"), 2);
  EXPECT_TRUE(world.plan().steps.empty()) << "and it stays so";
  EXPECT_THAT(world.plan().waiting.at("b"), HasSubstr("queue two deserves 2 gpu here"));
}

TEST(lifecycle_sharing, a_queue_gets_no_more_back_than_it_deserves_however_important) {
  auto world = lent_to_one(9);
  ASSERT_TRUE(ends(world));
  EXPECT_EQ(world.committed("a"), 2);
  EXPECT_EQ(world.committed("b"), 2);
}

TEST(lifecycle_sharing, replicas_of_a_queue_that_keeps_to_its_share_stay_while_others_do_not) {
  counted_world world;
  world.node("n1", 3).queue("one").queue("two").queue("three");
  world.node("n2", 3).wants("keeps", 0, 2).wants("lent", 5, 4);
  world.deployment("keeps").queue = "one";
  world.deployment("lent").queue = "two";
  ASSERT_TRUE(world.settle());
  ASSERT_EQ(world.committed("lent"), 4);
  world.wants("asks", 9, 2);
  world.deployment("asks").queue = "three";
  ASSERT_TRUE(ends(world));
  EXPECT_EQ(world.committed("keeps"), 2) << "though it is the least important";
  EXPECT_EQ(world.committed("lent"), 2);
  EXPECT_EQ(world.committed("asks"), 2);
}

TEST(lifecycle_sharing, a_quota_goes_to_the_more_important_also_where_nodes_have_room) {
  counted_world world;
  world.node("n1", 8).wants("low", 1, 2).queue("default", "", 2);
  ASSERT_TRUE(world.settle());
  ASSERT_EQ(world.committed("low"), 2);
  world.wants("high", 9, 2);
  world.write(world.plan()); // the placement of high
  const auto outcome = world.plan();
  const auto* step = preemption_in(outcome);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->victims.size(), 1U);
  EXPECT_THAT(step->victims.front().reason, HasSubstr("does not fit into its quota beside it"));
  ASSERT_TRUE(ends(world));
  EXPECT_EQ(world.committed("low"), 1) << "the last stays";
  EXPECT_EQ(world.committed("high"), 1);
  EXPECT_TRUE(world.plan().steps.empty());
}

} // namespace reprieve::tests
