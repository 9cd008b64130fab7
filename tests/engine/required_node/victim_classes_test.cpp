#include "preemption/policies/required_node/victim_classes.hpp"
#include "tests/engine/required_node/bound_pod.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Classes of victims on a required node, and the order in a class
/// (docs/policies.md#required-node).
namespace reprieve::tests {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

struct created {
  std::int64_t seconds;

  void operator()(pod& p) const {
    p.created = at(seconds);
    p.started = no_time;
  }
};

std::vector<std::string> order_on_n1(const cluster_view& view, const preemptor& who) {
  const auto settings = open_settings();
  const problem given{view, who, settings};
  const candidate_rules rules{given};
  const auto wanted = room_wanted(view, view.find_node("n1"), given.asked.groups.front().request);
  std::vector<std::string> order;
  for (const auto& one : possible_victims(view, rules, wanted))
    order.push_back(view.id_of(one.portion).workload);
  return order;
}

} // namespace

// -- classes -------------------------------------------------------------------------------------

TEST(victim_classes, classes_are_regular_then_owner_then_opt_out) {
  std::vector<std::string_view> names;
  for (const auto& one : victim_classes())
    names.push_back(one.name);

  EXPECT_THAT(names, ElementsAre("regular", "owner", "opt-out"));
}

TEST(victim_classes, whoever_is_of_no_other_class_is_regular) {
  const auto view = cluster().node("n1", cpu(2)).running("web", prio(1), cpu(2)).view();
  const auto web = view.find_pod(uid_of("web"));

  std::vector<bool> takes;
  for (const auto& one : victim_classes())
    takes.push_back(one.takes(view, web));

  EXPECT_THAT(takes, ElementsAre(true, false, false));
}

TEST(victim_classes, a_class_is_used_up_before_the_next_whatever_the_priorities) {
  auto built = cluster().node("n1", cpu(6)).node("n2", cpu(2));
  built.pods("shy", {"n1"}, prio(1), cpu(2), opted_out());
  built.pods("driver", {"n1"}, prio(2), cpu(2));
  built.pods("web", {"n1"}, prio(3), cpu(2));
  built.pods("executor", {"n2"}, prio(1), cpu(2), owned_by{"driver"});

  EXPECT_THAT(order_on_n1(built.view(), collector(cpu(2))), ElementsAre("web", "driver", "shy"));
  EXPECT_THAT(victims_of(decide(built.view(), collector(cpu(2)), open_settings())),
              UnorderedElementsAre("web"));
  EXPECT_THAT(victims_of(decide(built.view(), collector(cpu(4)), open_settings())),
              UnorderedElementsAre("web", "driver"));
  EXPECT_THAT(victims_of(decide(built.view(), collector(cpu(6)), open_settings())),
              UnorderedElementsAre("web", "driver", "shy"));
}

TEST(victim_classes, an_owner_is_one_that_another_pod_refers_to_while_that_is_there) {
  auto built = cluster().node("n1", cpu(4)).node("n2", cpu(2));
  built.pods("driver", {"n1"}, prio(1), cpu(2));
  built.pods("web", {"n1"}, prio(2), cpu(2));
  built.pods("executor", {"n2"}, prio(1), cpu(2), owned_by{"driver"});
  auto view = built.view();

  EXPECT_THAT(order_on_n1(view, collector(cpu(2))), ElementsAre("web", "driver"));
  view.remove_pod(uid_of("executor"));
  view.settle();
  EXPECT_THAT(order_on_n1(view, collector(cpu(2))), ElementsAre("driver", "web"));
}

TEST(victim_classes, an_owner_may_be_referred_to_by_its_name) {
  auto built = cluster().node("n1", cpu(4)).node("n2", cpu(2));
  built.pods("driver", {"n1"}, prio(1), cpu(2));
  built.pods("web", {"n1"}, prio(2), cpu(2));
  const auto named = built.all_pods().front();
  built.pods("executor", {"n2"}, prio(1), cpu(2), [&](pod& p) {
    p.owner = pod_name(named.workload, {named.group, named.replica, named.index});
  });

  EXPECT_THAT(order_on_n1(built.view(), collector(cpu(2))), ElementsAre("web", "driver"));
}

TEST(victim_classes, a_pod_that_names_itself_is_no_owner) {
  const auto view = cluster()
                      .node("n1", cpu(4))
                      .running("odd", prio(1), cpu(2), owned_by{"odd"})
                      .running("web", prio(2), cpu(2))
                      .view();

  EXPECT_THAT(order_on_n1(view, collector(cpu(2))), ElementsAre("odd", "web"));
}

TEST(victim_classes, a_portion_is_of_the_last_class_that_one_of_its_pods_is_of) {
  auto built = cluster().node("n1", cpu(6)).node("n2", cpu(4));
  built.group("partly", {"n1", "n2"}, prio(1), cpu(2), [](pod& p) { p.opted_out = p.index == 1; });
  built.pods("both", {"n1"}, prio(2), cpu(2), opted_out());
  built.pods("executor", {"n2"}, prio(1), cpu(2), owned_by{"both"});
  built.pods("driver", {"n1"}, prio(9), cpu(2));
  built.pods("worker", {"n2"}, prio(1), owned_by{"driver"});

  EXPECT_THAT(order_on_n1(built.view(), collector(cpu(2))),
              ElementsAre("driver", "partly", "both"));
}

TEST(victim_classes, an_opt_out_is_a_last_resort_and_no_veto) {
  const auto view =
    cluster().node("n1", cpu(4)).running("shy", prio(1), cpu(4), opted_out()).view();
  auto settings = open_settings();
  settings.group.limits.opt_out_is_veto = true;

  const auto made = decide(view, collector(cpu(4)), settings);

  ASSERT_THAT(victims_of(made), UnorderedElementsAre("shy"));
  EXPECT_THAT(made.victims[0].reason, HasSubstr("class opt-out"));
}

// -- the order in a class ------------------------------------------------------------------------

TEST(victim_classes, the_lowest_priority_comes_first) {
  const auto view = cluster()
                      .node("n1", cpu(6))
                      .running("b", prio(2), cpu(2), started{10})
                      .running("a", prio(3), cpu(2), started{10})
                      .running("c", prio(1), cpu(2), started{0})
                      .view();

  EXPECT_THAT(order_on_n1(view, collector(cpu(2))), ElementsAre("c", "b", "a"));
}

TEST(victim_classes, of_equal_priority_the_youngest_comes_first) {
  const auto view = cluster()
                      .node("n1", cpu(6))
                      .running("old", prio(1), cpu(3), started{0})
                      .running("young", prio(1), cpu(1), started{20})
                      .running("between", prio(1), cpu(2), started{10})
                      .view();

  EXPECT_THAT(order_on_n1(view, collector(cpu(2))), ElementsAre("young", "between", "old"));
}

TEST(victim_classes, who_has_not_started_is_youngest_and_the_last_one_created_most) {
  const auto view = cluster()
                      .node("n1", cpu(6))
                      .running("runs", prio(1), cpu(2), started{100})
                      .running("early", prio(1), cpu(2), created{5})
                      .running("late", prio(1), cpu(2), created{6})
                      .view();

  EXPECT_THAT(order_on_n1(view, collector(cpu(2))), ElementsAre("late", "early", "runs"));
}

TEST(victim_classes, of_equal_age_the_largest_comes_first) {
  const auto view = cluster()
                      .node("n1", cpu(6))
                      .running("small", prio(1), cpu(1))
                      .running("large", prio(1), cpu(3))
                      .running("medium", prio(1), cpu(2))
                      .view();

  EXPECT_THAT(order_on_n1(view, collector(cpu(2))), ElementsAre("large", "medium", "small"));
}

TEST(victim_classes, size_counts_only_in_what_the_node_is_short_of) {
  const auto view = cluster()
                      .node("n1", cpu(8), memory(4))
                      .running("wide", prio(1), cpu(4), memory(1))
                      .running("tall", prio(1), cpu(1), memory(3))
                      .view();

  EXPECT_THAT(order_on_n1(view, collector(cpu(2), memory(2))), ElementsAre("tall", "wide"));
}

/// The picture in YuniKorn's design: four of priority 1, three of which are of one age, and two
/// of 2.
TEST(victim_classes, priority_comes_before_age_and_age_before_size) {
  const auto view = cluster()
                      .node("n1", cpu(21))
                      .running("large-2", prio(2), cpu(6), started{90})
                      .running("small-1", prio(1), cpu(1), started{50})
                      .running("old-1", prio(1), cpu(5), started{0})
                      .running("large-1", prio(1), cpu(4), started{50})
                      .running("young-2", prio(2), cpu(3), started{99})
                      .running("middle-1", prio(1), cpu(2), started{50})
                      .view();

  EXPECT_THAT(order_on_n1(view, collector(cpu(2))),
              ElementsAre("large-1", "middle-1", "small-1", "old-1", "young-2", "large-2"));
}

TEST(victim_classes, every_class_has_the_same_order) {
  const auto ordered = [](const std::string& first, const std::string& second, const auto& of_first,
                          const auto& of_second, bool owners) {
    auto built = cluster().node("n1", cpu(9)).node("n2", cpu(4));
    const auto out = [&](pod& p) { p.opted_out = !owners; };
    built.pods(first, {"n1"}, prio(5), cpu(2), started{10}, out, of_first);
    built.pods(second, {"n1"}, prio(5), cpu(2), started{10}, out, of_second);
    if (owners)
      built.pods("of-" + first, {"n2"}, cpu(1), owned_by{first})
        .pods("of-" + second, {"n2"}, cpu(1), owned_by{second});
    built.pods("web", {"n1"}, prio(9), cpu(2));
    return order_on_n1(built.view(), collector(cpu(9)));
  };

  for (const bool owners : {true, false}) {
    EXPECT_THAT(ordered("a", "b", prio(5), prio(4), owners), ElementsAre("web", "b", "a"));
    EXPECT_THAT(ordered("a", "b", started{10}, started{20}, owners), ElementsAre("web", "b", "a"));
    EXPECT_THAT(ordered("a", "b", cpu(2), cpu(3), owners), ElementsAre("web", "b", "a"));
  }
}

TEST(victim_classes, uids_break_ties) {
  const auto view = cluster()
                      .node("n1", cpu(6))
                      .running("b", prio(1), cpu(2))
                      .running("c", prio(1), cpu(2))
                      .running("a", prio(1), cpu(2))
                      .view();

  EXPECT_THAT(order_on_n1(view, collector(cpu(2))), ElementsAre("a", "b", "c"));
}

} // namespace reprieve::tests
