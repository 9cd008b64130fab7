#include "protocol/messages/convert_requests.hpp"

#include "protocol/messages/convert_decision.hpp"
#include "protocol/messages/convert_fields.hpp"
#include "protocol/messages/convert_node.hpp"
#include "protocol/messages/convert_object.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "protocol/messages/convert_queue.hpp"
#include "protocol/messages/convert_workload_status.hpp"

#include <algorithm>
#include <limits>

namespace reprieve {

namespace {

constexpr enum_table<apply_outcome, v1::ApplyOutcome, 3> outcomes{{
  {apply_outcome::created, v1::APPLY_OUTCOME_CREATED},
  {apply_outcome::configured, v1::APPLY_OUTCOME_CONFIGURED},
  {apply_outcome::unchanged, v1::APPLY_OUTCOME_UNCHANGED},
}};

/// A list goes on in another answer then.
constexpr std::size_t most_answer_bytes = 1 << 20;

} // namespace

v1::ApplyRequest to_proto(const apply_request& from) {
  v1::ApplyRequest to;
  write_all(from.objects, *to.mutable_objects());
  to.set_dry_run(from.dry_run);
  return to;
}

absl::StatusOr<apply_request> from_proto(const v1::ApplyRequest& from) {
  field_reader read;
  apply_request to;
  read.all("objects", from.objects(), to.objects, from_proto);
  to.dry_run = from.dry_run();
  return read.result(std::move(to));
}

v1::ApplyResponse to_proto(const std::vector<touched_object>& asked,
                           const std::vector<apply_outcome>& from) {
  v1::ApplyResponse to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto* applied = to.add_objects();
    applied->set_kind(to_proto(asked[i].kind));
    applied->set_name(asked[i].name);
    applied->set_outcome(outcomes.to_message(from[i]));
  }
  return to;
}

absl::StatusOr<std::vector<apply_outcome>> from_proto(const v1::ApplyResponse& from) {
  std::vector<apply_outcome> to;
  for (const auto& one : from.objects()) {
    const auto outcome = outcomes.from_message(one.outcome());
    if (!outcome.ok())
      return outcome.status();
    to.push_back(*outcome);
  }
  return to;
}

v1::GetRequest to_proto(const get_request& from) {
  v1::GetRequest to;
  to.set_kind(to_proto(from.kind));
  to.set_name(from.name);
  to.set_resource_group(from.resource_group);
  to.set_queue(from.queue);
  to.set_node(from.node);
  to.set_workload(from.workload);
  to.set_after(from.after);
  to.set_most(static_cast<std::uint32_t>(
    std::min<std::size_t>(from.most, std::numeric_limits<std::uint32_t>::max())));
  return to;
}

absl::StatusOr<get_request> from_proto(const v1::GetRequest& from) {
  field_reader read;
  get_request to{{},          from.name(),     from.resource_group(), from.queue(),
                 from.node(), from.workload(), from.after(),          from.most()};
  read.one("kind", from.kind(), to.kind, from_proto);
  return read.result(std::move(to));
}

v1::Object to_proto(const shown_object& from) {
  auto to = to_proto(from.what);
  if (from.workload)
    *to.mutable_workload_status() = to_proto(*from.workload);
  if (from.queue)
    *to.mutable_queue_status() = to_proto(*from.queue);
  if (from.node)
    *to.mutable_node_status() = to_proto(*from.node);
  return to;
}

v1::GetResponse to_proto(const shown_objects& from) {
  v1::GetResponse to;
  to.set_age_ns(from.age.count());
  to.set_next(from.next);
  for (const auto& name : from.unreadable)
    to.add_unreadable(name);
  to.set_unreadable_in_all(from.unreadable_in_all);
  std::size_t bytes = 0;
  for (const auto& one : from) {
    auto& shown = *to.add_objects();
    shown = to_proto(one);
    bytes += shown.ByteSizeLong();
    if (bytes < most_answer_bytes || &one == &from.objects.back())
      continue;
    to.set_next(place_in_list(one.what));
    break;
  }
  return to;
}

absl::StatusOr<shown_objects> from_proto(const v1::GetResponse& from) {
  field_reader read;
  shown_objects to{{},
                   duration{from.age_ns()},
                   from.next(),
                   {from.unreadable().begin(), from.unreadable().end()},
                   from.unreadable_in_all()};
  read.all("objects", from.objects(), to.objects, shown_from_proto);
  return read.result(std::move(to));
}

absl::StatusOr<shown_object> shown_from_proto(const v1::Object& from) {
  field_reader read;
  shown_object to;
  read.one("spec", from, to.what, from_proto);
  if (from.has_workload_status())
    read.one("workload_status", from.workload_status(), to.workload.emplace(), from_proto);
  if (from.has_queue_status())
    read.one("queue_status", from.queue_status(), to.queue.emplace(), from_proto);
  if (from.has_node_status())
    read.one("node_status", from.node_status(), to.node.emplace(), from_proto);
  return read.result(std::move(to));
}

v1::Event to_proto(const event& from) {
  v1::Event to;
  to.set_sequence(from.sequence);
  to.set_time(to_nanoseconds(from.at));
  to.set_kind(from.kind);
  to.set_name(from.name);
  to.set_type(from.type);
  to.set_message(from.message);
  to.set_decision(from.decision);
  to.set_trace_id(from.trace_id);
  return to;
}

absl::StatusOr<event> from_proto(const v1::Event& from) {
  field_reader read;
  event to{from.sequence(), no_time,        from.kind(),     from.name(),
           from.type(),     from.message(), from.decision(), from.trace_id()};
  read.time("time", from.time(), to.at);
  return read.result(std::move(to));
}

v1::DescribeRequest to_proto(const describe_request& from) {
  v1::DescribeRequest to;
  to.set_kind(to_proto(from.kind));
  to.set_name(from.name);
  return to;
}

absl::StatusOr<describe_request> from_proto(const v1::DescribeRequest& from) {
  field_reader read;
  describe_request to{{}, from.name()};
  read.one("kind", from.kind(), to.kind, from_proto);
  return read.result(std::move(to));
}

v1::DescribeResponse to_proto(const description& from) {
  v1::DescribeResponse to;
  *to.mutable_object() = to_proto(from.what);
  write_all(from.events, *to.mutable_events());
  write_all(from.pods, *to.mutable_pods());
  write_all(from.decisions, *to.mutable_decisions());
  to.set_age_ns(from.age.count());
  to.set_missing(from.missing);
  to.set_pods_in_all(from.pods_in_all);
  return to;
}

absl::StatusOr<description> from_proto(const v1::DescribeResponse& from) {
  field_reader read;
  description to;
  read.one("object", from.object(), to.what, shown_from_proto);
  read.all("events", from.events(), to.events, from_proto);
  read.all("pods", from.pods(), to.pods, from_proto);
  read.all("decisions", from.decisions(), to.decisions, from_proto);
  to.age = duration{from.age_ns()};
  to.missing = from.missing();
  to.pods_in_all = std::max<std::size_t>(from.pods_in_all(), to.pods.size());
  return read.result(std::move(to));
}

v1::DeleteRequest to_proto(const delete_request& from) {
  v1::DeleteRequest to;
  to.set_kind(to_proto(from.kind));
  for (const auto& name : from.names)
    to.add_names(name);
  to.set_force(from.force);
  return to;
}

absl::StatusOr<delete_request> from_proto(const v1::DeleteRequest& from) {
  field_reader read;
  delete_request to;
  to.names.assign(from.names().begin(), from.names().end());
  to.force = from.force();
  read.one("kind", from.kind(), to.kind, from_proto);
  return read.result(std::move(to));
}

v1::HeartbeatRequest to_proto(const heartbeat_request& from) {
  v1::HeartbeatRequest to;
  to.mutable_nodes()->Add(from.nodes.begin(), from.nodes.end());
  to.set_last(from.last);
  return to;
}

absl::StatusOr<heartbeat_request> from_proto(const v1::HeartbeatRequest& from) {
  if (from.nodes().empty())
    return absl::InvalidArgumentError("no node is named; give the names of those that are up");
  return heartbeat_request{{from.nodes().begin(), from.nodes().end()}, from.last()};
}

v1::ExplainRequest to_proto(const explain_request& from) {
  v1::ExplainRequest to;
  if (!from.decision.empty())
    to.set_decision(from.decision);
  else if (!from.workload.empty())
    to.set_workload(from.workload);
  else
    to.set_pod(from.pod);
  return to;
}

absl::StatusOr<explain_request> from_proto(const v1::ExplainRequest& from) {
  explain_request to{from.decision(), from.workload(), from.pod()};
  if (to.decision.empty() && to.workload.empty() && to.pod.empty())
    return absl::InvalidArgumentError(
      "nothing to explain is named; give a decision, a workload or a pod");
  return to;
}

v1::ExplainResponse to_proto(const explanation& from) {
  v1::ExplainResponse to;
  write_all(from.decisions, *to.mutable_decisions());
  to.set_pending_reason(from.pending_reason);
  to.set_age_ns(from.age.count());
  to.set_missing(from.missing);
  to.mutable_notes()->Assign(from.notes.begin(), from.notes.end());
  return to;
}

absl::StatusOr<explanation> from_proto(const v1::ExplainResponse& from) {
  field_reader read;
  explanation to;
  read.all("decisions", from.decisions(), to.decisions, from_proto);
  to.pending_reason = from.pending_reason();
  to.age = duration{from.age_ns()};
  to.missing = from.missing();
  to.notes.assign(from.notes().begin(), from.notes().end());
  return read.result(std::move(to));
}

v1::BackupHeader to_proto(const backup_header& from) {
  v1::BackupHeader to;
  to.set_schema_version(from.schema);
  to.set_cluster_id(from.cluster);
  to.set_taken(to_nanoseconds(from.taken));
  to.set_revision(from.at);
  return to;
}

backup_header from_proto(const v1::BackupHeader& from) {
  return {from.schema_version(), from.cluster_id(), time_point{duration{from.taken()}},
          from.revision()};
}

v1::BackupRecord to_proto(const backup_record& from) {
  v1::BackupRecord to;
  to.set_key(from.key);
  to.set_value(from.value);
  return to;
}

backup_record from_proto(const v1::BackupRecord& from) {
  return {from.key(), from.value()};
}

} // namespace reprieve
