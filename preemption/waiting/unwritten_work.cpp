#include "preemption/waiting/unwritten_work.hpp"

#include <algorithm>

namespace reprieve {

void unwritten_work::failed(std::span<const std::string> workloads, std::size_t pods, bool whole,
                            std::string_view why, time_point now) {
  constexpr std::size_t smaller = 8;
  constexpr int most_doublings = 16;
  for (const auto& name : workloads) {
    auto& one = all_[name];
    if (workloads.size() > 1)
      continue; // it may be as large as before, by itself
    one.why = why;
    if (!whole && pods > 1) {
      one.most = std::max<std::size_t>(std::min(one.most, pods) / smaller, 1);
      continue;
    }
    const auto pause = first_pause * (1 << std::min(one.times++, most_doublings));
    one.until = now + std::min<duration>(pause, longest_pause);
  }
}

void unwritten_work::succeeded(std::span<const std::string> workloads) {
  for (const auto& name : workloads)
    forget(name);
}

void unwritten_work::forget(std::string_view workload) {
  if (const auto found = all_.find(workload); found != all_.end())
    all_.erase(found);
}

std::optional<std::size_t> unwritten_work::most_by_itself(std::string_view workload) const {
  const auto found = all_.find(workload);
  return found == all_.end() ? std::nullopt : std::optional(found->second.most);
}

std::optional<unwritten_work::put_aside> unwritten_work::aside(std::string_view workload,
                                                               time_point now) const {
  const auto found = all_.find(workload);
  if (found == all_.end() || found->second.until <= now)
    return std::nullopt;
  return put_aside{found->second.why, found->second.until};
}

} // namespace reprieve
