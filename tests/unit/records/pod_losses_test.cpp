#include "state/records/pod_losses.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr time_point now{std::chrono::hours{1}};

workload_record of_pods(std::int32_t count) {
  workload w;
  w.name = "w";
  w.groups.emplace_back();
  w.groups[0].name = "g";
  w.groups[0].count = count;
  workload_record record;
  record.spec = std::move(w);
  return record;
}

lost_pod at(std::int32_t index, std::string node, bool forgotten = false) {
  return {{"g", 0, index}, 0, std::move(node), forgotten};
}

TEST(losses_of_a_workload, say_which_pods_with_which_node_and_when) {
  auto record = of_pods(4);
  note_losses(record, std::vector{at(0, "n1"), at(1, "n1"), at(2, "n2", true)}, now);
  EXPECT_THAT(losses_of(record.status),
              ElementsAre("at 1970-01-01T01:00:00Z 2 pods were lost with node n1: w-g-0-0, w-g-0-1",
                          "at 1970-01-01T01:00:00Z a pod was lost, as the machine of node n2 does "
                          "not know it any more: w-g-0-2"));
  ASSERT_THAT(record.status.conditions, SizeIs(1));
  EXPECT_EQ(record.status.conditions[0].type, "PodsLost");
  EXPECT_EQ(record.status.conditions[0].since, now);
}

TEST(losses_of_a_workload, are_found_by_the_name_of_a_pod) {
  auto record = of_pods(20);
  note_losses(record, std::vector{at(1, "n1"), at(12, "w-g-0-2")}, now);
  EXPECT_THAT(losses_of(record.status, "w-g-0-1"), ElementsAre(HasSubstr("node n1")));
  EXPECT_THAT(losses_of(record.status, "w-g-0-12"), SizeIs(1));
  EXPECT_THAT(losses_of(record.status, "w-g-0-2"), IsEmpty()) << "that is the name of a node";
}

TEST(losses_of_a_workload, are_noted_once) {
  auto record = of_pods(2);
  const std::vector lost{at(0, "n1")};
  note_losses(record, lost, now);
  lose_slots(record, std::vector{std::pair{lost[0].slot, lost[0].incarnation}}, now);
  const auto once = record;
  note_losses(record, lost, now + std::chrono::seconds{1});
  EXPECT_EQ(record, once);
}

TEST(losses_of_a_workload, are_remembered_up_to_a_number) {
  auto record = of_pods(100);
  for (int i = 0; i < 30; ++i)
    note_losses(record, std::vector{at(i, fmt::format("n{}", i))}, now);
  const auto told = losses_of(record.status);
  ASSERT_THAT(told, SizeIs(losses_remembered));
  EXPECT_THAT(told.front(), HasSubstr("node n10:"));
  EXPECT_THAT(told.back(), HasSubstr("node n29:"));

  std::vector<lost_pod> many;
  for (int i = 40; i < 90; ++i)
    many.push_back(at(i, "large"));
  note_losses(record, many, now);
  EXPECT_THAT(losses_of(record.status).back(), HasSubstr("w-g-0-59 and 30 more"));
}

} // namespace

} // namespace reprieve
