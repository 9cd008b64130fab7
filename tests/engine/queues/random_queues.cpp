#include "tests/engine/queues/random_queues.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace reprieve::tests {

namespace {

std::int64_t between(std::int64_t low, std::int64_t high) {
  // At nominal size from the start: few queues and pods show little.
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

bool one_in(std::int64_t n) {
  return between(1, n) == 1;
}

/// Up to seven queues, in a tree; bounds are as admission lets them through but for their sums.
void draw_queues(queue_stage_input& in) {
  const auto count = between(1, 7);
  for (std::int64_t i = 0; i < count; ++i) {
    queue q;
    q.name = fmt::format("q{}", i);
    if (i > 0 && one_in(2))
      q.parent = fmt::format("q{}", between(0, i - 1));
    q.weight = between(0, 5);
    q.cap_by_demand = one_in(3);
    for (const auto& [name, amount] : in.capacity) {
      if (one_in(4))
        q.limit[name] = between(0, amount);
      if (one_in(4))
        q.guaranteed[name] = between(
          0, q.limit.contains(name) ? q.limit[name] : std::max<std::int64_t>(amount / 2, 0));
    }
    in.queues[q.name] = q;
  }
}

void draw_pods(queue_stage_input& in) {
  const auto workloads = between(0, 25);
  for (std::int64_t i = 0; i < workloads; ++i) {
    const bool whole = one_in(4);
    const bool chosen = one_in(8);
    queue_pod p;
    // Now and then of a queue that is not there.
    p.queue = fmt::format("q{}", between(0, std::ssize(in.queues) - (one_in(20) ? 0 : 1)));
    p.resource_group = "default";
    p.portion = {fmt::format("w{}", i), "g", 0, -1};
    p.priority = static_cast<std::int32_t>(between(-1, 3));
    p.started = one_in(4) ? no_time : at(between(0, 3));
    p.minimum_runtime = std::chrono::seconds{one_in(6) ? 3598 : 0};
    for (const auto& [name, amount] : in.capacity)
      p.requests[name] = between(0, 4);
    for (auto pods = between(1, whole ? 3 : 2); pods > 0; --pods) {
      p.uid = fmt::format("w{}-{}", i, pods);
      p.node = fmt::format("n{}", between(0, 3));
      if (!whole)
        p.portion.index = static_cast<std::int32_t>(pods);
      p.phase = one_in(10)   ? pod_phase::terminating
                : one_in(10) ? pod_phase::nominated
                             : pod_phase::running;
      p.chosen = chosen;
      p.daemon = one_in(12);
      p.protected_member = one_in(12);
      p.opted_out = one_in(6);
      in.pods.push_back(p);
    }
  }
}

/// Anything that a store may hold: the capacity may have shrunk since, and queues may be new.
void draw_past(queue_stage_input& in) {
  for (const auto& [name, q] : in.queues) {
    if (one_in(3))
      continue;
    for (const auto& [resource, amount] : in.capacity) {
      in.previous[name].allocated[resource] = between(0, 20);
      if (one_in(3))
        in.previous[name].preempting[resource] = between(0, 8);
    }
  }
}

/// A GPU is a thousand, and shared in whole ones or in quarters: all as drawn is far below one.
void scale_gpus(queue_stage_input& in, std::int64_t by) {
  const auto scale = [&](resources& amounts) {
    if (const auto gpu = amounts.find(resource::gpu); gpu != amounts.end())
      gpu->second *= by;
  };
  scale(in.capacity);
  for (auto& [name, q] : in.queues) {
    scale(q.limit);
    scale(q.guaranteed);
  }
  for (auto& p : in.pods)
    scale(p.requests);
  for (auto& [name, status] : in.previous) {
    scale(status.allocated);
    scale(status.preempting);
  }
  for (auto& [name, amounts] : in.pending)
    scale(amounts);
}

} // namespace

queue_stage_input draw_input() {
  queue_stage_input in;
  in.now = at(3600);
  in.capacity["cpu"] = between(0, 60);
  if (one_in(2))
    in.capacity["gpu"] = between(0, 40);
  draw_queues(in);
  draw_pods(in);
  draw_past(in);
  for (const auto& [name, q] : in.queues)
    if (one_in(3))
      for (const auto& [resource, amount] : in.capacity)
        in.pending[name][resource] = between(0, 10);
  scale_gpus(in, one_in(3) ? 1 : one_in(2) ? 250 : 1000);
  in.limits["default"].opt_out_is_veto = one_in(2);
  if (one_in(3))
    in.limits["default"].minimum_runtime = std::chrono::seconds{3598};
  return in;
}

void for_random_inputs(const std::function<void(const queue_stage_input&)>& check) {
  constexpr int inputs_for_each_case = 10;
  EXPECT_TRUE(rc::check([&] {
    for (int i = 0; i < inputs_for_each_case; ++i)
      check(draw_input());
  }));
}

} // namespace reprieve::tests
