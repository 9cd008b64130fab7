#include "state/records/node_record.hpp"

#include <gtest/gtest.h>

#include <array>

namespace reprieve {

namespace {

constexpr time_point now{std::chrono::hours{1}};

node_record node_with(std::int64_t gpus) {
  node_record record;
  auto& spec = record.spec.edit();
  spec.name = "n1";
  spec.capacity = {{"gpu", gpus * 1000}};
  return record;
}

pod pod_of(const std::string& workload, std::int32_t index, std::int64_t gpus,
           pod_phase phase = pod_phase::running) {
  pod p;
  p.uid = workload + "-" + std::to_string(index);
  p.name = p.uid;
  p.workload = workload;
  p.group = "g";
  p.index = index;
  p.node = "n1";
  p.phase = phase;
  p.requests = {{"gpu", gpus * 1000}};
  return p;
}

node_part part(pod_list placed, std::vector<std::string> victims) {
  return {"n1", std::move(placed), std::move(victims), {}};
}

absl::Status promise(const node_record& record, const node_part& wanted,
                     std::vector<const node_part*> holds = {}) {
  return can_promise(record, holds, wanted);
}

TEST(node_record, a_copy_shares_the_pods_that_do_not_change) {
  auto record = node_with(8);
  put_pod(record, pod_of("b", 0, 4));
  put_pod(record, pod_of("a", 0, 4));
  auto next = record;
  EXPECT_EQ(next, record);
  apply(next, part({}, {"a-0"}), "d1");
  EXPECT_NE(next, record);
  EXPECT_EQ(find_pod(next, "b-0"), find_pod(record, "b-0"));
  EXPECT_EQ(find_pod(next, "a-0")->evicted_by, "d1");
  EXPECT_EQ(find_pod(record, "a-0")->evicted_by, "");
}

TEST(node_record, takes_away_by_force_only_what_no_other_decision_has_told) {
  auto record = node_with(8);
  auto own = pod_of("own", 0, 1, pod_phase::terminating);
  auto told = pod_of("told", 0, 1, pod_phase::terminating);
  told.evicted_by = "d1";
  auto unwanted = pod_of("unwanted", 0, 1, pod_phase::terminating);
  unwanted.evicted_by = not_wanted;
  for (const auto& p : {own, told, unwanted})
    put_pod(record, p);
  const auto forcing = [](const std::string& uid) { return node_part{"n1", {}, {}, {uid}}; };
  EXPECT_TRUE(promise(record, forcing("own-0")).ok());
  EXPECT_TRUE(promise(record, forcing("unwanted-0")).ok());
  EXPECT_FALSE(promise(record, forcing("told-0")).ok());

  const std::vector<std::string> all{"own-0", "told-0", "unwanted-0"};
  EXPECT_EQ(force_delete(record, all, "d2", time_point{}).size(), 2U);
  EXPECT_EQ(find_pod(record, "own-0")->evicted_by, "d2");
  EXPECT_EQ(*find_pod(record, "told-0"), told);
  EXPECT_EQ(find_pod(record, "unwanted-0")->evicted_by, not_wanted);
  EXPECT_EQ(force_delete(record, all, "d2", time_point{}).size(), 2U) << "the orders are repeated";
}

TEST(node_record, promises_nothing_new_where_the_user_or_its_silence_says_no) {
  const auto wanted = part({pod_of("b", 0, 4)}, {});
  auto closed = node_with(8);
  closed.spec.edit().schedulable = false;
  auto broken = node_with(8);
  broken.spec.edit().ready = false;
  auto lost = node_with(8);
  lost.status = {.watched = true, .lost = true};
  for (const auto& one : {closed, broken, lost}) {
    EXPECT_FALSE(takes_pods(one));
    EXPECT_TRUE(absl::IsFailedPrecondition(promise(one, wanted)));
  }
  EXPECT_FALSE(planned_on(lost).ready);
  EXPECT_FALSE(planned_on(broken).ready);
  EXPECT_TRUE(planned_on(closed).ready);
}

TEST(node_record, promises_what_fits) {
  auto record = node_with(8);
  put_pod(record, pod_of("a", 0, 4));
  EXPECT_TRUE(promise(record, part({pod_of("b", 0, 4)}, {})).ok());
  const auto refused = promise(record, part({pod_of("b", 0, 5)}, {}));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_NE(std::string(refused.message()).find("lacks 1 of gpu"), std::string::npos) << refused;
}

TEST(node_record, that_shrank_still_promises_what_it_is_not_short_of) {
  auto record = node_with(8);
  put_pod(record, pod_of("a", 0, 4));
  record.spec.edit().capacity["cpu"] = 0;
  auto greedy = record.pods.front();
  greedy.requests["cpu"] = 1000;
  put_pod(record, greedy);
  auto modest = pod_of("b", 0, 4);
  EXPECT_TRUE(promise(record, part({modest}, {})).ok());
  modest.requests["cpu"] = 1;
  EXPECT_FALSE(promise(record, part({modest}, {})).ok());
}

TEST(node_record, promises_the_room_of_victims) {
  auto record = node_with(8);
  put_pod(record, pod_of("a", 0, 8));
  EXPECT_TRUE(promise(record, part({pod_of("b", 0, 8)}, {"a-0"})).ok());
}

TEST(node_record, does_not_promise_what_another_hold_was_promised) {
  auto record = node_with(8);
  const auto other = part({pod_of("x", 0, 6)}, {});
  EXPECT_FALSE(promise(record, part({pod_of("b", 0, 4)}, {}), {&other}).ok());
  EXPECT_TRUE(promise(record, part({pod_of("b", 0, 2)}, {}), {&other}).ok());
}

TEST(node_record, does_not_promise_the_room_of_others_victims_before_they_were_told) {
  auto record = node_with(8);
  put_pod(record, pod_of("a", 0, 8));
  const auto other = part({pod_of("x", 0, 2)}, {"a-0"});
  EXPECT_FALSE(promise(record, part({pod_of("b", 0, 4)}, {}), {&other}).ok()) << "only held";
  apply(record, part({pod_of("x", 0, 2, pod_phase::nominated)}, {"a-0"}), "d1");
  EXPECT_FALSE(promise(record, part({pod_of("b", 0, 4)}, {})).ok()) << "only marked";
  tell_victims(record, "d1", now);
  EXPECT_TRUE(promise(record, part({pod_of("b", 0, 4)}, {})).ok());
  EXPECT_FALSE(promise(record, part({pod_of("b", 0, 7)}, {})).ok()) << "2 are the other's";
}

TEST(node_record, refuses_a_victim_that_is_still_being_placed) {
  auto record = node_with(8);
  put_pod(record, pod_of("a", 0, 4, pod_phase::nominated));
  EXPECT_FALSE(promise(record, part({}, {"a-0"})).ok());
}

TEST(node_record, a_victim_that_ended_by_itself_need_not_be_told) {
  auto record = node_with(8);
  auto ended = pod_of("a", 0, 4, pod_phase::gone);
  ended.evicted_by = "d1";
  put_pod(record, ended);
  EXPECT_TRUE(tell_victims(record, "d1", now).empty());
  EXPECT_TRUE(record.pods.empty());
}

TEST(node_record, room_that_was_granted_to_one_is_not_free_for_another) {
  auto record = node_with(8);
  put_pod(record, pod_of("leaves", 0, 4, pod_phase::terminating));
  for (const auto* decision : {"d1", "d2"}) {
    auto held = pod_of(decision, 0, 4, pod_phase::nominated);
    held.placed_by = decision;
    put_pod(record, held);
  }
  auto leaving = record.pods.back(); // in order of uid the leaving one is last
  leaving.evicted_by = not_wanted;
  put_pod(record, leaving);
  EXPECT_TRUE(room_is_free(record, "d1"));
  EXPECT_FALSE(room_is_free(record, "d2", [](std::string_view other) { return other == "d1"; }));
}

TEST(node_record, refuses_a_victim_that_has_left_or_goes_already) {
  auto record = node_with(8);
  auto leaving = pod_of("a", 0, 4);
  leaving.evicted_by = "d1";
  put_pod(record, leaving);
  EXPECT_FALSE(promise(record, part({}, {"a-0"})).ok());
  EXPECT_FALSE(promise(record, part({}, {"nobody"})).ok());
}

TEST(node_record, refuses_to_take_a_part_of_a_whole_portion) {
  auto record = node_with(8);
  for (int i = 0; i < 2; ++i) {
    auto member = pod_of("gang", i, 4);
    member.disruption = disruption_mode::pod_group;
    put_pod(record, member);
  }
  EXPECT_FALSE(promise(record, part({}, {"gang-0"})).ok());
  EXPECT_TRUE(promise(record, part({}, {"gang-0", "gang-1"})).ok());
}

TEST(node_record, refuses_placements_on_a_node_that_takes_none) {
  auto record = node_with(8);
  record.spec.edit().schedulable = false;
  EXPECT_FALSE(promise(record, part({pod_of("b", 0, 1)}, {})).ok());
}

TEST(node_record, counts_pods_where_the_node_limits_their_number) {
  auto record = node_with(8);
  record.spec.edit().capacity["pods"] = 1;
  EXPECT_TRUE(promise(record, part({pod_of("b", 0, 1)}, {})).ok());
  put_pod(record, pod_of("a", 0, 1));
  EXPECT_FALSE(promise(record, part({pod_of("b", 0, 1)}, {})).ok());
}

TEST(node_record, applying_twice_is_the_same_as_once) {
  auto record = node_with(8);
  put_pod(record, pod_of("a", 0, 8));
  auto placed = pod_of("b", 0, 8, pod_phase::nominated);
  placed.placed_by = "d1";
  apply(record, part({placed}, {"a-0"}), "d1");
  const auto once = record;
  apply(record, part({placed}, {"a-0"}), "d1");
  EXPECT_EQ(record, once);
  EXPECT_EQ(find_pod(record, "a-0")->evicted_by, "d1");
}

TEST(node_record, room_is_free_only_when_the_victims_have_gone) {
  auto record = node_with(8);
  put_pod(record, pod_of("a", 0, 8));
  auto placed = pod_of("b", 0, 8, pod_phase::nominated);
  placed.placed_by = "d1";
  apply(record, part({placed}, {"a-0"}), "d1");
  EXPECT_EQ(tell_victims(record, "d1", now).size(), 1U);
  EXPECT_TRUE(tell_victims(record, "d1", now).empty()) << "told twice";
  EXPECT_FALSE(room_is_free(record, "d1"));
  erase_pod(record, "a-0");
  EXPECT_TRUE(room_is_free(record, "d1"));
  EXPECT_EQ(bind_nominated(record, "d1", now).size(), 1U);
  EXPECT_TRUE(bind_nominated(record, "d1", now).empty()) << "bound twice";
}

TEST(node_record, room_that_is_free_stays_with_the_hold_it_was_promised_to) {
  // d1 waits for its victim of 4; d2 has none and was promised the other 4.
  auto record = node_with(8);
  put_pod(record, pod_of("a", 0, 4));
  auto first = pod_of("b", 0, 4, pod_phase::nominated);
  first.placed_by = "d1";
  auto second = pod_of("c", 0, 4, pod_phase::nominated);
  second.placed_by = "d2";
  apply(record, part({first}, {"a-0"}), "d1");
  apply(record, part({second}, {}), "d2");
  tell_victims(record, "d1", now);
  EXPECT_FALSE(room_is_free(record, "d1"));
  EXPECT_TRUE(room_is_free(record, "d2"));
}

TEST(node_record, withdrawing_reprieves_whole_portions_that_were_not_told) {
  auto record = node_with(8);
  put_pod(record, pod_of("a", 0, 4));
  put_pod(record, pod_of("b", 0, 4));
  auto placed = pod_of("c", 0, 8, pod_phase::nominated);
  placed.placed_by = "d1";
  apply(record, part({placed}, {"a-0", "b-0"}), "d1");
  const std::array told{portion_id{"b", "g", 0, 0}};
  release(record, "d1", told);
  EXPECT_EQ(find_pod(record, "c-0"), nullptr);
  EXPECT_EQ(find_pod(record, "a-0")->evicted_by, "");
  EXPECT_EQ(find_pod(record, "b-0")->evicted_by, "d1");
}

TEST(node_record, has_room_now_for_what_fits_beside_all_that_is_there_or_may_come_at_once) {
  auto record = node_with(8);
  auto leaving = pod_of("a", 0, 2, pod_phase::terminating);
  leaving.stop_told = now;
  put_pod(record, leaving);
  auto waiting = pod_of("b", 0, 1, pod_phase::nominated);
  waiting.placed_by = "d1";
  put_pod(record, waiting);
  put_pod(record, pod_of("c", 0, 4, pod_phase::gone));
  const auto coming = part({pod_of("d", 0, 2)}, {});
  const auto fits = [&](std::int64_t gpus, std::vector<const node_part*> others, bool granted) {
    return has_room_now(record, others, part({pod_of("e", 0, gpus)}, {}),
                        [&](std::string_view d) { return granted && d == "d1"; })
      .ok();
  };
  EXPECT_TRUE(fits(6, {}, false)) << "who waits does so until those have gone that it waits for";
  EXPECT_FALSE(fits(7, {}, false)) << "although one is leaving";
  EXPECT_TRUE(fits(5, {}, true));
  EXPECT_FALSE(fits(6, {}, true));
  EXPECT_TRUE(fits(4, {&coming}, false));
  EXPECT_FALSE(fits(5, {&coming}, false));
}

TEST(node_record, binds_at_once_what_is_not_there_yet) {
  auto record = node_with(8);
  put_pod(record, pod_of("a", 0, 2));
  const auto wanted =
    part({pod_of("a", 0, 2, pod_phase::nominated), pod_of("b", 0, 2, pod_phase::nominated)}, {});
  const auto bound = bind_at_once(record, wanted, now);
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_EQ(bound.front()->what().uid, "b-0");
  EXPECT_EQ(find_pod(record, "b-0")->phase, pod_phase::bound);
  EXPECT_EQ(find_pod(record, "b-0")->created, now);
  EXPECT_EQ(find_pod(record, "a-0")->phase, pod_phase::running);
  EXPECT_TRUE(bind_at_once(record, wanted, now).empty());
}

TEST(node_record, a_decision_is_split_by_node) {
  decision d;
  auto placed = pod_of("c", 0, 8);
  placed.node = "n2";
  d.assignments.push_back({placed});
  d.victims.push_back({{"a", "g", 0, -1}, 1, false, 0, {{"a-0", "n1"}, {"a-1", "n2"}}, ""});
  const auto parts = parts_of(shared_pods(d.assignments), d.victims);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0], (node_part{"n1", {}, {"a-0"}, {}}));
  EXPECT_EQ(parts[1], (node_part{"n2", {placed}, {"a-1"}, {}}));
}

} // namespace

} // namespace reprieve
