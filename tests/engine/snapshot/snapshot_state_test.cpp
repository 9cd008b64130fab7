#include "preemption/snapshot/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// What a server's own snapshot says beyond objects and pods.

namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

node a_node(const std::string& name) {
  node n;
  n.name = name;
  n.capacity = {{"gpu", 8000}};
  return n;
}

workload a_workload(const std::string& name, std::int32_t count = 1) {
  workload w;
  w.name = name;
  w.priority = 3;
  auto& group = w.groups.emplace_back();
  group.name = "w";
  group.count = count;
  group.pods.requests = {{"gpu", 1000}};
  return w;
}

/// As a server has it.
workload_course admitted(std::int32_t priority = 3) {
  workload_course course;
  course.uid = "u1";
  course.generation = 4;
  course.resolved = {priority, priority, true};
  course.by_group = {course.resolved};
  return course;
}

pod a_pod(const workload& of, std::int32_t index, pod_phase phase, std::uint32_t incarnation = 0) {
  auto p = pod_at(of, admitted(), 0, 0, index, incarnation);
  p.node = "n1";
  p.phase = phase;
  return p;
}

resource_group a_group(const std::string& name = "default") {
  resource_group group;
  group.name = name;
  return group;
}

standing_decision a_decision(const std::string& id, decision_phase phase,
                             std::vector<victim_pod> victims = {}) {
  standing_decision d;
  d.id = id;
  d.phase = phase;
  d.victims = std::move(victims);
  return d;
}

absl::StatusOr<snapshot> with(std::vector<snapshot::entry> entries) {
  entries.push_back({a_node("n1"), {}});
  return snapshot::of(std::move(entries));
}

std::vector<std::string> uids_waiting(const snapshot& taken) {
  std::vector<std::string> found;
  for (const auto& unit : taken.pending("default"))
    for (const auto& group : unit.groups)
      for (const auto& p : group.pods)
        found.push_back(p.uid);
  return found;
}

} // namespace

TEST(snapshot_state, who_was_admitted_keeps_its_status_as_it_is) {
  auto course = admitted(77); // by a global default of another day
  course.slots = {{{"w", 0, 0}, 2, slot_state::wanted, "d1"}};
  const auto w = a_workload("old");
  const auto taken = with({{w, course}});
  ASSERT_TRUE(taken.ok()) << taken.status();

  const auto& record = taken->workloads().at("old");

  EXPECT_EQ(record.status, static_cast<const workload_status&>(course));
  EXPECT_EQ(record.slots, course.slots);
  EXPECT_THAT(uids_waiting(*taken), ElementsAre("old-w-0-0.u1.2"));
}

TEST(snapshot_state, who_was_admitted_is_not_judged_anew) {
  auto agent = a_workload("agent");
  agent.groups[0].required_node = "gone";
  auto course = admitted(1000);
  auto sessions = a_group();
  sessions.policy = group_policy::sessions;
  const auto taken = with({{sessions, {}}, {agent, course}});
  EXPECT_TRUE(taken.ok()) << taken.status();
  EXPECT_FALSE(with({{agent, {}}}).ok()) << "but who comes now is";
}

TEST(snapshot_state, a_status_must_go_with_its_workload) {
  auto course = admitted();
  course.by_group.clear();
  EXPECT_THAT(
    std::string(with({{a_workload("old"), course}}).status().message()),
    HasSubstr("Workload 'old': status.podGroups has 0 entries, and spec.podGroups has 1"));
}

TEST(snapshot_state, what_is_deleted_asks_for_nothing) {
  auto course = admitted();
  course.deleting = true;
  const auto taken = with({{a_workload("old"), course}});
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT(taken->pending("default"), IsEmpty());
}

TEST(snapshot_state, the_next_pod_of_a_place_waits_until_the_one_before_has_gone) {
  auto w = a_workload("old");
  auto course = admitted();
  course.slots = {{{"w", 0, 0}, 1, slot_state::wanted, "d1"}};
  auto leaves = a_pod(w, 0, pod_phase::terminating);
  leaves.evicted_by = "d1";
  const auto taken = with({{w, course}, {leaves, {}}});
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT(uids_waiting(*taken), IsEmpty());
  const auto later = with({{w, course}});
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_THAT(uids_waiting(*later), ElementsAre("old-w-0-0.u1.1"));

  w.kind = workload_kind::inference;
  const auto serves = with({{w, course}, {leaves, {}}});
  ASSERT_TRUE(serves.ok()) << serves.status();
  EXPECT_THAT(uids_waiting(*serves), ElementsAre("old-w-0-0.u1.1"))
    << "others need it all the time";

  auto comes = a_pod(w, 0, pod_phase::nominated, 1);
  comes.placed_by = "d2";
  const auto both = with({{w, course}, {leaves, {}}, {comes, {}}});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(uids_waiting(*both), IsEmpty());
}

TEST(snapshot_state, nobody_comes_for_a_victim_that_has_gone_before_its_workload_knows) {
  const auto w = a_workload("old");
  group_status status;
  status.decisions = {a_decision("d1", decision_phase::committed, {{"old-w-0-0.u1.0", "n1"}})};
  const auto taken = with({{w, admitted()}, {a_group(), status}});
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT(uids_waiting(*taken), IsEmpty());
  const auto after = with({{w, admitted()}, {a_group(), group_status{}}});
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_THAT(uids_waiting(*after), ElementsAre("old-w-0-0.u1.0"));
}

TEST(snapshot_state, a_decision_that_starts_can_not_be_given_up) {
  const auto w = a_workload("new", 2);
  auto first = a_pod(w, 0, pod_phase::nominated);
  first.placed_by = "d1";
  auto second = a_pod(w, 1, pod_phase::nominated);
  second.placed_by = "d2";
  group_status status;
  status.decisions = {a_decision("d1", decision_phase::starting),
                      a_decision("d2", decision_phase::committed)};
  const auto taken = with({{w, admitted()}, {first, {}}, {second, {}}, {a_group(), status}});
  ASSERT_TRUE(taken.ok()) << taken.status();

  const auto holds = taken->holds("default");

  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].id, "d2");
  EXPECT_THAT(taken->holds("other"), IsEmpty());
}

TEST(snapshot_state, tells_grants_and_reservations_of_each_group) {
  group_status status;
  status.grants = {{"default", {{"gpu", 2000}}}};
  status.reservations = {{"agent-0", "n1", time_point{} + std::chrono::hours{1}}};
  const auto taken = with({{a_group(), status}, {a_group("other"), {}}});
  ASSERT_TRUE(taken.ok()) << taken.status();

  ASSERT_NE(taken->grants("default"), nullptr);
  EXPECT_EQ(taken->grants("default")->at("default"), (resources{{"gpu", 2000}}));
  EXPECT_EQ(taken->grants("other"), nullptr) << "nothing is said of it";
  ASSERT_NE(taken->reservation_for("default", "agent-0"), nullptr);
  EXPECT_EQ(taken->reservation_for("default", "agent-0")->node, "n1");
  EXPECT_EQ(taken->reservation_for("default", "agent-1"), nullptr);
}

TEST(snapshot_state, a_pod_that_is_not_wanted_any_more_may_stand_where_a_server_has_it) {
  const auto w = a_workload("old", 1);
  const auto extra = a_pod(w, 1, pod_phase::running);
  EXPECT_TRUE(with({{w, admitted()}, {extra, {}}}).ok());
  EXPECT_FALSE(with({{w, {}}, {extra, {}}}).ok());
}

} // namespace reprieve::tests
