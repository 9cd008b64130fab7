#include "state/quantities/quantity.hpp"
#include "tests/actors/replica/replica_test.hpp"

#include <gmock/gmock.h>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Nodes may be silent for ten seconds here, and their pods are given up twenty seconds later.
class lost_nodes : public replica_test {
protected:
  static resource_group group() {
    resource_group made;
    made.name = "default";
    made.heartbeat_timeout = seconds{10};
    made.lost_node_timeout = seconds{20};
    return made;
  }

  /// A replica with these nodes, of one GPU each, that have been heard from.
  std::unique_ptr<replica_world> started(const std::vector<std::string>& names) {
    auto replica = std::make_unique<replica_world>(store_, journal());
    EXPECT_TRUE(replica->start().ok());
    std::vector<object> objects{group()};
    for (const auto& name : names)
      objects.emplace_back(machine(name, 1));
    EXPECT_TRUE(replica->apply(objects).ok());
    EXPECT_TRUE(replica->heartbeat(names).ok());
    return replica;
  }

  /// Time passes; those that are up are heard.
  static void pass(replica_world& replica, seconds time, const std::vector<std::string>& up) {
    for (; time > seconds{0}; time -= seconds{2}) {
      replica.world().advance(seconds{2});
      if (!up.empty()) {
        EXPECT_TRUE(replica.heartbeat(up).ok());
      }
    }
  }

  static node_status status(replica_world& replica, const std::string& name) {
    const auto found = replica.get(object_kind::node, name);
    return found.empty() ? node_status{} : found.front().node.value_or(node_status{});
  }

  static std::vector<pod> pods(replica_world& replica) {
    std::vector<pod> found;
    for (const auto& one : replica.get(object_kind::pod))
      found.push_back(std::get<pod>(one.what));
    return found;
  }

  static std::string node_of(replica_world& replica, const std::string& workload) {
    for (const auto& p : pods(replica))
      if (p.workload == workload)
        return p.node;
    return {};
  }
};

TEST_F(lost_nodes, pods_come_back_elsewhere_once_they_are_given_up_and_not_before) {
  const auto replica = started({"n1"});
  ASSERT_TRUE(replica->apply({work("w")}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  const auto first = pods(*replica).front();
  ASSERT_TRUE(replica->apply({machine("n2", 1)}).ok());

  pass(*replica, seconds{28}, {"n2"});
  EXPECT_TRUE(status(*replica, "n1").lost);
  EXPECT_EQ(node_of(*replica, "w"), "n1") << "it may be heard again";

  pass(*replica, seconds{8}, {"n2"});
  ASSERT_EQ(replica->pods("w", pod_phase::running), 1U);
  const auto second = pods(*replica).front();
  EXPECT_EQ(second.node, "n2");
  EXPECT_EQ(second.incarnation, first.incarnation + 1);
  EXPECT_THAT(status(*replica, "n1").left_behind, ElementsAre(first.uid));
  EXPECT_THAT(replica->told_of("n1"), ElementsAre("NodeLost", "PodsLost"));
  EXPECT_THAT(replica->told_of("w"), Contains("PodsLost"));
}

TEST_F(lost_nodes, what_still_runs_on_a_machine_that_comes_back_is_stopped_before_anything_comes) {
  const auto replica = started({"n1", "n2"});
  auto slow = played(work("w"), "stop-takes", "5s");
  ASSERT_TRUE(replica->apply({slow}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  const auto first = pods(*replica).front();
  const std::string other = first.node == "n1" ? "n2" : "n1";
  pass(*replica, seconds{36}, {other});
  ASSERT_EQ(node_of(*replica, "w"), other);
  ASSERT_TRUE(replica->apply({work("next")}).ok());
  pass(*replica, seconds{4}, {other});
  EXPECT_EQ(replica->pods("next", pod_phase::running), 0U) << "there is room on a lost node only";

  EXPECT_EQ(read_account(journal()).stopped[first.uid], 0);
  ASSERT_TRUE(replica->heartbeat({first.node}).ok());
  EXPECT_TRUE(is_away(status(*replica, first.node)));
  ASSERT_TRUE(comes_to(*replica, "next", pod_phase::running, 1, seconds{10}));
  EXPECT_EQ(node_of(*replica, "next"), first.node);
  EXPECT_THAT(status(*replica, first.node).left_behind, IsEmpty());
  EXPECT_EQ(read_account(journal()).stopped[first.uid], 1);
  EXPECT_THAT(replica->told_of(first.node),
              ElementsAre("NodeLost", "PodsLost", "NodeBack", "NodeClean"));
}

TEST_F(lost_nodes, a_gang_that_needs_its_members_comes_back_as_a_whole) {
  const auto replica = started({"n1", "n2", "n3"});
  auto gang = work("gang", 0, 2);
  gang.groups[0].min_count = 2;
  ASSERT_TRUE(replica->apply({gang}).ok());
  ASSERT_TRUE(comes_to(*replica, "gang", pod_phase::running, 2, seconds{5}));
  const auto before = pods(*replica);
  ASSERT_THAT(before, SizeIs(2));
  std::vector<std::string> up{"n1", "n2", "n3"};
  std::erase(up, before[0].node);

  pass(*replica, seconds{40}, up);
  const auto after = pods(*replica);
  ASSERT_THAT(after, SizeIs(2));
  for (const auto& p : after) {
    EXPECT_EQ(p.incarnation, 1U);
    EXPECT_EQ(p.phase, pod_phase::running);
    EXPECT_NE(p.node, before[0].node);
  }
  EXPECT_EQ(read_account(journal()).stopped[before[1].uid], 1);
}

TEST_F(lost_nodes, pods_that_stand_alone_stay_where_they_are) {
  const auto replica = started({"n1", "n2", "n3"});
  ASSERT_TRUE(replica->apply({work("w", 0, 2)}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 2, seconds{5}));
  const auto before = pods(*replica);
  std::vector<std::string> up{"n1", "n2", "n3"};
  std::erase(up, before[0].node);

  pass(*replica, seconds{40}, up);
  EXPECT_EQ(replica->pods("w", pod_phase::running), 2U);
  EXPECT_EQ(read_account(journal()).stopped[before[1].uid], 0);
}

TEST_F(lost_nodes, who_does_not_resume_does_not_come_back) {
  const auto replica = started({"n1"});
  auto once = work("once");
  once.resume.policy = resume_policy::never;
  ASSERT_TRUE(replica->apply({once}).ok());
  ASSERT_TRUE(comes_to(*replica, "once", pod_phase::running, 1, seconds{5}));
  ASSERT_TRUE(replica->apply({machine("n2", 1)}).ok());

  pass(*replica, seconds{40}, {"n2"});
  EXPECT_THAT(pods(*replica), IsEmpty());
}

TEST_F(lost_nodes, a_workload_that_was_deleted_goes_and_its_name_is_free) {
  const auto replica = started({"n1"});
  ASSERT_TRUE(replica->apply({work("w")}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  replica->world().advance(seconds{11});
  // Nobody on a machine that is away does what it is told.
  replica->world().advance(seconds{1});
  pass(*replica, seconds{40}, {});
  ASSERT_TRUE(replica->remove(object_kind::workload, "w").ok());
  replica->world().advance(seconds{5});
  EXPECT_THAT(replica->get(object_kind::workload), IsEmpty());
  EXPECT_TRUE(replica->remove(object_kind::node, "n1").ok()) << "it holds no pods any more";
}

TEST_F(lost_nodes, a_replica_that_begins_anew_goes_on_with_them) {
  std::string uid;
  {
    const auto replica = started({"n1"});
    ASSERT_TRUE(replica->apply({work("w")}).ok());
    ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
    uid = pods(*replica).front().uid;
    replica->world().advance(seconds{11});
    ASSERT_TRUE(status(*replica, "n1").lost);
  }
  replica_world replica(store_, journal(), seconds{12});
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply({machine("n2", 1)}).ok());
  pass(replica, seconds{26}, {"n2"});
  EXPECT_EQ(node_of(replica, "w"), "n2");
  EXPECT_THAT(status(replica, "n1").left_behind, ElementsAre(uid));
}

TEST_F(lost_nodes, with_no_timeout_pods_stay_for_ever) {
  const auto replica = started({"n1", "n2"});
  auto patient = group();
  patient.lost_node_timeout = duration{0};
  ASSERT_TRUE(replica->apply({patient, work("w")}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  const auto first = node_of(*replica, "w");
  pass(*replica, seconds{400}, {first == "n1" ? "n2" : "n1"});
  EXPECT_EQ(node_of(*replica, "w"), first);

  ASSERT_TRUE(replica->apply({group()}).ok());
  pass(*replica, seconds{4}, {first == "n1" ? "n2" : "n1"});
  EXPECT_NE(node_of(*replica, "w"), first) << "it has been lost for long enough by now";
}

TEST_F(lost_nodes, one_that_is_deleted_by_force_leaves_its_pods_to_others) {
  const auto replica = started({"n1"});
  ASSERT_TRUE(replica->apply({work("w")}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  const auto first = pods(*replica).front();
  EXPECT_FALSE(replica->remove(object_kind::node, "n1").ok());

  ASSERT_TRUE(replica->remove(object_kind::node, "n1", true).ok());
  EXPECT_THAT(replica->get(object_kind::node), IsEmpty());
  ASSERT_TRUE(replica->apply({machine("n2", 1)}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  EXPECT_EQ(pods(*replica).front().incarnation, first.incarnation + 1);
  EXPECT_EQ(read_account(journal()).stopped[first.uid], 1) << "its machine was there after all";
}

TEST_F(lost_nodes, one_that_is_applied_anew_stops_what_it_may_run_still) {
  std::string uid;
  {
    const auto replica = started({"n1"});
    ASSERT_TRUE(replica->apply({played(work("w"), "stuck-for", "60s")}).ok());
    ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
    uid = pods(*replica).front().uid;
    ASSERT_TRUE(replica->remove(object_kind::node, "n1", true).ok());
  }
  replica_world replica(store_, journal(), seconds{12});
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply({machine("n1", 1)}).ok());
  EXPECT_THAT(status(replica, "n1").left_behind, ElementsAre(uid));
  replica.world().advance(seconds{3});
  EXPECT_EQ(replica.pods("w", pod_phase::running), 0U);

  EXPECT_THAT(replica.told_of("n1"), ElementsAre("Stopping"));
  ASSERT_TRUE(comes_to(replica, "w", pod_phase::running, 1, seconds{70}));
  EXPECT_THAT(status(replica, "n1").left_behind, IsEmpty());
  EXPECT_THAT(replica.told_of("n1"), ElementsAre("Stopping", "NodeClean"));
}

TEST_F(lost_nodes, explanations_tell_of_lost_pods_after_a_restart) {
  {
    const auto replica = started({"n1"});
    ASSERT_TRUE(replica->apply({work("w")}).ok());
    ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
    ASSERT_TRUE(replica->apply({machine("n2", 1)}).ok());
    pass(*replica, seconds{36}, {"n2"});
    ASSERT_EQ(node_of(*replica, "w"), "n2");
  }
  replica_world replica(store_, journal(), seconds{60});
  ASSERT_TRUE(replica.start().ok());
  const auto of_workload = replica.explain_workload("w");
  ASSERT_TRUE(of_workload.ok());
  EXPECT_THAT(of_workload->notes,
              ElementsAre(HasSubstr("a pod was lost with node n1: w-pods-0-0")));
  const auto of_pod = replica.explain({{}, {}, "w-pods-0-0"});
  ASSERT_TRUE(of_pod.ok());
  EXPECT_EQ(of_pod->notes, of_workload->notes);
  const auto of_another = replica.explain({{}, {}, "w-pods-0-1"});
  EXPECT_FALSE(of_another.ok());
}

TEST_F(lost_nodes, explanations_say_when_pods_of_a_lost_node_count_as_lost) {
  const auto replica = started({"n1"});
  ASSERT_TRUE(replica->apply({work("w")}).ok());
  ASSERT_TRUE(comes_to(*replica, "w", pod_phase::running, 1, seconds{5}));
  EXPECT_THAT(replica->explain({{}, {}, "w-pods-0-0"})->notes, IsEmpty());
  replica->world().advance(seconds{12});
  const auto lost = status(*replica, "n1");
  ASSERT_TRUE(lost.lost);
  const auto due = format_time(lost.lost_since + seconds{20});

  const auto of_pod = replica->explain({{}, {}, "w-pods-0-0"});
  ASSERT_TRUE(of_pod.ok());
  EXPECT_THAT(of_pod->notes,
              ElementsAre("it is on node n1, which is lost since " + format_time(lost.lost_since)
                          + "; unless the node is heard before, it counts as lost at " + due));
  const auto of_workload = replica->explain_workload("w");
  ASSERT_TRUE(of_workload.ok());
  EXPECT_THAT(of_workload->notes, ElementsAre(HasSubstr("a pod is on node n1, which is lost")));

  auto patient = group();
  patient.lost_node_timeout = duration{0};
  ASSERT_TRUE(replica->apply({patient}).ok());
  EXPECT_THAT(replica->explain({{}, {}, "w-pods-0-0"})->notes,
              ElementsAre(HasSubstr("lostNodeTimeout of resource group default is 0")));
}

} // namespace

} // namespace reprieve
