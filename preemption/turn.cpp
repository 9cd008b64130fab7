#include "preemption/turn.hpp"

#include "preemption/queue_stage.hpp"
#include "state/quantity.hpp"

#include <fmt/format.h>

#include <chrono>

namespace reprieve {

resources wanted_by(const preemptor& who) {
  resources sum;
  for (const auto& group : who.groups)
    for (std::int32_t i = 0; i < group.needed; ++i)
      add_taken(sum, group.pods[static_cast<std::size_t>(i)]);
  return sum;
}

std::optional<held_back> why_backed_off(const workload_record& record, time_point now) {
  const auto& status = record.status;
  if (status.resume_after <= now)
    return std::nullopt;
  return held_back{fmt::format("it was preempted {} time{} and is tried again in {}",
                               status.attempts, status.attempts == 1 ? "" : "s",
                               format_duration(std::chrono::ceil<std::chrono::seconds>(
                                 status.resume_after - now))),
                   status.resume_after};
}

std::optional<held_back> why_held_back(const workload_record& record, const preemptor& who,
                                       const by_name<queue>& queues, const usage_by_queue& used,
                                       time_point now) {
  if (auto waits = why_backed_off(record, now))
    return waits;
  const auto within = within_limits(queues, used, record.spec->queue, wanted_by(who));
  if (!within.ok())
    return held_back{std::string(within.message()), no_time};
  return std::nullopt;
}

} // namespace reprieve
