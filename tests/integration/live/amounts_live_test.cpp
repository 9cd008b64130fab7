// The largest amounts that there may be, through the real programs: nothing leaves 64 bits.

#include "tests/integration/live/live_cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

class amounts_live : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.serves()) << cluster_.daemon().output();
  }

  /// What the command line says where it is refused; empty where it is not.
  std::string refusal_of(const std::string& manifests) const {
    const auto file = (data_.path() / "refused.yaml").string();
    std::ofstream(file) << manifests;
    const auto result = cluster_.daemon().cli({"apply", "-f", file});
    return result.code == 0 ? std::string{} : result.output;
  }

  live_cluster cluster_;
  temporary_directory data_;
};

TEST_F(amounts_live, nodes_that_have_too_much_together_are_refused_as_a_whole) {
  EXPECT_THAT(refusal_of(nodes(1024, "memory: 8Pi")),
              HasSubstr("together they may have at most 2Ei (and 1023 more)"));
  EXPECT_THAT(cluster_.get("nodes"), IsEmpty());
  cluster_.apply(nodes(255, "memory: 8Pi"));
  EXPECT_THAT(refusal_of(nodes(257, "memory: 8Pi")), HasSubstr("have 2056Pi in all"));
  EXPECT_THAT(refusal_of(nodes(256, "memory: 8Pi")), IsEmpty());
}

TEST_F(amounts_live, nobody_is_evicted_where_nodes_have_as_much_as_they_may) {
  cluster_.apply(queue_of("a", "weight: 2") + queue_of("b", "weight: 1")
                 + nodes(1024, "memory: 2Pi"));
  cluster_.run(work_of("one", {.queue = "a", .pods = 40, .requests = "memory: 2Pi"}), "one", 40);
  cluster_.run(work_of("two", {.queue = "b", .pods = 40, .requests = "memory: 2Pi"}), "two", 40);
  // Together they ask for more than 64 bits hold.
  for (int i = 0; i < 12; ++i)
    cluster_.apply(work_of(fmt::format("large-{}", i), {.queue = i % 2 == 0 ? "a" : "b",
                                                        .priority = -1,
                                                        .pods = 256,
                                                        .gang = true,
                                                        .requests = "memory: 8Pi"}));
  EXPECT_TRUE(cluster_.rests(seconds{3}));
  EXPECT_EQ(cluster_.evicted(), pod_counts{});
  EXPECT_EQ(cluster_.running(), (pod_counts{{"one", 40}, {"two", 40}}));
}

TEST_F(amounts_live, queues_share_the_largest_amounts_by_their_weights) {
  cluster_.apply(queue_of("a", "weight: 2, capByDemand: true")
                 + queue_of("b", "weight: 1, capByDemand: true") + nodes(9, "memory: 8Pi"));
  cluster_.run(work_of("all", {.queue = "a", .pods = 9, .requests = "memory: 8Pi"}), "all", 9);
  cluster_.apply(work_of("next", {.queue = "b", .pods = 9, .requests = "memory: 8Pi"}));
  for (int i = 0; i < 6; ++i)
    cluster_.apply(work_of(
      fmt::format("large-{}", i),
      {.queue = i % 2 == 0 ? "a" : "b", .priority = -1, .pods = 256, .requests = "memory: 8Pi"}));
  EXPECT_TRUE(within(seconds{20}, [&] { return cluster_.running()["next"] == 3; }));
  EXPECT_TRUE(cluster_.rests(seconds{3}));
  EXPECT_EQ(cluster_.running(), (pod_counts{{"all", 6}, {"next", 3}}));
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"all", 3}}));
  EXPECT_EQ(cluster_.queue_amount("a", "deserved", "memory"), "48Pi");
}

TEST_F(amounts_live, a_workload_that_asks_for_more_than_a_cluster_can_have_is_refused) {
  EXPECT_THAT(refusal_of(work_of("w", {.pods = 1'000'000, .requests = "memory: 1Pi"})),
              HasSubstr("asks for more than 2Ei in all"));
}

} // namespace

} // namespace reprieve
