#include "preemption/policies/queues/queue_explain.hpp"

#include "state/quantities/quantity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace reprieve {

std::string_view number_of(queue_case stands) {
  switch (stands) {
  case queue_case::surplus_unused:
    return "01.1";
  case queue_case::surplus_used:
    return "01.2";
  case queue_case::constant:
    return "02";
  case queue_case::lacking:
    break;
  }
  return "03";
}

std::string why_moved(const queue_line& line) {
  const auto amount = [&](std::int64_t of) { return format_quantity(of, line.resource); };
  std::vector<std::string> moves;
  if (line.given_unused > 0)
    moves.push_back(fmt::format("gives {} that nobody uses", amount(line.given_unused)));
  if (line.given_used > 0)
    moves.push_back(
      fmt::format("gives {} when the pods that use it have gone", amount(line.given_used)));
  if (line.given_waiting > 0)
    moves.push_back(fmt::format("waits no more for {}", amount(line.given_waiting)));
  if (line.received > 0)
    moves.push_back(fmt::format("receives {}", amount(line.received)));
  if (line.preempting > 0)
    moves.push_back(
      fmt::format("waits for {} until the pods that use it have gone", amount(line.preempting)));
  if (line.overused > 0)
    moves.push_back(
      fmt::format("loses pods that use {} more than it was allocated", amount(line.overused)));
  if (line.not_freed > 0)
    moves.push_back(fmt::format("can't free {}, as nobody else may go", amount(line.not_freed)));
  if (moves.empty())
    moves.emplace_back("stays as it is");
  return fmt::format("case {}: deserves {} {}, was allocated {} and uses {}: {}",
                     number_of(line.stands), amount(line.deserved), line.resource,
                     amount(line.allocated_before), amount(line.used), fmt::join(moves, ", "));
}

} // namespace reprieve
