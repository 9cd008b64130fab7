#include "tests/unit/admission/admission_cluster.hpp"

#include <gtest/gtest.h>

namespace reprieve::admission_tests {

namespace {

using number = std::optional<std::int32_t>;

constexpr bool preempts = true;

struct resolution {
  std::string name;
  std::string group;
  std::string priority_class;
  number priority;
  std::string preemption_class;
  number preemption_priority;
  resolved_priority expected;
};

class priority_of_a_workload : public testing::TestWithParam<resolution> {};

/// The usual cluster, in which class meek (20, Never) is the global default.
catalog with_global_default() {
  auto known = a_cluster().known;
  known.classes.at("meek").global_default = true;
  return known;
}

workload asking_for(const resolution& r) {
  auto w = a_workload("new");
  w.resource_group = r.group;
  w.priority_class = r.priority_class;
  w.priority = r.priority;
  w.preemption_priority_class = r.preemption_class;
  w.preemption_priority = r.preemption_priority;
  return w;
}

} // namespace

TEST_P(priority_of_a_workload, is_resolved) {
  const auto w = asking_for(GetParam());
  const auto resolved = resolve_priorities(w, with_global_default());
  EXPECT_EQ(resolved.whole.priority, GetParam().expected.priority);
  EXPECT_EQ(resolved.whole.preemption_priority, GetParam().expected.preemption_priority);
  EXPECT_EQ(resolved.whole.may_preempt, GetParam().expected.may_preempt);
  EXPECT_EQ(resolved.by_group, std::vector{GetParam().expected});
}

INSTANTIATE_TEST_SUITE_P(
  from, priority_of_a_workload,
  testing::Values(
    resolution{"class", "default", "high", {}, "", {}, {1000, 1000, preempts}},
    resolution{"class_that_never_preempts", "default", "meek", {}, "", {}, {20, 20, !preempts}},
    resolution{"number", "default", "", 7, "", {}, {7, 7, preempts}},
    resolution{"negative_number", "default", "", -7, "", {}, {-7, -7, preempts}},
    resolution{"class_and_its_number", "default", "high", 1000, "", {}, {1000, 1000, preempts}},
    resolution{"global_default", "default", "", {}, "", {}, {20, 20, !preempts}},
    resolution{"system_class",
               "default",
               "system-node-critical",
               {},
               "",
               {},
               {system_node_critical_value, system_node_critical_value, preempts}},
    resolution{"preemption_class", "default", "low", {}, "high", {}, {10, 1000, preempts}},
    resolution{"preemption_number", "default", "low", {}, "", 12, {10, 12, preempts}},
    resolution{
      "preemption_class_that_never_preempts", "default", "low", {}, "meek", {}, {10, 20, preempts}},
    resolution{
      "global_default_and_preemption_number", "default", "", {}, "", 30, {20, 30, !preempts}},
    resolution{"global_default_in_sessions", "sessions", "", {}, "", {}, {20, 20, !preempts}},
    resolution{"number_in_sessions", "sessions", "", 0, "", {}, {0, 0, preempts}},
    resolution{"class_in_sessions", "sessions", "meek", {}, "", {}, {20, 20, !preempts}}),
  [](const auto& each) { return each.param.name; });

TEST(priority, is_zero_where_nothing_says_otherwise) {
  const auto resolved = resolve_priorities(a_workload("new"), a_cluster().known);
  EXPECT_EQ(resolved.whole, (resolved_priority{0, 0, preempts}));
}

TEST(priority, is_ten_in_sessions_where_nothing_says_otherwise) {
  auto w = a_workload("new");
  w.resource_group = "sessions";
  EXPECT_EQ(resolve_priorities(w, a_cluster().known).whole, (resolved_priority{10, 10, preempts}));
}

TEST(priority, of_a_pod_group_counts_instead_of_the_workloads) {
  auto w = a_workload("new");
  w.priority_class = "meek";
  w.groups.resize(3, w.groups[0]);
  w.groups[1].priority = 5;
  w.groups[2].priority_class = "high";
  const auto resolved = resolve_priorities(w, a_cluster().known);
  EXPECT_EQ(resolved.whole, (resolved_priority{20, 20, !preempts}));
  EXPECT_EQ(resolved.by_group, (std::vector<resolved_priority>{
                                 {20, 20, !preempts}, {5, 5, !preempts}, {1000, 1000, preempts}}));
}

TEST(priority, of_a_pod_group_keeps_the_preemption_priority_that_the_workload_names) {
  auto w = a_workload("new");
  w.preemption_priority = 50;
  w.groups.resize(2, w.groups[0]);
  w.groups[1].priority = 40;
  const auto resolved = resolve_priorities(w, a_cluster().known);
  EXPECT_EQ(resolved.by_group,
            (std::vector<resolved_priority>{{0, 50, preempts}, {40, 50, preempts}}));
}

TEST(priority, stays_when_another_class_becomes_the_global_default) {
  workload_status status;
  status.resolved = {3, 3, preempts};
  const auto resolved = resolve_priorities(a_workload("old"), with_global_default(), &status);
  EXPECT_EQ(resolved.whole, (resolved_priority{3, 3, preempts}));
  EXPECT_EQ(resolved.by_group, std::vector{resolved.whole});
}

TEST(priority, lets_the_preemption_priority_of_a_running_workload_change) {
  auto w = a_workload("old");
  w.preemption_priority = 8;
  workload_status status;
  status.resolved = {3, 5, preempts};
  EXPECT_EQ(resolve_priorities(w, with_global_default(), &status).whole,
            (resolved_priority{3, 8, preempts}));
  w.preemption_priority.reset();
  EXPECT_EQ(resolve_priorities(w, with_global_default(), &status).whole,
            (resolved_priority{3, 3, preempts}));
}

TEST(priority, of_an_admitted_workload_uses_the_classes_of_its_batch) {
  const auto c = a_cluster();
  auto w = a_workload("new");
  w.priority_class = "urgent";
  const auto result = admit(std::vector<object>{w, a_class("urgent", 500)}, c.known, c.facts);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->size(), 2U);
  EXPECT_FALSE(result->front().priorities.has_value());
  ASSERT_TRUE(result->back().priorities.has_value());
  EXPECT_EQ(result->back().priorities->whole, (resolved_priority{500, 500, preempts}));
}

} // namespace reprieve::admission_tests
