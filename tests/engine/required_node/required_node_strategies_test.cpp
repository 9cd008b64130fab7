#include "tests/engine/required_node/bound_pod.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Several victims on a required node, and one strategy after the other
/// (docs/policies.md#required-node).
namespace reprieve::tests {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

constexpr auto single = victim_strategy::single;
constexpr auto multiple = victim_strategy::multiple;

} // namespace

// -- multiple ------------------------------------------------------------------------------------

TEST(multiple_strategy, takes_the_largest_first_whatever_the_priorities) {
  const auto view = cluster()
                      .node("n1", cpu(7))
                      .running("small", prio(1), cpu(1))
                      .running("large", prio(9), cpu(4))
                      .running("medium", prio(5), cpu(2))
                      .view();

  const auto one = decide(view, collector(cpu(3)), by({multiple}));
  const auto two = decide(view, collector(cpu(5)), by({multiple}));

  EXPECT_THAT(victims_of(one), UnorderedElementsAre("large"));
  EXPECT_THAT(victims_of(two), UnorderedElementsAre("large", "medium"));
  EXPECT_THAT(one.victims[0].reason, HasSubstr("class regular, by strategy multiple"));
}

TEST(multiple_strategy, of_equal_size_the_lowest_priority_then_the_youngest_goes_first) {
  const auto view = cluster()
                      .node("n1", cpu(8))
                      .running("high", prio(5), cpu(2))
                      .running("old", prio(1), cpu(2), started{0})
                      .running("young", prio(1), cpu(2), started{10})
                      .running("older", prio(2), cpu(2))
                      .view();

  const auto one = decide(view, collector(cpu(2)), by({multiple}));
  const auto three = decide(view, collector(cpu(6)), by({multiple}));

  EXPECT_THAT(victims_of(one), UnorderedElementsAre("young"));
  EXPECT_THAT(victims_of(three), UnorderedElementsAre("young", "old", "older"));
}

TEST(multiple_strategy, free_room_counts_before_any_victim) {
  auto built = cluster().node("n1", cpu(8));
  built.pods("web", {"n1", "n1", "n1"}, prio(1), cpu(2));

  const auto made = decide(built.view(), collector(cpu(4)), by({multiple}));

  EXPECT_EQ(made.victims.size(), 1u) << "2 of 4 are free";
}

TEST(multiple_strategy, uses_up_a_class_before_it_takes_a_larger_one_of_the_next) {
  auto built = cluster().node("n1", cpu(8)).node("n2", cpu(1));
  built.pods("driver", {"n1"}, prio(1), cpu(4));
  built.pods("executor", {"n2"}, prio(1), cpu(1), owned_by{"driver"});
  built.pods("web", {"n1", "n1", "n1", "n1"}, prio(9), cpu(1));

  const auto made = decide(built.view(), collector(cpu(3)), by({multiple}));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web", "web", "web"));
}

TEST(multiple_strategy, spares_those_whom_a_later_class_makes_up_for) {
  auto built = cluster().node("n1", cpu(8)).node("n2", cpu(1));
  built.pods("driver", {"n1"}, prio(1), cpu(5));
  built.pods("executor", {"n2"}, prio(1), cpu(1), owned_by{"driver"});
  built.pods("web", {"n1", "n1", "n1"}, prio(1), cpu(1));

  const auto made = decide(built.view(), collector(cpu(5)), by({multiple}));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("driver"))
    << "the three alone free too little";
}

TEST(multiple_strategy, spares_the_highest_priority_first) {
  // The two largest free all the cpu; the third, whose memory is needed, makes up for one of them.
  const auto view = cluster()
                      .node("n1", cpu(11), memory(10))
                      .running("high", prio(5), cpu(4))
                      .running("low", prio(1), cpu(4))
                      .running("needed", prio(9), cpu(3), memory(1))
                      .view();

  const auto made = decide(view, collector(cpu(7), memory(10)), by({multiple}));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("low", "needed"));
}

TEST(multiple_strategy, spares_a_later_class_before_a_higher_priority) {
  auto built = cluster().node("n1", cpu(11), memory(10)).node("n2", cpu(1));
  built.pods("web", {"n1"}, prio(5), cpu(4));
  built.pods("driver", {"n1"}, prio(1), cpu(4));
  built.pods("executor", {"n2"}, prio(1), cpu(1), owned_by{"driver"});
  built.pods("shy", {"n1"}, prio(1), cpu(3), memory(1), opted_out());

  const auto made = decide(built.view(), collector(cpu(7), memory(10)), by({multiple}));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web", "shy"));
}

TEST(multiple_strategy, takes_nobody_who_holds_nothing_that_is_missing) {
  const auto view = cluster()
                      .node("n1", cpu(10), memory(10))
                      .running("wide", prio(1), cpu(6))
                      .running("tall", prio(9), memory(10))
                      .view();

  const auto made = decide(view, collector(cpu(2), memory(2)), by({multiple}));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("tall"));
}

TEST(multiple_strategy, makes_room_in_the_number_of_pods_by_priority_not_by_size) {
  auto built = cluster().node("n1", cpu(10), [](node& n) { n.capacity["pods"] = 2; });
  built.pods("large", {"n1"}, prio(5), cpu(4));
  built.pods("small", {"n1"}, prio(1), cpu(1));

  const auto made = decide(built.view(), collector(cpu(1)), by({multiple}));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("small"));
}

TEST(multiple_strategy, takes_no_more_than_max_victims) {
  auto built = cluster().node("n1", cpu(4));
  built.pods("web", {"n1", "n1", "n1", "n1"}, prio(1), cpu(1));

  const auto enough = decide(built.view(), collector(cpu(3)), by_multiple(3));
  const auto too_few = decide(built.view(), collector(cpu(3)), by_multiple(2));

  EXPECT_EQ(enough.victims.size(), 3u);
  EXPECT_EQ(too_few.result, outcome::infeasible);
  EXPECT_THAT(too_few.why.summary,
              HasSubstr("multiple: takes 3 victims in its order, and may have 2"));
  EXPECT_THAT(too_few.victims, IsEmpty());
}

TEST(multiple_strategy, who_is_spared_does_not_count_among_max_victims) {
  auto built = cluster().node("n1", cpu(8)).node("n2", cpu(1));
  built.pods("driver", {"n1"}, prio(1), cpu(5));
  built.pods("executor", {"n2"}, prio(1), cpu(1), owned_by{"driver"});
  built.pods("web", {"n1", "n1", "n1"}, prio(1), cpu(1));

  const auto made = decide(built.view(), collector(cpu(5)), by_multiple(1));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("driver"));
}

TEST(multiple_strategy, a_group_counts_as_one_victim) {
  auto built = cluster().node("n1", cpu(4)).node("n2", cpu(4));
  built.group("train", {"n1", "n1", "n2"}, prio(1), cpu(2));

  const auto made = decide(built.view(), collector(cpu(3)), by_multiple(1));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("train"));
}

TEST(multiple_strategy, has_no_fallback_where_it_is_the_only_strategy) {
  auto built = cluster().node("n1", cpu(8)).node("n2", cpu(1));
  built.pods("web", {"n1", "n1", "n1", "n1"}, prio(1), cpu(1));
  built.pods("driver", {"n1"}, prio(1), cpu(4));
  built.pods("executor", {"n2"}, prio(1), cpu(1), owned_by{"driver"});

  const auto made = decide(built.view(), collector(cpu(4)), by_multiple(3));

  EXPECT_EQ(made.result, outcome::infeasible) << "though the driver alone would do";
  EXPECT_THAT(made.why.summary, Not(HasSubstr("single")));
}

TEST(multiple_strategy, says_what_is_missing_when_all_together_free_too_little) {
  const auto view = cluster()
                      .node("n1", cpu(8))
                      .running("core", prio(200), cpu(5))
                      .running("web", prio(1), cpu(2))
                      .view();

  const auto made = decide(view, collector(cpu(4)), by({multiple}));

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(made.why.summary,
              HasSubstr("multiple: short of 1 cpu even with all candidates gone"));
  EXPECT_EQ(outcome_of(made, "n1").short_resource, "cpu");
  EXPECT_EQ(outcome_of(made, "n1").short_by, 1000);
}

// -- one after the other -------------------------------------------------------------------------

TEST(strategies, the_second_is_a_fallback_for_the_first) {
  auto built = cluster().node("n1", cpu(4));
  built.pods("web", {"n1", "n1"}, prio(1), cpu(2));

  const auto made = decide(built.view(), collector(cpu(4)), by({single, multiple}));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web", "web"));
  EXPECT_THAT(made.victims[0].reason, HasSubstr("strategy multiple"));
}

TEST(strategies, the_second_is_not_asked_where_the_first_selects) {
  const auto view = cluster()
                      .node("n1", cpu(10))
                      .running("large", prio(1), cpu(6))
                      .running("exact", prio(9), cpu(4))
                      .view();

  const auto single_first = decide(view, collector(cpu(4)), by({single, multiple}));
  const auto multiple_first = decide(view, collector(cpu(4)), by({multiple, single}));

  EXPECT_THAT(victims_of(single_first), UnorderedElementsAre("exact"));
  EXPECT_THAT(victims_of(multiple_first), UnorderedElementsAre("large"));
}

TEST(strategies, single_is_a_fallback_where_multiple_would_need_too_many) {
  auto built = cluster().node("n1", cpu(8)).node("n2", cpu(1));
  built.pods("web", {"n1", "n1", "n1", "n1"}, prio(1), cpu(1));
  built.pods("driver", {"n1"}, prio(1), cpu(4));
  built.pods("executor", {"n2"}, prio(1), cpu(1), owned_by{"driver"});
  auto settings = by({multiple, single});
  settings.group.required_node.max_victims = 3;

  const auto made = decide(built.view(), collector(cpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("driver"));
  EXPECT_THAT(made.victims[0].reason, HasSubstr("strategy single"));
}

TEST(strategies, by_default_single_comes_before_multiple_with_ten_percent_and_ten_victims) {
  auto built = cluster().node("n1", cpu(110));
  built.pods("web", {"n1", "n1", "n1", "n1", "n1", "n1", "n1", "n1", "n1", "n1", "n1"}, prio(1),
             cpu(10));

  const auto one = decide(built.view(), collector(cpu(10)), open_settings());
  const auto ten = decide(built.view(), collector(cpu(100)), open_settings());
  const auto eleven = decide(built.view(), collector(cpu(110)), open_settings());

  ASSERT_EQ(one.victims.size(), 1u);
  EXPECT_THAT(one.victims[0].reason, HasSubstr("strategy single"));
  EXPECT_EQ(ten.victims.size(), 10u);
  EXPECT_EQ(eleven.result, outcome::infeasible);
}

TEST(strategies, where_all_fail_each_says_why) {
  const auto view = cluster()
                      .node("n1", cpu(8))
                      .running("core", prio(200), cpu(6))
                      .running("web", prio(1), cpu(2))
                      .view();

  const auto made = decide(view, collector(cpu(4)), open_settings());

  EXPECT_EQ(made.why.summary,
            "logs (priority 100) does not fit in n1: single: nobody frees enough alone; multiple: "
            "short of 2 cpu even with all candidates gone");
  EXPECT_EQ(outcome_of(made, "n1").reason,
            "single: nobody frees enough alone; multiple: short of 2 "
            "cpu even with all candidates gone");
}

TEST(strategies, all_are_tried_before_a_later_class_is_looked_at) {
  auto built = cluster().node("n1", cpu(8));
  built.pods("regular", {"n1", "n1"}, prio(1), cpu(2));
  built.pods("shy", {"n1"}, prio(1), cpu(4), opted_out());

  const auto made = decide(built.view(), collector(cpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), ElementsAre("regular", "regular"));
}

TEST(strategies, a_later_class_goes_where_the_earlier_ones_would_be_too_many) {
  auto settings = open_settings();
  settings.group.required_node.max_victims = 1;
  auto built = cluster().node("n1", cpu(8));
  built.pods("regular", {"n1", "n1"}, prio(1), cpu(2));
  built.pods("shy", {"n1"}, prio(1), cpu(4), opted_out());

  const auto made = decide(built.view(), collector(cpu(4)), settings);

  EXPECT_THAT(victims_of(made), ElementsAre("shy"));
}

TEST(strategies, a_guard_on_victims_per_decision_holds_for_both) {
  auto built = cluster().node("n1", cpu(4));
  built.pods("web", {"n1", "n1"}, prio(1), cpu(2));
  auto settings = open_settings();

  settings.group.limits.victims_per_decision = 1;
  const auto of_two = decide(built.view(), collector(cpu(4)), settings);
  const auto of_one = decide(built.view(), collector(cpu(2)), settings);
  settings.group.limits.victims_per_decision = 0;
  const auto of_none = decide(built.view(), collector(cpu(2)), settings);

  EXPECT_EQ(of_two.result, outcome::infeasible);
  EXPECT_THAT(of_two.why.summary,
              HasSubstr("multiple: takes 2 victims in its order, and may have 1"));
  EXPECT_EQ(of_one.result, outcome::preempts);
  EXPECT_EQ(of_none.result, outcome::infeasible);
  EXPECT_THAT(of_none.why.summary,
              HasSubstr("single: takes 1 victim in its order, and may have 0"));
}

} // namespace reprieve::tests
