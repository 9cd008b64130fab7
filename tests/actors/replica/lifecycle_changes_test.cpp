#include "state/store/forwarding_store.hpp"
#include "tests/actors/replica/lifecycle_world.hpp"

#include <utility>
#include <variant>

/// What happens in between, where a cluster counts replicas: queues, deletions, nodes that are
/// lost.
namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Capped by its demand, so that others may use what it does not.
queue queue_named(std::string name, std::string parent = {}, std::int64_t limit = 0) {
  queue q;
  q.name = std::move(name);
  q.parent = std::move(parent);
  q.weight = 1;
  q.cap_by_demand = true;
  if (limit > 0)
    q.limit = {{"gpu", limit * 1000}};
  return q;
}

/// A queue that may not use any GPU.
queue closed_queue(std::string name) {
  auto q = queue_named(std::move(name));
  q.limit = {{"gpu", 0}};
  return q;
}

/// A batch job of one pod, which is placed by itself.
workload job_of(std::string name, std::int32_t priority) {
  auto w = work(std::move(name), priority, 1);
  w.resource_group = "edge";
  return w;
}

/// A store in which some writes take as long as the test wants.
class late_store final : public forwarding_store {
public:
  using forwarding_store::forwarding_store;

  /// From now on those wait that put a key which begins so, and no others; none where it is empty.
  void hold(std::string beginning) {
    held_ = std::move(beginning);
    for (auto& [writes, done] : std::exchange(waiting_, {}))
      commit(std::move(writes), std::move(done));
  }

  void commit(transaction writes, store_callback<transaction_result> done) override {
    const bool waits =
      !held_.empty() && std::ranges::any_of(writes.operations, [&](const operation& one) {
        const auto* written = std::get_if<put>(&one);
        return written != nullptr && written->key.starts_with(held_);
      });
    if (waits)
      waiting_.emplace_back(std::move(writes), std::move(done));
    else
      behind().commit(std::move(writes), std::move(done));
  }

private:
  std::string held_;
  std::vector<std::pair<transaction, store_callback<transaction_result>>> waiting_;
};

workload in_queue(std::string name, workload w) {
  w.queue = std::move(name);
  return w;
}

class lifecycle_changes : public lifecycle_replica {
protected:
  /// How many pods of the deployment have been started so far.
  int started(const std::string& deployment) {
    int sum = 0;
    for (const auto& [uid, times] : read_account(journal()).started)
      if (uid.starts_with(deployment + "-"))
        sum += times;
    return sum;
  }

  std::string why_waits(const std::string& deployment) {
    const auto why = replica_->explain_workload(deployment);
    return why.ok() ? why->pending_reason : std::string(why.status().message());
  }
};

// -- queues ---------------------------------------------------------------------------------------

TEST_F(lifecycle_changes, queues_share_and_nothing_wanders_between_them) {
  start();
  auto one = queue_named("one");
  auto two = queue_named("two");
  one.cap_by_demand = two.cap_by_demand = false;
  apply({counting(), edge_node("n1", 4), one, two});
  apply({in_queue("one", deployed("a", 9, 4))});
  ASSERT_TRUE(comes_to("a", 2));
  apply({in_queue("two", deployed("b", 1, 4))});
  ASSERT_TRUE(comes_to("b", 2, seconds{30})) << why_waits("b");
  const auto before = started("a") + started("b");
  replica_->world().advance(seconds{120});
  EXPECT_EQ(committed("a"), 2);
  EXPECT_EQ(committed("b"), 2);
  EXPECT_EQ(replica_->pods("a", pod_phase::running), 2U);
  EXPECT_EQ(replica_->pods("b", pod_phase::running), 2U);
  EXPECT_EQ(started("a") + started("b"), before);
  EXPECT_EQ(before, 4);
  EXPECT_THAT(why_waits("a"), HasSubstr("queue one deserves 2 gpu here"));
}

TEST_F(lifecycle_changes, a_limit_further_up_holds_for_replicas) {
  start();
  apply({counting(), edge_node("n1", 8), queue_named("all", "", 3), queue_named("one", "all"),
         queue_named("two", "all")});
  apply({in_queue("one", deployed("a", 5, 2)), in_queue("two", deployed("b", 1, 4))});
  ASSERT_TRUE(comes_to("a", 2));
  ASSERT_TRUE(comes_to("b", 1));
  replica_->world().advance(seconds{60});
  EXPECT_EQ(committed("b"), 1);
  EXPECT_THAT(why_waits("b"), HasSubstr("queue all has a limit of 3 gpu here"));
  apply({queue_named("all", "", 5)});
  ASSERT_TRUE(comes_to("b", 3)) << why_waits("b");
}

TEST_F(lifecycle_changes,
       a_limit_that_falls_takes_as_many_as_it_must_and_one_that_rises_gives_back) {
  start();
  apply({counting(), edge_node("n1", 4), queue_named("one", "", 4)});
  apply({in_queue("one", deployed("a", 1, 4))});
  ASSERT_TRUE(comes_to("a", 4));
  apply({queue_named("one", "", 2)});
  ASSERT_TRUE(commits("a", 2, seconds{30}));
  replica_->world().advance(seconds{60});
  EXPECT_EQ(committed("a"), 2);
  EXPECT_EQ(replica_->pods("a", pod_phase::running), 2U);
  EXPECT_EQ(started("a"), 4) << "two went, and nobody else";
  apply({queue_named("one", "", 3)});
  ASSERT_TRUE(comes_to("a", 3));
  EXPECT_EQ(started("a"), 5);
}

TEST_F(lifecycle_changes, a_limit_that_falls_to_nothing_stops_each_replica_once) {
  start();
  apply({counting(), edge_node("n1", 4), queue_named("one", "", 4)});
  apply({in_queue("one", deployed("a", 1, 4))});
  ASSERT_TRUE(comes_to("a", 4));
  apply({queue_named("one", "", 2)});
  ASSERT_TRUE(comes_to("a", 2, seconds{30}));
  apply({closed_queue("one")});
  ASSERT_TRUE(comes_to("a", 0, seconds{30}));
  replica_->world().advance(seconds{60});
  EXPECT_EQ(committed("a"), 0);
  EXPECT_EQ(started("a"), 4) << "nobody came in place of those who went";
  EXPECT_THAT(replica_->told_of("a"), Not(Contains("Aborted")));
}

TEST_F(lifecycle_changes, nobody_comes_in_place_of_those_who_go_while_the_lower_count_is_written) {
  const auto late = std::make_shared<late_store>(store_);
  replica_.emplace(late, journal());
  ASSERT_TRUE(replica_->start().ok());
  apply({counting(), edge_node("n1", 4), queue_named("one")});
  apply({in_queue("one", played(deployed("a", 1, 2), "stop-takes", "2s"))});
  ASSERT_TRUE(comes_to("a", 2));

  // Cycles run before the decision is committed, and between the stops and the lower count.
  late->hold("d/open/");
  apply({closed_queue("one")});
  replica_->world().advance(milliseconds{50});
  apply({queue_named("two")});
  replica_->world().advance(milliseconds{50});
  late->hold("p/");
  replica_->world().advance(milliseconds{500});
  EXPECT_EQ(replica_->pods("a", pod_phase::terminating), 2U);
  EXPECT_EQ(committed("a"), 2);
  EXPECT_EQ(started("a"), 2);

  late->hold("");
  ASSERT_TRUE(commits("a", 0));
  replica_->world().advance(seconds{60});
  EXPECT_EQ(replica_->pods("a", pod_phase::running), 0U);
  EXPECT_EQ(started("a"), 2);
  EXPECT_THAT(replica_->told_of("a"), Not(Contains("Aborted")));
}

// -- work that is placed pod by pod ---------------------------------------------------------------

TEST_F(lifecycle_changes, several_that_take_replicas_of_one_deployment_do_so_one_after_another) {
  start();
  apply({counting(), edge_node("n1", 3), edge_node("n2", 3), deployed("crawl", 1, 6)});
  ASSERT_TRUE(comes_to("crawl", 6));
  const std::vector<std::string> jobs{"j1", "j2", "j3"};
  apply({job_of("j1", 9), job_of("j2", 9), job_of("j3", 9)});
  for (const auto& name : jobs)
    ASSERT_TRUE(comes_to(name, 1, seconds{30})) << name;
  replica_->world().advance(seconds{30});
  EXPECT_EQ(committed("crawl"), 3);
  EXPECT_EQ(replica_->pods("crawl", pod_phase::running), 3U);
  EXPECT_EQ(started("crawl"), 6) << "three went, and nobody came in their place";
  EXPECT_EQ(preemptions_of("crawl"), 3);
  for (const auto& name : jobs)
    EXPECT_THAT(replica_->told_of(name), Not(Contains("Aborted"))) << name;
  EXPECT_THAT(replica_->told_of("crawl"), Not(Contains("Aborted")));
}

// -- while victims go -----------------------------------------------------------------------------

TEST_F(lifecycle_changes, what_was_taken_comes_back_when_the_preemptor_is_deleted) {
  begin_with_crawl("40s");
  apply({deployed("web", 9, 1)});
  ASSERT_TRUE(commits("crawl", 1));
  ASSERT_TRUE(replica_->remove(object_kind::workload, "web").ok());
  ASSERT_TRUE(comes_to("crawl", 2, seconds{60}));
  EXPECT_EQ(committed("crawl"), 2);
  EXPECT_FALSE(share("crawl")->preempted);
  EXPECT_FALSE(share("web"));
}

TEST_F(lifecycle_changes, a_victim_may_be_deleted_while_it_goes) {
  begin_with_crawl("5s");
  apply({deployed("web", 9, 2)});
  ASSERT_TRUE(commits("crawl", 1));
  ASSERT_TRUE(replica_->remove(object_kind::workload, "crawl").ok());
  ASSERT_TRUE(comes_to("web", 2, seconds{30}));
  EXPECT_FALSE(share("crawl"));
  EXPECT_EQ(committed("web"), 2);
}

TEST_F(lifecycle_changes, a_victim_that_asks_for_more_gets_nothing_while_it_goes) {
  begin_with_crawl("5s");
  apply({deployed("web", 9, 1)});
  ASSERT_TRUE(commits("crawl", 1));
  apply({played(deployed("crawl", 1, 4), "stop-takes", "5s")});
  replica_->world().advance(seconds{2});
  EXPECT_EQ(committed("crawl"), 1);
  EXPECT_THAT(why_waits("crawl"), HasSubstr("gets nothing until its pod has gone"));
  ASSERT_TRUE(comes_to("web", 1, seconds{30}));
  apply({edge_node("n3", 1)});
  ASSERT_TRUE(comes_to("crawl", 2, seconds{30}));
  EXPECT_EQ(preemptions_of("crawl"), 1);
}

TEST_F(lifecycle_changes, a_preemptor_that_asks_for_less_takes_nobody_more) {
  start();
  apply({counting(), edge_node("n1", 4), played(deployed("crawl", 1, 4), "stop-takes", "3s")});
  ASSERT_TRUE(comes_to("crawl", 4));
  apply({deployed("web", 9, 2)});
  ASSERT_TRUE(commits("crawl", 2));
  apply({deployed("web", 9, 1)});
  ASSERT_TRUE(comes_to("web", 1, seconds{30}));
  ASSERT_TRUE(comes_to("crawl", 3, seconds{30}));
  replica_->world().advance(seconds{60});
  EXPECT_EQ(preemptions_of("crawl"), 1);
}

// -- nodes ----------------------------------------------------------------------------------------

TEST_F(lifecycle_changes, nothing_is_placed_on_a_node_that_is_lost) {
  start();
  auto group = counting();
  group.heartbeat_timeout = seconds{10};
  apply({group, edge_node("n1", 2), edge_node("n2", 2)});
  ASSERT_TRUE(replica_->heartbeat({"n1", "n2"}).ok());
  for (int i = 0; i < 4; ++i) {
    replica_->world().advance(seconds{5});
    ASSERT_TRUE(replica_->heartbeat({"n2"}).ok());
  }
  apply({deployed("a", 1, 3)});
  ASSERT_TRUE(comes_to("a", 2));
  for (const auto& p : pods_of("a"))
    EXPECT_EQ(p.node, "n2");
  EXPECT_EQ(committed("a"), 2);
  ASSERT_TRUE(replica_->heartbeat({"n1", "n2"}).ok());
  EXPECT_TRUE(comes_to("a", 3));
}

TEST_F(lifecycle_changes, a_node_that_is_closed_keeps_its_replicas_and_gets_no_more) {
  begin_with_crawl();
  auto closed = edge_node("n1", 1);
  closed.schedulable = false;
  apply({closed, deployed("web", 9, 2), edge_node("n3", 1)});
  ASSERT_TRUE(comes_to("web", 1, seconds{30}));
  replica_->world().advance(seconds{30});
  EXPECT_EQ(committed("crawl") + committed("web"), 3);
  for (const auto& p : pods_of("web"))
    EXPECT_NE(p.node, "n1");
}

/// Six replicas of `a`, of which `e1` runs four and `e0` two; then `e1` is lost in some way.
class lifecycle_lost_nodes : public lifecycle_replica {
protected:
  void begin(bool watched) {
    start();
    auto group = counting();
    if (watched) {
      group.heartbeat_timeout = seconds{10};
      group.lost_node_timeout = seconds{20};
    }
    apply({group, edge_node("e1", 4), deployed("a", 1, 6)});
    ASSERT_TRUE(comes_to("a", 4));
    apply({edge_node("e0", 4)});
    ASSERT_TRUE(comes_to("a", 6));
    if (watched) {
      ASSERT_TRUE(replica_->heartbeat({"e0", "e1"}).ok());
    }
    replica_->world().advance(seconds{2});
    for (const auto& p : pods_of("a"))
      (p.node == "e1" ? on_e1_ : on_e0_).push_back(p.uid);
    ASSERT_EQ(on_e1_.size(), 4U);
    ASSERT_EQ(on_e0_.size(), 2U);
  }

  void pass(seconds time, const std::vector<std::string>& up) {
    for (; time > seconds{0}; time -= seconds{2}) {
      replica_->world().advance(seconds{2});
      ASSERT_TRUE(replica_->heartbeat(up).ok());
    }
  }

  int running_on(const std::string& node) {
    const auto pods = pods_of("a");
    return static_cast<int>(std::ranges::count_if(
      pods, [&](const pod& p) { return p.node == node && p.phase == pod_phase::running; }));
  }

  int stopped(const std::vector<std::string>& uids) {
    auto told = read_account(journal());
    int sum = 0;
    for (const auto& uid : uids)
      sum += told.stopped[uid];
    return sum;
  }

  std::vector<std::string> on_e0_, on_e1_; ///< uids
};

TEST_F(lifecycle_lost_nodes, replicas_come_to_other_nodes_when_theirs_is_deleted_by_force) {
  begin(false);
  ASSERT_TRUE(replica_->remove(object_kind::node, "e1", true).ok());
  replica_->world().advance(seconds{10});
  EXPECT_EQ(running_on("e0"), 4);
  EXPECT_EQ(committed("a"), 4);
  EXPECT_EQ(share("a")->assigned, 4);
  EXPECT_EQ(stopped(on_e0_), 0) << "they are well";
  EXPECT_EQ(stopped(on_e1_), 4) << "their machine was there after all";
  EXPECT_THAT(replica_->told_of("e1"), Contains("NodeClean"));

  apply({edge_node("e1", 4)});
  ASSERT_TRUE(comes_to("a", 6));
  EXPECT_EQ(running_on("e1"), 2);
  for (const auto& p : pods_of("a"))
    EXPECT_THAT(on_e1_, Not(Contains(p.uid)));
}

TEST_F(lifecycle_lost_nodes, a_closed_node_keeps_its_replicas_when_the_other_is_deleted_by_force) {
  begin(false);
  auto closed = edge_node("e0", 4);
  closed.schedulable = false;
  apply({closed});
  ASSERT_TRUE(replica_->remove(object_kind::node, "e1", true).ok());
  replica_->world().advance(seconds{10});
  EXPECT_EQ(running_on("e0"), 2);
  EXPECT_EQ(committed("a"), 2);
  EXPECT_EQ(stopped(on_e0_), 0);
}

TEST_F(lifecycle_lost_nodes, a_replica_that_begins_anew_after_one_was_deleted_goes_on) {
  begin(false);
  ASSERT_TRUE(replica_->remove(object_kind::node, "e1", true).ok());
  start(seconds{12});
  replica_->world().advance(seconds{10});
  EXPECT_EQ(running_on("e0"), 4);
  EXPECT_EQ(committed("a"), 4);
  EXPECT_EQ(stopped(on_e0_), 0);
  EXPECT_EQ(stopped(on_e1_), 4);
}

TEST_F(lifecycle_lost_nodes, replicas_come_to_other_nodes_when_they_are_given_up) {
  begin(true);
  pass(seconds{28}, {"e0"});
  EXPECT_EQ(running_on("e0"), 2) << "the others may be heard again";
  EXPECT_EQ(committed("a"), 6);

  pass(seconds{20}, {"e0"});
  EXPECT_EQ(running_on("e0"), 4);
  EXPECT_EQ(running_on("e1"), 0);
  EXPECT_EQ(committed("a"), 4);
  EXPECT_EQ(share("a")->assigned, 4);
  EXPECT_EQ(stopped(on_e0_), 0) << "they are well";
  EXPECT_EQ(stopped(on_e1_), 0) << "nobody hears there";
  EXPECT_EQ(preemptions_of("a"), 1) << "its count falls once";
}

TEST_F(lifecycle_lost_nodes, what_a_node_runs_that_is_heard_again_is_stopped_before_replicas_come) {
  begin(true);
  pass(seconds{40}, {"e0"});
  ASSERT_EQ(running_on("e0"), 4);
  pass(seconds{10}, {"e0", "e1"});
  EXPECT_EQ(stopped(on_e1_), 4);
  EXPECT_EQ(running_on("e0"), 4);
  EXPECT_EQ(running_on("e1"), 2);
  EXPECT_EQ(committed("a"), 6);
  EXPECT_EQ(stopped(on_e0_), 0);
  EXPECT_THAT(replica_->told_of("e1"),
              testing::ElementsAre("NodeLost", "PodsLost", "NodeBack", "NodeClean"));
}

TEST_F(lifecycle_lost_nodes, replicas_stay_given_up_when_the_cluster_and_all_others_begin_anew) {
  begin(true);
  pass(seconds{40}, {"e0"});
  start(seconds{60});
  pass(seconds{10}, {"e0"});
  EXPECT_EQ(running_on("e0"), 4);
  EXPECT_EQ(running_on("e1"), 0);
  EXPECT_EQ(share("a")->assigned, 4);
  EXPECT_EQ(stopped(on_e0_), 0);
  pass(seconds{10}, {"e0", "e1"});
  EXPECT_EQ(stopped(on_e1_), 4);
  EXPECT_EQ(replica_->pods("a", pod_phase::running), 6U);
}

// -- policies -------------------------------------------------------------------------------------

TEST_F(lifecycle_changes, a_policy_that_changes_to_and_fro_while_victims_go_comes_to_rest) {
  for (int after = 0; after < 8; ++after) {
    SCOPED_TRACE(after);
    store_ = std::make_shared<memory_store>();
    std::remove(journal().c_str());
    begin_with_crawl("3s");
    apply({deployed("web", 9, 1)});
    replica_->world().advance(milliseconds{after * 300});
    apply({counting(group_policy::workload_aware)});
    replica_->world().advance(milliseconds{after * 200});
    apply({counting()});
    ASSERT_TRUE(comes_to("web", 1, seconds{60})) << why_waits("web");
    replica_->world().advance(seconds{60});
    EXPECT_EQ(replica_->pods("web", pod_phase::running), 1U);
    EXPECT_EQ(replica_->pods("crawl", pod_phase::running), 1U);
    EXPECT_EQ(committed("crawl"), 1);
    EXPECT_EQ(committed("web"), 1);
    EXPECT_EQ(share("crawl")->assigned, 1);
    replica_.reset();
  }
}

} // namespace

} // namespace reprieve
