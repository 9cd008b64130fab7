#include "preemption/policies/required_node/required_node.hpp"
#include "tests/engine/required_node/bound_pod.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// When preemption on a required node starts, and who may go there
/// (docs/policies.md#required-node).
namespace reprieve::tests {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

plan_settings delayed_by(duration delay) {
  auto settings = open_settings();
  settings.group.required_node.preemption_start_delay = delay;
  return settings;
}

/// A node that one pod fills.
cluster full_node() {
  return cluster().node("n1", cpu(4)).running("web", prio(1), cpu(4));
}

} // namespace

// -- when ----------------------------------------------------------------------------------------

TEST(required_node, is_reserved_before_anybody_goes) {
  const auto settings = delayed_by(30s);

  const auto made = decide(full_node().view(), collector(cpu(4)), settings);

  EXPECT_EQ(made.result, outcome::reserves);
  EXPECT_EQ(made.reserve, (reservation{"n1", settings.now}));
  EXPECT_EQ(made.look_again, settings.now + 30s + 1ns);
  EXPECT_THAT(made.victims, IsEmpty());
  EXPECT_THAT(made.assignments, IsEmpty());
  EXPECT_EQ(made.why.summary, "logs (priority 100) does not fit; n1 is reserved for it, and "
                              "preemption may start there in 30s");
}

TEST(required_node, a_young_reservation_waits_and_says_when_to_look_again) {
  const auto settings = delayed_by(30s);
  auto who = collector(cpu(4));
  who.reserved_since = settings.now - 29s;

  const auto made = decide(full_node().view(), who, settings);

  EXPECT_EQ(made.result, outcome::reserves);
  EXPECT_EQ(made.reserve, (reservation{"n1", who.reserved_since}));
  EXPECT_EQ(made.look_again, settings.now + 1s + 1ns);
  EXPECT_THAT(made.victims, IsEmpty());
}

TEST(required_node, preemption_starts_when_the_reservation_is_older_than_the_delay) {
  const auto settings = delayed_by(30s);
  auto who = collector(cpu(4));
  who.reserved_since = settings.now - 30s;
  EXPECT_EQ(decide(full_node().view(), who, settings).result, outcome::reserves);
  who.reserved_since -= 1ns;

  const auto made = decide(full_node().view(), who, settings);

  EXPECT_EQ(made.result, outcome::preempts);
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web"));
  EXPECT_EQ(made.reserve, std::nullopt) << "the room is nominated now";
  EXPECT_EQ(made.policy, "required-node");
}

TEST(required_node, preemption_starts_at_once_without_a_delay) {
  const auto made = decide(full_node().view(), collector(cpu(4)), delayed_by(0s));

  EXPECT_EQ(made.result, outcome::preempts);
}

TEST(required_node, stays_reserved_when_nobody_can_go) {
  const auto settings = delayed_by(30s);
  const auto view = cluster().node("n1", cpu(4)).running("core", prio(200), cpu(4)).view();
  auto who = collector(cpu(4));
  who.reserved_since = settings.now - 1h;

  const auto made = decide(view, who, settings);

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_EQ(made.reserve, (reservation{"n1", who.reserved_since}));
}

TEST(required_node, is_not_reserved_if_it_will_never_do) {
  const auto view = cluster().node("n1", cpu(4), tainted{"broken"}).view();

  const auto made = decide(view, collector(cpu(4)), delayed_by(30s));

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_EQ(made.reserve, std::nullopt);
  EXPECT_THAT(made.why.summary, HasSubstr("tainted without a toleration"));
}

TEST(required_node, room_that_became_free_in_the_meantime_is_taken) {
  auto who = collector(cpu(4));
  who.reserved_since = at(0);

  const auto made = decide(cluster().node("n1", cpu(4)).view(), who, delayed_by(30s));

  EXPECT_EQ(made.result, outcome::placed);
  EXPECT_EQ(made.reserve, std::nullopt);
}

TEST(required_node, room_that_becomes_free_anyway_costs_nobody) {
  const auto view = cluster()
                      .node("n1", cpu(4))
                      .running("leaves", prio(1), cpu(2), in_phase{pod_phase::terminating})
                      .running("web", prio(1), cpu(2))
                      .view();

  const auto made = decide(view, collector(cpu(2)), open_settings());

  EXPECT_EQ(made.result, outcome::waits);
}

TEST(required_node, the_room_of_the_victims_is_the_pods_once_they_have_gone) {
  auto built = full_node();
  built.running("api", prio(1), cpu(0));
  const auto who = collector(cpu(4));
  auto pods = built.all_pods();

  const auto first = decide(view_of(built.all_nodes(), pods, {}), who, open_settings());
  pods[0].phase = pod_phase::terminating;
  const auto leaving = decide(view_of(built.all_nodes(), pods, {}), who, open_settings());
  pods.erase(pods.begin());
  const auto gone = decide(view_of(built.all_nodes(), pods, {}), who, open_settings());

  EXPECT_THAT(victims_of(first), UnorderedElementsAre("web"));
  EXPECT_EQ(leaving.result, outcome::waits);
  EXPECT_THAT(leaving.victims, IsEmpty());
  EXPECT_EQ(gone.result, outcome::placed);
  ASSERT_EQ(gone.assignments.size(), 1u);
  EXPECT_EQ(gone.assignments[0].placed.node, "n1");
}

TEST(required_node, a_pod_that_never_preempts_takes_nobody_and_reserves_nothing) {
  const auto made =
    decide(full_node().view(), collector(cpu(4), never_preempts()), delayed_by(30s));

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_EQ(made.reserve, std::nullopt);
}

// -- where ---------------------------------------------------------------------------------------

TEST(required_node, no_other_node_is_looked_at) {
  auto built = full_node();
  built.node("n2", cpu(8));
  built.node("n3", cpu(4)).running("less", prio(0), cpu(4));

  const auto made = decide(built.view(), collector(cpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web"));
  ASSERT_EQ(made.why.domains.size(), 1u);
  EXPECT_EQ(made.why.domains[0].domain, "n1");
}

TEST(required_node, is_waited_for_though_another_node_is_free) {
  auto built = full_node();
  built.node("n2", cpu(8));

  const auto made = decide(built.view(), collector(cpu(4)), delayed_by(30s));

  EXPECT_EQ(made.result, outcome::reserves);
  ASSERT_TRUE(made.reserve);
  EXPECT_EQ(made.reserve->node, "n1");
  EXPECT_THAT(made.assignments, IsEmpty());
}

TEST(required_node, has_its_own_policy_in_a_group_of_sessions) {
  auto settings = open_settings();
  settings.group.policy = group_policy::sessions;
  auto who = collector(cpu(4));
  who.at_front = false;
  const auto view = cluster().node("n1", cpu(4)).running("web", prio(50), cpu(4)).view();

  const auto made = decide(view, who, settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web")) << "above the preemptible priority";
}

TEST(required_node, a_gang_that_names_a_node_is_left_to_the_policy_of_its_group) {
  EXPECT_TRUE(is_bound_to_a_node(collector(cpu(1))));
  EXPECT_FALSE(is_bound_to_a_node(lone("web", cpu(1))));
  EXPECT_FALSE(is_bound_to_a_node(gang("train", members(2, cpu(1), required{"n1"}))));
}

// -- who -----------------------------------------------------------------------------------------

TEST(required_node, daemon_pods_never_go_whatever_their_priority) {
  const auto view = cluster()
                      .node("n1", cpu(4))
                      .running("exporter", prio(-1000), cpu(2), daemon())
                      .running("web", prio(99), cpu(2))
                      .view();

  const auto made = decide(view, collector(cpu(2)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web"));
  EXPECT_THAT(reason_for(made.why.passed_over, "exporter"), HasSubstr("daemon"));
}

TEST(required_node, daemon_pods_never_go_even_where_the_pod_then_finds_no_room) {
  const auto view = cluster()
                      .node("n1", cpu(4))
                      .running("exporter", prio(-1000), cpu(2), daemon())
                      .running("web", prio(1), cpu(2))
                      .view();

  const auto made = decide(view, collector(cpu(4)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(made.victims, IsEmpty());
}

TEST(required_node, nothing_of_its_priority_or_above_goes) {
  const auto view = cluster()
                      .node("n1", cpu(6))
                      .running("above", prio(101), cpu(2))
                      .running("peer", prio(100), cpu(2))
                      .running("below", prio(99), cpu(2))
                      .view();

  const auto made = decide(view, collector(cpu(2)), open_settings());
  const auto more = decide(view, collector(cpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("below"));
  EXPECT_THAT(reason_for(made.why.passed_over, "peer"), HasSubstr("100 is not below 100"));
  EXPECT_THAT(reason_for(made.why.passed_over, "above"), HasSubstr("101 is not below 100"));
  EXPECT_EQ(more.result, outcome::infeasible);
}

TEST(required_node, protected_members_never_go) {
  auto built = cluster().node("n1", cpu(4)).node("n2", cpu(4));
  built.pods("leader", {"n1"}, prio(1), cpu(2), protected_index{0});
  built.group("led", {"n1", "n2"}, prio(1), cpu(2), protected_index{1});

  const auto made = decide(built.view(), collector(cpu(2)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(reason_for(made.why.passed_over, "leader"), HasSubstr("protected"));
  EXPECT_THAT(reason_for(made.why.passed_over, "led"), HasSubstr("goes whole or not at all"));
}

TEST(required_node, a_group_goes_whole_wherever_its_pods_run) {
  auto built = cluster().node("n1", cpu(4)).node("n2", cpu(4));
  built.group("train", {"n1", "n2", "n2"}, prio(1), cpu(2));
  built.pods("core", {"n1"}, prio(200), cpu(2));

  const auto made = decide(built.view(), collector(cpu(2)), open_settings());

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(made.victims[0].pods.size(), 3u);
}

TEST(required_node, a_group_is_as_large_as_what_it_holds_on_this_node) {
  auto built = cluster().node("n1", cpu(5)).node("n2", cpu(8));
  built.group("train", {"n1", "n1", "n2", "n2"}, prio(1), cpu(1));
  built.pods("web", {"n1"}, prio(1), cpu(3));
  auto settings = open_settings();
  settings.group.required_node.strategies = {victim_strategy::single};

  const auto made = decide(built.view(), collector(cpu(2)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("train")) << "2 of its 4 cpus are here";
}

TEST(required_node, who_has_not_run_for_the_minimum_runtime_stays) {
  const auto view = cluster()
                      .node("n1", cpu(4))
                      .running("young", prio(1), cpu(2), started{3000})
                      .running("old", prio(5), cpu(2), started{0})
                      .view();
  auto settings = open_settings();
  settings.group.limits.minimum_runtime = 15min;

  const auto made = decide(view, collector(cpu(2)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("old"));
  EXPECT_THAT(reason_for(made.why.passed_over, "young"), HasSubstr("has run for 10m"));
}

// -- reasons -------------------------------------------------------------------------------------

TEST(required_node, a_victim_is_told_its_class_and_the_strategy) {
  const auto made = decide(full_node().view(), collector(cpu(4)), open_settings());

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(made.victims[0].reason,
            "its priority 1 is below 100 and logs does not fit on n1 beside it; of class regular, "
            "by strategy single: frees enough alone, 0% off the request");
}

TEST(required_node, who_could_have_gone_is_told_why_it_stays) {
  const auto view = cluster()
                      .node("n1", cpu(4))
                      .running("web", prio(1), cpu(2))
                      .running("api", prio(2), cpu(2))
                      .view();

  const auto made = decide(view, collector(cpu(2)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web"));
  EXPECT_EQ(reason_for(made.why.reprieved, "api"), "still fits on n1 beside logs");
}

// -- how long it looks ---------------------------------------------------------------------------

TEST(required_node, looks_at_no_more_portions_than_the_search_budget_has_units) {
  // In the order they would go: by priority.
  auto built = cluster().node("n1", cpu(4));
  built.running("first", prio(1), cpu(1)).running("second", prio(2), cpu(1));
  built.running("third", prio(3), cpu(2));
  const auto with = [&](std::int64_t budget) {
    auto settings = open_settings();
    settings.group.limits.search_budget = budget;
    return decide(built.view(), collector(cpu(2)), settings);
  };

  const auto all = with(3);
  const auto two = with(2);
  const auto one = with(1);

  EXPECT_THAT(victims_of(all), UnorderedElementsAre("third")) << "by strategy single";
  EXPECT_FALSE(all.why.budget_reached);
  EXPECT_THAT(victims_of(two), UnorderedElementsAre("first", "second"));
  EXPECT_TRUE(two.why.budget_reached);
  EXPECT_EQ(one.result, outcome::infeasible);
  EXPECT_TRUE(one.why.budget_reached);
  EXPECT_THAT(one.why.summary, HasSubstr("search budget"));
}

} // namespace reprieve::tests
