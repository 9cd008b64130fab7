#include "preemption/policies/queues/group_shares.hpp"
#include "state/quantities/resource_sums.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

namespace {

cluster_view nodes_of(int count, const resources& each) {
  cluster_view view;
  for (int i = 0; i < count; ++i) {
    node n;
    n.name = fmt::format("n{}", i);
    n.capacity = each;
    view.put_node(n);
  }
  view.settle();
  return view;
}

constexpr std::int64_t pib = std::int64_t{1} << 50;

TEST(capacity_to_share, has_all_of_a_resource_however_much_that_is) {
  const auto total = capacity_to_share(nodes_of(1024, {{"memory", 2 * pib}, {"gpu", 8000}}));
  EXPECT_EQ(total, (resources{{"memory", most_in_all}, {"gpu", 8'192'000}}));
}

TEST(capacity_to_share, stops_before_it_leaves_64_bits) {
  EXPECT_EQ(amount_of(capacity_to_share(nodes_of(4096, {{"memory", 8 * pib}})), "memory"),
            largest_sum);
}

TEST(capacity_to_share, has_pods_only_where_every_node_says_how_many_it_takes) {
  EXPECT_EQ(amount_of(capacity_to_share(nodes_of(2, {{"pods", 110}})), "pods"), 220);
  EXPECT_FALSE(capacity_to_share(nodes_of(2, {{"gpu", 1000}})).contains("pods"));
}

} // namespace

} // namespace reprieve::tests
