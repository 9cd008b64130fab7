#include "protocol/messages/convert_queue.hpp"

#include "protocol/messages/convert_fields.hpp"

namespace reprieve {

v1::QueueCeilings to_proto(const queue_ceilings& from) {
  v1::QueueCeilings to;
  if (from.priority)
    to.set_priority(*from.priority);
  if (from.preemption_priority)
    to.set_preemption_priority(*from.preemption_priority);
  for (const auto& name : from.priority_classes)
    to.add_priority_classes(name);
  if (from.minimum_runtime)
    to.set_minimum_runtime(from.minimum_runtime->count());
  if (from.grace_period)
    to.set_grace_period(from.grace_period->count());
  if (from.checkpoint_time)
    to.set_checkpoint_time(from.checkpoint_time->count());
  if (from.protected_pods)
    to.set_protected_pods(*from.protected_pods);
  if (!from.required_nodes)
    to.set_required_nodes(false);
  if (!from.daemons)
    to.set_daemons(false);
  if (from.pods_per_workload)
    to.set_pods_per_workload(*from.pods_per_workload);
  if (from.pods)
    to.set_pods(*from.pods);
  if (from.annotation_bytes)
    to.set_annotation_bytes(*from.annotation_bytes);
  return to;
}

absl::StatusOr<queue_ceilings> from_proto(const v1::QueueCeilings& from) {
  queue_ceilings to;
  field_reader read;
  if (from.has_priority())
    to.priority = from.priority();
  if (from.has_preemption_priority())
    to.preemption_priority = from.preemption_priority();
  to.priority_classes.assign(from.priority_classes().begin(), from.priority_classes().end());
  if (from.has_minimum_runtime())
    read.length("minimum_runtime", from.minimum_runtime(), to.minimum_runtime.emplace());
  if (from.has_grace_period())
    read.length("grace_period", from.grace_period(), to.grace_period.emplace());
  if (from.has_checkpoint_time())
    read.length("checkpoint_time", from.checkpoint_time(), to.checkpoint_time.emplace());
  if (from.has_protected_pods())
    read.count("protected_pods", from.protected_pods(), to.protected_pods.emplace());
  to.required_nodes = !from.has_required_nodes() || from.required_nodes();
  to.daemons = !from.has_daemons() || from.daemons();
  if (from.has_pods_per_workload())
    read.count("pods_per_workload", from.pods_per_workload(), to.pods_per_workload.emplace());
  if (from.has_pods())
    read.count("pods", from.pods(), to.pods.emplace());
  if (from.has_annotation_bytes())
    read.count("annotation_bytes", from.annotation_bytes(), to.annotation_bytes.emplace());
  return read.result(std::move(to));
}

v1::Queue to_proto(const queue& from) {
  v1::Queue to;
  to.set_name(from.name);
  to.set_parent(from.parent);
  to.set_weight(from.weight);
  write_map(from.guaranteed, *to.mutable_guaranteed());
  write_map(from.limit, *to.mutable_limit());
  to.set_cap_by_demand(from.cap_by_demand);
  if (from.ceilings != queue_ceilings{})
    *to.mutable_ceilings() = to_proto(from.ceilings);
  return to;
}

absl::StatusOr<queue> from_proto(const v1::Queue& from) {
  queue to;
  field_reader read;
  to.name = from.name();
  to.parent = from.parent();
  if (from.has_weight())
    read.count("weight", from.weight(), to.weight, 1);
  read.amounts("guaranteed", from.guaranteed(), to.guaranteed);
  read.amounts("limit", from.limit(), to.limit);
  to.cap_by_demand = from.cap_by_demand();
  if (from.has_ceilings())
    read.one("ceilings", from.ceilings(), to.ceilings, from_proto);
  return read.result(std::move(to));
}

v1::QueueStatus to_proto(const queue_status& from) {
  v1::QueueStatus to;
  write_map(from.deserved, *to.mutable_deserved());
  write_map(from.allocated, *to.mutable_allocated());
  write_map(from.used, *to.mutable_used());
  write_map(from.preempting, *to.mutable_preempting());
  return to;
}

absl::StatusOr<queue_status> from_proto(const v1::QueueStatus& from) {
  queue_status to;
  field_reader read;
  read.amounts("deserved", from.deserved(), to.deserved);
  read.amounts("allocated", from.allocated(), to.allocated);
  read.amounts("used", from.used(), to.used);
  read.amounts("preempting", from.preempting(), to.preempting);
  return read.result(std::move(to));
}

} // namespace reprieve
