#include "preemption/waiting/wait_reason.hpp"

#include "preemption/policies/queues/queue_stage.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace reprieve {

resources wanted_by(const preemptor& who) {
  resources sum;
  for (const auto& group : who.groups)
    for (std::int32_t i = 0; i < group.needed; ++i)
      add_taken(sum, group.pods[static_cast<std::size_t>(i)]);
  return sum;
}

resources demand_of(const preemptor& who) {
  resources sum;
  for (const auto& group : who.groups)
    for (const auto& p : group.pods)
      add_taken(sum, p);
  return sum;
}

resources demand_of(const pod_group& group, std::int64_t pods) {
  resources sum;
  for (const auto& [name, amount] : group.pods.requests)
    sum[name] += amount * pods;
  sum[std::string(resource::pods)] += pods;
  return sum;
}

bool was_there_before(const preemptor& who) {
  return std::ranges::any_of(who.groups, [](const wanted_group& group) {
    return std::ranges::any_of(group.pods, [](const pod& p) { return p.incarnation > 0; });
  });
}

time_point due_of(const workload_record& record, const preemptor& who) {
  const auto& status = record.status;
  if (record.slots.empty() || was_there_before(who) || status.resume_after == no_time)
    return status.resume_after;
  return status.preempted.empty() ? no_time
                                  : std::min(status.resume_after, status.preempted.back().at
                                                                    + record.spec->resume.backoff);
}

std::optional<wait_reason> why_backed_off(const workload_record& record, const preemptor& who,
                                          time_point now) {
  const auto& status = record.status;
  const auto due = due_of(record, who);
  if (due <= now)
    return std::nullopt;
  const auto what =
    status.attempts == 0
      ? std::string("it lost pods with a machine")
      : fmt::format("it was preempted {} time{}", status.attempts, status.attempts == 1 ? "" : "s");
  return wait_reason{
    fmt::format("{} and is tried again in {}", what,
                format_duration(std::chrono::ceil<std::chrono::seconds>(due - now))),
    due};
}

} // namespace reprieve
