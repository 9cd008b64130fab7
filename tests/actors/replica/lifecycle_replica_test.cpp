#include "tests/actors/replica/lifecycle_world.hpp"

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST_F(lifecycle_replica, the_cluster_places_what_is_committed) {
  begin_with_crawl();
  EXPECT_EQ(share("crawl")->name, "crawl.edge");
  EXPECT_EQ(share("crawl")->committed, 2);
  replica_->world().advance(seconds{1});
  EXPECT_EQ(share("crawl")->assigned, 2);
  for (const auto& p : pods_of("crawl"))
    EXPECT_EQ(p.placed_by, placed_by_cluster);
}

TEST_F(lifecycle_replica, a_more_important_one_gets_one_of_two_replicas_and_never_the_last) {
  begin_with_crawl();
  apply({deployed("web", 9, 2)});
  ASSERT_TRUE(commits("crawl", 1));
  EXPECT_EQ(committed("web"), 0) << "not before there is room";
  ASSERT_TRUE(comes_to("web", 1));
  replica_->world().advance(seconds{60});
  EXPECT_EQ(committed("crawl"), 1);
  EXPECT_EQ(committed("web"), 1);
  EXPECT_EQ(replica_->pods("crawl", pod_phase::running), 1U);

  const auto why = replica_->explain_workload("web");
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_THAT(why->pending_reason, HasSubstr("1 replica: "));
  const auto preemption =
    std::ranges::find_if(why->decisions, [](const decision& one) { return !one.victims.empty(); });
  ASSERT_NE(preemption, why->decisions.end());
  EXPECT_EQ(preemption->policy, "lifecycle");
  EXPECT_EQ(preemption->phase, decision_phase::done);
  EXPECT_THAT(preemption->why.summary, HasSubstr("crawl goes from 2 to 1"));
  ASSERT_EQ(preemption->victims.size(), 1U);
  EXPECT_THAT(preemption->victims.front().reason, HasSubstr("its priority 1 is below 9"));

  const auto lost = replica_->explain_workload("crawl");
  ASSERT_TRUE(lost.ok());
  EXPECT_TRUE(std::ranges::any_of(lost->decisions,
                                  [&](const decision& one) { return one.id == preemption->id; }));
  EXPECT_THAT(replica_->told_of("crawl.edge"), testing::Contains("ScaledDown"));
  EXPECT_THAT(replica_->told_of("web.edge"), testing::Contains("ScaledUp"));
  EXPECT_THAT(replica_->told_of("crawl"), testing::Contains("Preempted"));
}

TEST_F(lifecycle_replica, a_pod_that_does_not_go_is_force_deleted_when_its_grace_is_over) {
  begin_with_crawl("1h");
  apply({deployed("web", 9, 1)});
  ASSERT_TRUE(commits("crawl", 1));
  ASSERT_TRUE(replica_->world().advance_until(
    [&] { return replica_->pods("crawl", pod_phase::terminating) == 1; }, seconds{5}));
  replica_->world().advance(milliseconds{9500});
  EXPECT_EQ(replica_->pods("crawl", pod_phase::terminating), 1U);
  EXPECT_EQ(committed("web"), 0);
  ASSERT_TRUE(comes_to("web", 1, seconds{3}));
  const auto why = replica_->explain_workload("web");
  ASSERT_TRUE(why.ok());
  const auto forced = std::ranges::find_if(
    why->decisions, [](const decision& one) { return !one.force_deletes.empty(); });
  ASSERT_NE(forced, why->decisions.end());
  EXPECT_THAT(forced->victims.front().reason, HasSubstr("its grace period is over"));
}

TEST_F(lifecycle_replica, a_pod_that_nobody_waits_for_may_take_its_time) {
  begin_with_crawl("1h");
  apply({played(deployed("crawl", 1, 1), "stop-takes", "1h")});
  ASSERT_TRUE(commits("crawl", 1));
  replica_->world().advance(seconds{300});
  EXPECT_EQ(replica_->pods("crawl", pod_phase::terminating), 1U);
}

TEST_F(lifecycle_replica, replicas_come_back_when_there_is_room_again) {
  begin_with_crawl();
  apply({deployed("web", 9, 2)});
  ASSERT_TRUE(comes_to("web", 1));
  apply({edge_node("n3", 2)});
  ASSERT_TRUE(comes_to("web", 2));
  ASSERT_TRUE(comes_to("crawl", 2));
  EXPECT_EQ(committed("crawl"), 2);
}

TEST_F(lifecycle_replica, a_restart_in_the_middle_changes_nothing) {
  for (int after = 0; after < 12; ++after) {
    SCOPED_TRACE(after);
    store_ = std::make_shared<memory_store>();
    std::remove(journal().c_str());
    begin_with_crawl("3s");
    const auto begun = apply_quietly({deployed("web", 9, 2)});
    ASSERT_TRUE(begun);
    replica_->world().advance(milliseconds{after * 400});
    replica_.reset();
    start(seconds{60});
    ASSERT_TRUE(comes_to("web", 1, seconds{30}));
    replica_->world().advance(seconds{30});
    EXPECT_EQ(committed("crawl"), 1);
    EXPECT_EQ(committed("web"), 1);
    EXPECT_EQ(replica_->pods("crawl", pod_phase::running), 1U);
    EXPECT_EQ(preemptions_of("crawl"), 1) << "once is enough";
    replica_.reset();
  }
}

TEST_F(lifecycle_replica, deleting_a_deployment_takes_its_pods_and_its_placement_along) {
  begin_with_crawl("100ms");
  ASSERT_TRUE(replica_->remove(object_kind::workload, "crawl").ok());
  ASSERT_TRUE(replica_->world().advance_until(
    [&] {
      return replica_->get(object_kind::workload).empty() && pods_of("crawl").empty()
             && !share("crawl");
    },
    seconds{10}));
  apply({deployed("web", 9, 2)});
  EXPECT_TRUE(comes_to("web", 2));
}

TEST_F(lifecycle_replica, other_kinds_of_work_go_on_pod_by_pod) {
  start();
  auto batch = work("job", 5, 1);
  batch.resource_group = "edge";
  apply({counting(), edge_node("n1", 1), edge_node("n2", 1), batch});
  ASSERT_TRUE(comes_to("job", 1));
  EXPECT_NE(pods_of("job").front().placed_by, placed_by_cluster);
  EXPECT_TRUE(replica_->get(object_kind::placement).empty());
  apply({deployed("web", 1, 2)});
  ASSERT_TRUE(comes_to("web", 1));
  // A batch job that is more important takes a replica: its cluster does not make it again.
  auto urgent = work("urgent", 50, 1);
  urgent.resource_group = "edge";
  apply({urgent});
  ASSERT_TRUE(comes_to("urgent", 1, seconds{30}));
  replica_->world().advance(seconds{5});
  EXPECT_EQ(replica_->pods("job", pod_phase::running) + replica_->pods("web", pod_phase::running),
            1U);
}

TEST_F(lifecycle_replica, a_group_may_change_its_policy_while_deployments_run) {
  start();
  apply({counting(group_policy::workload_aware), edge_node("n1", 2), edge_node("n2", 1),
         deployed("web", 1, 2)});
  ASSERT_TRUE(comes_to("web", 2));
  const auto before = pods_of("web");
  EXPECT_NE(before.front().placed_by, placed_by_cluster);
  apply({counting()});
  ASSERT_TRUE(commits("web", 2));
  replica_->world().advance(seconds{5});
  const auto after = pods_of("web");
  ASSERT_EQ(after.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(after[i].uid, before[i].uid) << "nobody is disturbed";
  apply({deployed("web", 1, 3)});
  ASSERT_TRUE(comes_to("web", 3));
  apply({counting(group_policy::workload_aware)});
  replica_->world().advance(seconds{30});
  EXPECT_EQ(replica_->pods("web", pod_phase::running), 3U);
  for (const auto& p : pods_of("web"))
    EXPECT_NE(p.placed_by, placed_by_cluster);
}

TEST_F(lifecycle_replica, a_manifest_without_counts_leaves_them_as_they_are) {
  begin_with_crawl();
  placement again;
  again.name = "crawl.edge";
  again.deployment = "crawl";
  again.cluster = "edge";
  again.score = 7;
  apply({again});
  replica_->world().advance(seconds{5});
  EXPECT_EQ(committed("crawl"), 2);
  EXPECT_EQ(share("crawl")->score, 7);
  EXPECT_EQ(replica_->pods("crawl", pod_phase::running), 2U);
}

} // namespace

} // namespace reprieve
