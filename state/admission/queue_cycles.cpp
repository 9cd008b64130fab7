#include "state/admission/queue_cycles.hpp"

#include "state/text/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <string_view>

namespace reprieve {

std::vector<queue_cycle> cycles_in(const by_name<queue>& queues) {
  std::vector<queue_cycle> cycles;
  std::map<std::string_view, std::string_view> seen; ///< each queue, and whose turn came there
  for (const auto& [first, spec] : queues) {
    auto at = queues.find(first);
    while (at != queues.end() && seen.emplace(at->first, first).second)
      at = queues.find(at->second.parent);
    if (at == queues.end() || seen.at(at->first) != first)
      continue;
    auto& cycle = cycles.emplace_back();
    const auto begin = at;
    do {
      cycle.push_back(at->first);
      at = queues.find(at->second.parent);
    } while (at != begin);
    std::ranges::rotate(cycle, std::ranges::min_element(cycle));
  }
  return cycles;
}

std::string describe(const queue_cycle& cycle) {
  constexpr std::size_t most_named = 8;
  std::string text;
  for (const auto& name : cycle | std::views::take(most_named))
    text += printable(name) + " -> ";
  if (cycle.size() > most_named)
    text += fmt::format("{} more -> ", cycle.size() - most_named);
  return text + printable(cycle.front());
}

std::string describe(const std::vector<queue_cycle>& cycles) {
  constexpr std::size_t most_named = 8;
  std::string text;
  for (const auto& one : cycles | std::views::take(most_named))
    text += (text.empty() ? "" : ", ") + describe(one);
  if (cycles.size() > most_named)
    text += fmt::format(", and {} more", cycles.size() - most_named);
  return text;
}

} // namespace reprieve
