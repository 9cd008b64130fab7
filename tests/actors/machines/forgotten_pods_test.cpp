#include "tests/actors/replica/replica_test.hpp"

#include <gmock/gmock.h>

#include <filesystem>

// Machines that come back without their memory: nobody runs twice, and nobody waits for ever.

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class forgotten_pods : public replica_test {
protected:
  /// A replica with these nodes, of one GPU each.
  std::unique_ptr<replica_world> started(const std::vector<std::string>& names) {
    auto replica = std::make_unique<replica_world>(store_, journal());
    EXPECT_TRUE(replica->start().ok());
    std::vector<object> objects;
    for (const auto& name : names)
      objects.emplace_back(machine(name, 1));
    EXPECT_TRUE(replica->apply(objects).ok());
    return replica;
  }

  /// The one that begins after the last has crashed.
  std::unique_ptr<replica_world> next_replica() {
    auto replica = std::make_unique<replica_world>(store_, journal(), seconds{12});
    EXPECT_TRUE(replica->start().ok());
    return replica;
  }

  static std::vector<pod> pods(replica_world& replica) {
    std::vector<pod> found;
    for (const auto& one : replica.get(object_kind::pod))
      found.push_back(std::get<pod>(one.what));
    return found;
  }

  /// How often each pod was started, ever.
  std::map<std::string, int> starts() const {
    return read_account(journal()).started;
  }
};

TEST_F(forgotten_pods, what_ran_comes_back_in_a_new_incarnation) {
  const auto replica = started({"n1"});
  ASSERT_TRUE(replica->apply({work("w")}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  const auto first = pods(*replica).front();

  replica->forget_machine("n1");
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{10}));
  const auto second = pods(*replica).front();
  EXPECT_EQ(second.incarnation, first.incarnation + 1);
  EXPECT_EQ(starts()[first.uid], 1);
  EXPECT_THAT(replica->told_of("w"), Contains("PodsLost"));
  EXPECT_THAT(replica->told_of("n1"), ElementsAre("PodsLost"));
}

TEST_F(forgotten_pods, who_does_not_resume_does_not_come_back) {
  const auto replica = started({"n1"});
  auto once = work("once");
  once.resume.policy = resume_policy::never;
  ASSERT_TRUE(replica->apply({once}).ok());
  ASSERT_TRUE(comes_to(*replica, "once", pod_phase::running, 1, seconds{5}));

  replica->forget_machine("n1");
  replica->world().advance(seconds{10});
  EXPECT_THAT(pods(*replica), IsEmpty());
}

TEST_F(forgotten_pods, a_gang_that_needs_its_members_comes_back_as_a_whole) {
  const auto replica = started({"n1", "n2"});
  auto gang = work("gang", 0, 2);
  gang.groups[0].min_count = 2;
  ASSERT_TRUE(replica->apply({gang}).ok());
  ASSERT_TRUE(comes_to(*replica, "gang", pod_phase::running, 2, seconds{5}));

  replica->forget_machine("n1");
  replica->world().advance(seconds{10});
  const auto after = pods(*replica);
  ASSERT_EQ(after.size(), 2U);
  for (const auto& p : after) {
    EXPECT_EQ(p.phase, pod_phase::running);
    EXPECT_EQ(p.incarnation, 1U);
  }
}

TEST_F(forgotten_pods, one_that_was_being_stopped_counts_as_gone) {
  const auto replica = started({"n1"});
  auto slow = played(work("w"), "stop-takes", "60s");
  slow.grace_period = seconds{90};
  ASSERT_TRUE(replica->apply({slow}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(replica->remove(object_kind::workload, "w").ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::terminating, 1, seconds{5}));

  replica->forget_machine("n1");
  replica->world().advance(seconds{2});
  EXPECT_THAT(pods(*replica), IsEmpty());
  EXPECT_THAT(replica->get(object_kind::workload), IsEmpty());
}

TEST_F(forgotten_pods, one_of_whose_start_nobody_has_heard_is_ordered_to_start) {
  const auto replica = started({"n1"});
  ASSERT_TRUE(replica->apply({work("w")}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::bound, 1, seconds{5}));
  const auto first = pods(*replica).front();

  replica->forget_machine("n1");
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  EXPECT_EQ(pods(*replica).front().uid, first.uid);
  EXPECT_THAT(replica->told_of("w"), Not(Contains("PodsLost")));
}

TEST_F(forgotten_pods, finished_work_does_not_run_again) {
  const auto replica = started({"n1"});
  ASSERT_TRUE(replica->apply({played(work("w"), "run-for", "1s")}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  const auto uid = pods(*replica).front().uid;
  replica->world().advance(seconds{3});
  ASSERT_THAT(pods(*replica), IsEmpty());

  replica->forget_machine("n1");
  replica->world().advance(seconds{10});
  EXPECT_THAT(pods(*replica), IsEmpty());
  EXPECT_THAT(starts(), ElementsAre(testing::Pair(uid, 1)));
}

TEST_F(forgotten_pods, a_replica_that_begins_anew_leaves_what_its_machines_know) {
  std::string uid;
  {
    const auto replica = started({"n1"});
    ASSERT_TRUE(replica->apply({work("w")}).ok());
    ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
    uid = pods(*replica).front().uid;
  }
  const auto replica = next_replica();
  replica->world().advance(seconds{5});
  EXPECT_EQ(pods(*replica).front().uid, uid);
  EXPECT_THAT(starts(), ElementsAre(testing::Pair(uid, 1)));
}

TEST_F(forgotten_pods, a_replica_that_begins_anew_with_machines_that_know_nothing_goes_on) {
  std::string uid;
  {
    const auto replica = started({"n1", "n2"});
    ASSERT_TRUE(replica->apply({work("w"), played(work("short"), "run-for", "1s")}).ok());
    ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
    uid = pods(*replica).front().uid;
    replica->world().advance(seconds{3});
    ASSERT_EQ(pods(*replica).size(), 1U);
    uid = pods(*replica).front().uid;
  }
  std::filesystem::remove(journal());
  const auto replica = next_replica();
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{10}));
  EXPECT_EQ(pods(*replica).front().incarnation, 1U);
  EXPECT_FALSE(starts().contains(uid));
  EXPECT_EQ(replica->pods("short", pod_phase::running), 0U);
  EXPECT_EQ(pods(*replica).size(), 1U);
}

TEST_F(forgotten_pods, a_machine_that_is_heard_again_is_asked) {
  const auto replica = started({"n1"});
  resource_group watched;
  watched.name = "default";
  watched.heartbeat_timeout = seconds{10};
  watched.lost_node_timeout = seconds{600};
  ASSERT_TRUE(replica->apply({watched, work("w")}).ok());
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  replica->world().advance(seconds{12});
  replica->forget_machine("n1", false);
  replica->world().advance(seconds{5});
  EXPECT_EQ(pods(*replica).front().incarnation, 0U) << "nobody knows";

  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  EXPECT_EQ(pods(*replica).front().incarnation, 1U);
}

} // namespace

} // namespace reprieve
