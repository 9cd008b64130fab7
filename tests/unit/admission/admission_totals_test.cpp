#include "tests/unit/admission/admission_cluster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

// What nodes have together has to add up in 64 bits (docs/manifests.md, "Limits of objects").

namespace reprieve::admission_tests {

namespace {

constexpr std::int64_t pib = std::int64_t{1} << 50;

std::vector<object> nodes_with(int count, std::int64_t memory) {
  std::vector<object> batch;
  for (int i = 0; i < count; ++i) {
    auto n = a_node(fmt::format("m{}", i));
    n.capacity["memory"] = memory;
    batch.emplace_back(std::move(n));
  }
  return batch;
}

TEST(admission_of_many_nodes, takes_what_adds_up) {
  const auto c = a_cluster();
  EXPECT_TRUE(check(nodes_with(1024, 2 * pib), c.known, c.facts).empty());
}

TEST(admission_of_many_nodes, refuses_a_batch_that_is_too_much_together) {
  const auto c = a_cluster();
  const auto refusals = check(nodes_with(1024, 8 * pib), c.known, c.facts);
  ASSERT_EQ(refusals.size(), 1024U);
  EXPECT_EQ(refusals[0].field, "spec.capacity.memory");
  EXPECT_EQ(refusals[0].message,
            "spec.capacity.memory is 8Pi, and with it the nodes of the cluster have more than "
            "9223372036854775807 in all; together they may have at most 2Ei");
}

TEST(admission_of_many_nodes, counts_those_that_are_there) {
  auto c = a_cluster();
  for (int i = 0; i < 255; ++i)
    c.facts.capacities[fmt::format("there-{}", i)] = {{"memory", 8 * pib}};
  EXPECT_TRUE(check(nodes_with(1, 8 * pib), c.known, c.facts).empty());
  const auto refusals = check(nodes_with(2, 8 * pib), c.known, c.facts);
  ASSERT_EQ(refusals.size(), 2U);
  EXPECT_NE(refusals[0].message.find("have 2056Pi in all"), std::string::npos)
    << refusals[0].message;
}

TEST(admission_of_many_nodes, does_not_count_a_node_twice_that_changes) {
  auto c = a_cluster();
  for (int i = 0; i < 256; ++i)
    c.facts.capacities[fmt::format("m{}", i)] = {{"memory", 8 * pib}};
  EXPECT_TRUE(check(nodes_with(256, 8 * pib), c.known, c.facts).empty());
}

TEST(admission_of_many_nodes, lets_a_node_have_less_where_there_is_too_much_already) {
  auto c = a_cluster();
  for (int i = 0; i < 1024; ++i)
    c.facts.capacities[fmt::format("m{}", i)] = {{"memory", 8 * pib}};
  EXPECT_TRUE(check(nodes_with(1, pib), c.known, c.facts).empty());
}

} // namespace

} // namespace reprieve::admission_tests
