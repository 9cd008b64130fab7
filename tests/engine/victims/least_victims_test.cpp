#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace reprieve::tests {

namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::vector<std::string> times(std::size_t count, const std::string& node) {
  return std::vector<std::string>(count, node);
}

/// Three large pods and thirty small ones, which hold as much together.
void few_large_and_many_small(cluster& in, const std::string& node) {
  in.node(node, cpu(60));
  in.pods("large-" + node, times(3, node), prio(1), cpu(10));
  in.pods("small-" + node, times(30, node), prio(1), cpu(1));
}

} // namespace

TEST(least_victims, are_two_large_ones_rather_than_nine_of_all_sizes) {
  cluster built;
  built.node("n1", cpu(48));
  built.pods("large", times(4, "n1"), prio(1), cpu(8));
  built.pods("small", times(16, "n1"), prio(1), cpu(1));

  const auto made = decide(built.view(), lone("new", prio(10), cpu(16)), open_settings());

  EXPECT_THAT(victims_of(made), ElementsAre("large", "large"));
}

TEST(least_victims, are_three_where_thirty_others_would_do) {
  cluster built;
  few_large_and_many_small(built, "n1");

  const auto made = decide(built.view(), lone("new", prio(10), cpu(30)), open_settings());

  EXPECT_THAT(victims_of(made), ElementsAre("large-n1", "large-n1", "large-n1"));
}

TEST(least_victims, of_a_gang_are_the_least_on_each_of_its_nodes) {
  cluster built;
  few_large_and_many_small(built, "n1");
  few_large_and_many_small(built, "n2");

  const auto made =
    decide(built.view(), gang("new", prio(10), members(2, cpu(30))), open_settings());

  EXPECT_THAT(victims_of(made), SizeIs(6));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1), Pair("n2", 1)));
}

TEST(least_victims, tell_which_node_costs_least) {
  cluster built;
  few_large_and_many_small(built, "n1");
  built.node("n2", cpu(60));
  built.pods("even", times(15, "n2"), prio(1), cpu(4));

  const auto made = decide(built.view(), lone("new", prio(10), cpu(30)), open_settings());

  EXPECT_THAT(victims_of(made), ElementsAre("large-n1", "large-n1", "large-n1"));
}

TEST(least_victims, are_found_among_ten_thousand_pods_of_mixed_sizes) {
  constexpr int pods = 10'000;
  const auto size_of = [](int i) { return 1 + i * 7919 % 997; };
  std::int64_t in_all = 0;
  std::vector<int> sizes;
  for (int i = 0; i < pods; ++i) {
    sizes.push_back(size_of(i));
    in_all += size_of(i);
  }
  cluster built;
  built.node("n1", cpu(in_all));
  for (int i = 0; i < pods; ++i)
    built.running("w" + std::to_string(i), prio(1), cpu(size_of(i)));
  const auto wanted = in_all / 2;
  std::ranges::sort(sizes, std::greater{});
  std::size_t by_size = 0;
  for (auto left = wanted; left > 0; ++by_size)
    left -= sizes[by_size];

  const auto made = decide(built.view(), lone("new", prio(10), cpu(wanted)), open_settings());

  EXPECT_THAT(victims_of(made), SizeIs(by_size));
}

TEST(least_victims, of_a_gang_hold_nobody_who_is_not_needed) {
  const auto view = cluster()
                      .node("n1", gpu(4))
                      .running("w1", prio(0), gpu(4))
                      .node("n2", gpu(4))
                      .node("n3", gpu(4))
                      .group("w0", {"n2", "n3"}, prio(5), gpu(4))
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(2, gpu(4))), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("w0"));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n2", 1), Pair("n3", 1)));
}

TEST(least_victims, spare_a_group_of_one_pod_before_a_single_pod) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .group("gang", {"n1"}, prio(1), gpu(8), started{3000})
                      .node("n2", gpu(8))
                      .running("single", prio(1), gpu(8), started{0})
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_THAT(victims_of(made), ElementsAre("single")) << "although it loses more work";
}

} // namespace reprieve::tests
