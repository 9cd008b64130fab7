#include "protocol/messages/convert_pod.hpp"

#include "protocol/messages/convert_fields.hpp"
#include "protocol/messages/convert_workload.hpp"
#include "protocol/messages/wire_writer.hpp"

namespace reprieve {
namespace {

constexpr enum_table<pod_phase, v1::PodPhase, 8> phases{{
  {pod_phase::pending, v1::POD_PHASE_PENDING},
  {pod_phase::nominated, v1::POD_PHASE_NOMINATED},
  {pod_phase::bound, v1::POD_PHASE_BOUND},
  {pod_phase::running, v1::POD_PHASE_RUNNING},
  {pod_phase::surplus, v1::POD_PHASE_SURPLUS},
  {pod_phase::terminating, v1::POD_PHASE_TERMINATING},
  {pod_phase::force_deleting, v1::POD_PHASE_FORCE_DELETING},
  {pod_phase::gone, v1::POD_PHASE_GONE},
}};

} // namespace

v1::PodPhase to_proto(pod_phase value) {
  return phases.to_message(value);
}

absl::StatusOr<pod_phase> from_proto(v1::PodPhase value) {
  return phases.from_message(value);
}

v1::PortionId to_proto(const portion_id& from) {
  v1::PortionId to;
  to.set_workload(from.workload);
  to.set_group(from.group);
  to.set_replica(from.replica);
  if (!from.whole_replica())
    to.set_index(from.index);
  return to;
}

absl::StatusOr<portion_id> from_proto(const v1::PortionId& from) {
  portion_id to;
  field_reader read;
  to.workload = from.workload();
  to.group = from.group();
  read.count("replica", from.replica(), to.replica);
  if (from.has_index())
    read.count("index", from.index(), to.index);
  return read.result(std::move(to));
}

v1::Pod to_proto(const pod& from) {
  v1::Pod to;
  to.set_uid(from.uid);
  to.set_name(from.name);
  to.set_workload(from.workload);
  to.set_group(from.group);
  to.set_replica(from.replica);
  to.set_index(from.index);
  to.set_incarnation(from.incarnation);
  to.set_node(from.node);
  to.set_phase(to_proto(from.phase));
  write_map(from.requests, *to.mutable_requests());
  write_map(from.labels, *to.mutable_labels());
  write_map(from.annotations, *to.mutable_annotations());
  to.set_disruption_mode(to_proto(from.disruption));
  to.set_priority(from.priority);
  if (from.own_priority)
    to.set_own_priority(*from.own_priority);
  to.set_daemon(from.daemon);
  to.set_opted_out(from.opted_out);
  to.set_protected_member(from.protected_member);
  to.set_owner(from.owner);
  to.set_created(to_nanoseconds(from.created));
  to.set_started(to_nanoseconds(from.started));
  to.set_checkpointed(to_nanoseconds(from.checkpointed));
  to.set_stop_told(to_nanoseconds(from.stop_told));
  to.set_grace_period(from.grace_period.count());
  to.set_minimum_runtime(from.minimum_runtime.count());
  to.set_checkpoint_time(from.checkpoint_time.count());
  to.set_placed_by(from.placed_by);
  to.set_evicted_by(from.evicted_by);
  return to;
}

absl::StatusOr<pod> from_proto(const v1::Pod& from) {
  pod to;
  field_reader read;
  to.uid = from.uid();
  to.name = from.name();
  to.workload = from.workload();
  to.group = from.group();
  read.count("replica", from.replica(), to.replica);
  read.count("index", from.index(), to.index);
  to.incarnation = from.incarnation();
  to.node = from.node();
  read.one("phase", from.phase(), to.phase, from_proto);
  read.amounts("requests", from.requests(), to.requests);
  read_map(from.labels(), to.labels);
  read_map(from.annotations(), to.annotations);
  read.one("disruption_mode", from.disruption_mode(), to.disruption, from_proto);
  to.priority = from.priority();
  if (from.has_own_priority())
    to.own_priority = from.own_priority();
  to.daemon = from.daemon();
  to.opted_out = from.opted_out();
  to.protected_member = from.protected_member();
  to.owner = from.owner();
  read.time("created", from.created(), to.created);
  read.time("started", from.started(), to.started);
  read.time("checkpointed", from.checkpointed(), to.checkpointed);
  read.time("stop_told", from.stop_told(), to.stop_told);
  if (from.has_grace_period())
    read.length("grace_period", from.grace_period(), to.grace_period);
  read.length("minimum_runtime", from.minimum_runtime(), to.minimum_runtime);
  read.length("checkpoint_time", from.checkpoint_time(), to.checkpoint_time);
  to.placed_by = from.placed_by();
  to.evicted_by = from.evicted_by();
  return read.result(std::move(to));
}

std::string encode_message(const pod& from) {
  using form = v1::Pod;
  constexpr std::size_t usual_size = 384;
  std::string bytes;
  bytes.reserve(usual_size);
  wire_writer write{bytes};
  write.text(form::kUidFieldNumber, from.uid);
  write.text(form::kNameFieldNumber, from.name);
  write.text(form::kWorkloadFieldNumber, from.workload);
  write.text(form::kGroupFieldNumber, from.group);
  write.integer(form::kReplicaFieldNumber, from.replica);
  write.integer(form::kIndexFieldNumber, from.index);
  write.text(form::kNodeFieldNumber, from.node);
  write.integer(form::kPhaseFieldNumber, to_proto(from.phase));
  write.map(form::kRequestsFieldNumber, from.requests);
  write.map(form::kLabelsFieldNumber, from.labels);
  write.integer(form::kDisruptionModeFieldNumber, to_proto(from.disruption));
  write.integer(form::kPriorityFieldNumber, from.priority);
  if (from.own_priority)
    write.any_integer(form::kOwnPriorityFieldNumber, *from.own_priority);
  write.integer(form::kIncarnationFieldNumber, from.incarnation);
  write.map(form::kAnnotationsFieldNumber, from.annotations);
  write.integer(form::kDaemonFieldNumber, from.daemon ? 1 : 0);
  write.integer(form::kOptedOutFieldNumber, from.opted_out ? 1 : 0);
  write.integer(form::kProtectedMemberFieldNumber, from.protected_member ? 1 : 0);
  write.text(form::kOwnerFieldNumber, from.owner);
  write.integer(form::kCreatedFieldNumber, to_nanoseconds(from.created));
  write.integer(form::kStartedFieldNumber, to_nanoseconds(from.started));
  write.integer(form::kCheckpointedFieldNumber, to_nanoseconds(from.checkpointed));
  write.integer(form::kStopToldFieldNumber, to_nanoseconds(from.stop_told));
  write.any_integer(form::kGracePeriodFieldNumber, from.grace_period.count());
  write.integer(form::kCheckpointTimeFieldNumber, from.checkpoint_time.count());
  write.integer(form::kMinimumRuntimeFieldNumber, from.minimum_runtime.count());
  write.text(form::kPlacedByFieldNumber, from.placed_by);
  write.text(form::kEvictedByFieldNumber, from.evicted_by);
  return bytes;
}

const std::string& bytes_of(const shared_pod& p) {
  return p.bytes(encode_message);
}

absl::StatusOr<pod_list::pointer> shared_pod_from(const std::string& bytes) {
  const auto message = parse_message<v1::Pod>(bytes);
  if (!message.ok())
    return message.status();
  auto read = from_proto(*message);
  if (!read.ok())
    return read.status();
  return std::make_shared<const shared_pod>(*std::move(read), bytes);
}

} // namespace reprieve
