#include "tests/actors/replica/replica_test.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using std::chrono::seconds;

class queue_quota : public replica_test {};

queue weighing(std::string name, std::int64_t weight, bool capped = false) {
  queue q;
  q.name = std::move(name);
  q.weight = weight;
  q.cap_by_demand = capped;
  return q;
}

TEST_F(queue_quota, moves_to_a_queue_that_deserves_it_when_pods_of_another_have_gone) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica
                .apply({machine("n1", 8), weighing("first", 1, true), weighing("second", 3, true),
                        work_in("first", 8)})
                .ok());
  ASSERT_TRUE(comes_to(replica, "first-work", pod_phase::running, 8, seconds{10}));

  ASSERT_TRUE(replica.apply({work_in("second", 8)}).ok());
  ASSERT_TRUE(comes_to(replica, "second-work", pod_phase::running, 6, seconds{60}));

  EXPECT_EQ(replica.pods("first-work", pod_phase::running), 2U) << "a quarter of the weight";
  const auto queues = replica.get(object_kind::queue, "second");
  ASSERT_EQ(queues.size(), 1U);
  ASSERT_TRUE(queues.front().queue);
  EXPECT_EQ(queues.front().queue->deserved, (resources{{"gpu", 6000}}));
  EXPECT_EQ(queues.front().queue->allocated, (resources{{"gpu", 6000}}));
  EXPECT_EQ(amount_of(queues.front().queue->preempting, "gpu"), 0);
}

TEST_F(queue_quota, is_given_back_pod_by_pod_to_who_deserves_it_and_says_why) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica
                .apply({machine("n1", 8), weighing("first", 1, true), weighing("second", 3, true),
                        work_in("first", 8)})
                .ok());
  ASSERT_TRUE(comes_to(replica, "first-work", pod_phase::running, 8, seconds{10}));
  ASSERT_TRUE(replica.apply({work_in("second", 8)}).ok());
  ASSERT_TRUE(comes_to(replica, "second-work", pod_phase::running, 6, seconds{60}));

  const auto why = replica.explain_workload("first-work");

  ASSERT_TRUE(why.ok());
  std::size_t victims = 0;
  for (const auto& one : why->decisions)
    if (!one.victims.empty()) {
      EXPECT_EQ(one.policy, "queues");
      EXPECT_EQ(one.workloads, std::vector<std::string>{"second-work"});
      EXPECT_EQ(one.assignments.size(), 1U);
      EXPECT_NE(one.victims.front().reason.find("its queue first uses"), std::string::npos)
        << one.victims.front().reason;
      victims += one.victims.size();
    }
  EXPECT_EQ(victims, 6U);
}

TEST_F(queue_quota, that_a_queue_may_not_keep_is_given_back_by_a_decision_without_a_preemptor) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(
    replica
      .apply({machine("n1", 8), weighing("first", 1), weighing("second", 1), work_in("first", 8)})
      .ok());
  ASSERT_TRUE(comes_to(replica, "first-work", pod_phase::running, 4, seconds{10}));
  ASSERT_TRUE(replica.apply({weighing("second", 3)}).ok());
  ASSERT_TRUE(comes_to(replica, "first-work", pod_phase::running, 2, seconds{10}));

  const auto why = replica.explain_workload("first-work");

  ASSERT_TRUE(why.ok());
  const auto reclaimed = std::ranges::find(why->decisions, std::string("first"), &decision::queue);
  ASSERT_NE(reclaimed, why->decisions.end());
  EXPECT_EQ(reclaimed->policy, "queues");
  EXPECT_EQ(reclaimed->victims.size(), 2U);
  EXPECT_TRUE(reclaimed->assignments.empty());
  EXPECT_NE(reclaimed->why.summary.find("queue first gives back"), std::string::npos);
}

TEST_F(queue_quota, survives_a_restart) {
  {
    replica_world replica(store_, journal());
    ASSERT_TRUE(replica.start().ok());
    ASSERT_TRUE(
      replica
        .apply({machine("n1", 8), weighing("first", 1), weighing("second", 3), work_in("first", 8)})
        .ok());
    ASSERT_TRUE(comes_to(replica, "first-work", pod_phase::running, 2, seconds{10}));
  }
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  replica.world().advance(seconds{5});

  EXPECT_EQ(replica.pods("first-work", pod_phase::running), 2U);
  EXPECT_TRUE(read_account(journal()).stopped.empty());
}

TEST_F(queue_quota, of_a_full_queue_lets_its_more_important_work_preempt) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  auto urgent = work("urgent", 10);
  urgent.queue = "first";
  ASSERT_TRUE(
    replica.apply({machine("n1", 2), weighing("first", 1, true), work_in("first", 2)}).ok());
  ASSERT_TRUE(comes_to(replica, "first-work", pod_phase::running, 2, seconds{10}));

  ASSERT_TRUE(replica.apply({urgent}).ok());
  ASSERT_TRUE(comes_to(replica, "urgent", pod_phase::running, 1, seconds{10}));

  EXPECT_EQ(replica.pods("first-work", pod_phase::running), 1U)
    << "who goes counts for the queue's quota as who comes does";
}

TEST_F(queue_quota, that_grows_lets_more_important_work_have_what_others_took_of_it_meanwhile) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  auto first = weighing("first", 1, true);
  first.limit = {{"gpu", 8000}};
  resource_group elsewhere;
  elsewhere.name = "elsewhere";
  auto there = machine("n2", 3);
  there.resource_group = "elsewhere";
  auto far = work("far", 0, 3);
  far.queue = "first";
  far.resource_group = "elsewhere";
  ASSERT_TRUE(replica.apply({elsewhere, machine("n1", 16), there, first, far}).ok());
  ASSERT_TRUE(comes_to(replica, "far", pod_phase::running, 3, seconds{10}));
  auto wide = work("wide", 9);
  wide.queue = "first";
  wide.groups[0].pods.requests = {{"gpu", 6000}};
  ASSERT_TRUE(replica.apply({wide}).ok());
  replica.world().advance(seconds{5});
  ASSERT_TRUE(replica.apply({work_in("first", 4)}).ok());
  ASSERT_TRUE(comes_to(replica, "first-work", pod_phase::running, 4, seconds{10}));
  ASSERT_EQ(replica.pods("wide", pod_phase::running), 0U) << "the other group has three of eight";

  ASSERT_TRUE(replica.remove(object_kind::workload, "far").ok());

  EXPECT_TRUE(comes_to(replica, "wide", pod_phase::running, 1, seconds{30}));
  EXPECT_EQ(replica.pods("first-work", pod_phase::running), 2U);
}

/// A limit of four GPUs that two resource groups share, of which the first has them all; its pods
/// take long to stop.
class quota_of_two_groups : public replica_test {
protected:
  void SetUp() override {
    ASSERT_TRUE(replica_.start().ok());
    auto all = weighing("all", 1, true);
    all.limit = {{"gpu", 4000}};
    resource_group elsewhere;
    elsewhere.name = "elsewhere";
    auto there = machine("n2", 4);
    there.resource_group = "elsewhere";
    auto slow = played(work("here", 0, 4), "stop-takes", "20s");
    slow.queue = "all";
    slow.grace_period = seconds{60};
    ASSERT_TRUE(replica_.apply({elsewhere, machine("n1", 4), there, all, slow}).ok());
    ASSERT_TRUE(comes_to(replica_, "here", pod_phase::running, 4, seconds{10}));
    auto urgent = work("there", 9, 4);
    urgent.queue = "all";
    urgent.resource_group = "elsewhere";
    ASSERT_TRUE(replica_.apply({urgent}).ok());
    replica_.world().advance(seconds{5});
  }

  /// Pods that are on some machine.
  std::size_t there_are() {
    return replica_.get(object_kind::pod).size();
  }

  replica_world replica_{store_, journal()};
};

TEST_F(quota_of_two_groups, moves_when_pods_have_gone_and_not_when_they_begin_to_leave) {
  EXPECT_EQ(replica_.pods("there", pod_phase::running), 0U);
  ASSERT_TRUE(replica_.remove(object_kind::workload, "here").ok());
  for (int i = 0; i < 18; ++i) {
    replica_.world().advance(seconds{1});
    EXPECT_EQ(replica_.pods("there", pod_phase::bound) + replica_.pods("there", pod_phase::running),
              0U)
      << i << " s after they were told to stop";
  }
  ASSERT_TRUE(comes_to(replica_, "there", pod_phase::running, 4, seconds{10}));
  EXPECT_EQ(there_are(), 4U);
}

TEST_F(quota_of_two_groups, moves_part_by_part_as_pods_go) {
  auto fewer = played(work("here", 0, 2), "stop-takes", "20s");
  fewer.queue = "all";
  fewer.grace_period = seconds{60};
  ASSERT_TRUE(replica_.apply({fewer}).ok());
  replica_.world().advance(seconds{10});
  EXPECT_EQ(there_are(), 4U) << "two leave";
  ASSERT_TRUE(comes_to(replica_, "there", pod_phase::running, 2, seconds{20}));
  EXPECT_EQ(replica_.pods("here", pod_phase::running), 2U);
  EXPECT_EQ(there_are(), 4U);
}

} // namespace

} // namespace reprieve
