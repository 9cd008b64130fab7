#include "preemption/snapshot/snapshot.hpp"
#include "preemption/waiting/pending.hpp"
#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

/// From what a workload says to whom it preempts and who preempts it
/// (docs/policies.md#workload-aware, docs/policies.md#coming-back).
namespace reprieve::tests {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

/// A gang of `count` pods with eight GPUs each that go together.
workload_record training(const std::string& name, std::int32_t priority, std::int32_t count) {
  workload_record record;
  auto& spec = record.spec.edit();
  spec.name = name;
  spec.checkpoint.supported = true;
  auto& group = spec.groups.emplace_back();
  group.name = "workers";
  group.count = count;
  group.min_count = count;
  group.disruption = disruption_mode::pod_group;
  group.pods.requests = {{"gpu", 8000}};
  record.status.uid = "u";
  record.status.resolved = {priority, priority, true};
  record.status.by_group = {record.status.resolved};
  return record;
}

void set_preemption_priority(workload_record& record, std::int32_t priority) {
  record.status.resolved.preemption_priority = priority;
  for (auto& group : record.status.by_group)
    group.preemption_priority = priority;
}

/// What the workload asks for when none of its pods stands.
std::vector<preemptor> asked_by(const workload_record& record) {
  return lacking_units(record, [](const pod&) { return false; });
}

cluster_view nodes_of_eight(int count) {
  cluster built;
  for (int i = 1; i <= count; ++i)
    built.node("n" + std::to_string(i), gpu(8));
  return built.view();
}

/// Lets the pods of the plan run.
void start(cluster_view& view, const plan& made) {
  for (const auto& one : made.assignments) {
    auto runs = one.placed;
    runs.phase = pod_phase::running;
    runs.started = at(0);
    view.put_pod(runs);
  }
  view.settle();
}

/// Lets the victims of the plan go.
void stop(cluster_view& view, const plan& made) {
  for (const auto& one : made.victims)
    for (const auto& p : one.pods)
      view.remove_pod(p.uid);
  view.settle();
}

plan decide_for(const cluster_view& view, const workload_record& record) {
  return decide(view, asked_by(record).front(), open_settings());
}

} // namespace

// -- priorities ----------------------------------------------------------------------------------

TEST(workloads, are_preempted_by_their_preemption_priority) {
  auto view = nodes_of_eight(1);
  auto guarded = training("guarded", 10, 1);
  set_preemption_priority(guarded, 20);
  start(view, decide_for(view, guarded));

  EXPECT_EQ(decide_for(view, training("between", 15, 1)).result, outcome::infeasible);
  EXPECT_EQ(decide_for(view, training("equal", 20, 1)).result, outcome::infeasible);
  EXPECT_THAT(victims_of(decide_for(view, training("above", 21, 1))),
              UnorderedElementsAre("guarded"));
}

TEST(workloads, preempt_by_their_scheduling_priority) {
  auto view = nodes_of_eight(1);
  start(view, decide_for(view, training("between", 15, 1)));
  auto guarded = training("guarded", 10, 1);
  set_preemption_priority(guarded, 20);

  EXPECT_EQ(decide_for(view, guarded).result, outcome::infeasible);
}

TEST(workloads, never_preempt_back_whoever_preempted_them) {
  for (const auto preemption_priority : {10, 15, 19}) {
    auto view = nodes_of_eight(1);
    auto first = training("first", 10, 1);
    set_preemption_priority(first, preemption_priority);
    start(view, decide_for(view, first));
    const auto second = training("second", 20, 1);
    const auto made = decide_for(view, second);
    ASSERT_THAT(victims_of(made), UnorderedElementsAre("first"));
    stop(view, made);
    start(view, made);

    evict(first, std::array{made.victims.front().portion}, "d1", at(3600));

    EXPECT_EQ(decide_for(view, first).result, outcome::infeasible) << preemption_priority;
  }
}

TEST(workloads, become_cheaper_to_preempt_when_their_preemption_priority_is_lowered) {
  auto view = nodes_of_eight(2);
  auto saved = training("saved", 10, 1);
  set_preemption_priority(saved, 30);
  const auto placed = decide_for(view, saved);
  start(view, placed);
  auto busy = training("busy", 10, 1);
  set_preemption_priority(busy, 20);
  start(view, decide_for(view, busy));
  const auto urgent = training("urgent", 50, 1);
  ASSERT_THAT(victims_of(decide_for(view, urgent)), UnorderedElementsAre("busy"));

  // It has just written a checkpoint.
  set_preemption_priority(saved, 10);
  auto cheap = placed;
  follow(cheap.assignments.front().placed, saved.spec, saved.status);
  start(view, cheap);

  EXPECT_THAT(victims_of(decide_for(view, urgent)), UnorderedElementsAre("saved"));
}

TEST(workloads, count_with_their_own_priority_whatever_their_pods_say) {
  auto view = nodes_of_eight(1);
  auto record = training("low", 10, 1);
  record.spec.edit().groups.front().pods.priority = 1000;
  start(view, decide_for(view, record));

  EXPECT_THAT(victims_of(decide_for(view, training("new", 11, 1))), UnorderedElementsAre("low"));

  record.spec.edit().name = "boaster";
  EXPECT_EQ(decide_for(view, record).result, outcome::infeasible);
}

TEST(workloads, ask_for_groups_of_one_gang_with_the_least_of_their_priorities) {
  auto record = training("mixed", 10, 1);
  auto& spec = record.spec.edit();
  spec.groups.push_back(spec.groups.front());
  spec.groups.back().name = "leader";
  record.status.by_group = {{10, 10, true}, {30, 30, true}};

  auto units = asked_by(record);
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units.front().priority, 10);

  record.status.by_group = {{30, 30, false}, {10, 10, true}};
  units = asked_by(record);
  EXPECT_EQ(units.front().priority, 10);
  EXPECT_FALSE(units.front().may_preempt) << "who must not preempt gets nobody to go for the rest";
}

TEST(workloads, of_a_class_that_never_preempts_take_nobody) {
  auto view = nodes_of_eight(2);
  start(view, decide_for(view, training("low", 1, 2)));
  auto meek = training("meek", 50, 2);
  meek.status.by_group.front().may_preempt = false;

  EXPECT_EQ(decide_for(view, meek).result, outcome::infeasible);
  EXPECT_EQ(decide_for(view, training("bold", 50, 2)).result, outcome::preempts);
}

// -- replicas ------------------------------------------------------------------------------------

TEST(workloads, place_each_replica_of_a_gang_by_itself) {
  auto view = nodes_of_eight(3);
  auto record = training("serve", 10, 2);
  record.spec.edit().groups.front().replicas = 2;

  const auto units = asked_by(record);
  ASSERT_EQ(units.size(), 2u);
  const auto first = decide(view, units[0], open_settings());
  start(view, first);
  const auto second = decide(view, units[1], open_settings());

  EXPECT_EQ(first.result, outcome::placed);
  EXPECT_EQ(second.result, outcome::infeasible) << "one node is left, and it needs two";
}

TEST(workloads, lose_a_replica_whole_and_keep_the_others) {
  auto view = nodes_of_eight(4);
  auto record = training("serve", 10, 2);
  record.spec.edit().groups.front().replicas = 2;
  for (const auto& unit : asked_by(record))
    start(view, decide(view, unit, open_settings()));

  const auto made = decide_for(view, training("new", 20, 1));

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(made.victims.front().pods.size(), 2u);
  evict(record, std::array{made.victims.front().portion}, "d1", at(3600));
  const auto back = asked_by(record);
  const auto incarnation_of = [&](std::int32_t replica) {
    return slot_at(record, {"workers", replica, 0}).incarnation;
  };
  EXPECT_EQ(incarnation_of(0) + incarnation_of(1), 1u);
}

// -- degraded ------------------------------------------------------------------------------------

TEST(workloads, that_may_run_degraded_lose_single_pods_even_below_their_minimum) {
  auto view = nodes_of_eight(3);
  auto record = training("serve", 10, 3);
  record.spec.edit().groups.front().disruption = disruption_mode::pod;
  start(view, decide_for(view, record));

  const auto made = decide_for(view, training("new", 20, 1));

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(made.victims.front().pods.size(), 1u);
}

TEST(workloads, that_may_run_degraded_keep_their_leader) {
  auto view = nodes_of_eight(3);
  auto record = training("serve", 10, 3);
  auto& spec = record.spec.edit();
  spec.groups.front().disruption = disruption_mode::pod;
  spec.groups.front().protected_members = {0};
  start(view, decide_for(view, record));

  const auto two = decide_for(view, training("new", 20, 2));
  const auto three = decide_for(view, training("new", 20, 3));

  EXPECT_EQ(two.victims.size(), 2u);
  for (const auto& one : two.victims)
    EXPECT_NE(one.portion.index, 0);
  EXPECT_EQ(three.result, outcome::infeasible);
}

TEST(workloads, get_what_they_lost_back_in_the_domain_where_the_rest_runs) {
  auto view = cluster()
                .node("a1", gpu(8), label{"zone", "a"})
                .node("a2", gpu(8), label{"zone", "a"})
                .running("stranger", prio(1), gpu(8))
                .node("b1", gpu(8), label{"zone", "b"})
                .node("b2", gpu(8), label{"zone", "b"})
                .view();
  auto record = training("serve", 10, 2);
  auto& spec = record.spec.edit();
  spec.groups.front().disruption = disruption_mode::pod;
  spec.groups.front().topology_keys = {"zone"};
  spec.groups.front().min_count = 1;
  const auto stands = [](const pod& p) { return p.index == 0; };
  const node a1 = view.node_at(view.find_node("a1"));

  for (const auto min_count : {1, 2}) { // which asks pod by pod, and as a gang
    record.spec.edit().groups.front().min_count = min_count;
    auto runs = pod_at(record.spec, record.status, 0, 0, 0, 0);
    runs.node = "a1";
    runs.phase = pod_phase::running;
    view.put_pod(runs);
    view.settle();

    const auto units = lacking_units(record, stands, [&](const pod&) { return &a1; });
    ASSERT_EQ(units.size(), 1u);
    const auto made = decide(view, units.front(), open_settings());

    EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("a2", 1))) << min_count;
    EXPECT_THAT(victims_of(made), UnorderedElementsAre("stranger")) << "though zone b is free";
  }
}

// -- resumption ----------------------------------------------------------------------------------

TEST(workloads, that_were_preempted_start_again_when_room_is_released_and_take_nobody) {
  auto view = nodes_of_eight(1);
  auto session = training("session", 1, 1);
  start(view, decide_for(view, session));
  const auto urgent = training("urgent", 50, 1);
  auto settings = session_settings();
  const auto made = decide(view, asked_by(urgent).front(), settings);
  ASSERT_THAT(victims_of(made), UnorderedElementsAre("session"));
  evict(session, std::array{made.victims.front().portion}, "d1", at(3600));
  stop(view, made);
  start(view, made);

  const auto meanwhile = decide(view, asked_by(session).front(), settings);
  view.remove_pod(made.assignments.front().placed.uid);
  view.settle();
  const auto then = decide(view, asked_by(session).front(), settings);

  EXPECT_EQ(meanwhile.result, outcome::infeasible);
  EXPECT_EQ(then.result, outcome::placed);
  EXPECT_THAT(then.victims, IsEmpty());
  EXPECT_EQ(then.assignments.front().placed.incarnation, 1u);
}

} // namespace reprieve::tests
