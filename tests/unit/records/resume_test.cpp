#include "preemption/waiting/pending.hpp"
#include "state/records/resume.hpp"
#include "state/records/workload_record.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace reprieve {

namespace {

using namespace std::chrono_literals;

constexpr time_point now{24h};

resumption resumed(const workload& w, std::int32_t attempts) {
  return resume(w, attempts, now);
}

duration wait_after(const workload& w, std::int32_t attempts) {
  return resumed(w, attempts).not_before - now;
}

workload of_kind(workload_kind kind, bool autoscaled = false) {
  workload w;
  w.kind = kind;
  w.autoscaled = autoscaled;
  return w;
}

workload batch_with_checkpoints() {
  auto w = of_kind(workload_kind::batch);
  w.checkpoint.supported = true;
  return w;
}

/// One batch pod with checkpoints, with something in every field that is to be kept.
workload_record submitted_at(const std::string& name, time_point when) {
  auto spec = batch_with_checkpoints();
  spec.name = name;
  spec.labels = {{"team", "vision"}};
  pod_group group;
  group.name = "main";
  group.pods.labels = {{"app", "train"}};
  group.pods.annotations = {{"note", "kept"}};
  group.pods.requests = {{"gpu", 8000}};
  group.pods.node_selector = {{"zone", "a"}};
  spec.groups = {group};
  workload_record record;
  record.spec = std::move(spec);
  record.status.uid = "u";
  record.status.submitted = when;
  record.status.resolved.priority = 7;
  record.status.by_group = {record.status.resolved};
  return record;
}

workload_record preempted(workload_record record) {
  evict(record, std::array{portion_id{record.spec->name, "main", 0, 0}}, "d1", now);
  return record;
}

bool nobody(const pod&) {
  return false;
}

TEST(resume, batch_work_with_checkpoints_comes_back) {
  EXPECT_TRUE(resumed(batch_with_checkpoints(), 1).comes_back);
}

TEST(resume, batch_work_without_checkpoints_does_not_unless_asked) {
  auto w = of_kind(workload_kind::batch);
  EXPECT_FALSE(resumed(w, 1).comes_back);
  w.resume.policy = resume_policy::always;
  EXPECT_TRUE(resumed(w, 1).comes_back);
}

TEST(resume, interactive_work_does_not_come_back_unless_asked) {
  auto w = of_kind(workload_kind::interactive);
  w.checkpoint.supported = true;
  EXPECT_FALSE(resumed(w, 1).comes_back);
  w.resume.policy = resume_policy::always;
  EXPECT_TRUE(resumed(w, 1).comes_back);
}

TEST(resume, fixed_inference_does_not_come_back_unless_asked) {
  auto w = of_kind(workload_kind::inference);
  EXPECT_FALSE(resumed(w, 1).comes_back);
  w.resume.policy = resume_policy::always;
  EXPECT_TRUE(resumed(w, 1).comes_back);
}

TEST(resume, autoscaled_inference_deployments_and_daemons_come_back) {
  EXPECT_TRUE(resumed(of_kind(workload_kind::inference, true), 1).comes_back);
  EXPECT_TRUE(resumed(of_kind(workload_kind::deployment), 1).comes_back);
  EXPECT_TRUE(resumed(of_kind(workload_kind::daemon), 1).comes_back);
}

TEST(resume, nothing_comes_back_that_asks_not_to) {
  for (auto w : {batch_with_checkpoints(), of_kind(workload_kind::deployment),
                 of_kind(workload_kind::daemon), of_kind(workload_kind::inference, true)}) {
    w.resume.policy = resume_policy::never;
    EXPECT_EQ(resumed(w, 1), resumption{});
  }
}

TEST(resume, work_stops_coming_back_past_its_limit_of_attempts) {
  auto w = batch_with_checkpoints();
  w.resume.limit = 2;
  EXPECT_TRUE(resumed(w, 2).comes_back);
  EXPECT_FALSE(resumed(w, 3).comes_back);
  w.resume.policy = resume_policy::always;
  EXPECT_FALSE(resumed(w, 3).comes_back);
}

TEST(resume, a_limit_of_none_lets_nothing_come_back) {
  auto w = batch_with_checkpoints();
  w.resume.limit = 0;
  EXPECT_FALSE(resumed(w, 1).comes_back);
}

TEST(resume, what_is_to_be_there_comes_back_however_often_it_was_preempted) {
  for (const auto& w : {of_kind(workload_kind::deployment), of_kind(workload_kind::daemon),
                        of_kind(workload_kind::inference, true)})
    EXPECT_TRUE(resumed(w, 1000).comes_back);
}

TEST(resume, the_wait_doubles_with_each_attempt) {
  const auto w = batch_with_checkpoints();
  EXPECT_EQ(wait_after(w, 1), 10s);
  EXPECT_EQ(wait_after(w, 2), 20s);
  EXPECT_EQ(wait_after(w, 3), 40s);
}

TEST(resume, the_wait_grows_to_an_hour_and_no_further) {
  auto w = of_kind(workload_kind::deployment);
  EXPECT_EQ(wait_after(w, 9), 2560s);
  EXPECT_EQ(wait_after(w, 10), 1h);
  EXPECT_EQ(wait_after(w, 2'000'000'000), 1h);
}

TEST(resume, a_longer_wait_that_was_asked_for_is_given_but_does_not_grow) {
  auto w = batch_with_checkpoints();
  w.resume.backoff = 3h;
  EXPECT_EQ(wait_after(w, 1), 3h);
  EXPECT_EQ(wait_after(w, 4), 3h);
}

TEST(resume, without_a_backoff_it_may_be_tried_at_once) {
  auto w = of_kind(workload_kind::deployment);
  w.resume.backoff = 0s;
  EXPECT_EQ(resumed(w, 2'000'000'000), (resumption{true, now}));
}

TEST(resume, preempted_work_keeps_its_configuration_metadata_and_submission) {
  const auto before = submitted_at("train", now - 2h);

  const auto after = preempted(before);

  EXPECT_EQ(after.spec, before.spec);
  EXPECT_EQ(after.status.submitted, before.status.submitted);
  EXPECT_EQ(after.status.resolved, before.status.resolved);
  EXPECT_EQ(after.status.resume_after, now + 10s);
}

TEST(resume, preempted_work_is_pending_again_with_the_same_pods_in_a_new_incarnation) {
  const auto before = submitted_at("train", now);

  const auto was = lacking_units(before, nobody);
  const auto is = lacking_units(preempted(before), nobody);

  ASSERT_EQ(is.size(), 1U);
  EXPECT_EQ(is[0].priority, was[0].priority);
  EXPECT_EQ(is[0].groups[0].node_selector, was[0].groups[0].node_selector);
  auto same = is[0].groups[0].pods[0];
  EXPECT_EQ(same.incarnation, 1U);
  EXPECT_NE(same.uid, was[0].groups[0].pods[0].uid);
  same.incarnation = 0;
  same.uid = was[0].groups[0].pods[0].uid;
  EXPECT_EQ(same, was[0].groups[0].pods[0]);
}

TEST(resume, preempted_work_keeps_its_place_in_the_queue) {
  const auto earlier = preempted(submitted_at("z", now - 2h));
  const auto later = submitted_at("a", now - 1h);

  EXPECT_TRUE(served_before(earlier, later));
  EXPECT_FALSE(served_before(later, earlier));
}

/// As many as it has pods, each of which comes and goes by itself.
TEST(resume, each_of_many_pods_waits_by_how_often_it_was_stopped_itself) {
  auto record = submitted_at("many", now);
  record.spec.edit().groups[0].count = 100;
  record.spec.edit().resume.limit = 3;
  for (std::int32_t i = 0; i < 100; ++i) {
    evict(record, std::array{portion_id{"many", "main", 0, i}}, "d" + std::to_string(i), now);
    EXPECT_EQ(record.status.resume_after, now + 10s) << i;
    EXPECT_EQ(slot_at(record, {"main", 0, i}).state, slot_state::wanted) << i;
  }
  EXPECT_EQ(record.status.attempts, 100);
  evict(record, std::array{portion_id{"many", "main", 0, 7}}, "again", now);
  EXPECT_EQ(record.status.resume_after, now + 20s);
}

TEST(resume, one_that_has_been_stopped_too_often_takes_no_others_with_it) {
  auto record = submitted_at("many", now);
  record.spec.edit().groups[0].count = 2;
  record.spec.edit().resume.limit = 1;
  const portion_id first{"many", "main", 0, 0};
  evict(record, std::array{first}, "d1", now);
  evict(record, std::array{first, portion_id{"many", "main", 0, 1}}, "d2", now);

  EXPECT_EQ(slot_at(record, {"main", 0, 0}).state, slot_state::stopped);
  EXPECT_EQ(slot_at(record, {"main", 0, 1}).state, slot_state::wanted);
}

TEST(resume, work_that_does_not_come_back_holds_nothing_up) {
  auto record = submitted_at("notebook", now);
  record.spec.edit().kind = workload_kind::interactive;

  const auto after = preempted(record);

  EXPECT_EQ(after.status.resume_after, no_time);
  EXPECT_TRUE(lacking_units(after, nobody).empty());
}

} // namespace

} // namespace reprieve
