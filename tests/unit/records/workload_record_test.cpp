#include "preemption/waiting/pending.hpp"
#include "state/records/workload_record.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace reprieve {

namespace {

constexpr time_point now{std::chrono::hours{1}};

/// A workload of one gang of four that goes as a whole.
workload_record gang() {
  workload_record record;
  auto& spec = record.spec.edit();
  spec.name = "train";
  spec.checkpoint.supported = true;
  auto& group = spec.groups.emplace_back();
  group.name = "workers";
  group.count = 4;
  group.min_count = 4;
  group.disruption = disruption_mode::pod_group;
  record.status.uid = "u";
  record.status.by_group.resize(1);
  return record;
}

const std::array whole{portion_id{"train", "workers", 0, -1}};

/// The four pods of the gang are wanted, each for the so many-th time.
void expect_all_wanted_in(const workload_record& record, std::uint32_t incarnation) {
  const auto wanted = wanted_slots(record);
  EXPECT_EQ(wanted.size(), 4U);
  for (const auto& slot : wanted)
    EXPECT_EQ(slot.incarnation, incarnation);
}

TEST(workload_record, evicted_pods_come_back_in_a_new_incarnation) {
  auto record = gang();
  evict(record, whole, "d1", now);
  EXPECT_EQ(record.status.attempts, 1);
  EXPECT_GT(record.status.resume_after, now);
  expect_all_wanted_in(record, 1);
}

TEST(workload_record, evicting_twice_by_one_decision_is_the_same_as_once) {
  auto record = gang();
  evict(record, whole, "d1", now);
  const auto once = record;
  evict(record, whole, "d1", now);
  EXPECT_EQ(record, once);
}

TEST(workload_record, those_who_came_back_are_not_those_whom_a_decision_named) {
  auto record = gang();
  const std::set<std::string, std::less<>> named{pod_uid("train", "u", {"workers", 0, 2}, 0)};
  EXPECT_TRUE(takes_any_of(record, whole[0], named));
  evict(record, whole, "d1", now);
  EXPECT_FALSE(takes_any_of(record, whole[0], named)) << "d1 has taken them";
  evict(record, whole, "d2", now);
  EXPECT_FALSE(takes_any_of(record, whole[0], named));
}

TEST(workload_record, work_of_the_same_name_that_was_made_anew_is_not_what_a_decision_named) {
  auto record = gang();
  const std::set<std::string, std::less<>> named{pod_uid("train", "u", {"workers", 0, 0}, 0)};
  record.status.uid = "v";
  EXPECT_FALSE(takes_any_of(record, whole[0], named));
}

TEST(workload_record, a_place_that_was_given_up_is_filled_by_another_pod_when_it_is_wanted_again) {
  auto record = gang();
  end_slot(record, {"workers", 0, 3}, 0, slot_state::wanted);
  end_slot(record, {"workers", 0, 3}, 0, slot_state::wanted); // reported again

  EXPECT_EQ(slot_at(record, {"workers", 0, 3}).incarnation, 1U);
  EXPECT_EQ(wanted_slots(record).size(), 4U);
}

TEST(workload_record, an_evicted_replica_takes_the_places_along_that_it_had_when_it_was_larger) {
  for (const bool group_goes : {false, true}) {
    auto record = gang();
    const auto larger = *record.spec;
    auto smaller = larger;
    if (group_goes)
      smaller.groups.front().name = "others";
    else
      smaller.groups.front().count = smaller.groups.front().min_count.emplace(1);
    put_spec(record, smaller);
    evict(record, whole, "d1", now);
    put_spec(record, larger);
    expect_all_wanted_in(record, 1);
  }
}

TEST(workload_record, an_evicted_replica_that_is_not_wanted_any_more_comes_back_with_other_pods) {
  auto record = gang();
  record.spec.edit().groups.front().replicas = 2;
  const auto larger = *record.spec;
  auto smaller = larger;
  smaller.groups.front().replicas = 1;
  put_spec(record, smaller);
  smaller.groups.front().count = smaller.groups.front().min_count.emplace(1);
  put_spec(record, smaller);
  evict(record, std::array{portion_id{"train", "workers", 1, -1}}, "d1", now);
  put_spec(record, larger);
  for (const auto& slot : wanted_slots(record))
    EXPECT_EQ(slot.incarnation, slot.replica == 1 ? 1U : 0U) << slot.replica << "." << slot.index;
}

TEST(workload_record, a_victim_that_ended_by_itself_does_not_come_back_when_it_is_reprieved) {
  for (const bool comes_back : {true, false}) {
    auto record = gang();
    record.spec.edit().checkpoint.supported = comes_back;
    evict(record, whole, "d1", now);
    end_slot(record, {"workers", 0, 2}, 0, slot_state::succeeded);
    reprieve_portions(record, whole, "d1");

    EXPECT_EQ(slot_at(record, {"workers", 0, 2}).state, slot_state::succeeded);
    const auto wanted = wanted_slots(record);
    ASSERT_EQ(wanted.size(), 3U);
    for (const auto& slot : wanted)
      EXPECT_EQ(slot.incarnation, 0U);
  }
}

TEST(workload_record, evicted_pods_that_do_not_come_back_are_not_wanted) {
  auto record = gang();
  record.spec.edit().checkpoint.supported = false;
  evict(record, whole, "d1", now);
  EXPECT_TRUE(wanted_slots(record).empty());
}

TEST(workload_record, an_eviction_that_did_not_happen_leaves_no_trace) {
  auto record = gang();
  const auto before = wanted_slots(record).size();
  evict(record, whole, "d1", now);
  reprieve_portions(record, whole, "d1");
  EXPECT_EQ(record.status.attempts, 0);
  ASSERT_EQ(wanted_slots(record).size(), before);
  EXPECT_EQ(wanted_slots(record).front().incarnation, 0U);
}

TEST(workload_record, a_late_report_about_an_older_incarnation_changes_nothing) {
  auto record = gang();
  evict(record, whole, "d1", now);
  evict(record, whole, "d2", now);
  end_slot(record, {"workers", 0, 1}, 0, slot_state::succeeded);
  EXPECT_EQ(wanted_slots(record).size(), 4U);
  end_slot(record, {"workers", 0, 1}, 2, slot_state::succeeded);
  EXPECT_EQ(wanted_slots(record).size(), 3U);
}

TEST(workload_record, wants_its_own_pods_of_the_right_incarnation_only) {
  auto record = gang();
  auto p = pod_at(record.spec, record.status, 0, 0, 3, 0);
  EXPECT_TRUE(wants(record, p));
  record.spec.edit().groups[0].count = 3;
  EXPECT_FALSE(wants(record, p)) << "scaled down";
  record.spec.edit().groups[0].count = 4;
  p.incarnation = 1;
  EXPECT_FALSE(wants(record, p));
  p.incarnation = 0;
  record.deleting = true;
  EXPECT_FALSE(wants(record, p));
}

TEST(workload_record, a_condition_keeps_its_time_until_it_changes) {
  workload_status status;
  set_condition(status, {"Full", true, "Because", "one", now});
  set_condition(status, {"Full", true, "Because", "two", now + std::chrono::hours{1}});
  ASSERT_EQ(status.conditions.size(), 1U);
  EXPECT_EQ(status.conditions.front().since, now);
  EXPECT_EQ(status.conditions.front().message, "two");
  clear_condition(status, "Full");
  EXPECT_TRUE(status.conditions.empty());
}

TEST(own_priorities, that_differ_from_the_workloads_are_shown_and_the_workloads_counts) {
  auto record = gang();
  record.status.resolved.priority = record.status.by_group[0].priority = 10;
  record.spec.edit().groups[0].pods.priority = 12;
  note_own_priorities(record, now);
  ASSERT_EQ(record.status.conditions.size(), 1U);
  const auto& shown = record.status.conditions.front();
  EXPECT_EQ(shown.type, "PodsNotMatchingPriority");
  EXPECT_TRUE(shown.status);
  EXPECT_EQ(shown.message, "pods of group workers say priority 12; the workload's, 10, counts");

  record.spec.edit().groups[0].pods.priority = 10;
  note_own_priorities(record, now);
  EXPECT_TRUE(record.status.conditions.empty());
}

TEST(own_priorities, are_held_against_the_priority_of_a_group_that_has_one) {
  auto record = gang();
  record.status.resolved.priority = 10;
  auto& spec = record.spec.edit();
  spec.groups[0].priority = record.status.by_group[0].priority = 40;
  spec.groups[0].pods.priority = 40;
  note_own_priorities(record, now);
  EXPECT_TRUE(record.status.conditions.empty());

  record.spec.edit().groups[0].pods.priority = 10;
  note_own_priorities(record, now);
  ASSERT_EQ(record.status.conditions.size(), 1U);
  EXPECT_EQ(record.status.conditions.front().message,
            "pods of group workers say priority 10; the group's, 40, counts");
}

TEST(recent_preemptions, counts_the_decisions_of_the_last_hour) {
  auto record = gang();
  record.spec.edit().groups[0].disruption = disruption_mode::pod;
  const auto pod_of_gang = [](std::int32_t index) {
    return std::array{portion_id{"train", "workers", 0, index}};
  };
  evict(record, pod_of_gang(0), "d1", now);
  evict(record, pod_of_gang(1), "d2", now + std::chrono::minutes{40});

  const auto at = [&](int minutes) {
    return recent_preemptions(record.status, now + std::chrono::minutes{minutes});
  };
  EXPECT_EQ(at(40), 2);
  EXPECT_EQ(at(59), 2);
  EXPECT_EQ(at(60), 1);
  EXPECT_EQ(at(100), 0);
}

TEST(recent_preemptions, counts_a_decision_once_whatever_it_takes) {
  auto record = gang();
  record.spec.edit().groups[0].disruption = disruption_mode::pod;
  const std::array both{portion_id{"train", "workers", 0, 0}, portion_id{"train", "workers", 0, 1}};
  evict(record, both, "d1", now);
  evict(record, std::array{portion_id{"train", "workers", 0, 2}}, "d1", now);
  EXPECT_EQ(recent_preemptions(record.status, now), 1);
  EXPECT_EQ(record.status.attempts, 1);
}

TEST(recent_preemptions, a_withdrawn_eviction_counts_until_its_last_portion_is_back) {
  auto record = gang();
  record.spec.edit().groups[0].disruption = disruption_mode::pod;
  const std::array both{portion_id{"train", "workers", 0, 0}, portion_id{"train", "workers", 0, 1}};
  const auto before = record.status;
  evict(record, both, "d1", now);

  reprieve_portions(record, std::span{both}.first(1), "d1");
  EXPECT_EQ(recent_preemptions(record.status, now), 1);

  reprieve_portions(record, std::span{both}.last(1), "d1");
  EXPECT_EQ(record.status, before);
}

TEST(recent_preemptions, of_very_many_the_newest_are_remembered) {
  auto record = gang();
  for (int i = 0; i < 1500; ++i)
    lose_replicas(record, "d" + std::to_string(i), now);
  EXPECT_EQ(record.status.attempts, 1500);
  ASSERT_EQ(record.status.preempted.size(), 1000U);
  EXPECT_EQ(record.status.preempted.front().decision, "d500");
  EXPECT_EQ(record.status.preempted.back().decision, "d1499");
}

TEST(recent_preemptions, what_is_longer_ago_than_an_hour_is_forgotten_with_the_next_eviction) {
  auto record = gang();
  evict(record, whole, "d1", now);
  evict(record, whole, "d2", now + std::chrono::hours{1});
  ASSERT_EQ(record.status.preempted.size(), 1U);
  EXPECT_EQ(record.status.preempted.front().decision, "d2");
}

/// Nothing stands yet.
bool nobody(const pod&) {
  return false;
}

TEST(lacking_units, a_gang_asks_as_one) {
  const auto units = lacking_units(gang(), nobody);
  ASSERT_EQ(units.size(), 1U);
  EXPECT_TRUE(units.front().gang);
  EXPECT_EQ(units.front().groups.front().needed, 4);
}

TEST(lacking_units, basic_pods_ask_one_by_one) {
  auto record = gang();
  auto& spec = record.spec.edit();
  spec.groups[0].min_count.reset();
  spec.groups[0].disruption = disruption_mode::pod;
  const auto units = lacking_units(record, nobody);
  ASSERT_EQ(units.size(), 4U);
  EXPECT_FALSE(units.front().gang);
}

TEST(lacking_units, groups_of_different_templates_start_together_by_replica) {
  auto record = gang();
  auto leader = record.spec->groups.front();
  leader.name = "leader";
  leader.count = 1;
  leader.min_count = 1;
  leader.replicas = 2;
  auto& spec = record.spec.edit();
  spec.groups.front().replicas = 2;
  spec.groups.push_back(leader);
  record.status.by_group.resize(2);
  const auto units = lacking_units(record, nobody);
  ASSERT_EQ(units.size(), 2U);
  for (const auto& unit : units)
    EXPECT_EQ(unit.groups.size(), 2U);
}

TEST(lacking_units, a_gang_with_its_minimum_asks_pod_by_pod_for_the_rest) {
  auto record = gang();
  record.spec.edit().groups[0].min_count = 2;
  std::set<std::string> standing;
  for (int i = 0; i < 3; ++i)
    standing.insert(pod_at(record.spec, record.status, 0, 0, i, 0).uid);
  const auto units = lacking_units(record, [&](const pod& p) { return standing.contains(p.uid); });
  ASSERT_EQ(units.size(), 1U);
  EXPECT_FALSE(units.front().gang);
  EXPECT_EQ(units.front().groups.front().pods.front().index, 3);
}

TEST(lacking_units, a_gang_that_lost_pods_asks_for_what_its_minimum_lacks) {
  auto record = gang();
  const auto first = pod_at(record.spec, record.status, 0, 0, 0, 0).uid;
  const auto units = lacking_units(record, [&](const pod& p) { return p.uid == first; });
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(units.front().groups.front().needed, 3);
}

TEST(lacking_units, a_gang_whose_pods_are_nominated_asks_for_nothing_more) {
  const auto all_have_a_node = [](const pod&) { return true; };
  EXPECT_TRUE(lacking_units(gang(), all_have_a_node).empty());
}

TEST(lacking_units, of_a_replica_that_runs_elsewhere_are_not_bound_to_its_domain) {
  auto record = gang();
  auto& group = record.spec.edit().groups.front();
  group.topology_keys = {"zone"};
  group.replicas = 2;
  node home;
  home.labels = {{"zone", "a"}, {"rack", "1"}};
  const auto lost_one_and_a_whole_replica = [](const pod& p) {
    return p.replica == 0 && p.index > 0;
  };
  const auto units =
    lacking_units(record, lost_one_and_a_whole_replica, [&](const pod&) { return &home; });
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[0].groups.front().node_selector, (string_map{{"zone", "a"}}));
  EXPECT_EQ(units[1].groups.front().node_selector, string_map{});
}

TEST(lacking_units, of_pods_that_are_no_gang_are_not_bound_to_each_others_domain) {
  auto record = gang();
  auto& group = record.spec.edit().groups.front();
  group.topology_keys = {"zone"};
  group.min_count.reset();
  group.disruption = disruption_mode::pod;
  node home;
  home.labels = {{"zone", "a"}};
  const auto units = lacking_units(
    record, [](const pod& p) { return p.index == 0; }, [&](const pod&) { return &home; });
  ASSERT_EQ(units.size(), 3U);
  EXPECT_EQ(units.front().groups.front().node_selector, string_map{});
}

TEST(served_before, goes_by_priority_then_submission_then_name) {
  auto a = gang();
  auto b = gang();
  b.spec.edit().name = "zeta";
  EXPECT_TRUE(served_before(a, b));
  a.status.submitted = now;
  EXPECT_TRUE(served_before(b, a));
  a.status.resolved.priority = 1;
  EXPECT_TRUE(served_before(a, b));
}

} // namespace

} // namespace reprieve
