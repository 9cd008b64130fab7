#include "state/records/keys.hpp"
#include "tests/actors/replica/replica_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using std::chrono::seconds;

/// What becomes of placements that are held while victims leave
/// (docs/policies.md#delayed-actuation).
class stability : public replica_test {};

TEST_F(stability, a_victim_that_does_not_go_is_forced_and_then_not_waited_for) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  resource_group group;
  group.name = "default";
  group.force_delete_after = seconds{10};
  auto stubborn = played(work("stubborn"), "stuck-for", "10m");
  stubborn.grace_period = seconds{5};
  auto other = work("other", 5);
  other.grace_period = seconds{1};
  ASSERT_TRUE(replica.apply({machine("n1", 1), machine("n2", 1), group, stubborn, other}).ok());
  ASSERT_TRUE(comes_to(replica, "stubborn", pod_phase::running, 1, seconds{10}));
  ASSERT_TRUE(comes_to(replica, "other", pod_phase::running, 1, seconds{10}));

  ASSERT_TRUE(replica.apply({work("urgent", 10)}).ok());
  ASSERT_TRUE(comes_to(replica, "stubborn", pod_phase::force_deleting, 1, seconds{8}))
    << "its grace period is over";
  EXPECT_EQ(replica.pods("urgent", pod_phase::nominated), 1U);

  ASSERT_TRUE(comes_to(replica, "urgent", pod_phase::running, 1, seconds{30}));
  EXPECT_EQ(replica.pods("other", pod_phase::running), 0U) << "the next one had to go";
  EXPECT_EQ(replica.pods("stubborn", pod_phase::force_deleting), 1U);
}

TEST_F(stability, more_important_work_takes_the_room_that_is_held_for_less_important_work) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  auto slow = played(work("slow"), "stop-takes", "10s");
  slow.grace_period = seconds{20};
  slow.resume.policy = resume_policy::never;
  ASSERT_TRUE(replica.apply({machine("n1", 1), slow}).ok());
  ASSERT_TRUE(comes_to(replica, "slow", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(replica.apply({work("first", 5)}).ok());
  ASSERT_TRUE(comes_to(replica, "first", pod_phase::nominated, 1, seconds{5}));

  ASSERT_TRUE(replica.apply({work("second", 9)}).ok());
  ASSERT_TRUE(comes_to(replica, "second", pod_phase::nominated, 1, seconds{5}));

  EXPECT_EQ(replica.pods("first", pod_phase::nominated), 0U);
  ASSERT_TRUE(comes_to(replica, "second", pod_phase::running, 1, seconds{20}));
  EXPECT_EQ(read_account(journal()).stopped.size(), 1U) << "nobody else had to go";
}

TEST_F(stability,
       whoever_waits_for_a_victim_takes_free_room_and_the_next_gets_what_the_victim_leaves) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  auto slow = played(work("slow"), "stop-takes", "50s");
  slow.grace_period = seconds{60};
  slow.resume.policy = resume_policy::never;
  const auto brief = played(work("brief", 5), "run-for", "10s");
  ASSERT_TRUE(replica.apply({machine("n1", 1), machine("n2", 1), slow, brief}).ok());
  ASSERT_TRUE(comes_to(replica, "slow", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(comes_to(replica, "brief", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(replica.apply({work("urgent", 9)}).ok());
  ASSERT_TRUE(comes_to(replica, "urgent", pod_phase::nominated, 1, seconds{3}));

  ASSERT_TRUE(replica.apply({work("next")}).ok());
  ASSERT_TRUE(comes_to(replica, "urgent", pod_phase::running, 1, seconds{15}))
    << "brief has ended, and its node goes to the more important one";
  EXPECT_EQ(replica.pods("next", pod_phase::nominated), 1U) << "slow still leaves";
  ASSERT_TRUE(comes_to(replica, "next", pod_phase::running, 1, seconds{60}));
  EXPECT_EQ(read_account(journal()).stopped.size(), 1U) << "nobody else had to go";
  const auto why = replica.explain_workload("urgent");
  ASSERT_TRUE(why.ok());
  ASSERT_EQ(why->decisions.size(), 2U);
  const auto given_up =
    std::ranges::find(why->decisions, decision_phase::aborted, &decision::phase);
  ASSERT_NE(given_up, why->decisions.end());
  EXPECT_NE(given_up->abort_reason.find("there is free room for urgent by now"), std::string::npos)
    << given_up->abort_reason;
}

TEST_F(stability, what_joined_a_gang_takes_free_room_before_other_gangs_when_the_rest_has_ended) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  auto slow = played(work("slow"), "stop-takes", "50s");
  slow.grace_period = seconds{60};
  slow.resume.policy = resume_policy::never;
  ASSERT_TRUE(replica.apply({machine("n1", 1), slow}).ok());
  ASSERT_TRUE(comes_to(replica, "slow", pod_phase::running, 1, seconds{5}));
  auto gangs = played(work("gangs", 9, 3), "run-for", "10s");
  gangs.groups[0].min_count = 2;
  gangs.groups[0].replicas = 2;
  ASSERT_TRUE(replica.apply({machine("n2", 2), gangs}).ok());
  ASSERT_TRUE(comes_to(replica, "gangs", pod_phase::running, 2, seconds{5}));
  ASSERT_TRUE(comes_to(replica, "gangs", pod_phase::nominated, 1, seconds{3}))
    << "the third of the first gang; there is no room for the second";

  ASSERT_TRUE(comes_to(replica, "gangs", pod_phase::running, 0, seconds{15}));
  ASSERT_TRUE(comes_to(replica, "gangs", pod_phase::running, 1, seconds{5}))
    << "the third is all of its gang that is left to run, and comes before the second gang";
  EXPECT_EQ(replica.pods("slow", pod_phase::terminating), 1U);
}

TEST_F(stability, pods_beside_a_gang_that_wait_for_a_victim_take_free_room) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  auto slow = played(work("slow"), "stop-takes", "50s");
  slow.grace_period = seconds{60};
  slow.resume.policy = resume_policy::never;
  ASSERT_TRUE(replica.apply({machine("n1", 1), slow}).ok());
  ASSERT_TRUE(comes_to(replica, "slow", pod_phase::running, 1, seconds{5}));
  auto both = work("both", 9);
  auto gang = both.groups[0];
  gang.name = "gang";
  gang.min_count = 1;
  both.groups.push_back(gang);
  ASSERT_TRUE(replica.apply({machine("n2", 1), both}).ok());
  ASSERT_TRUE(comes_to(replica, "both", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(comes_to(replica, "both", pod_phase::nominated, 1, seconds{3}));

  ASSERT_TRUE(replica.apply({machine("n3", 1)}).ok());
  ASSERT_TRUE(comes_to(replica, "both", pod_phase::running, 2, seconds{5}));
  EXPECT_EQ(replica.pods("slow", pod_phase::terminating), 1U);
}

TEST_F(stability, within_a_limit_nobody_moves_to_free_room_before_its_victims_have_gone) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  queue few;
  few.name = "few";
  few.limit = {{"gpu", 1000}};
  few.cap_by_demand = true;
  auto slow = played(work("slow"), "stop-takes", "20s");
  slow.grace_period = seconds{60};
  slow.resume.policy = resume_policy::never;
  slow.queue = "few";
  auto urgent = work("urgent", 9);
  urgent.queue = "few";
  ASSERT_TRUE(replica.apply({machine("n1", 1), machine("n2", 1), few, slow}).ok());
  ASSERT_TRUE(comes_to(replica, "slow", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(replica.apply({urgent}).ok());
  ASSERT_TRUE(comes_to(replica, "urgent", pod_phase::nominated, 1, seconds{3}));
  replica.world().advance(seconds{10});
  EXPECT_EQ(replica.pods("urgent", pod_phase::nominated), 1U) << "two would be beyond the limit";
  ASSERT_TRUE(comes_to(replica, "urgent", pod_phase::running, 1, seconds{30}));
}

TEST_F(stability, a_reserved_node_is_kept_from_less_important_work) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  resource_group group;
  group.name = "default";
  group.required_node.preemption_start_delay = std::chrono::hours{1};
  auto agent = work("agent", 9);
  agent.kind = workload_kind::daemon;
  agent.groups[0].required_node = "n1";
  agent.groups[0].pods.requests = {{"gpu", 2000}};
  ASSERT_TRUE(replica.apply({machine("n1", 2), group, work("busy")}).ok());
  ASSERT_TRUE(comes_to(replica, "busy", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(replica.apply({agent}).ok());
  replica.world().advance(seconds{1});

  ASSERT_TRUE(replica.apply({work("late", 1)}).ok());
  replica.world().advance(seconds{2});

  EXPECT_EQ(replica.pods("late", pod_phase::running), 0U) << "one GPU is free, and reserved";
  EXPECT_EQ(replica.pods("busy", pod_phase::running), 1U) << "the delay is not over";
}

/// A name for a node that the shard of that number gets, of three.
std::string name_in_shard(std::uint32_t shard) {
  int i = 0;
  while (shard_number(fmt::format("n{}", i), 3) != shard)
    ++i;
  return fmt::format("n{}", i);
}

/// As `work`, with pods of four GPUs each that run all together or not at all.
workload gang(std::string name, std::int32_t priority, std::int32_t pods) {
  auto w = work(std::move(name), priority, pods);
  w.groups[0].min_count = pods;
  w.groups[0].disruption = disruption_mode::pod_group;
  w.groups[0].pods.requests = {{"gpu", 4000}};
  return w;
}

/// What is deleted leaves its nodes one after the other, as their shards come to it.
TEST_F(stability, nobody_is_stopped_beside_a_workload_of_which_a_part_is_known_to_leave) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(
    replica
      .apply({machine(name_in_shard(0), 4), machine(name_in_shard(1), 4),
              machine(name_in_shard(2), 4), played(gang("before", 60, 2), "stop-takes", "5s")})
      .ok());
  ASSERT_TRUE(comes_to(replica, "before", pod_phase::running, 2, seconds{5}));
  ASSERT_TRUE(replica.apply({work("cheap", 5, 4)}).ok());
  ASSERT_TRUE(comes_to(replica, "cheap", pod_phase::running, 4, seconds{5}));
  ASSERT_TRUE(replica.apply({gang("next", 35, 2)}).ok());
  replica.world().advance(seconds{1});
  ASSERT_EQ(replica.pods("next", pod_phase::nominated), 0U);

  // The workload's own record, the pod on the one node, and that on the other.
  replica.faults().fault_at(2, faulty_store::fault::slow);
  ASSERT_TRUE(replica.remove(object_kind::workload, "before").ok());
  replica.world().advance(seconds{2});
  ASSERT_EQ(replica.pods("before", pod_phase::terminating), 1U);
  EXPECT_EQ(replica.pods("cheap", pod_phase::running), 4U);
  replica.faults().let_late_writes_through();

  ASSERT_TRUE(comes_to(replica, "next", pod_phase::running, 2, seconds{20}));
  EXPECT_EQ(replica.pods("cheap", pod_phase::running), 4U);
  EXPECT_EQ(read_account(journal()).stopped.size(), 2U);
}

} // namespace

} // namespace reprieve
