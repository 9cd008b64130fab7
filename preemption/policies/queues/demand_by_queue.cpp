#include "preemption/policies/queues/demand_by_queue.hpp"

#include "state/quantities/resource_sums.hpp"

#include <algorithm>
#include <string>

namespace reprieve {

namespace {

template <class T>
void set(by_name<by_name<T>>& of, std::string_view queue, const std::string& resource, T amount) {
  auto at = of.find(queue);
  if (at == of.end())
    at = of.emplace(std::string(queue), by_name<T>{}).first;
  if (amount == 0)
    at->second.erase(resource);
  else
    at->second[resource] = amount;
  if (at->second.empty())
    of.erase(at);
}

} // namespace

void demand_by_queue::add(std::string_view queue, const resources& amounts, std::int64_t times) {
  for (const auto& [resource, amount] : amounts) {
    const auto* before = find(sums_, queue);
    const auto* had = before == nullptr ? nullptr : find(*before, resource);
    const auto now = (had == nullptr ? 0 : *had) + static_cast<wide_int>(amount) * times;
    set(sums_, queue, resource, now);
    set(told_, queue, resource,
        static_cast<std::int64_t>(std::clamp<wide_int>(now, -largest_sum, largest_sum)));
  }
}

} // namespace reprieve
