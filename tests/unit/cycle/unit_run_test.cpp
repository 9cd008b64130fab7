#include "preemption/waiting/unit_run.hpp"
#include "preemption/waiting/waiting_line.hpp"

#include <gtest/gtest.h>

/// Pods that wait as one are served in the order in which each of them would be.
namespace reprieve {

namespace {

/// Two groups of replicas, so that their pods come by turns.
std::shared_ptr<const workload_record> two_groups(std::int32_t replicas) {
  workload_record record;
  auto& spec = record.spec.edit();
  spec.name = "w";
  for (const auto* name : {"a", "b"}) {
    auto& group = spec.groups.emplace_back();
    group.name = name;
    group.count = 2;
    group.replicas = replicas;
    group.pods.requests = {{"cpu", 1000}};
  }
  record.status.uid = "u";
  record.status.by_group.resize(2);
  return std::make_shared<const workload_record>(record);
}

waiting_unit of(const std::shared_ptr<unit_run>& run) {
  return {run->record(), run->unit_at(run->first()), run};
}

std::string name_of(const waiting_unit& unit) {
  return unit.who->groups.front().pods.front().name;
}

class runs_of_two_groups : public testing::Test {
protected:
  runs_of_two_groups() {
    line_.put("w", {of(a_), of(b_)});
  }
  waiting_unit next_behind(const waiting_unit& unit) {
    return waiting_line::next_of(line_.all_kinds().begin()->second, place_of(unit, 0))->second;
  }

  std::shared_ptr<unit_run> a_ = std::make_shared<unit_run>(
    two_groups(3), 0, unit_run::of::new_ones, unit_run::at_first::all_wait);
  std::shared_ptr<unit_run> b_ = std::make_shared<unit_run>(
    two_groups(3), 1, unit_run::of::new_ones, unit_run::at_first::all_wait);
  waiting_line line_;
};

TEST_F(runs_of_two_groups, come_by_turns) {
  std::vector<std::string> names;
  for (const auto& one : line_.in_order())
    names.push_back(name_of(one));
  EXPECT_EQ(names, (std::vector<std::string>{"w-a-0-0", "w-a-0-1", "w-b-0-0", "w-b-0-1", "w-a-1-0",
                                             "w-a-1-1", "w-b-1-0", "w-b-1-1", "w-a-2-0", "w-a-2-1",
                                             "w-b-2-0", "w-b-2-1"}));
  EXPECT_EQ(line_.size(), 12U);
  EXPECT_EQ(line_.asked().at("default").at("cpu"), 12'000);
}

TEST_F(runs_of_two_groups, are_of_one_kind_and_have_their_turns_in_it) {
  line_.park(of(a_), {});
  EXPECT_NE(line_.parked(of(b_)), nullptr);
  const auto& kind = line_.all_kinds().begin()->second;
  EXPECT_EQ(kind.count, 12);
  const auto all = line_.in_order();
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    EXPECT_EQ(name_of(next_behind(all[i])), name_of(all[i + 1]));
    EXPECT_TRUE(waiting_line::last_before(kind, place_of(all[i + 1], 0)) == place_of(all[i], 0));
  }
  EXPECT_FALSE(waiting_line::next_of(kind, place_of(all.back(), 0)));
  EXPECT_FALSE(waiting_line::last_before(kind, place_of(all.front(), 0)));
}

TEST_F(runs_of_two_groups, are_found_by_any_of_their_pods) {
  const auto all = line_.in_order();
  EXPECT_EQ(name_of(*line_.find_like(*all[7].who)), "w-b-1-1");
  EXPECT_EQ(name_of(*line_.last_of("w")), "w-b-2-1");
  line_.park(all[5], {});
  EXPECT_NE(line_.parked(all[9]), nullptr) << "it is of the same run";
  b_->set(3, false);
  EXPECT_FALSE(line_.find_like(*all[7].who));
}

TEST_F(runs_of_two_groups, keep_their_kind_when_their_first_have_gone) {
  line_.park(of(a_), {});
  a_->set(0, false);
  a_->set(1, false);
  line_.put("w", {of(a_), of(b_)});
  EXPECT_NE(line_.parked(of(a_)), nullptr);
  EXPECT_EQ(line_.size(), 10U);
  EXPECT_EQ(line_.asked().at("default").at("cpu"), 10'000);
}

TEST(unit_run, of_a_million_finds_what_is_behind_a_place) {
  const auto run = std::make_shared<unit_run>(two_groups(500'000), 1, unit_run::of::new_ones,
                                              unit_run::at_first::all_wait);
  const auto place = run->place_at(700'000);
  EXPECT_EQ(run->first_behind(place), 700'001);
  EXPECT_EQ(run->last_before(place), 699'999);
  auto other = place;
  other.workload = "x";
  EXPECT_EQ(run->first_behind(other), std::nullopt);
  EXPECT_EQ(run->last_before(other), 999'999);
}

TEST(those_who_come_back, wait_by_themselves_and_keep_nobody_who_was_not_there_before) {
  auto record = *two_groups(2);
  record.slots.edit({"a", 0, 1}).incarnation = 1;
  record.status.resume_after = time_point{std::chrono::seconds{40}};
  record.status.preempted = {{"d", time_point{std::chrono::seconds{0}}}};
  const auto stopped = std::make_shared<const workload_record>(record);
  const auto fresh =
    std::make_shared<unit_run>(stopped, 0, unit_run::of::new_ones, unit_run::at_first::all_wait);
  fresh->set(1, false);
  const auto back = std::make_shared<unit_run>(stopped, 0, unit_run::of::those_who_come_back,
                                               unit_run::at_first::nobody_waits);
  EXPECT_EQ(back->size(), 0);
  back->set(1, true);
  waiting_line line{waiting_line::order::one_by_one};
  line.wake_sleepers(time_point{std::chrono::seconds{1}});
  line.put("w", {of(fresh), of(back)});
  EXPECT_TRUE(line.fresh().empty());
  EXPECT_EQ(line.next_due(), time_point{std::chrono::seconds{10}}) << "the first wait";
  line.wake_sleepers(line.next_due());

  const auto names = [&] {
    std::vector<std::string> found;
    for (const auto& [place, unit] : line.fresh().at("default"))
      for (std::optional<placed_unit> next{{place, unit}}; next;
           next = line.next_of_run(unit, next->first))
        found.push_back(name_of(next->second));
    return found;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"w-a-0-0", "w-a-1-0", "w-a-1-1"}));
  EXPECT_EQ(line.next_due(), record.status.resume_after);
  EXPECT_EQ(line.asleep_in("default", record.status.resume_after).size(), 1U);
  EXPECT_EQ(line.size(), 4U);

  line.wake_sleepers(record.status.resume_after);
  EXPECT_EQ(names(), (std::vector<std::string>{"w-a-0-0", "w-a-1-0", "w-a-1-1", "w-a-0-1"}));
  EXPECT_EQ(name_of(line.in_order()[1]), "w-a-0-1");
}

} // namespace

} // namespace reprieve
