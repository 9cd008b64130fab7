#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

namespace {

/// Two zones of two racks with one node each; every node is full with one pod.
cluster four_racks() {
  return cluster()
    .node("n1", gpu(8), label{"zone", "a"}, label{"rack", "1"})
    .running("p1", prio(1), gpu(8))
    .node("n2", gpu(8), label{"zone", "a"}, label{"rack", "2"})
    .running("p2", prio(7), gpu(8))
    .node("n3", gpu(8), label{"zone", "b"}, label{"rack", "1"})
    .running("p3", prio(3), gpu(8))
    .node("n4", gpu(8), label{"zone", "b"}, label{"rack", "2"})
    .running("p4", prio(4), gpu(8));
}

std::vector<std::string> names_of(const plan& made) {
  std::vector<std::string> names;
  for (const auto& one : made.why.domains)
    names.push_back(one.domain);
  return names;
}

} // namespace

TEST(domains, a_lone_pod_tries_every_node) {
  const auto made = decide(four_racks().view(), lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_THAT(names_of(made), ElementsAre("n1", "n2", "n3", "n4"));
  EXPECT_TRUE(outcome_of(made, "n1").chosen);
}

TEST(domains, a_gang_has_its_whole_resource_group) {
  const auto made =
    decide(four_racks().view(), gang("new", prio(10), members(2, gpu(8))), open_settings());

  EXPECT_THAT(names_of(made), ElementsAre("default"));
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("p1", "p3"));
}

TEST(domains, a_gang_sits_in_one_domain_of_its_topology_key) {
  const auto made =
    decide(four_racks().view(), gang("new", prio(10), members(2, gpu(8)), within{{"zone"}}),
           open_settings());

  EXPECT_THAT(names_of(made), ElementsAre("zone=a", "zone=b"));
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("p3", "p4"))
    << "zone a costs a victim of priority 7";
  EXPECT_THAT(outcome_of(made, "zone=a").reason, HasSubstr("priority 7, not 4"));
}

TEST(domains, nested_keys_make_a_domain_of_every_combination) {
  const auto made =
    decide(four_racks().view(), gang("new", prio(10), members(1, gpu(8)), within{{"zone", "rack"}}),
           open_settings());

  EXPECT_THAT(names_of(made),
              ElementsAre("zone=a,rack=1", "zone=a,rack=2", "zone=b,rack=1", "zone=b,rack=2"));
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("p1"));
}

TEST(domains, racks_of_the_same_name_in_different_zones_are_different_domains) {
  const auto made =
    decide(four_racks().view(), gang("new", prio(10), members(2, gpu(8)), within{{"zone", "rack"}}),
           open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
}

TEST(domains, a_node_without_the_topology_label_is_in_no_domain) {
  auto built = four_racks();
  built.node("free", gpu(8));

  const auto made = decide(
    built.view(), gang("new", prio(10), members(1, gpu(8)), within{{"zone"}}), open_settings());

  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1)));
}

TEST(domains, without_victims_a_gang_sits_in_one_domain_too) {
  const auto view = cluster()
                      .node("n1", gpu(2), label{"zone", "a"})
                      .node("n2", gpu(2), label{"zone", "b"})
                      .node("n3", gpu(2), label{"zone", "b"})
                      .view();

  const auto made =
    decide(view, gang("new", prio(10), members(2, gpu(2)), within{{"zone"}}), open_settings());

  EXPECT_EQ(made.result, outcome::placed);
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n2", 1), Pair("n3", 1)));
}

TEST(domains, a_required_node_is_the_only_domain) {
  const auto made =
    decide(four_racks().view(), lone("new", prio(10), gpu(8), required{"n2"}), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("p2"));
  EXPECT_THAT(names_of(made), ElementsAre("n2"));
}

TEST(domains, an_infeasible_node_says_what_falls_short_and_by_how_much) {
  const auto view = cluster()
                      .node("n1", gpu(8), cpu(16))
                      .running("high", prio(50), gpu(6), cpu(1))
                      .running("low", prio(1), gpu(2), cpu(1))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4), cpu(2)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  const auto& told = outcome_of(made, "n1");
  EXPECT_EQ(told.short_resource, "gpu");
  EXPECT_EQ(told.short_by, 2000);
  EXPECT_THAT(made.why.summary, HasSubstr("short of 2 gpu"));
}

TEST(domains, an_infeasible_gang_says_what_its_pods_without_a_place_lack_together) {
  const auto view =
    cluster().node("n1", gpu(8)).node("n2", gpu(8)).running("high", prio(50), gpu(6)).view();

  const auto made = decide(view, gang("new", prio(10), members(3, gpu(8))), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  const auto& told = outcome_of(made, "default");
  EXPECT_EQ(told.short_resource, "gpu");
  EXPECT_EQ(told.short_by, 2 * 6000) << "two pods lack six of their eight on n2";
}

TEST(domains, of_several_resources_the_one_that_lacks_the_largest_part_is_told) {
  const auto view =
    cluster().node("n1", gpu(8), cpu(100)).running("high", prio(50), gpu(5), cpu(91)).view();

  const auto made = decide(view, lone("new", prio(10), gpu(4), cpu(100)), open_settings());

  EXPECT_EQ(outcome_of(made, "n1").short_resource, "cpu");
  EXPECT_EQ(outcome_of(made, "n1").short_by, 91'000);
}

TEST(domains, pods_of_a_victim_outside_the_domain_count_in_its_score) {
  // One portion goes in either zone, and only what it has elsewhere tells them apart.
  auto built = cluster()
                 .node("n1", gpu(8), label{"zone", "a"})
                 .node("n2", gpu(8), label{"zone", "b"})
                 .node("n3", gpu(8), label{"zone", "c"})
                 .running("important", prio(50), gpu(4));
  built.group("wide", {"n1", "n3"}, prio(1), gpu(4));
  built.group("local", {"n2"}, prio(1), gpu(4));

  const auto made = decide(
    built.view(), gang("new", prio(10), members(1, gpu(8)), within{{"zone"}}), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("local"));
  EXPECT_EQ(outcome_of(made, "zone=a").scored.pods, 2);
}

TEST(domains, pods_of_a_victim_outside_the_domain_make_no_room_in_it) {
  auto built =
    cluster().node("n1", gpu(8), label{"zone", "a"}).node("n2", gpu(8), label{"zone", "b"});
  built.group("wide", {"n1", "n2"}, prio(1), gpu(8));
  const auto two = gang("new", prio(10), members(2, gpu(8)));
  auto in_one_zone = two;
  in_one_zone.groups.front().topology_keys = {"zone"};

  const auto anywhere = decide(built.view(), two, open_settings());
  const auto together = decide(built.view(), in_one_zone, open_settings());

  EXPECT_EQ(anywhere.result, outcome::preempts);
  EXPECT_EQ(together.result, outcome::infeasible);
  EXPECT_EQ(outcome_of(together, "zone=a").short_resource, "gpu");
}

TEST(domains, nobody_goes_who_is_outside_the_domain_altogether) {
  auto built = four_racks();
  built.node("n5", gpu(8), label{"zone", "c"}, label{"rack", "1"}).running("p0", prio(0), gpu(8));

  const auto made = decide(
    built.view(), gang("new", prio(10), members(2, gpu(8)), within{{"zone"}}), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("p3", "p4")) << "though p0 matters less";
}

} // namespace reprieve::tests
