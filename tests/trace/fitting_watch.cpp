#include "tests/trace/fitting_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace reprieve::trace {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// Of each the larger amount.
room larger(const room& a, const room& b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory), std::max(a.gpu, b.gpu)};
}

/// What each queue may still take.
std::vector<room> left_in_queues(const replay_plan& plan, const sight& seen) {
  std::vector<room> left(plan.weights.size());
  for (std::size_t q = 0; q < left.size(); ++q) {
    const auto found = seen.queues.find(queue_name(q));
    if (found == seen.queues.end())
      continue;
    left[q] = larger(room_of(found->second.deserved), room_of(found->second.allocated));
    left[q] -= room_of(found->second.used);
  }
  return left;
}

} // namespace

void fitting_watch::look(const sight& seen) {
  auto free = free_room(plan_, seen.pods);
  auto quota = left_in_queues(plan_, seen);
  std::vector<std::size_t> line(seen.waiting.begin(), seen.waiting.end());
  std::ranges::sort(line, [&](std::size_t a, std::size_t b) {
    return std::tuple(-plan_.arrivals[a].priority, a) < std::tuple(-plan_.arrivals[b].priority, b);
  });
  std::map<std::size_t, milliseconds> still;
  for (const auto one : line) {
    const auto& asked = plan_.arrivals[one];
    if (!quota[asked.queue].holds(asked.asks))
      continue;
    const auto on = std::ranges::find_if(
      plan_.machines, [&](const machine& m) { return free[m.name].holds(asked.asks); });
    if (on == plan_.machines.end())
      continue;
    free[on->name] -= asked.asks;
    quota[asked.queue] -= asked.asks;
    const auto known = fits_since_.find(one);
    const auto since = known == fits_since_.end() ? seen.at : known->second;
    still.emplace(one, since);
    if (seen.at - since > longest_) {
      longest_ = seen.at - since;
      who_ = asked.name;
    }
  }
  fits_since_ = std::move(still);
}

std::map<std::string, room> free_room(const replay_plan& plan, const std::vector<pod>& pods) {
  std::map<std::string, room> free;
  for (const auto& m : plan.machines)
    free[m.name] = m.capacity;
  // By node and decision: what it holds, and what those take who leave for it.
  std::map<std::pair<std::string, std::string>, room> held;
  for (const auto& p : pods) {
    if (!takes_room(p.phase) || !free.contains(p.node))
      continue;
    if (p.phase == pod_phase::nominated) {
      held[{p.node, p.placed_by}] += room_of(p.requests);
      continue;
    }
    free[p.node] -= room_of(p.requests);
    if (!p.evicted_by.empty())
      held[{p.node, p.evicted_by}] -= room_of(p.requests);
  }
  for (const auto& [where, amount] : held)
    free[where.first] -= amount.without_debts();
  return free;
}

std::string queue_name(std::size_t number) {
  return fmt::format("queue-{}", number);
}

room room_of(const resources& amounts) {
  return {amount_of(amounts, resource::cpu), amount_of(amounts, resource::memory) / mebibyte,
          amount_of(amounts, resource::gpu) / 1000};
}

resources resources_of(const room& asks) {
  resources made;
  if (asks.cpu > 0)
    made.emplace(resource::cpu, asks.cpu);
  if (asks.memory > 0)
    made.emplace(resource::memory, asks.memory * mebibyte);
  if (asks.gpu > 0)
    made.emplace(resource::gpu, asks.gpu * 1000);
  return made;
}

} // namespace reprieve::trace
