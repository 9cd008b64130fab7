#include "state/model/queue_limits.hpp"

#include "state/quantities/quantity.hpp"
#include "state/quantities/resource_sums.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

/// Whether `name` is `ancestor` or below it.
bool is_below(const by_name<queue>& queues, std::string_view name, std::string_view ancestor) {
  for (const queue* at = find(queues, name); at != nullptr; at = find(queues, at->parent))
    if (at->name == ancestor)
      return true;
  return false;
}

} // namespace

void add_to(resources& to, const resources& more) {
  add_times(to, more, 1);
}

resources used_below(const by_name<queue>& queues, const usage_by_queue& usage,
                     std::string_view name) {
  resources total;
  for (const auto& [queue, used] : usage)
    if (is_below(queues, queue, name))
      add_to(total, used);
  return total;
}

absl::Status within_limits(const by_name<queue>& queues, const usage_by_queue& usage,
                           std::string_view name, const resources& wanted) {
  if (find(queues, name) == nullptr)
    return absl::FailedPreconditionError(fmt::format("queue {} does not exist any more", name));
  for (const queue* at = find(queues, name); at != nullptr; at = find(queues, at->parent)) {
    if (at->limit.empty())
      continue;
    const auto used = used_below(queues, usage, at->name);
    for (const auto& [resource, limit] : at->limit) {
      const auto taken = amount_of(used, resource);
      const auto more = amount_of(wanted, resource);
      if (more > 0 && taken + more > limit)
        return absl::ResourceExhaustedError(
          fmt::format("queue {} has a limit of {} {}, {} are taken and {} more are asked for",
                      at->name, format_quantity(limit, resource), resource,
                      format_quantity(taken, resource), format_quantity(more, resource)));
    }
  }
  return absl::OkStatus();
}

} // namespace reprieve
