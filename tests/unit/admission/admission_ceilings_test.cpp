#include "tests/unit/admission/admission_cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

// What queues allow submitters at most (docs/security.md, "Ceilings").

namespace reprieve::admission_tests {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;

const caller submitter{"ci", caller_role::submitter, {"team"}};
const caller admin{"root", caller_role::admin};

/// Queue `tenants` with `team` below it.
class ceilings : public ::testing::Test {
protected:
  ceilings() {
    put_in(cluster_.known, a_queue("tenants"));
    put_in(cluster_.known, a_queue("team", "tenants"));
  }

  queue_ceilings& of(std::string_view queue) {
    return cluster_.known.queues.find(queue)->second.ceilings;
  }

  /// What is said of the workload; empty where it may be applied.
  std::string said_of(const workload& w, const caller* by = &submitter) const {
    const auto refusals = check(std::vector<object>{w}, cluster_.known, cluster_.facts, by);
    EXPECT_LE(refusals.size(), 1U) << to_string(refusals.back());
    return refusals.empty() ? std::string{} : to_string(refusals.front());
  }

  static workload in_team(const std::function<void(workload&)>& change = [](workload&) {}) {
    auto w = with<workload>(a_workload("job"), change);
    w.queue = "team";
    return w;
  }

  cluster cluster_ = a_cluster();
};

TEST_F(ceilings, of_a_queue_that_sets_none_let_everything_pass_but_what_is_the_systems) {
  EXPECT_EQ(said_of(in_team([](auto& w) {
              w.priority = highest_user_priority;
              w.minimum_runtime = hours{87'600};
              w.groups[0].protected_members = {0, 1, 2, 3};
              w.groups[0].required_node = "n1";
            })),
            "");
}

TEST_F(ceilings, are_kept_exactly) {
  of("team").priority = 100;
  EXPECT_EQ(said_of(in_team([](auto& w) { w.priority = 100; })), "");
  EXPECT_EQ(said_of(in_team([](auto& w) { w.priority = 101; })),
            "Workload 'job': spec.priority makes the priority 101; queue 'team' allows submitters "
            "at most 100 (spec.ceilings.priority): ask for no more, or have an operator raise it");
}

TEST_F(ceilings, come_down_from_the_queues_above_and_the_tightest_counts) {
  of("tenants").minimum_runtime = hours{1};
  const auto job = in_team([](auto& w) { w.minimum_runtime = minutes{61}; });
  EXPECT_THAT(said_of(job), HasSubstr("spec.minimumRuntime is 1h1m; queue 'tenants' allows "
                                      "submitters at most 1h (spec.ceilings.minimumRuntime)"));
  of("team").minimum_runtime = hours{2};
  EXPECT_THAT(said_of(job), HasSubstr("queue 'tenants'"));
  of("team").minimum_runtime = minutes{30};
  EXPECT_THAT(said_of(job), HasSubstr("queue 'team' allows submitters at most 30m"));
  of("tenants").minimum_runtime.reset();
  of("team").minimum_runtime.reset();
  EXPECT_EQ(said_of(job), "");
}

TEST_F(ceilings, come_down_however_many_queues_are_between) {
  std::string above = "tenants";
  for (int i = 0; i < 200; ++i) {
    const auto name = fmt::format("level-{}", i);
    put_in(cluster_.known, a_queue(name, above));
    above = name;
  }
  put_in(cluster_.known, a_queue("team", above));
  of("tenants").priority = 5;
  EXPECT_EQ(said_of(in_team([](auto& w) { w.priority = 5; })), "");
  EXPECT_THAT(said_of(in_team([](auto& w) { w.priority = 6; })), HasSubstr("tenants"));
}

TEST_F(ceilings, are_beneath_admins_and_whoever_is_not_asked_for_a_name) {
  of("team").priority = 0;
  const auto job = in_team([](auto& w) { w.priority_class = "system-node-critical"; });
  EXPECT_EQ(said_of(job, &admin), "");
  EXPECT_EQ(said_of(job, nullptr), "");
  EXPECT_NE(said_of(job), "");
}

TEST_F(ceilings, hold_for_groups_and_for_what_counts_as_a_victim) {
  of("team").priority = 100;
  EXPECT_THAT(said_of(in_team([](auto& w) { w.groups[0].priority = 500; })),
              HasSubstr("spec.podGroups[0].priority makes the priority 500"));
  EXPECT_THAT(said_of(in_team([](auto& w) { w.preemption_priority = 500; })),
              HasSubstr("spec.preemptionPriority makes the preemption priority 500; queue 'team' "
                        "allows submitters at most 100 (spec.ceilings.priority)"));
  of("team").preemption_priority = 400;
  EXPECT_THAT(said_of(in_team([](auto& w) { w.preemption_priority = 500; })),
              HasSubstr("at most 400 (spec.ceilings.preemptionPriority)"));
  EXPECT_EQ(said_of(in_team([](auto& w) { w.preemption_priority = 400; })), "");
}

TEST_F(ceilings, hold_for_the_class_that_is_everybodys_unless_told) {
  put_in(cluster_.known, a_class("usual", 200, true));
  of("team").priority = 100;
  EXPECT_THAT(said_of(in_team()), HasSubstr("spec.priority makes the priority 200"));
  EXPECT_EQ(said_of(in_team([](auto& w) { w.priority = 0; })), "");
}

TEST_F(ceilings, say_which_classes_may_be_named) {
  of("tenants").priority_classes = {"low", "meek"};
  EXPECT_EQ(said_of(in_team([](auto& w) { w.priority_class = "low"; })), "");
  EXPECT_THAT(said_of(in_team([](auto& w) { w.priority_class = "high"; })),
              HasSubstr("spec.priorityClassName is 'high'; queue 'tenants' allows submitters only "
                        "the classes low, meek (spec.ceilings.priorityClasses)"));
  EXPECT_THAT(said_of(in_team([](auto& w) { w.preemption_priority_class = "high"; })),
              HasSubstr("spec.preemptionPriorityClassName is 'high'"));
  of("team").priority_classes = {"high"};
  EXPECT_THAT(said_of(in_team([](auto& w) { w.priority_class = "high"; })), HasSubstr("'tenants'"));
  EXPECT_THAT(said_of(in_team([](auto& w) { w.priority_class = "low"; })), HasSubstr("'team'"));
}

TEST_F(ceilings, open_the_systems_own_classes_and_nothing_else_does) {
  for (const auto* name : {"system-node-critical", "system-cluster-critical"}) {
    EXPECT_THAT(said_of(in_team([&](auto& w) { w.priority_class = name; })),
                HasSubstr("which is that of the system's own classes"))
      << name;
    EXPECT_THAT(said_of(in_team([&](auto& w) { w.preemption_priority_class = name; })),
                HasSubstr("which is that of the system's own classes"))
      << name;
    EXPECT_THAT(said_of(in_team([&](auto& w) { w.groups[0].priority_class = name; })),
                HasSubstr("spec.podGroups[0].priorityClassName makes the priority"))
      << name;
  }
  const auto node_critical = in_team([](auto& w) { w.priority_class = "system-node-critical"; });
  of("team").priority_classes = {"system-cluster-critical"};
  EXPECT_THAT(said_of(node_critical), HasSubstr("only the classes system-cluster-critical"));
  of("team").priority_classes = {"system-node-critical"};
  EXPECT_EQ(said_of(node_critical), "");
  of("tenants").priority = 1000;
  EXPECT_THAT(said_of(node_critical), HasSubstr("queue 'tenants' allows submitters at most 1000"));
  of("tenants").priority = system_node_critical_value;
  of("team").priority_classes.clear();
  EXPECT_EQ(said_of(node_critical), "");
}

TEST_F(ceilings, bound_every_time_that_the_owner_of_the_room_would_wait) {
  of("team").grace_period = minutes{5};
  EXPECT_THAT(said_of(in_team([](auto& w) { w.grace_period = minutes{6}; })),
              HasSubstr("spec.gracePeriod is 6m; queue 'team' allows submitters at most 5m"));
  of("team").checkpoint_time = minutes{1};
  EXPECT_THAT(said_of(in_team([](auto& w) { w.checkpoint.time_needed = hours{1}; })),
              HasSubstr("spec.checkpoint.timeNeeded is 1h; queue 'team' allows submitters at most "
                        "1m (spec.ceilings.checkpointTimeNeeded)"));
}

TEST_F(ceilings, count_protected_pods_of_all_replicas_once_each) {
  of("team").protected_pods = 3;
  const auto leader_in_each = [](auto& w) {
    w.groups[0].replicas = 4;
    w.groups[0].protected_members = {0, 0};
  };
  EXPECT_THAT(
    said_of(in_team(leader_in_each)),
    HasSubstr("spec.podGroups have 4 pods that are protected members; queue 'team' allows "
              "submitters at most 3 (spec.ceilings.protectedPods)"));
  of("team").protected_pods = 4;
  EXPECT_EQ(said_of(in_team(leader_in_each)), "");
}

TEST_F(ceilings, forbid_nodes_of_ones_own_choice_and_daemons) {
  of("tenants").required_nodes = false;
  EXPECT_THAT(said_of(in_team([](auto& w) { w.groups[0].required_node = "n1"; })),
              HasSubstr("spec.podGroups[0].requiredNode is 'n1'; queue 'tenants' does not let "
                        "submitters name the node of a pod (spec.ceilings.requiredNodes)"));
  const auto daemon = in_team([](auto& w) { w.kind = workload_kind::daemon; });
  EXPECT_EQ(said_of(daemon), "");
  of("tenants").daemons = false;
  EXPECT_THAT(said_of(daemon), HasSubstr("spec.kind is daemon; queue 'tenants' allows submitters "
                                         "none (spec.ceilings.daemons)"));
}

TEST_F(ceilings, bound_labels_and_annotations) {
  of("team").annotation_bytes = 10;
  const auto noted = [](std::size_t bytes) {
    return in_team([&](auto& w) {
      w.labels = {{"ab", "cd"}};
      w.groups[0].pods.labels = {{"a", "b"}};
      w.groups[0].pods.annotations = {{"c", std::string(bytes, 'x')}};
    });
  };
  EXPECT_EQ(said_of(noted(3)), "");
  EXPECT_THAT(said_of(noted(4)), HasSubstr("spec has labels and annotations of 11 bytes"));
}

TEST_F(ceilings, bound_the_pods_of_a_workload_and_of_all_in_a_queue_and_below) {
  of("team").pods_per_workload = 3;
  EXPECT_THAT(said_of(in_team()), HasSubstr("spec.podGroups ask for 4 pods in all; queue 'team' "
                                            "allows submitters at most 3"));
  of("team").pods_per_workload.reset();
  of("tenants").pods = 10;
  cluster_.facts.pods = {{"team", 4}, {"tenants", 2}, {"default", 100}};
  EXPECT_EQ(said_of(in_team()), "");
  cluster_.facts.pods["tenants"] = 3;
  EXPECT_THAT(
    said_of(in_team()),
    HasSubstr("spec.podGroups ask for 4 pods in all, and with them the workloads of queue "
              "'tenants' for 11; it allows submitters at most 10 (spec.ceilings.pods)"));
}

TEST_F(ceilings, count_all_pods_of_a_batch) {
  of("team").pods = 10;
  std::vector<object> batch;
  for (const auto* name : {"a", "b", "c"})
    batch.emplace_back(with<workload>(in_team(), [&](auto& w) { w.name = name; }));
  EXPECT_EQ(check(batch, cluster_.known, cluster_.facts, &submitter).size(), 3U);
  batch.pop_back();
  EXPECT_TRUE(check(batch, cluster_.known, cluster_.facts, &submitter).empty());
}

TEST_F(ceilings, that_come_down_leave_what_is_there_and_hold_for_what_changes) {
  const auto job = in_team([](auto& w) { w.priority = 500; });
  cluster_.facts.workloads["job"] = job;
  cluster_.facts.statuses["job"].resolved = {500, 500, true};
  of("team").priority = 100;
  EXPECT_EQ(said_of(job), "") << "the same again";
  const auto larger = with<workload>(job, [](auto& w) { w.groups[0].count = 5; });
  EXPECT_THAT(said_of(larger), HasSubstr("makes the priority 500"));
}

TEST_F(ceilings, on_pods_let_somebody_ask_for_fewer) {
  cluster_.facts.workloads["job"] = in_team();
  cluster_.facts.statuses["job"].resolved = {0, 0, true};
  cluster_.facts.pods = {{"team", 50}};
  of("team").pods = 10;
  EXPECT_EQ(said_of(in_team([](auto& w) { w.groups[0].count = 3; })), "");
  EXPECT_THAT(said_of(in_team([](auto& w) { w.groups[0].count = 5; })), HasSubstr("for 51"));
}

TEST(ceilings_of_a_queue, make_sense) {
  const auto c = a_cluster();
  const auto said = [&](const std::function<void(queue_ceilings&)>& change) {
    auto q = a_queue("team");
    change(q.ceilings);
    const auto refusals = check(std::vector<object>{q}, c.known, c.facts);
    return refusals.empty() ? std::string{} : to_string(refusals.front());
  };
  EXPECT_EQ(said([](auto& of) {
              of.priority = -5;
              of.pods = 0;
              of.minimum_runtime = duration{0};
              of.priority_classes = {"system-node-critical"};
            }),
            "");
  EXPECT_THAT(said([](auto& of) { of.grace_period = minutes{-1}; }),
              HasSubstr("spec.ceilings.gracePeriod"));
  EXPECT_THAT(said([](auto& of) { of.pods = -1; }), HasSubstr("spec.ceilings.pods is -1"));
  EXPECT_THAT(said([](auto& of) { of.priority_classes = {"Not A Name"}; }),
              HasSubstr("spec.ceilings.priorityClasses"));
  EXPECT_THAT(said([](auto& of) { of.priority_classes.assign(65, "low"); }),
              HasSubstr("it may have at most 64"));
}

} // namespace

} // namespace reprieve::admission_tests
