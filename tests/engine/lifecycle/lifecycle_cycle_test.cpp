#include "tests/engine/worlds/counted_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace reprieve::tests {

namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// Two GPUs, both with replicas of `crawl`, and `web`, which is more important, asks for two.
counted_world crawl_and_web() {
  counted_world world;
  world.node("n1", 1).node("n2", 1).wants("crawl", 1, 2);
  EXPECT_TRUE(world.settle());
  EXPECT_EQ(world.committed("crawl"), 2);
  world.wants("web", 9, 2);
  return world;
}

/// The step of a cycle that has victims, where there is one.
const lifecycle_step* preemption_in(const lifecycle_outcome& outcome) {
  const auto found = std::ranges::find_if(
    outcome.steps, [](const lifecycle_step& step) { return !step.victims.empty(); });
  return found == outcome.steps.end() ? nullptr : &*found;
}

} // namespace

TEST(lifecycle_cycle, commits_what_fits_to_the_most_important_first) {
  counted_world world;
  world.node("n1", 2).node("n2", 1).wants("low", 1, 3).wants("high", 5, 2);
  const auto outcome = world.plan();
  ASSERT_EQ(outcome.steps.size(), 1U);
  const auto& step = outcome.steps.front();
  EXPECT_EQ(step.deployments, (std::vector<std::string>{"high", "low"}));
  EXPECT_EQ(step.priority, 5);
  EXPECT_TRUE(step.victims.empty());
  ASSERT_EQ(step.counts.size(), 2U);
  EXPECT_EQ(step.counts[0].placement, "high.default");
  EXPECT_EQ(step.counts[0].to, 2);
  EXPECT_EQ(step.counts[1].to, 1);
  EXPECT_THAT(step.why.summary, HasSubstr("3 replicas fit without preemption"));
}

TEST(lifecycle_cycle, takes_one_of_two_replicas_and_leaves_the_last) {
  auto world = crawl_and_web();
  world.write(world.plan()); // the placement of web
  const auto outcome = world.plan();
  ASSERT_EQ(outcome.steps.size(), 1U);
  const auto& step = outcome.steps.front();
  EXPECT_EQ(step.deployments, std::vector<std::string>{"web"});
  ASSERT_EQ(step.victims.size(), 1U);
  EXPECT_EQ(step.victims.front().portion.workload, "crawl");
  EXPECT_TRUE(step.victims.front().expected);
  EXPECT_THAT(step.victims.front().reason, HasSubstr("its priority 1 is below 9"));
  const auto crawl = std::ranges::find(step.counts, "crawl", &count_change::deployment);
  ASSERT_NE(crawl, step.counts.end());
  EXPECT_EQ(crawl->from, 2);
  EXPECT_EQ(crawl->to, 1);
  EXPECT_TRUE(crawl->preempted);
  EXPECT_THAT(outcome.waiting.at("web"), HasSubstr("1 replica waits for 1 pod to leave"));
  EXPECT_THAT(outcome.waiting.at("web"), HasSubstr("1 replica: "));
  EXPECT_TRUE(std::ranges::any_of(step.why.passed_over, [](const spared& one) {
    return one.reason.find("would be left without a replica") != std::string::npos;
  }));
}

TEST(lifecycle_cycle, scales_up_when_the_room_is_free_and_not_before) {
  auto world = crawl_and_web();
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.committed("crawl"), 1);
  EXPECT_EQ(world.committed("web"), 0);
  EXPECT_TRUE(world.share("crawl")->preempted);
  EXPECT_EQ(world.share("web")->nominations.size(), 1U);
  world.let_go();
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.committed("web"), 1);
  EXPECT_EQ(world.running("web"), 1U);
  EXPECT_EQ(world.committed("crawl"), 1);
  EXPECT_FALSE(world.share("crawl")->preempted);
  EXPECT_TRUE(world.share("web")->nominations.empty());
}

TEST(lifecycle_cycle, gives_back_when_there_is_room_again) {
  auto world = crawl_and_web();
  ASSERT_TRUE(world.settle());
  world.let_go();
  ASSERT_TRUE(world.settle());
  world.node("n3", 1).node("n4", 1);
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.committed("web"), 2);
  EXPECT_EQ(world.committed("crawl"), 2);
}

TEST(lifecycle_cycle, force_deletes_a_matched_pod_when_its_grace_is_over_and_not_before) {
  auto world = crawl_and_web();
  ASSERT_TRUE(world.settle());
  world.pass(seconds{9});
  const auto early = world.plan();
  EXPECT_EQ(preemption_in(early), nullptr);
  EXPECT_EQ(early.look_again, world.given.now + seconds{1});
  world.pass(seconds{1});
  const auto outcome = world.plan();
  const auto* step = preemption_in(outcome);
  ASSERT_NE(step, nullptr);
  ASSERT_EQ(step->force_deletes.size(), 1U);
  EXPECT_EQ(step->force_deletes.front().uid, step->victims.front().pods.front().uid);
  EXPECT_THAT(step->why.summary, HasSubstr("is force-deleted"));
  world.write(outcome);
  EXPECT_EQ(preemption_in(world.plan()), nullptr) << "it was done already";
}

TEST(lifecycle_cycle, leaves_a_pod_that_terminates_alone_while_nobody_waits_for_its_room) {
  counted_world world;
  world.node("n1", 2).wants("a", 1, 2);
  ASSERT_TRUE(world.settle());
  world.deployment("a").wanted = 1;
  ASSERT_TRUE(world.settle());
  world.pass(seconds{60});
  EXPECT_TRUE(world.plan().steps.empty());
}

TEST(lifecycle_cycle, holds_the_room_that_comes_free_for_whom_it_was_made) {
  counted_world world;
  world.node("n0", 1).node("n1", 2).wants("crawl", 1, 3);
  ASSERT_TRUE(world.settle());
  world.wants("big", 9, 1, 2);
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.committed("crawl"), 1);
  // One of two has gone: the room is half of what `big` needs, and nobody else gets it.
  world.wants("late", 5, 1);
  const auto first = std::ranges::find_if(
    world.pods, [](const pod& p) { return is_leaving(p.phase) && p.node == "n1"; });
  ASSERT_NE(first, world.pods.end());
  world.pods.erase(first);
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.committed("late"), 0);
  world.let_go();
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.committed("big"), 1);
}

TEST(lifecycle_cycle, lowers_what_is_committed_to_what_is_asked_for) {
  counted_world world;
  world.node("n1", 4).wants("a", 1, 4);
  ASSERT_TRUE(world.settle());
  world.deployment("a").wanted = 1;
  const auto outcome = world.plan();
  ASSERT_EQ(outcome.steps.size(), 1U);
  EXPECT_EQ(outcome.steps.front().counts.front().to, 1);
  EXPECT_TRUE(outcome.steps.front().victims.empty());
}

TEST(lifecycle_cycle, counts_replicas_on_their_way_as_taken) {
  counted_world world;
  world.node("n1", 2).wants("a", 1, 2);
  world.write(world.plan());
  world.wants("b", 1, 1);
  const auto outcome = world.plan();
  EXPECT_TRUE(std::ranges::all_of(outcome.steps,
                                  [](const lifecycle_step& step) {
                                    return std::ranges::all_of(step.counts, [](const auto& one) {
                                      return one.to == one.from;
                                    });
                                  }))
    << "the two of `a` have no pods yet, but they will";
}

TEST(lifecycle_cycle, takes_back_replicas_without_room_that_would_take_the_room_of_others) {
  counted_world world;
  world.node("n1", 2).wants("a", 1, 3);
  ASSERT_TRUE(world.settle());
  world.given.placements.front().committed = 3; // whatever a user thought
  world.wants("b", 9, 1);
  world.write(world.plan());
  const auto outcome = world.plan();
  std::int32_t to = 3;
  for (const auto& step : outcome.steps)
    for (const auto& one : step.counts)
      if (one.deployment == "a")
        to = one.to;
  EXPECT_EQ(to, 1) << "the one without a pod goes with the first that has one";
}

TEST(lifecycle_cycle, commits_nothing_beyond_what_the_queue_may_use) {
  counted_world world;
  world.node("n1", 4).wants("a", 1, 4).queue("default", "", 2);
  const auto outcome = world.plan();
  ASSERT_EQ(outcome.steps.size(), 1U);
  EXPECT_EQ(outcome.steps.front().counts.front().to, 2);
  EXPECT_THAT(outcome.waiting.at("a"), HasSubstr("queue default has a limit of 2 gpu here"));
  EXPECT_EQ(outcome.needs.pending.at("default").at("gpu"), 2000);
  EXPECT_EQ(outcome.needs.coming.at("default").at("gpu"), 2000);
}

TEST(lifecycle_cycle, the_limit_of_a_queue_above_counts_for_all_below_it) {
  counted_world world;
  world.node("n1", 8).queue("all", "", 3).queue("one", "all").queue("two", "all");
  world.wants("a", 5, 2).wants("b", 1, 4);
  world.deployment("a").queue = "one";
  world.deployment("b").queue = "two";
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.committed("a"), 2);
  EXPECT_EQ(world.committed("b"), 1);
  EXPECT_THAT(world.plan().waiting.at("b"), HasSubstr("queue all has a limit of 3 gpu here"));
  EXPECT_EQ(world.plan().needs.pending.at("two").at("gpu"), 3000);
}

TEST(lifecycle_cycle, nobody_goes_for_what_the_limit_of_a_queue_above_forbids) {
  auto world = crawl_and_web();
  world.queue("above", "", 1).queue("default").queue("below", "above");
  world.deployment("web").queue = "below";
  world.write(world.plan());
  const auto within = world.plan();
  ASSERT_NE(preemption_in(within), nullptr);
  world.queue("below", "above").given.queues->queues["above"].limit = {{"gpu", 0}};
  const auto outcome = world.plan();
  EXPECT_EQ(preemption_in(outcome), nullptr);
  EXPECT_THAT(outcome.waiting.at("web"), HasSubstr("queue above has a limit of 0 gpu here"));
}

TEST(lifecycle_cycle, takes_within_a_full_queue_what_victims_give_back_to_it) {
  auto world = crawl_and_web();
  world.queue("default", "", 2).queue("other");
  world.write(world.plan());
  EXPECT_NE(preemption_in(world.plan()), nullptr);
  world.deployment("crawl").queue = "other";
  world.given.queues->queues["default"].limit = {{"gpu", 0}};
  const auto outcome = world.plan();
  EXPECT_EQ(preemption_in(outcome), nullptr) << "nobody goes for what the queue can't have";
  EXPECT_THAT(outcome.waiting.at("web"), HasSubstr("queue default has a limit of 0 gpu here"));
}

TEST(lifecycle_cycle, a_queue_gets_no_more_than_the_others_leave_of_what_they_deserve) {
  counted_world world;
  world.node("n1", 4).queue("one").queue("two").wants("a", 9, 4).wants("b", 1, 4);
  world.deployment("a").queue = "one";
  world.deployment("b").queue = "two";
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.committed("a"), 2) << "each deserves two";
  EXPECT_EQ(world.committed("b"), 2);
  EXPECT_THAT(world.plan().waiting.at("a"), HasSubstr("queue one deserves 2 gpu here"));
  EXPECT_TRUE(world.plan().steps.empty()) << "b is less important, and has what its queue deserves";
}

TEST(lifecycle_cycle, what_no_node_could_ever_take_is_no_demand) {
  counted_world world;
  world.node("n1", 2).wants("huge", 1, 2, 4).wants("a", 1, 3);
  const auto outcome = world.plan();
  EXPECT_EQ(outcome.needs.pending.at("default").at("gpu"), 1000);
}

TEST(lifecycle_cycle, one_that_leaves_is_not_asked_for_again_until_it_has_gone) {
  auto world = crawl_and_web();
  world.deployment("crawl").queue = "crawlers";
  ASSERT_TRUE(world.settle());
  EXPECT_FALSE(world.plan().needs.pending.contains("crawlers"));
  world.let_go();
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.plan().needs.pending.at("crawlers").at("gpu"), 1000);
}

TEST(lifecycle_cycle, one_placement_is_changed_by_one_step_at_a_time) {
  counted_world world;
  world.node("n1", 4).wants("crawl", 1, 4);
  ASSERT_TRUE(world.settle());
  world.wants("web", 9, 1).wants("api", 8, 1);
  world.write(world.plan());
  const auto outcome = world.plan();
  ASSERT_EQ(outcome.steps.size(), 1U);
  EXPECT_EQ(outcome.steps.front().deployments, std::vector<std::string>{"web"});
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.committed("crawl"), 2);
}

TEST(lifecycle_cycle, remembers_how_many_pods_there_are) {
  counted_world world;
  world.node("n1", 2).wants("a", 1, 2);
  ASSERT_TRUE(world.settle());
  EXPECT_EQ(world.share("a")->assigned, 2);
}

TEST(lifecycle_cycle, counts_deployments_of_one_template_only) {
  workload w;
  w.kind = workload_kind::deployment;
  w.groups.resize(1);
  w.groups.front().replicas = 3;
  w.groups.front().count = 2;
  EXPECT_TRUE(is_counted(w));
  EXPECT_EQ(replicas_wanted(w), 6);
  w.groups.front().min_count = 1;
  EXPECT_FALSE(is_counted(w));
  w.groups.front().min_count.reset();
  w.kind = workload_kind::batch;
  EXPECT_FALSE(is_counted(w));
}

/// Random deployments come, change and go on, pods take their time to leave.
TEST(lifecycle_cycle, comes_to_rest_and_never_takes_a_last_replica) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 draw{seed};
    const auto below = [&](int n) { return static_cast<int>(draw() % static_cast<unsigned>(n)); };
    counted_world world;
    for (int i = 0; i < 1 + below(4); ++i)
      world.node(fmt::format("n{}", i), 1 + below(4));
    int names = 0;
    for (int round = 0; round < 12; ++round) {
      if (names < 6 && below(2) == 0)
        world.wants(fmt::format("d{}", names++), below(4), 1 + below(4), 1 + below(2));
      else if (names > 0)
        world.deployment(fmt::format("d{}", below(names))).wanted = 1 + below(5);
      for (int step = 0; step < 6; ++step) {
        const auto outcome = world.plan();
        EXPECT_EQ(outcome, world.plan());
        for (const auto& one : outcome.steps)
          for (const auto& change : one.counts)
            EXPECT_TRUE(one.victims.empty() || change.to >= change.from || change.to >= 1)
              << "seed " << seed;
        for (const auto& one : outcome.steps)
          for (const auto& forced : one.force_deletes)
            EXPECT_LE(
              lifecycle_pod_of(*std::ranges::find(world.pods, forced.uid, &pod::uid)).grace_over,
              world.given.now);
        world.write(outcome);
        world.obey();
        std::erase_if(world.pods, [&](const pod& p) {
          return is_leaving(p.phase) && (p.phase == pod_phase::force_deleting || below(4) == 0);
        });
        world.pass(seconds{below(8)});
      }
    }
    for (int i = 0; i < 100; ++i) {
      world.settle();
      world.let_go();
    }
    ASSERT_TRUE(world.settle()) << "seed " << seed;
    EXPECT_TRUE(world.plan().steps.empty()) << "seed " << seed;
    for (const auto& one : world.given.deployments) {
      EXPECT_EQ(world.running(one.who.name),
                static_cast<std::size_t>(world.committed(one.who.name)))
        << one.who.name << ", seed " << seed;
      EXPECT_LE(world.committed(one.who.name), one.wanted);
      if (world.committed(one.who.name) == one.wanted)
        continue;
      const auto view = view_of(world.nodes, world.pods, {});
      for (const auto& n : world.nodes)
        EXPECT_LT(view.free(view.find_node(n.name))[*view.gpu_column()],
                  one.who.pods.requests.at("gpu"))
          << one.who.name << " lacks replicas, and " << n.name << " has room; seed " << seed;
    }
  }
}

} // namespace reprieve::tests
