#include "protocol/messages/convert_workload_status.hpp"

#include "protocol/messages/convert_fields.hpp"

namespace reprieve {

v1::Condition to_proto(const condition& from) {
  v1::Condition to;
  to.set_type(from.type);
  to.set_status(from.status);
  to.set_reason(from.reason);
  to.set_message(from.message);
  to.set_since(to_nanoseconds(from.since));
  return to;
}

absl::StatusOr<condition> from_proto(const v1::Condition& from) {
  condition to;
  field_reader read;
  to.type = from.type();
  if (from.has_status())
    to.status = from.status();
  to.reason = from.reason();
  to.message = from.message();
  read.time("since", from.since(), to.since);
  return read.result(std::move(to));
}

v1::ResolvedPriority to_proto(const resolved_priority& from) {
  v1::ResolvedPriority to;
  to.set_priority(from.priority);
  to.set_preemption_priority(from.preemption_priority);
  to.set_may_preempt(from.may_preempt);
  return to;
}

absl::StatusOr<resolved_priority> from_proto(const v1::ResolvedPriority& from) {
  resolved_priority to;
  to.priority = from.priority();
  to.preemption_priority = from.preemption_priority();
  if (from.has_may_preempt())
    to.may_preempt = from.may_preempt();
  return to;
}

v1::PastPreemption to_proto(const past_preemption& from) {
  v1::PastPreemption to;
  to.set_decision(from.decision);
  to.set_at(to_nanoseconds(from.at));
  return to;
}

absl::StatusOr<past_preemption> from_proto(const v1::PastPreemption& from) {
  past_preemption to;
  field_reader read;
  to.decision = from.decision();
  read.time("at", from.at(), to.at);
  return read.result(std::move(to));
}

v1::WorkloadStatus to_proto(const workload_status& from) {
  v1::WorkloadStatus to;
  to.set_uid(from.uid);
  to.set_generation(from.generation);
  to.set_submitted(to_nanoseconds(from.submitted));
  *to.mutable_resolved() = to_proto(from.resolved);
  write_all(from.by_group, *to.mutable_by_group());
  to.set_attempts(from.attempts);
  to.set_resume_after(to_nanoseconds(from.resume_after));
  write_all(from.preempted, *to.mutable_preempted());
  write_all(from.conditions, *to.mutable_conditions());
  return to;
}

absl::StatusOr<workload_status> from_proto(const v1::WorkloadStatus& from) {
  workload_status to;
  field_reader read;
  to.uid = from.uid();
  read.count("generation", from.generation(), to.generation);
  read.time("submitted", from.submitted(), to.submitted);
  read.one("resolved", from.resolved(), to.resolved, from_proto);
  read.all("by_group", from.by_group(), to.by_group, from_proto);
  read.count("attempts", from.attempts(), to.attempts);
  read.time("resume_after", from.resume_after(), to.resume_after);
  read.all("preempted", from.preempted(), to.preempted, from_proto);
  read.all("conditions", from.conditions(), to.conditions, from_proto);
  return read.result(std::move(to));
}

} // namespace reprieve
