#include "protocol/messages/convert_object.hpp"

#include "protocol/messages/convert_disruption_budget.hpp"
#include "protocol/messages/convert_fields.hpp"
#include "protocol/messages/convert_node.hpp"
#include "protocol/messages/convert_placement.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "protocol/messages/convert_priority_class.hpp"
#include "protocol/messages/convert_queue.hpp"
#include "protocol/messages/convert_resource_group.hpp"
#include "protocol/messages/convert_workload.hpp"

namespace reprieve {
namespace {

constexpr enum_table<object_kind, v1::ObjectKind, 8> kinds{{
  {object_kind::node, v1::OBJECT_KIND_NODE},
  {object_kind::queue, v1::OBJECT_KIND_QUEUE},
  {object_kind::priority_class, v1::OBJECT_KIND_PRIORITY_CLASS},
  {object_kind::resource_group, v1::OBJECT_KIND_RESOURCE_GROUP},
  {object_kind::workload, v1::OBJECT_KIND_WORKLOAD},
  {object_kind::placement, v1::OBJECT_KIND_PLACEMENT},
  {object_kind::disruption_budget, v1::OBJECT_KIND_DISRUPTION_BUDGET},
  {object_kind::pod, v1::OBJECT_KIND_POD},
}};

/// Puts an object's message into the field of its kind.
struct spec_writer {
  v1::Object& to;

  void operator()(const node& from) {
    *to.mutable_node() = to_proto(from);
  }
  void operator()(const queue& from) {
    *to.mutable_queue() = to_proto(from);
  }
  void operator()(const priority_class& from) {
    *to.mutable_priority_class() = to_proto(from);
  }
  void operator()(const resource_group& from) {
    *to.mutable_resource_group() = to_proto(from);
  }
  void operator()(const workload& from) {
    *to.mutable_workload() = to_proto(from);
  }
  void operator()(const placement& from) {
    *to.mutable_placement() = to_proto(from);
  }
  void operator()(const disruption_budget& from) {
    *to.mutable_disruption_budget() = to_proto(from);
  }
  void operator()(const pod& from) {
    *to.mutable_pod() = to_proto(from);
  }
};

/// The object, or a refusal that says which object it was.
template <class Message>
absl::StatusOr<object> read_spec(object_kind kind, const Message& from) {
  auto read = from_proto(from);
  if (read.ok())
    return object{*std::move(read)};
  return absl::Status{read.status().code(), fmt::format("{} '{}': {}", to_string(kind), from.name(),
                                                        std::string{read.status().message()})};
}

} // namespace

v1::ObjectKind to_proto(object_kind value) {
  return kinds.to_message(value);
}

absl::StatusOr<object_kind> from_proto(v1::ObjectKind value) {
  if (value == v1::OBJECT_KIND_UNSPECIFIED)
    return kinds.refusal(value);
  return kinds.from_message(value);
}

v1::Object to_proto(const object& from) {
  v1::Object to;
  std::visit(spec_writer{to}, from);
  return to;
}

absl::StatusOr<object> from_proto(const v1::Object& from) {
  switch (from.spec_case()) {
  case v1::Object::kNode:
    return read_spec(object_kind::node, from.node());
  case v1::Object::kQueue:
    return read_spec(object_kind::queue, from.queue());
  case v1::Object::kPriorityClass:
    return read_spec(object_kind::priority_class, from.priority_class());
  case v1::Object::kResourceGroup:
    return read_spec(object_kind::resource_group, from.resource_group());
  case v1::Object::kWorkload:
    return read_spec(object_kind::workload, from.workload());
  case v1::Object::kPlacement:
    return read_spec(object_kind::placement, from.placement());
  case v1::Object::kDisruptionBudget:
    return read_spec(object_kind::disruption_budget, from.disruption_budget());
  case v1::Object::kPod:
    return read_spec(object_kind::pod, from.pod());
  case v1::Object::SPEC_NOT_SET:
    break;
  }
  return absl::InvalidArgumentError(
    "an object holds nothing that this version knows; set one of node, queue, priority_class, "
    "resource_group, workload, placement, disruption_budget, pod");
}

} // namespace reprieve
