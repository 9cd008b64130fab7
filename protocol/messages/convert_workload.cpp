#include "protocol/messages/convert_workload.hpp"

#include "protocol/messages/convert_fields.hpp"
#include "protocol/messages/convert_node.hpp"

namespace reprieve {
namespace {

constexpr enum_table<workload_kind, v1::WorkloadKind, 5> kinds{{
  {workload_kind::batch, v1::WORKLOAD_KIND_BATCH},
  {workload_kind::inference, v1::WORKLOAD_KIND_INFERENCE},
  {workload_kind::interactive, v1::WORKLOAD_KIND_INTERACTIVE},
  {workload_kind::daemon, v1::WORKLOAD_KIND_DAEMON},
  {workload_kind::deployment, v1::WORKLOAD_KIND_DEPLOYMENT},
}};

constexpr enum_table<disruption_mode, v1::DisruptionMode, 2> modes{{
  {disruption_mode::pod, v1::DISRUPTION_MODE_POD},
  {disruption_mode::pod_group, v1::DISRUPTION_MODE_POD_GROUP},
}};

constexpr enum_table<resume_policy, v1::ResumePolicy, 3> resumptions{{
  {resume_policy::by_kind, v1::RESUME_POLICY_BY_KIND},
  {resume_policy::always, v1::RESUME_POLICY_ALWAYS},
  {resume_policy::never, v1::RESUME_POLICY_NEVER},
}};

} // namespace

v1::WorkloadKind to_proto(workload_kind value) {
  return kinds.to_message(value);
}

absl::StatusOr<workload_kind> from_proto(v1::WorkloadKind value) {
  return kinds.from_message(value);
}

v1::DisruptionMode to_proto(disruption_mode value) {
  return modes.to_message(value);
}

absl::StatusOr<disruption_mode> from_proto(v1::DisruptionMode value) {
  return modes.from_message(value);
}

v1::ResumePolicy to_proto(resume_policy value) {
  return resumptions.to_message(value);
}

absl::StatusOr<resume_policy> from_proto(v1::ResumePolicy value) {
  return resumptions.from_message(value);
}

v1::PodTemplate to_proto(const pod_template& from) {
  v1::PodTemplate to;
  write_map(from.requests, *to.mutable_requests());
  write_map(from.labels, *to.mutable_labels());
  write_map(from.annotations, *to.mutable_annotations());
  write_map(from.node_selector, *to.mutable_node_selector());
  write_all(from.tolerations, *to.mutable_tolerations());
  if (from.priority)
    to.set_priority(*from.priority);
  return to;
}

absl::StatusOr<pod_template> from_proto(const v1::PodTemplate& from) {
  pod_template to;
  field_reader read;
  read.amounts("requests", from.requests(), to.requests);
  read_map(from.labels(), to.labels);
  read_map(from.annotations(), to.annotations);
  read_map(from.node_selector(), to.node_selector);
  read.all("tolerations", from.tolerations(), to.tolerations, from_proto);
  if (from.has_priority())
    to.priority = from.priority();
  return read.result(std::move(to));
}

v1::PodGroup to_proto(const pod_group& from) {
  v1::PodGroup to;
  to.set_name(from.name);
  *to.mutable_pods() = to_proto(from.pods);
  to.set_count(from.count);
  to.set_replicas(from.replicas);
  if (from.min_count)
    to.set_min_count(*from.min_count);
  to.set_disruption_mode(to_proto(from.disruption));
  to.mutable_topology_keys()->Assign(from.topology_keys.begin(), from.topology_keys.end());
  to.set_required_node(from.required_node);
  to.set_priority_class(from.priority_class);
  if (from.priority)
    to.set_priority(*from.priority);
  to.mutable_protected_members()->Assign(from.protected_members.begin(),
                                         from.protected_members.end());
  return to;
}

absl::StatusOr<pod_group> from_proto(const v1::PodGroup& from) {
  pod_group to;
  field_reader read;
  to.name = from.name();
  read.one("pods", from.pods(), to.pods, from_proto);
  // Admission says what is wrong with these, and what would be right.
  if (from.has_count())
    to.count = from.count();
  if (from.has_replicas())
    to.replicas = from.replicas();
  if (from.has_min_count())
    to.min_count = from.min_count();
  read.one("disruption_mode", from.disruption_mode(), to.disruption, from_proto);
  to.topology_keys.assign(from.topology_keys().begin(), from.topology_keys().end());
  to.required_node = from.required_node();
  to.priority_class = from.priority_class();
  if (from.has_priority())
    to.priority = from.priority();
  to.protected_members.assign(from.protected_members().begin(), from.protected_members().end());
  return read.result(std::move(to));
}

v1::ResumeSettings to_proto(const resume_settings& from) {
  v1::ResumeSettings to;
  to.set_policy(to_proto(from.policy));
  to.set_backoff(from.backoff.count());
  to.set_limit(from.limit);
  return to;
}

absl::StatusOr<resume_settings> from_proto(const v1::ResumeSettings& from) {
  resume_settings to;
  field_reader read;
  read.one("policy", from.policy(), to.policy, from_proto);
  if (from.has_backoff())
    read.length("backoff", from.backoff(), to.backoff);
  if (from.has_limit())
    read.count("limit", from.limit(), to.limit);
  return read.result(std::move(to));
}

v1::CheckpointSettings to_proto(const checkpoint_settings& from) {
  v1::CheckpointSettings to;
  to.set_supported(from.supported);
  to.set_last(to_nanoseconds(from.last));
  to.set_time_needed(from.time_needed.count());
  return to;
}

absl::StatusOr<checkpoint_settings> from_proto(const v1::CheckpointSettings& from) {
  checkpoint_settings to;
  field_reader read;
  to.supported = from.supported();
  read.time("last", from.last(), to.last);
  read.length("time_needed", from.time_needed(), to.time_needed);
  return read.result(std::move(to));
}

v1::Workload to_proto(const workload& from) {
  v1::Workload to;
  to.set_name(from.name);
  write_map(from.labels, *to.mutable_labels());
  to.set_resource_group(from.resource_group);
  to.set_queue(from.queue);
  to.set_kind(to_proto(from.kind));
  to.set_autoscaled(from.autoscaled);
  to.set_priority_class(from.priority_class);
  if (from.priority)
    to.set_priority(*from.priority);
  to.set_preemption_priority_class(from.preemption_priority_class);
  if (from.preemption_priority)
    to.set_preemption_priority(*from.preemption_priority);
  write_all(from.groups, *to.mutable_groups());
  *to.mutable_resume() = to_proto(from.resume);
  *to.mutable_checkpoint() = to_proto(from.checkpoint);
  to.set_minimum_runtime(from.minimum_runtime.count());
  to.set_grace_period(from.grace_period.count());
  return to;
}

absl::StatusOr<workload> from_proto(const v1::Workload& from) {
  workload to;
  field_reader read;
  to.name = from.name();
  read_map(from.labels(), to.labels);
  if (from.has_resource_group())
    to.resource_group = from.resource_group();
  if (from.has_queue())
    to.queue = from.queue();
  read.one("kind", from.kind(), to.kind, from_proto);
  to.autoscaled = from.autoscaled();
  to.priority_class = from.priority_class();
  if (from.has_priority())
    to.priority = from.priority();
  to.preemption_priority_class = from.preemption_priority_class();
  if (from.has_preemption_priority())
    to.preemption_priority = from.preemption_priority();
  read.all("groups", from.groups(), to.groups, from_proto);
  read.one("resume", from.resume(), to.resume, from_proto);
  read.one("checkpoint", from.checkpoint(), to.checkpoint, from_proto);
  read.length("minimum_runtime", from.minimum_runtime(), to.minimum_runtime);
  if (from.has_grace_period())
    read.length("grace_period", from.grace_period(), to.grace_period);
  return read.result(std::move(to));
}

} // namespace reprieve
