#include "state/view/cluster_view.hpp"
#include "state/view/node_blocks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

namespace reprieve {

namespace {

std::vector<std::string> names_in_blocks(const cluster_view& view) {
  std::vector<std::string> names;
  for (std::size_t b = 0; b < view.blocks().count(); ++b) {
    const auto& nodes = view.blocks().at(b).nodes;
    EXPECT_FALSE(nodes.empty());
    EXPECT_LE(nodes.size(), node_blocks::most_nodes);
    for (const auto n : nodes)
      names.emplace_back(view.node_name(n));
  }
  return names;
}

node node_named(std::string name, std::int64_t gpus) {
  node n;
  n.name = std::move(name);
  n.capacity = {{"gpu", gpus}};
  return n;
}

pod pod_on(const std::string& on, int number, std::int32_t priority, std::int64_t gpus) {
  pod p;
  p.uid = fmt::format("p{}", number);
  p.workload = p.uid;
  p.group = "g";
  p.node = on;
  p.phase = pod_phase::running;
  p.priority = priority;
  p.requests = {{"gpu", gpus}};
  return p;
}

void check_bounds(const cluster_view& view, const node_block& block, node_row n) {
  const auto at_least = [&](std::size_t row, std::span<const std::int64_t> amounts) {
    RC_ASSERT(
      std::ranges::equal(block.amounts_at(row, view.width()), amounts, std::greater_equal{}));
  };
  at_least(node_block::most_free, view.free(n));
  at_least(node_block::most_promised, view.promised(n));
  for (std::size_t mine = 0; mine < view.steps(n).size(); ++mine) {
    const auto priority = view.steps(n)[mine].priority;
    const auto step = std::ranges::find_if(block.steps, [&](const block_step& one) {
      return one.lowest <= priority && priority <= one.highest;
    });
    RC_ASSERT(step != block.steps.end());
    const auto s = static_cast<std::size_t>(step - block.steps.begin());
    std::vector<std::int64_t> room(view.promised(n).begin(), view.promised(n).end());
    for (std::size_t c = 0; c < room.size(); ++c)
      room[c] += view.held_from(n, mine)[c];
    at_least(node_block::most_room(s), room);
    for (const auto p : view.pods_on(n).subspan(view.steps(n)[mine].first))
      at_least(node_block::largest_portion(s), view.requests(p));
  }
}

} // namespace

TEST(node_blocks, hold_all_nodes_in_order_of_name_however_they_came_and_went) {
  EXPECT_TRUE(rc::check([] {
    cluster_view view;
    std::set<std::string> wanted;
    const auto changes = *rc::gen::inRange(1, 600);
    for (int i = 0; i < changes; ++i) {
      const auto name = fmt::format("n{}", *rc::gen::inRange(0, 400));
      if (*rc::gen::inRange(0, 4) == 0) {
        view.remove_node(name);
        wanted.erase(name);
      } else {
        view.put_node(node_named(name, 8));
        wanted.insert(name);
      }
      if (*rc::gen::inRange(0, 10) == 0)
        view.settle();
    }
    view.settle();
    RC_ASSERT(names_in_blocks(view) == std::vector<std::string>(wanted.begin(), wanted.end()));
  }));
}

TEST(node_blocks, are_left_full_behind_nodes_that_come_in_order) {
  cluster_view view;
  for (int i = 0; i < 640; ++i)
    view.put_node(node_named(fmt::format("n{:04}", i), 8));
  view.settle();

  EXPECT_EQ(view.blocks().count(), 10U);
}

TEST(node_blocks, know_the_most_room_that_one_of_their_nodes_has_at_each_priority) {
  cluster_view view;
  view.put_node(node_named("a", 8));
  view.put_node(node_named("b", 10));
  view.put_pod(pod_on("a", 1, 1, 6));
  view.put_pod(pod_on("b", 2, 5, 4));
  view.put_pod(pod_on("b", 3, 1, 5));
  view.settle();
  const auto gpu = *view.column_of("gpu");
  const auto& block = view.blocks().at(0);
  const auto most = [&](std::size_t row) { return block.amounts_at(row, view.width())[gpu]; };

  ASSERT_EQ(block.steps.size(), 2U);
  EXPECT_EQ(most(node_block::most_free), 2);
  EXPECT_EQ(most(node_block::most_room(1)), 8) << "a, without what is of priority 1";
  EXPECT_EQ(most(node_block::most_room(0)), 10);
  EXPECT_EQ(most(node_block::largest_portion(0)), 6);

  view.remove_pod("p1");
  view.settle();
  EXPECT_EQ(block.amounts_at(node_block::most_free, view.width())[gpu], 8);
}

TEST(node_blocks, never_promise_less_than_a_node_has_however_often_nodes_change) {
  EXPECT_TRUE(rc::check([] {
    cluster_view view;
    const auto nodes = *rc::gen::inRange(1, 90);
    // Not in order of name, so that blocks are split in the middle too.
    for (int i = 0; i < nodes; ++i)
      view.put_node(node_named(fmt::format("n{}", i * 37 % nodes), 8));
    const auto changes = *rc::gen::inRange(0, 120);
    for (int i = 0; i < changes; ++i) {
      const auto number = *rc::gen::inRange(0, 40);
      if (*rc::gen::inRange(0, 3) == 0)
        view.remove_pod(fmt::format("p{}", number));
      else
        view.put_pod(pod_on(fmt::format("n{}", *rc::gen::inRange(0, nodes)), number,
                            *rc::gen::inRange(0, 40), *rc::gen::inRange(1, 5)));
      view.settle();
      for (std::size_t b = 0; b < view.blocks().count(); ++b)
        for (const auto n : view.blocks().at(b).nodes)
          check_bounds(view, view.blocks().at(b), n);
    }
  }));
}

TEST(node_blocks, are_close_again_after_some_changes) {
  cluster_view view;
  view.put_node(node_named("a", 8));
  view.settle();
  const auto most_free = [&] {
    return view.blocks().at(0).amounts_at(node_block::most_free,
                                          view.width())[*view.column_of("gpu")];
  };
  view.put_pod(pod_on("a", 1, 1, 6));
  for (std::size_t i = 0; i <= node_blocks::most_rises; ++i) {
    view.put_pod(pod_on("a", 2, 1, 1 + i % 2));
    view.settle();
  }

  EXPECT_LE(most_free(), 1);
}

TEST(node_blocks, do_not_count_nodes_that_take_no_pods) {
  cluster_view view;
  auto closed = node_named("a", 8);
  closed.schedulable = false;
  view.put_node(closed);
  view.put_node(node_named("b", 4));
  view.settle();

  EXPECT_EQ(
    view.blocks().at(0).amounts_at(node_block::most_free, view.width())[*view.column_of("gpu")], 4);
}

TEST(node_blocks, share_steps_where_there_are_more_priorities) {
  cluster_view view;
  view.put_node(node_named("a", 1000));
  for (int i = 0; i < 100; ++i)
    view.put_pod(pod_on("a", i, i, 1));
  view.settle();
  const auto& steps = view.blocks().at(0).steps;

  ASSERT_EQ(steps.size(), node_blocks::most_steps);
  EXPECT_EQ(steps.front().highest, 99);
  EXPECT_EQ(steps.back().lowest, 0);
  for (std::size_t s = 1; s < steps.size(); ++s)
    EXPECT_EQ(steps[s].highest + 1, steps[s - 1].lowest);
}

} // namespace reprieve
