#include "protocol/convert_queue.hpp"

#include "protocol/convert_fields.hpp"

namespace reprieve {

v1::Queue to_proto(const queue& from) {
  v1::Queue to;
  to.set_name(from.name);
  to.set_parent(from.parent);
  to.set_weight(from.weight);
  write_map(from.guaranteed, *to.mutable_guaranteed());
  write_map(from.limit, *to.mutable_limit());
  to.set_cap_by_demand(from.cap_by_demand);
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
