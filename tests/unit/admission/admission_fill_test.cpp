#include "tests/unit/admission/admission_cluster.hpp"

#include <gtest/gtest.h>

namespace reprieve::admission_tests {

namespace {

workload in_queue(std::string name, std::string queue) {
  auto w = a_workload(std::move(name));
  w.queue = std::move(queue);
  return w;
}

/// A cluster whose queue research has one of at most three workloads.
cluster filled() {
  auto c = a_cluster();
  c.facts.fills["research"] = {1, 3};
  return c;
}

std::vector<refusal> check_in(const cluster& c, const std::vector<object>& batch) {
  return check(batch, c.known, c.facts);
}

TEST(admission_of_a_full_queue, takes_as_many_workloads_as_there_is_room_for) {
  const auto c = filled();
  EXPECT_TRUE(check_in(c, {in_queue("a", "research"), in_queue("b", "research")}).empty());
}

TEST(admission_of_a_full_queue, refuses_a_batch_that_is_too_many_as_a_whole) {
  const auto c = filled();
  const auto refusals = check_in(c, {in_queue("a", "research"), in_queue("b", "research"),
                                     in_queue("c", "research"), in_queue("d", "default")});
  ASSERT_EQ(refusals.size(), 3U);
  EXPECT_EQ(refusals[0].field, "spec.queue");
  EXPECT_NE(refusals[0].message.find("has 1 workloads and may have 3, so 3 more is too many"),
            std::string::npos)
    << refusals[0].message;
}

TEST(admission_of_a_full_queue, lets_workloads_that_are_there_be_changed) {
  auto c = filled();
  c.facts.fills["default"] = {5, 2};
  auto train = c.facts.workloads["train"];
  train.groups[0].count = 5;
  EXPECT_TRUE(check_in(c, {train}).empty());
}

} // namespace

} // namespace reprieve::admission_tests
