#include "actors/coordinator/coordinator_snapshot.hpp"
#include "preemption/snapshot/snapshot_cycle.hpp"
#include "tests/actors/properties/same_state.hpp"
#include "tests/actors/replica/replica_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using std::chrono::seconds;

/// The live state of a whole replica as manifests (`reprieve admin snapshot`).
class snapshot_of_replica : public replica_test {
protected:
  snapshot_of_replica() : replica_(store_, journal()) {}

  void SetUp() override {
    ASSERT_TRUE(replica_.start().ok());
    serving_ = replica_.serving();
  }

  /// The state that the gateway hands out, written as manifests and read again.
  absl::StatusOr<snapshot> take() {
    auto taken = replica_.snapshot();
    if (!taken.ok())
      return taken.status();
    whole_ = *taken;
    return tests::written_and_read(*whole_);
  }

  /// Likewise at this very moment, whatever messages are on their way.
  absl::StatusOr<snapshot> take_at_once() {
    auto found = read_state(actor());
    if (!found.ok())
      return found.status();
    auto whole = std::make_shared<cluster_snapshot>();
    whole->known = coordinator().known;
    whole->groups.push_back(*std::move(found));
    whole_ = std::move(whole);
    return tests::written_and_read(*whole_);
  }

  coordinator_pointer actor() const {
    return dynamic_cast<coordinator_pointer>(
      caf::actor_cast<caf::abstract_actor*>(serving_->groups.at("default").coordinator));
  }

  /// What the coordinator has: nothing happens to it while nobody lets the world go on.
  coordinator_state& coordinator() const {
    return actor()->state;
  }

  /// What is different between the manifests and what the coordinator decides on.
  std::string difference(const snapshot& read) {
    auto& live = coordinator();
    plan_settings settings;
    settings.group = live.known->groups.at("default");
    settings.now = whole_->groups.front().taken;
    auto found = tests::difference(read, live.mirror, settings);
    const auto* grants = read.grants("default");
    if ((grants == nullptr) != !live.grants || (grants != nullptr && *grants != *live.grants))
      found += "the grants are others\n";
    for (const auto& one : read.status_of("default").decisions) {
      const auto open = live.decisions.find(one.id);
      if (open == live.decisions.end() || open->second.phase != one.phase
          || open->second.told != one.told)
        found += fmt::format("decision {} stands elsewhere\n", one.id);
    }
    if (read.status_of("default").decisions.size() != live.decisions.size())
      found += "the open decisions are others\n";
    return found;
  }

  static workload slow(const std::string& name, std::int32_t priority = 0) {
    auto w = played(work(name, priority), "stop-takes", "20s");
    w.grace_period = seconds{30};
    return w;
  }

  replica_world replica_;
  std::shared_ptr<const directory> serving_;
  std::shared_ptr<const cluster_snapshot> whole_;
};

TEST_F(snapshot_of_replica, has_nominations_and_victims_that_leave_as_the_coordinator_sees_them) {
  ASSERT_TRUE(replica_.apply({machine("n1", 1), machine("n2", 1), slow("a"), slow("b", 3)}).ok());
  ASSERT_TRUE(comes_to(replica_, "a", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(comes_to(replica_, "b", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(replica_.apply({work("urgent", 9)}).ok());
  ASSERT_TRUE(comes_to(replica_, "urgent", pod_phase::nominated, 1, seconds{5}));
  ASSERT_TRUE(comes_to(replica_, "a", pod_phase::terminating, 1, seconds{5}));
  ASSERT_TRUE(replica_.apply({work("late", 1)}).ok());
  replica_.world().advance(seconds{1});

  const auto read = take();

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(difference(*read), "");
  const auto& decisions = read->status_of("default").decisions;
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0].phase, decision_phase::committed);
  EXPECT_TRUE(decisions[0].told);
  EXPECT_EQ(decisions[0].workloads, std::vector<std::string>{"urgent"});
  EXPECT_EQ(decisions[0].places.size(), 1U);
  ASSERT_EQ(decisions[0].victims.size(), 1U);
  const auto gone = std::ranges::find(read->pods(), decisions[0].victims[0].uid, &pod::uid);
  ASSERT_NE(gone, read->pods().end());
  EXPECT_EQ(gone->evicted_by, decisions[0].id);
  EXPECT_NE(gone->stop_told, no_time);
  const auto holds = read->holds("default");
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].id, decisions[0].id);
  EXPECT_TRUE(holds[0].untold.empty()) << "it was told";
  // `late` waits; `a` comes back when it has gone.
  EXPECT_EQ(read->pending("default").size(), 1U);
}

TEST_F(snapshot_of_replica, is_the_same_state_at_every_moment_of_a_preemption) {
  ASSERT_TRUE(replica_
                .apply({machine("n1", 2), machine("n2", 2), slow("a", 1), slow("b", 2),
                        work("c", 3), work("d", 4)})
                .ok());
  for (const auto* name : {"a", "b", "c", "d"})
    ASSERT_TRUE(comes_to(replica_, name, pod_phase::running, 1, seconds{5}));
  auto gang = work("gang", 9, 2);
  gang.groups[0].min_count = 2;
  gang.groups[0].disruption = disruption_mode::pod_group;
  gang.groups[0].pods.requests = {{"gpu", 2000}};
  std::set<decision_phase> seen;
  std::size_t open = 0;
  bool all_run = false;
  ASSERT_TRUE(replica_.apply({gang}).ok());
  for (int i = 0; i < 500 && !all_run; ++i) {
    if (i < 300)
      for (int steps = 0; steps < 5 && !replica_.world().step(); ++steps)
        replica_.world().tick();
    else
      replica_.world().advance(std::chrono::milliseconds{250});
    const auto read = take_at_once();
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(difference(*read), "") << "after look " << i;
    for (const auto& one : read->status_of("default").decisions)
      seen.insert(one.phase);
    open = std::max(open, read->status_of("default").decisions.size());
    all_run = std::ranges::count_if(
                read->pods(),
                [](const pod& p) { return p.workload == "gang" && p.phase == pod_phase::running; })
              == 2;
  }
  EXPECT_TRUE(all_run);
  EXPECT_TRUE(seen.contains(decision_phase::committed));
  EXPECT_GE(open, 1U);
}

TEST_F(snapshot_of_replica, has_since_when_a_required_node_is_reserved) {
  resource_group group;
  group.name = "default";
  group.required_node.preemption_start_delay = seconds{60};
  auto agent = work("agent", 9);
  agent.kind = workload_kind::daemon;
  agent.groups[0].required_node = "n1";
  agent.groups[0].pods.requests = {{"gpu", 2000}};
  ASSERT_TRUE(replica_.apply({machine("n1", 2), group, slow("busy")}).ok());
  ASSERT_TRUE(comes_to(replica_, "busy", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(replica_.apply({agent}).ok());
  replica_.world().advance(seconds{30});

  const auto read = take();

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(difference(*read), "");
  const auto waiting = read->pending("default");
  ASSERT_EQ(waiting.size(), 1U);
  const auto& uid = waiting[0].groups.front().pods.front().uid;
  const auto* reserved = read->reservation_for("default", uid);
  ASSERT_NE(reserved, nullptr);
  EXPECT_EQ(reserved->node, "n1");
  EXPECT_EQ(reserved->since, coordinator().reserved.at(uid).since);

  // Nobody goes before the delay is over, and then the one who is in the way does.
  const auto turns_at = [&](seconds later) {
    plan_settings settings;
    settings.group = read->settings_of("default");
    settings.now = reserved->since + later;
    snapshot_cycle cycle{*read};
    cycle.run(settings);
    return cycle.turns();
  };
  EXPECT_TRUE(turns_at(seconds{59})[0].made.victims.empty());
  EXPECT_EQ(turns_at(seconds{61})[0].made.victims.size(), 1U);
}

TEST_F(snapshot_of_replica, has_quotas_as_the_queue_shard_gave_them) {
  queue a;
  a.name = "a";
  a.weight = 3;
  a.limit = {{"gpu", 3000}};
  queue b;
  b.name = "b";
  ASSERT_TRUE(replica_.apply({a, b, machine("n1", 4), work_in("a", 4), work_in("b", 4)}).ok());
  replica_.world().advance(seconds{5});

  const auto read = take();

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(difference(*read), "");
  ASSERT_NE(read->grants("default"), nullptr);
  EXPECT_EQ(amount_of(read->grants("default")->at("a"), "gpu"), 3000);
  EXPECT_EQ(amount_of(read->queues().at("a").allocated, "gpu"), 3000);
  EXPECT_EQ(amount_of(read->queues().at("b").allocated, "gpu"), 1000);
}

TEST_F(snapshot_of_replica, has_a_workload_that_is_deleted_until_its_pods_have_gone) {
  ASSERT_TRUE(replica_.apply({machine("n1", 1), slow("busy")}).ok());
  ASSERT_TRUE(comes_to(replica_, "busy", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(replica_.remove(object_kind::workload, "busy").ok());
  replica_.world().advance(seconds{1});

  auto read = take();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(difference(*read), "");
  EXPECT_TRUE(read->workloads().at("busy").deleting);
  EXPECT_TRUE(read->pending("default").empty());
}

} // namespace

} // namespace reprieve
