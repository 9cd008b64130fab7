#include "tests/unit/view/view_fixture.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace reprieve {
namespace {

TEST(empty_view, has_nothing_and_settles) {
  cluster_view view;
  view.settle();
  EXPECT_EQ(view.width(), 1U) << "only that of pods, which all take one of";
  EXPECT_EQ(view.node_rows(), 0U);
  EXPECT_EQ(view.pod_count(), 0U);
  EXPECT_EQ(view.find_node("n1"), no_row);
  EXPECT_EQ(view.find_pod("u"), no_row);
  EXPECT_EQ(view.find_portion({"w", "g", 0, 0}), no_row);
  EXPECT_EQ(view.budget_rows(), 0U);
}

// -- nodes ---------------------------------------------------------------------------------------

TEST_F(view_of_two_nodes, keeps_labels_taints_and_flags_as_given) {
  auto given = a_node("n3");
  given.labels = {{"zone", "a"}};
  given.taints = {{"gpu", "only", taint_effect::no_execute}};
  given.schedulable = false;
  const auto row = view.put_node(given);
  view.settle();
  given.capacity.clear();
  EXPECT_EQ(view.node_at(row), given);
  EXPECT_EQ(view.node_name(row), "n3");
  EXPECT_EQ(amount(view.capacity(row), "gpu"), 8);
}

TEST_F(view_of_two_nodes, finds_a_node_usable_only_while_it_is_ready_and_schedulable) {
  auto n1 = a_node("n1");
  const auto row = view.find_node("n1");
  EXPECT_TRUE(view.usable(row));
  n1.ready = false;
  EXPECT_EQ(view.put_node(n1), row);
  EXPECT_FALSE(view.usable(row));
  n1.ready = true;
  n1.schedulable = false;
  view.put_node(n1);
  EXPECT_FALSE(view.usable(row));
  view.remove_node("n1");
  EXPECT_FALSE(view.usable(row));
}

TEST_F(view_of_two_nodes, keeps_the_pods_of_a_node_that_changes) {
  put(a_pod("u", 0, {{"cpu", 10}}));
  view.put_node(a_node("n1", {{"cpu", 50}}));
  view.settle();
  EXPECT_EQ(order(), names{"u"});
  EXPECT_EQ(free_cpu(), 40);
  EXPECT_EQ(amount(view.capacity(view.find_node("n1")), "gpu"), 0);
}

TEST_F(view_of_two_nodes, takes_a_node_away_with_its_pods_and_uses_its_row_again) {
  put(a_pod("u"));
  const auto row = view.find_node("n1");
  view.remove_node("n1");
  view.settle();
  EXPECT_FALSE(view.present(row));
  EXPECT_EQ(view.node_count(), 1U);
  EXPECT_EQ(view.find_pod("u"), no_row);
  EXPECT_EQ(view.find_portion({"u", "main", 0, 0}), no_row);
  EXPECT_EQ(view.put_node(a_node("n9")), row);
  view.settle();
  EXPECT_TRUE(view.pods_on(row).empty());
  EXPECT_EQ(free_cpu("n9"), 100);
}

TEST_F(view_of_two_nodes, ignores_the_removal_of_what_is_not_there) {
  view.remove_node("n7");
  view.remove_pod("nobody");
  view.remove_budget("none");
  view.settle();
  EXPECT_EQ(view.node_count(), 2U);
}

// -- resources -----------------------------------------------------------------------------------

TEST_F(view_of_two_nodes, has_its_columns_in_order_of_name) {
  EXPECT_EQ(view.width(), 3U);
  EXPECT_EQ(view.resource_name(0), "cpu");
  EXPECT_EQ(view.column_of("gpu"), 1U);
  EXPECT_EQ(view.column_of("pods"), 2U);
  EXPECT_EQ(view.column_of("tpu"), std::nullopt);
}

TEST_F(view_of_two_nodes, widens_when_a_resource_appears_later) {
  const auto row = put(a_pod("u", 0, {{"cpu", 10}, {"gpu", 2}}));
  view.put_node(a_node("n3", {{"fpga", 4}, {"cpu", 7}}));
  view.settle();
  EXPECT_EQ(view.width(), 4U);
  EXPECT_EQ(view.column_of("fpga"), 1U);
  const auto n1 = view.find_node("n1");
  EXPECT_EQ(amount(view.requests(row), "gpu"), 2);
  EXPECT_EQ(amount(view.requests(row), "fpga"), 0);
  EXPECT_EQ(amount(view.capacity(n1), "gpu"), 8);
  EXPECT_EQ(amount(view.free(n1), "gpu"), 6);
  EXPECT_EQ(amount(view.held_from(n1, 0), "cpu"), 10);
  EXPECT_EQ(amount(view.free(view.find_node("n3")), "fpga"), 4);
}

TEST_F(view_of_two_nodes, turns_amounts_into_columns_unless_no_node_has_the_resource) {
  EXPECT_EQ(view.columns({{"gpu", 3}}), (std::vector<std::int64_t>{0, 3, 1}));
  EXPECT_EQ(view.columns({{"tpu", 1}}), std::nullopt);
  EXPECT_EQ(view.columns({{"tpu", 0}}), (std::vector<std::int64_t>{0, 0, 1}))
    << "nothing of a resource is the same as not naming it";
  view.put_node(a_node("n3", {{"tpu", 4}}));
  EXPECT_TRUE(view.columns({{"tpu", 1}}).has_value());
  view.remove_node("n3");
  EXPECT_EQ(view.columns({{"tpu", 1}}), std::nullopt);
}

TEST_F(view_of_two_nodes, lets_every_pod_take_one_of_pods_besides_what_it_asks_for) {
  const auto plain = put(a_pod("plain"));
  const auto asking = put(a_pod("asking", 0, {{"pods", 3}}));
  EXPECT_EQ(amount(view.requests(plain), "pods"), 1);
  EXPECT_EQ(amount(view.requests(asking), "pods"), 4);
  EXPECT_EQ(amount(*view.columns({}), "pods"), 1);
  EXPECT_EQ(amount(*view.columns({{"pods", 3}}), "pods"), 4);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(amount(*view.columns({{"pods", most}}), "pods"), most);
}

TEST_F(view_of_two_nodes, counts_pods_on_a_node_that_names_them) {
  view.put_node(a_node("n1", {{"cpu", 100}, {"pods", 3}}));
  put(a_pod("stays"));
  auto told = a_pod("told");
  told.evicted_by = "d1";
  put(told);
  const auto n1 = view.find_node("n1");
  EXPECT_EQ(amount(view.capacity(n1), "pods"), 3);
  EXPECT_EQ(amount(view.free(n1), "pods"), 1);
  EXPECT_EQ(amount(view.promised(n1), "pods"), 2);
  EXPECT_EQ(amount(view.held_from(n1, 0), "pods"), 1);
}

TEST_F(view_of_two_nodes, does_not_limit_pods_on_a_node_that_does_not_name_them) {
  put(a_pod("u"));
  const auto n1 = view.find_node("n1");
  EXPECT_EQ(amount(view.capacity(n1), "pods"), unlimited_pods);
  EXPECT_EQ(amount(view.free(n1), "pods"), unlimited_pods - 1);
  view.put_node(a_node("n1", {{"cpu", 100}, {"pods", 0}}));
  view.settle();
  EXPECT_EQ(amount(view.capacity(n1), "pods"), 0) << "none is a number, too";
  view.put_node(a_node("n1"));
  view.settle();
  EXPECT_EQ(amount(view.promised(n1), "pods"), unlimited_pods - 1);
}

// -- room ----------------------------------------------------------------------------------------

TEST_F(view_of_two_nodes, lets_a_nominated_pod_hold_room_without_being_on_the_node) {
  auto held = a_pod("u", 0, {{"cpu", 10}});
  held.phase = pod_phase::nominated;
  put(held);
  EXPECT_EQ(free_cpu(), 90);
  EXPECT_EQ(promised_cpu(), 90);
  EXPECT_TRUE(order().empty());
  EXPECT_TRUE(view.steps(view.find_node("n1")).empty());
}

TEST_F(view_of_two_nodes, promises_the_room_of_pods_that_leave_and_counts_them_no_more) {
  auto told = a_pod("told", 0, {{"cpu", 10}});
  told.evicted_by = "d1";
  auto terminating = a_pod("terminating", 0, {{"cpu", 20}});
  terminating.phase = pod_phase::terminating;
  auto forced = a_pod("forced", 0, {{"cpu", 30}});
  forced.phase = pod_phase::force_deleting;
  for (const auto& p : {told, terminating, forced})
    put(p);
  EXPECT_EQ(free_cpu(), 40);
  EXPECT_EQ(promised_cpu(), 100);
  EXPECT_TRUE(order().empty());
  EXPECT_EQ(uids(view.leaving_on(view.find_node("n1"))), (names{"forced", "terminating", "told"}));
  const auto portion = view.portion_of(view.find_pod("told"));
  EXPECT_EQ(view.card(portion).pods, 0U);
  EXPECT_EQ(view.pods_of(portion).size(), 0U);
}

TEST_F(view_of_two_nodes, may_have_less_than_nothing_free_while_victims_leave) {
  auto victim = a_pod("victim", 0, {{"cpu", 90}});
  victim.evicted_by = "d1";
  auto hold = a_pod("hold", 9, {{"cpu", 95}});
  hold.phase = pod_phase::nominated;
  put(victim);
  put(hold);
  EXPECT_EQ(free_cpu(), -85);
  EXPECT_EQ(promised_cpu(), 5);
}

TEST_F(view_of_two_nodes, stops_a_sum_at_the_highest_amount) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  put(a_pod("a", 0, {{"cpu", most}}));
  put(a_pod("b", 0, {{"cpu", most}}));
  EXPECT_EQ(amount(view.held_from(view.find_node("n1"), 0), "cpu"), most);
  EXPECT_EQ(free_cpu(), 100 - most);
}

TEST_F(view_of_two_nodes, sums_up_what_each_priority_and_those_below_hold) {
  put(a_pod("a", 5, {{"cpu", 1}}));
  put(a_pod("b", 9, {{"cpu", 2}}));
  put(a_pod("c", 5, {{"cpu", 4}}));
  put(a_pod("d", -1, {{"cpu", 8}}));
  const auto n1 = view.find_node("n1");
  const auto steps = view.steps(n1);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].priority, 9);
  EXPECT_EQ(steps[1].priority, 5);
  EXPECT_EQ(steps[1].first, 1U);
  EXPECT_EQ(steps[2].priority, -1);
  EXPECT_EQ(steps[2].first, 3U);
  EXPECT_EQ(amount(view.held_from(n1, 0), "cpu"), 15);
  EXPECT_EQ(amount(view.held_from(n1, 1), "cpu"), 13);
  EXPECT_EQ(amount(view.held_from(n1, 2), "cpu"), 8);
}

// -- pods ----------------------------------------------------------------------------------------

TEST_F(view_of_two_nodes, tells_all_that_was_said_of_a_pod) {
  auto given = a_pod("u", 7, {{"cpu", 2}});
  given.daemon = true;
  given.opted_out = true;
  given.owner = "parent";
  given.index = 4;
  given.created = at(1);
  given.started = at(2);
  given.checkpointed = at(3);
  given.phase = pod_phase::surplus;
  const auto row = put(given);
  EXPECT_EQ(view.find_pod("u"), row);
  EXPECT_EQ(view.node_name(view.node_of(row)), "n1");
  EXPECT_EQ(view.id_of(view.portion_of(row)), portion_of(given));
  EXPECT_EQ(view.phase(row), pod_phase::surplus);
  EXPECT_TRUE(view.is_daemon(row));
  EXPECT_TRUE(view.opted_out(row));
  EXPECT_EQ(view.owner(row), "parent");
  EXPECT_EQ(view.index_of(row), 4);
  EXPECT_EQ(view.created(row), at(1));
  EXPECT_EQ(view.started(row), at(2));
  EXPECT_EQ(view.checkpointed(row), at(3));
  EXPECT_FALSE(view.leaving(row));
}

TEST_F(view_of_two_nodes, changes_a_pod_in_place_when_its_uid_is_put_again) {
  auto changing = a_pod("u", 1, {{"cpu", 10}});
  const auto row = put(changing);
  changing.node = "n2";
  changing.priority = 6;
  changing.requests = {{"cpu", 30}};
  EXPECT_EQ(put(changing), row);
  EXPECT_EQ(view.pod_count(), 1U);
  EXPECT_TRUE(order("n1").empty());
  EXPECT_EQ(order("n2"), names{"u"});
  EXPECT_EQ(free_cpu("n1"), 100);
  EXPECT_EQ(free_cpu("n2"), 70);
  EXPECT_EQ(view.card(view.portion_of(row)).priority, 6);
}

TEST_F(view_of_two_nodes, lists_a_pod_once_that_moved_away_and_back_before_it_settled) {
  auto moving = a_pod("u", 0, {{"cpu", 10}});
  view.put_pod(moving);
  moving.node = "n2";
  view.put_pod(moving);
  moving.node = "n1";
  put(moving);
  EXPECT_EQ(order("n1"), names{"u"});
  EXPECT_EQ(free_cpu("n1"), 90);
}

TEST_F(view_of_two_nodes, takes_a_pod_away_that_is_pending_or_gone) {
  for (const auto phase : {pod_phase::pending, pod_phase::gone}) {
    auto changing = a_pod("u", 0, {{"cpu", 10}});
    put(changing);
    changing.phase = phase;
    EXPECT_EQ(put(changing), no_row);
    EXPECT_EQ(view.find_pod("u"), no_row);
    EXPECT_EQ(view.pod_count(), 0U);
    EXPECT_EQ(free_cpu(), 100);
  }
}

TEST_F(view_of_two_nodes, takes_a_pod_away_whose_node_is_not_there) {
  auto lost = a_pod("u");
  put(lost);
  lost.node = "n7";
  EXPECT_EQ(put(lost), no_row);
  EXPECT_EQ(view.pod_count(), 0U);
}

TEST_F(view_of_two_nodes, starts_afresh_when_a_uid_is_used_again) {
  auto first = a_pod("u", 5);
  first.owner = "parent";
  put(first);
  view.remove_pod("u");
  auto second = a_pod("u", 2);
  second.workload = "other";
  second.node = "n2";
  const auto row = put(second);
  EXPECT_EQ(view.pod_count(), 1U);
  EXPECT_EQ(view.id_of(view.portion_of(row)).workload, "other");
  EXPECT_EQ(view.owner(row), "");
  EXPECT_TRUE(order("n1").empty());
  EXPECT_EQ(order("n2"), names{"u"});
  EXPECT_EQ(view.find_portion({"u", "main", 0, 0}), no_row);
}

TEST_F(view_of_two_nodes, uses_the_row_of_a_removed_pod_again_once_settled) {
  const auto row = put(a_pod("a"));
  view.remove_pod("a");
  EXPECT_NE(view.put_pod(a_pod("b")), row);
  view.settle();
  EXPECT_EQ(put(a_pod("c")), row);
  EXPECT_EQ(order(), (names{"b", "c"}));
}

TEST_F(view_of_two_nodes, takes_no_more_memory_while_pods_come_and_go) {
  const auto churn = [&](int round) {
    for (int i = 0; i < 100; ++i)
      view.put_pod(a_pod("pod-number-" + std::to_string(1000 * round + i)));
    view.settle();
    for (int i = 0; i < 100; ++i)
      view.remove_pod("pod-number-" + std::to_string(1000 * round + i));
    view.settle();
  };
  churn(1);
  churn(2);
  const auto before = view.memory();
  for (int round = 3; round < 9; ++round)
    churn(round);
  EXPECT_EQ(view.memory(), before);
}

TEST_F(view_of_two_nodes, stays_the_same_when_it_is_moved) {
  put(a_pod("u", 3));
  const auto moved = std::move(view);
  const auto row = moved.find_pod("u");
  ASSERT_NE(row, no_row);
  EXPECT_EQ(moved.node_name(moved.node_of(row)), "n1");
  EXPECT_EQ(moved.pods_on(moved.find_node("n1")).size(), 1U);
}

} // namespace
} // namespace reprieve
