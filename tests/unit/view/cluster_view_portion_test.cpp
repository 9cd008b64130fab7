#include "tests/unit/view/view_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace reprieve {
namespace {

// -- order ---------------------------------------------------------------------------------------

TEST_F(view_of_two_nodes, orders_pods_by_priority_first) {
  put(a_pod("a", 1));
  put(a_pod("b", 3));
  put(a_member("gang", 0, 2));
  EXPECT_EQ(order(), (names{"b", "gang-0", "a"}));
}

TEST_F(view_of_two_nodes, puts_whole_replicas_before_single_pods_of_their_priority) {
  auto early = a_pod("a");
  early.started = at(1);
  put(early);
  put(a_member("gang", 0));
  EXPECT_EQ(order(), (names{"gang-0", "a"}));
}

TEST_F(view_of_two_nodes, puts_larger_replicas_first_wherever_their_pods_run) {
  put(a_member("a", 0));
  put(a_member("b", 0));
  auto elsewhere = a_member("b", 1);
  elsewhere.node = "n2";
  put(elsewhere);
  EXPECT_EQ(order(), (names{"b-0", "a-0"}));
  view.remove_pod("b-1");
  view.settle();
  EXPECT_EQ(order(), (names{"a-0", "b-0"})) << "n1 is ordered anew, though the change was on n2";
}

TEST_F(view_of_two_nodes, puts_the_earlier_start_first_and_what_has_not_started_last) {
  auto late = a_pod("b");
  late.started = at(20);
  auto early = a_pod("c");
  early.started = at(10);
  put(a_pod("a"));
  put(late);
  put(early);
  EXPECT_EQ(order(), (names{"c", "b", "a"}));
}

TEST_F(view_of_two_nodes, breaks_ties_by_workload_group_replica_index_and_uid) {
  const auto place = [](std::string uid, std::string workload, std::string group,
                        std::int32_t replica, std::int32_t index) {
    auto made = a_pod(std::move(uid));
    made.workload = std::move(workload);
    made.group = std::move(group);
    made.replica = replica;
    made.index = index;
    return made;
  };
  put(place("1", "w", "h", 0, 0));
  put(place("2", "w", "g", 10, 0));
  put(place("3", "w", "g", 9, 10));
  put(place("4", "w", "g", 9, 9));
  put(place("5", "v", "z", 0, 0));
  put(place("6", "wa", "", 0, 0));
  EXPECT_EQ(order(), (names{"5", "4", "3", "2", "1", "6"}));
}

TEST_F(view_of_two_nodes, ranks_a_whole_replica_by_its_highest_pod) {
  put(a_member("gang", 0, 1));
  auto leader = a_member("gang", 1, 8);
  leader.node = "n2";
  put(leader);
  put(a_pod("a", 5));
  EXPECT_EQ(order(), (names{"gang-0", "a"}));
  EXPECT_EQ(view.steps(view.find_node("n1"))[0].priority, 8);
  EXPECT_EQ(view.priority(view.find_pod("gang-0")), 1);
}

TEST_F(view_of_two_nodes, says_which_of_two_portions_is_more_important) {
  const auto high = view.portion_of(put(a_pod("b", 3)));
  const auto low = view.portion_of(put(a_pod("a", 1)));
  const auto same_as_low = view.portion_of(put(a_pod("c", 1)));
  EXPECT_TRUE(view.more_important(high, low));
  EXPECT_FALSE(view.more_important(low, high));
  EXPECT_TRUE(view.more_important(low, same_as_low));
  EXPECT_FALSE(view.more_important(low, low));
}

// -- portions ------------------------------------------------------------------------------------

TEST_F(view_of_two_nodes, has_one_card_for_all_pods_of_a_whole_replica) {
  auto first = a_member("gang", 1, 3);
  first.started = at(50);
  first.node = "n2";
  auto second = a_member("gang", 0, 4);
  second.started = at(40);
  second.node = "n2";
  auto third = a_member("gang", 2, 2);
  for (const auto& p : {first, second, third})
    put(p);
  const auto portion = view.find_portion({"gang", "main", 0, -1});
  ASSERT_NE(portion, no_row);
  EXPECT_EQ(
    view.card(portion),
    (portion_card{
      .priority = 4, .pods = 3, .earliest_start = at(40), .group = true, .evictable = true}));
  EXPECT_EQ(uids(view.pods_of(portion)), (names{"gang-2", "gang-0", "gang-1"}));
  for (const auto* uid : {"gang-0", "gang-1", "gang-2"})
    EXPECT_EQ(view.portion_of(view.find_pod(uid)), portion);
}

TEST_F(view_of_two_nodes, leaves_pods_out_of_the_card_that_leave) {
  put(a_member("gang", 0, 3));
  auto leader = a_member("gang", 1, 8);
  leader.protected_member = true;
  put(leader);
  const auto portion = view.find_portion({"gang", "main", 0, -1});
  EXPECT_FALSE(view.card(portion).evictable);
  leader.evicted_by = "d1";
  put(leader);
  EXPECT_EQ(view.card(portion), (portion_card{.priority = 3, .pods = 1, .group = true}));
  EXPECT_EQ(uids(view.pods_of(portion)), names{"gang-0"});
  EXPECT_EQ(order(), names{"gang-0"});
}

TEST_F(view_of_two_nodes, counts_what_a_whole_replica_has_outside_of_the_view) {
  auto mine = a_member("gang", 0, 3);
  mine.started = at(50);
  put(mine);
  put(a_pod("a", 5));
  const portion_id id{"gang", "main", 0, -1};
  const portion_part outside{
    {.priority = 8, .pods = 2, .earliest_start = at(40), .group = true, .evictable = false}, {}};

  view.put_elsewhere(id, outside);
  view.settle();

  const auto portion = view.find_portion(id);
  EXPECT_EQ(
    view.card(portion),
    (portion_card{
      .priority = 8, .pods = 3, .earliest_start = at(40), .group = true, .evictable = false}));
  EXPECT_EQ(uids(view.pods_of(portion)), names{"gang-0"});
  EXPECT_EQ(order(), (names{"gang-0", "a"})) << "it is more important for what is elsewhere";
  EXPECT_TRUE(view.has_immovable(view.find_node("n1")));

  view.put_elsewhere(id, {});
  view.settle();
  EXPECT_EQ(view.card(portion),
            (portion_card{.priority = 3, .pods = 1, .earliest_start = at(50), .group = true}));
  EXPECT_EQ(order(), (names{"a", "gang-0"}));
}

TEST_F(view_of_two_nodes, knows_of_pods_elsewhere_before_its_own_come_and_after_they_went) {
  const portion_id id{"gang", "main", 0, -1};
  view.put_elsewhere(id, {{.priority = 2, .pods = 4, .group = true}, {}});
  view.settle();
  EXPECT_EQ(view.find_portion(id), no_row);
  for (int again = 0; again < 2; ++again) {
    put(a_member("gang", 0, 3));
    EXPECT_EQ(view.card(view.find_portion(id)).pods, 5U);
    view.remove_pod("gang-0");
    view.settle();
    EXPECT_EQ(view.find_portion(id), no_row);
  }
}

TEST_F(view_of_two_nodes, splits_a_portion_into_parts_that_add_up) {
  auto here = a_member("gang", 0, 3);
  here.requests["gpu"] = 2000;
  here.started = at(10);
  auto there = a_member("gang", 1, 4);
  there.requests["gpu"] = 1000;
  there.started = at(40);
  there.node = "n2";
  put(here);
  put(there);
  const auto portion = view.find_portion({"gang", "main", 0, -1});
  const auto on = [&](const char* name) {
    return view.part_of(portion, [&](node_row n) { return view.node_name(n) == name; });
  };

  EXPECT_EQ(on("n1").card.priority, 3);
  EXPECT_EQ(on("n2").card.pods, 1U);
  EXPECT_EQ(sum_of(on("n1"), on("n2")), (portion_part{view.card(portion), view.work_of(portion)}));
  EXPECT_EQ(on("n3").card.pods, 0U);
}

TEST_F(view_of_two_nodes, keeps_a_protected_single_pod_from_eviction) {
  auto kept = a_pod("u");
  kept.protected_member = true;
  EXPECT_FALSE(view.card(view.portion_of(put(kept))).evictable);
}

TEST_F(view_of_two_nodes, counts_the_new_pod_of_a_slot_while_the_old_one_leaves) {
  auto old_pod = a_pod("old", 3);
  old_pod.workload = "w";
  old_pod.phase = pod_phase::terminating;
  put(old_pod);
  auto new_pod = a_pod("new", 2);
  new_pod.workload = "w";
  new_pod.node = "n2";
  const auto row = put(new_pod);
  const auto portion = view.find_portion({"w", "main", 0, 0});
  EXPECT_EQ(view.portion_of(row), portion);
  EXPECT_EQ(view.portion_of(view.find_pod("old")), portion);
  EXPECT_EQ(view.card(portion), (portion_card{.priority = 2, .pods = 1}));
  EXPECT_EQ(uids(view.pods_of(portion)), names{view.pod_uid(row)});
  view.remove_pod("old");
  view.settle();
  EXPECT_EQ(view.card(view.find_portion({"w", "main", 0, 0})).pods, 1U);
}

TEST_F(view_of_two_nodes, forgets_a_portion_with_its_last_pod) {
  put(a_member("gang", 0));
  put(a_member("gang", 1));
  view.remove_pod("gang-0");
  view.remove_pod("gang-1");
  view.settle();
  EXPECT_EQ(view.find_portion({"gang", "main", 0, -1}), no_row);
}

TEST_F(view_of_two_nodes, moves_a_pod_between_portions_when_its_slot_changes) {
  auto changing = a_member("gang", 0);
  put(changing);
  put(a_member("gang", 1));
  changing.disruption = disruption_mode::pod;
  const auto row = put(changing);
  EXPECT_EQ(view.id_of(view.portion_of(row)), (portion_id{"gang", "main", 0, 0}));
  EXPECT_EQ(view.card(view.find_portion({"gang", "main", 0, -1})).pods, 1U);
  changing.disruption = disruption_mode::pod_group;
  put(changing);
  EXPECT_EQ(view.find_portion({"gang", "main", 0, 0}), no_row);
  EXPECT_EQ(view.card(view.find_portion({"gang", "main", 0, -1})).pods, 2U);
}

// -- budgets -------------------------------------------------------------------------------------

TEST_F(view_of_two_nodes, allows_disruptions_by_what_runs_of_what_is_expected) {
  disruption_budget at_least;
  at_least.name = "at-least";
  at_least.match_labels = {{"app", "web"}};
  at_least.min_available = 1;
  disruption_budget at_most = at_least;
  at_most.name = "at-most";
  at_most.min_available.reset();
  at_most.max_unavailable = 2;
  view.put_budget(at_most);
  view.put_budget(at_least);
  const auto web = [](std::string uid, pod_phase phase) {
    auto made = a_pod(std::move(uid));
    made.labels = {{"app", "web"}, {"zone", "a"}};
    made.phase = phase;
    return made;
  };
  put(web("a", pod_phase::running));
  put(web("b", pod_phase::bound));
  put(web("c", pod_phase::terminating));
  put(a_pod("other"));
  ASSERT_EQ(view.budget_rows(), 2U);
  EXPECT_EQ(view.budget_at(0), at_least);
  EXPECT_EQ(view.budget_at(1), at_most);
  EXPECT_EQ(view.disruptions_allowed(0), 1) << "two run, one must";
  EXPECT_EQ(view.disruptions_allowed(1), 1) << "three are expected, two may be missing, one is";
  EXPECT_EQ(view.budgets_of(view.find_pod("a")).size(), 2U);
  EXPECT_TRUE(view.budgets_of(view.find_pod("other")).empty());

  auto told = web("a", pod_phase::running);
  told.evicted_by = "d1";
  put(told);
  EXPECT_EQ(view.disruptions_allowed(0), 0);
  view.remove_budget("at-least");
  view.remove_pod("c");
  view.settle();
  ASSERT_EQ(view.budget_rows(), 1U);
  EXPECT_EQ(view.disruptions_allowed(0), 1);
  EXPECT_EQ(view.budgets_of(view.find_pod("b")).size(), 1U);
}

TEST_F(view_of_two_nodes, matches_every_pod_with_a_budget_without_labels) {
  disruption_budget all;
  all.name = "all";
  all.max_unavailable = 1;
  put(a_pod("a"));
  view.put_budget(all);
  put(a_pod("b"));
  EXPECT_EQ(view.disruptions_allowed(0), 1);
  EXPECT_EQ(view.budgets_of(view.find_pod("b")).size(), 1U);
}

} // namespace
} // namespace reprieve
