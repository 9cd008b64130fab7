#include "tests/trace/fitting_watch.hpp"

#include <gtest/gtest.h>

namespace reprieve::trace {

namespace {

/// One machine of two GPUs, and pods of one that came in this order.
replay_plan plan_of(std::initializer_list<std::int32_t> priorities) {
  replay_plan plan;
  plan.machines.push_back({"n0", {0, 0, 2}});
  for (const auto priority : priorities)
    plan.arrivals.push_back({"p" + std::to_string(plan.arrivals.size()),
                             {0, 0, 1},
                             priority,
                             0,
                             milliseconds{0},
                             milliseconds{1000}});
  return plan;
}

pod pod_at(pod_phase phase, std::int64_t gpus, std::string placed_by = {},
           std::string evicted_by = {}) {
  pod p;
  p.node = "n0";
  p.phase = phase;
  p.requests = {{"gpu", gpus * 1000}};
  p.placed_by = std::move(placed_by);
  p.evicted_by = std::move(evicted_by);
  return p;
}

sight seen_at(std::int64_t at, std::vector<pod> pods, std::set<std::size_t> waiting,
              std::int64_t deserved = 2) {
  sight seen;
  seen.at = milliseconds{at};
  seen.pods = std::move(pods);
  seen.waiting = std::move(waiting);
  seen.queues["queue-0"].deserved = {{"gpu", deserved * 1000}};
  return seen;
}

TEST(free_room, is_not_held_twice_where_victims_leave_for_the_nominated) {
  const auto plan = plan_of({});
  EXPECT_EQ(free_room(plan, {pod_at(pod_phase::running, 1)})["n0"].gpu, 1);
  EXPECT_EQ(free_room(plan, {pod_at(pod_phase::nominated, 1, "d")})["n0"].gpu, 1);
  EXPECT_EQ(free_room(plan, {pod_at(pod_phase::nominated, 1, "d"),
                             pod_at(pod_phase::terminating, 1, "", "d")})["n0"]
              .gpu,
            1);
  EXPECT_EQ(free_room(plan, {pod_at(pod_phase::nominated, 1, "d"),
                             pod_at(pod_phase::terminating, 1, "", "e")})["n0"]
              .gpu,
            0);
}

TEST(fitting_watch, counts_how_long_a_pod_fits_without_a_break) {
  const auto plan = plan_of({0});
  fitting_watch watch(plan);
  watch.look(seen_at(0, {}, {0}));
  watch.look(seen_at(500, {}, {0}));
  watch.look(seen_at(1000, {pod_at(pod_phase::running, 2)}, {0}));
  watch.look(seen_at(1500, {}, {0}));
  EXPECT_EQ(watch.longest(), milliseconds{500});
  EXPECT_EQ(watch.who(), "p0");
}

TEST(fitting_watch, gives_room_to_the_more_important_first) {
  const auto plan = plan_of({0, 100});
  fitting_watch watch(plan);
  for (const auto at : {0, 500})
    watch.look(seen_at(at, {pod_at(pod_phase::running, 1)}, {0, 1}));
  EXPECT_EQ(watch.longest(), milliseconds{500});
  EXPECT_EQ(watch.who(), "p1");
}

TEST(fitting_watch, passes_over_those_that_their_quota_does_not_allow) {
  const auto plan = plan_of({0});
  fitting_watch watch(plan);
  for (const auto at : {0, 500})
    watch.look(seen_at(at, {}, {0}, 0));
  EXPECT_EQ(watch.longest(), milliseconds{0});
}

} // namespace

} // namespace reprieve::trace
