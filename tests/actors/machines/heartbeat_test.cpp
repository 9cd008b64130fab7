#include "tests/actors/replica/replica_test.hpp"

#include <gmock/gmock.h>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

using names = std::vector<std::string>;

/// What silence comes to. Nodes may be silent for ten seconds here.
class heartbeats : public replica_test {
protected:
  static resource_group watching(duration timeout) {
    resource_group group;
    group.name = "default";
    group.heartbeat_timeout = timeout;
    group.lost_node_timeout = duration{0};
    return group;
  }

  /// A replica with the nodes n1 and n2, of one GPU each.
  std::unique_ptr<replica_world> started() {
    auto replica = std::make_unique<replica_world>(store_, journal());
    EXPECT_TRUE(replica->start().ok());
    EXPECT_TRUE(replica->apply({watching(seconds{10}), machine("n1", 1), machine("n2", 1)}).ok());
    return replica;
  }

  static node_status status(replica_world& replica, const std::string& name) {
    const auto found = replica.get(object_kind::node, name);
    EXPECT_EQ(found.size(), 1U);
    auto now = found.empty() ? node_status{} : found.front().node.value_or(node_status{});
    EXPECT_EQ(now.lost, now.lost_since != no_time);
    now.lost_since = no_time;
    return now;
  }

  /// A hundred nodes more.
  static names many_more(replica_world& replica) {
    std::vector<object> machines;
    names all;
    for (int i = 0; i < 100; ++i) {
      all.push_back("many-" + std::to_string(i));
      machines.emplace_back(machine(all.back(), 1));
    }
    EXPECT_TRUE(replica.apply(machines).ok());
    return all;
  }

  /// The timers that are set when no answer is waited for any more.
  static std::size_t timers_to_stay(replica_world& replica) {
    replica.world().advance(2 * answer_time + seconds{1}); // as long as any answer is waited for
    return replica.world().timers();
  }

  static constexpr std::size_t shards = 3;
  static constexpr node_status unwatched{};
  static constexpr node_status watched{.watched = true, .lost = false};
  static constexpr node_status lost{.watched = true, .lost = true};
};

TEST_F(heartbeats, a_node_that_never_sent_one_may_be_silent_for_ever) {
  const auto replica = started();
  replica->world().advance(seconds{60});
  EXPECT_EQ(status(*replica, "n1"), unwatched);
  EXPECT_THAT(replica->told_of("n1"), IsEmpty());
}

TEST_F(heartbeats, a_node_that_falls_silent_is_lost_after_the_timeout_and_back_when_heard) {
  const auto replica = started();
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  EXPECT_EQ(status(*replica, "n1"), watched);
  replica->world().advance(milliseconds{9'500});
  EXPECT_EQ(status(*replica, "n1"), watched);
  replica->world().advance(milliseconds{700});
  EXPECT_EQ(status(*replica, "n1"), lost);
  EXPECT_EQ(status(*replica, "n2"), unwatched);
  EXPECT_THAT(replica->told_of("n1"), ElementsAre("NodeLost"));

  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  EXPECT_EQ(status(*replica, "n1"), watched);
  EXPECT_THAT(replica->told_of("n1"), ElementsAre("NodeLost", "NodeBack"));

  replica->world().advance(milliseconds{10'200});
  EXPECT_EQ(status(*replica, "n1"), lost) << "it is watched as before";
}

TEST_F(heartbeats, a_node_that_is_heard_in_time_is_never_lost) {
  const auto replica = started();
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
    replica->world().advance(seconds{8});
  }
  EXPECT_EQ(status(*replica, "n1"), watched);
  EXPECT_THAT(replica->told_of("n1"), IsEmpty());
}

TEST_F(heartbeats, each_node_counts_from_its_own_last_one) {
  const auto replica = started();
  ASSERT_TRUE(replica->heartbeat({"n1", "n2"}).ok());
  replica->world().advance(seconds{6});
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  replica->world().advance(seconds{5});
  EXPECT_EQ(status(*replica, "n1"), watched);
  EXPECT_EQ(status(*replica, "n2"), lost);
  replica->world().advance(seconds{6});
  EXPECT_EQ(status(*replica, "n1"), lost);
}

TEST_F(heartbeats, a_lost_node_takes_no_pods_until_it_is_back) {
  const auto replica = started();
  ASSERT_TRUE(replica->heartbeat({"n1", "n2"}).ok());
  replica->world().advance(seconds{11});
  ASSERT_TRUE(replica->apply({work("new")}).ok());
  replica->world().advance(seconds{3});
  EXPECT_EQ(replica->pods("new", pod_phase::running), 0U);

  ASSERT_TRUE(replica->heartbeat({"n2"}).ok());
  ASSERT_TRUE(comes_to(*replica, "new", pod_phase::running, 1, seconds{5}));
  EXPECT_EQ(std::get<pod>(replica->get(object_kind::pod).front().what).node, "n2");
}

TEST_F(heartbeats, a_decision_that_counts_on_a_lost_node_is_given_up) {
  const auto replica = started();
  ASSERT_TRUE(replica->remove(object_kind::node, "n2").ok());
  auto slow = played(work("slow"), "stop-takes", "50s");
  slow.grace_period = seconds{60};
  slow.resume.policy = resume_policy::never;
  ASSERT_TRUE(replica->apply({slow}).ok());
  ASSERT_TRUE(comes_to(*replica, "slow", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  ASSERT_TRUE(replica->apply({work("urgent", 9)}).ok());
  ASSERT_TRUE(comes_to(*replica, "urgent", pod_phase::nominated, 1, seconds{3}));

  ASSERT_TRUE(comes_to(*replica, "urgent", pod_phase::nominated, 0, seconds{12}));
  EXPECT_EQ(status(*replica, "n1"), lost);

  ASSERT_TRUE(replica->apply({machine("n3", 1)}).ok());
  EXPECT_TRUE(comes_to(*replica, "urgent", pod_phase::running, 1, seconds{5}));
}

TEST_F(heartbeats, after_a_restart_silence_counts_from_the_start) {
  {
    const auto replica = started();
    ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  }
  replica_world replica(store_, journal(), seconds{60});
  ASSERT_TRUE(replica.start().ok());
  replica.world().advance(milliseconds{9'000});
  EXPECT_EQ(status(replica, "n1"), watched) << "it could not be heard while nobody listened";
  replica.world().advance(milliseconds{1'500});
  EXPECT_EQ(status(replica, "n1"), lost) << "it never came back, and that is noticed";
}

TEST_F(heartbeats, a_lost_node_stays_so_over_a_restart_until_it_is_heard) {
  {
    const auto replica = started();
    ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
    replica->world().advance(seconds{11});
    ASSERT_EQ(status(*replica, "n1"), lost);
  }
  replica_world replica(store_, journal(), seconds{60});
  ASSERT_TRUE(replica.start().ok());
  EXPECT_EQ(status(replica, "n1"), lost);
  ASSERT_TRUE(replica.heartbeat({"n1"}).ok());
  EXPECT_EQ(status(replica, "n1"), watched);
}

TEST_F(heartbeats, what_the_user_says_of_a_node_is_not_touched_by_them) {
  const auto replica = started();
  auto broken = machine("n1", 1);
  broken.ready = false;
  ASSERT_TRUE(replica->remove(object_kind::node, "n2").ok());
  ASSERT_TRUE(replica->apply({broken, work("new")}).ok());
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  replica->world().advance(seconds{11});
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  replica->world().advance(seconds{2});
  EXPECT_EQ(std::get<node>(replica->get(object_kind::node, "n1").front().what), broken);
  EXPECT_EQ(replica->pods("new", pod_phase::running), 0U) << "it is heard, and not ready";

  replica->world().advance(seconds{9});
  ASSERT_EQ(status(*replica, "n1"), lost);
  ASSERT_TRUE(replica->apply({machine("n1", 1)}).ok());
  replica->world().advance(seconds{2});
  EXPECT_EQ(replica->pods("new", pod_phase::running), 0U) << "it is ready, and not heard";

  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  EXPECT_TRUE(comes_to(*replica, "new", pod_phase::running, 1, seconds{5}));
}

TEST_F(heartbeats, only_the_first_one_of_a_node_is_written) {
  const auto replica = started();
  replica->world().advance(seconds{1});
  const auto before = replica->faults().writes();
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  EXPECT_EQ(replica->faults().writes(), before + 1);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
    replica->world().advance(seconds{1});
  }
  EXPECT_EQ(replica->faults().writes(), before + 1);
}

TEST_F(heartbeats, a_shard_has_one_timer_however_many_nodes_it_watches) {
  const auto replica = started();
  const auto all = many_more(*replica);
  ASSERT_TRUE(replica->apply({watching(seconds{30})}).ok());
  const auto before = timers_to_stay(*replica);
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(replica->heartbeat(all).ok());
  EXPECT_EQ(timers_to_stay(*replica), before + shards);
}

TEST_F(heartbeats, a_shard_has_one_timer_however_often_the_timeout_changes) {
  const auto replica = started();
  const auto all = many_more(*replica);
  const auto before = timers_to_stay(*replica);
  for (const auto timeout : {30, 15, 20, 25}) {
    ASSERT_TRUE(replica->apply({watching(seconds{timeout})}).ok());
    ASSERT_TRUE(replica->heartbeat(all).ok());
  }
  for (int i = 0; i < 3; ++i) {
    timers_to_stay(*replica);
    ASSERT_TRUE(replica->heartbeat(all).ok());
  }
  EXPECT_EQ(timers_to_stay(*replica), before + shards) << "those of old timeouts are over";
}

TEST_F(heartbeats, nobody_is_watched_where_the_timeout_is_0) {
  const auto replica = started();
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  replica->world().advance(seconds{11});
  ASSERT_EQ(status(*replica, "n1"), lost);

  ASSERT_TRUE(replica->apply({watching(seconds{0})}).ok());
  replica->world().advance(seconds{1});
  EXPECT_EQ(status(*replica, "n1"), watched);
  EXPECT_THAT(replica->told_of("n1"), ElementsAre("NodeLost", "NodeBack"));
  const auto before = replica->faults().writes();
  ASSERT_TRUE(replica->heartbeat({"n1", "n2"}).ok());
  replica->world().advance(seconds{60});
  EXPECT_EQ(replica->faults().writes(), before);
  EXPECT_EQ(status(*replica, "n1"), watched);

  ASSERT_TRUE(replica->apply({watching(seconds{5})}).ok());
  replica->world().advance(seconds{4});
  EXPECT_EQ(status(*replica, "n1"), watched) << "its time counts from now";
  replica->world().advance(seconds{2});
  EXPECT_EQ(status(*replica, "n1"), lost);
}

TEST_F(heartbeats, a_shorter_timeout_holds_at_once) {
  const auto replica = started();
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  ASSERT_TRUE(replica->apply({watching(seconds{2})}).ok());
  replica->world().advance(seconds{3});
  EXPECT_EQ(status(*replica, "n1"), lost);
}

TEST_F(heartbeats, the_last_one_of_an_agent_ends_the_watch) {
  const auto replica = started();
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  ASSERT_TRUE(replica->heartbeat({"n2"}).ok());
  replica->world().advance(seconds{8});
  ASSERT_TRUE(replica->heartbeat({"n1"}, true).ok());
  EXPECT_EQ(status(*replica, "n1"), unwatched);
  replica->world().advance(seconds{11});
  EXPECT_EQ(status(*replica, "n1"), unwatched);
  ASSERT_EQ(status(*replica, "n2"), lost);
  ASSERT_TRUE(replica->heartbeat({"n2"}, true).ok());
  EXPECT_EQ(status(*replica, "n2"), unwatched) << "also where it was lost";
}

TEST_F(heartbeats, of_nodes_that_do_not_exist_are_answered_with_their_names) {
  const auto replica = started();
  const auto unknown = replica->heartbeat({"n1", "n7", "n2", "n8"});
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  EXPECT_THAT(*unknown, ElementsAre("n7", "n8"));
  EXPECT_EQ(status(*replica, "n1"), watched) << "the others are heard";
}

TEST_F(heartbeats, a_node_that_was_removed_is_known_no_more_and_a_new_one_begins_anew) {
  const auto replica = started();
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  ASSERT_TRUE(replica->remove(object_kind::node, "n1").ok());
  EXPECT_THAT(replica->heartbeat({"n1"}).value_or(names{}), ElementsAre("n1"));
  ASSERT_TRUE(replica->apply({machine("n1", 1)}).ok());
  replica->world().advance(seconds{11});
  EXPECT_EQ(status(*replica, "n1"), unwatched);
}

TEST_F(heartbeats, a_shard_that_was_away_itself_blames_nobody) {
  const auto replica = started();
  ASSERT_TRUE(replica->heartbeat({"n1"}).ok());
  replica->world().pass(seconds{60});
  replica->world().advance(seconds{5});
  EXPECT_EQ(status(*replica, "n1"), watched);
  replica->world().advance(seconds{6});
  EXPECT_EQ(status(*replica, "n1"), lost);
}

} // namespace

} // namespace reprieve
