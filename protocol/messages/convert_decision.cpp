#include "protocol/messages/convert_decision.hpp"

#include "protocol/messages/convert_fields.hpp"
#include "protocol/messages/convert_placement.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "protocol/messages/convert_reasoning.hpp"

namespace reprieve {
namespace {

constexpr enum_table<decision_phase, v1::DecisionPhase, 5> phases{{
  {decision_phase::preparing, v1::DECISION_PHASE_PREPARING},
  {decision_phase::committed, v1::DECISION_PHASE_COMMITTED},
  {decision_phase::starting, v1::DECISION_PHASE_STARTING},
  {decision_phase::done, v1::DECISION_PHASE_DONE},
  {decision_phase::aborted, v1::DECISION_PHASE_ABORTED},
}};

/// The fields that a v1::Decision and a v1::DecisionHead have both.
template <class Message>
void write_head(const decision& from, Message& to) {
  to.set_id(from.id);
  to.set_resource_group(from.resource_group);
  to.mutable_workloads()->Assign(from.workloads.begin(), from.workloads.end());
  to.set_queue(from.queue);
  to.set_priority(from.priority);
  to.set_policy(from.policy);
  to.set_phase(to_proto(from.phase));
  *to.mutable_score() = to_proto(from.scored);
  to.set_decided(to_nanoseconds(from.decided));
  to.set_committed(to_nanoseconds(from.committed));
  to.set_ended(to_nanoseconds(from.ended));
  to.set_abort_reason(from.abort_reason);
  to.set_victims_told(from.victims_told);
  to.set_at_once(from.at_once);
  *to.mutable_trace() = to_proto(from.trace);
}

template <class Message>
void read_head(const Message& from, decision& to, field_reader& read) {
  to.id = from.id();
  to.resource_group = from.resource_group();
  to.workloads.assign(from.workloads().begin(), from.workloads().end());
  to.queue = from.queue();
  to.priority = from.priority();
  to.policy = from.policy();
  read.one("phase", from.phase(), to.phase, from_proto);
  read.one("score", from.score(), to.scored, from_proto);
  read.time("decided", from.decided(), to.decided);
  read.time("committed", from.committed(), to.committed);
  read.time("ended", from.ended(), to.ended);
  to.abort_reason = from.abort_reason();
  to.victims_told = from.victims_told();
  to.at_once = from.at_once();
  read.one("trace", from.trace(), to.trace, from_proto);
}

/// The fields that a v1::Decision and a v1::DecisionBody have both.
template <class Message>
void read_body(const Message& from, decision& to, field_reader& read) {
  read.all("assignments", from.assignments(), to.assignments, from_proto);
  read.all("victims", from.victims(), to.victims, from_proto);
  read.all("counts", from.counts(), to.counts, from_proto);
  read.all("force_deletes", from.force_deletes(), to.force_deletes, from_proto);
  if (from.has_why())
    read.one("why", from.why(), to.why, from_proto);
}

} // namespace

v1::DecisionPhase to_proto(decision_phase value) {
  return phases.to_message(value);
}

absl::StatusOr<decision_phase> from_proto(v1::DecisionPhase value) {
  return phases.from_message(value);
}

v1::Assignment to_proto(const assignment& from) {
  v1::Assignment to;
  *to.mutable_placed() = to_proto(from.placed);
  return to;
}

absl::StatusOr<assignment> from_proto(const v1::Assignment& from) {
  assignment to;
  field_reader read;
  read.one("placed", from.placed(), to.placed, from_proto);
  return read.result(std::move(to));
}

v1::VictimPod to_proto(const victim_pod& from) {
  v1::VictimPod to;
  to.set_uid(from.uid);
  to.set_node(from.node);
  return to;
}

absl::StatusOr<victim_pod> from_proto(const v1::VictimPod& from) {
  return victim_pod{from.uid(), from.node()};
}

v1::Victim to_proto(const victim& from) {
  v1::Victim to;
  *to.mutable_portion() = to_proto(from.portion);
  to.set_priority(from.priority);
  to.set_violates_budget(from.violates_budget);
  to.set_work_lost(from.work_lost);
  write_all(from.pods, *to.mutable_pods());
  to.set_counted(from.counted);
  to.set_expected(from.expected);
  to.set_reason(from.reason);
  return to;
}

absl::StatusOr<victim> from_proto(const v1::Victim& from) {
  victim to;
  field_reader read;
  read.one("portion", from.portion(), to.portion, from_proto);
  to.priority = from.priority();
  to.violates_budget = from.violates_budget();
  to.work_lost = from.work_lost();
  read.all("pods", from.pods(), to.pods, from_proto);
  to.counted = from.counted();
  to.expected = from.expected();
  to.reason = from.reason();
  return read.result(std::move(to));
}

v1::CountChange to_proto(const count_change& from) {
  v1::CountChange to;
  to.set_placement(from.placement);
  to.set_deployment(from.deployment);
  to.set_cluster(from.cluster);
  to.set_from(from.from);
  to.set_to(from.to);
  to.set_preempted(from.preempted);
  write_all(from.nominations, *to.mutable_nominations());
  return to;
}

absl::StatusOr<count_change> from_proto(const v1::CountChange& from) {
  count_change to;
  field_reader read;
  to.placement = from.placement();
  to.deployment = from.deployment();
  to.cluster = from.cluster();
  read.count("from", from.from(), to.from);
  read.count("to", from.to(), to.to);
  to.preempted = from.preempted();
  read.all("nominations", from.nominations(), to.nominations, from_proto);
  return read.result(std::move(to));
}

v1::TraceContext to_proto(const trace_context& from) {
  v1::TraceContext to;
  to.set_traceparent(from.traceparent);
  to.set_tracestate(from.tracestate);
  return to;
}

absl::StatusOr<trace_context> from_proto(const v1::TraceContext& from) {
  return trace_context{from.traceparent(), from.tracestate()};
}

v1::Decision to_proto(const decision& from) {
  v1::Decision to;
  write_head(from, to);
  write_all(from.assignments, *to.mutable_assignments());
  write_all(from.victims, *to.mutable_victims());
  write_all(from.counts, *to.mutable_counts());
  write_all(from.force_deletes, *to.mutable_force_deletes());
  *to.mutable_why() = to_proto(from.why);
  return to;
}

absl::StatusOr<decision> from_proto(const v1::Decision& from) {
  decision to;
  field_reader read;
  read_head(from, to, read);
  read_body(from, to, read);
  return read.result(std::move(to));
}

v1::DecisionHead to_head(const decision& from) {
  v1::DecisionHead to;
  write_head(from, to);
  return to;
}

absl::StatusOr<decision> from_proto(const v1::DecisionHead& from) {
  decision to;
  field_reader read;
  read_head(from, to, read);
  return read.result(std::move(to));
}

absl::Status add_body(const v1::DecisionBody& from, decision& to) {
  field_reader read;
  read_body(from, to, read);
  return read.status();
}

} // namespace reprieve
