#include "protocol/messages/convert_node.hpp"

#include "protocol/messages/convert_fields.hpp"

namespace reprieve {
namespace {

constexpr enum_table<taint_effect, v1::TaintEffect, 2> effects{{
  {taint_effect::no_schedule, v1::TAINT_EFFECT_NO_SCHEDULE},
  {taint_effect::no_execute, v1::TAINT_EFFECT_NO_EXECUTE},
}};

} // namespace

v1::TaintEffect to_proto(taint_effect value) {
  return effects.to_message(value);
}

absl::StatusOr<taint_effect> from_proto(v1::TaintEffect value) {
  return effects.from_message(value);
}

v1::Taint to_proto(const taint& from) {
  v1::Taint to;
  to.set_key(from.key);
  to.set_value(from.value);
  to.set_effect(to_proto(from.effect));
  return to;
}

absl::StatusOr<taint> from_proto(const v1::Taint& from) {
  taint to;
  field_reader read;
  to.key = from.key();
  to.value = from.value();
  read.one("effect", from.effect(), to.effect, from_proto);
  return read.result(std::move(to));
}

v1::Toleration to_proto(const toleration& from) {
  v1::Toleration to;
  to.set_key(from.key);
  to.set_any_value(from.any_value);
  to.set_value(from.value);
  if (from.effect)
    to.set_effect(to_proto(*from.effect));
  return to;
}

absl::StatusOr<toleration> from_proto(const v1::Toleration& from) {
  toleration to;
  field_reader read;
  to.key = from.key();
  to.any_value = from.any_value();
  to.value = from.value();
  if (from.effect() != v1::TAINT_EFFECT_UNSPECIFIED)
    read.one("effect", from.effect(), to.effect.emplace(), from_proto);
  return read.result(std::move(to));
}

v1::Node to_proto(const node& from) {
  v1::Node to;
  to.set_name(from.name);
  to.set_resource_group(from.resource_group);
  write_map(from.labels, *to.mutable_labels());
  write_all(from.taints, *to.mutable_taints());
  write_map(from.capacity, *to.mutable_capacity());
  to.set_schedulable(from.schedulable);
  to.set_ready(from.ready);
  return to;
}

absl::StatusOr<node> from_proto(const v1::Node& from) {
  node to;
  field_reader read;
  to.name = from.name();
  if (from.has_resource_group())
    to.resource_group = from.resource_group();
  read_map(from.labels(), to.labels);
  read.all("taints", from.taints(), to.taints, from_proto);
  read.amounts("capacity", from.capacity(), to.capacity);
  if (from.has_schedulable())
    to.schedulable = from.schedulable();
  if (from.has_ready())
    to.ready = from.ready();
  return read.result(std::move(to));
}

v1::NodeStatus to_proto(const node_status& from) {
  v1::NodeStatus to;
  to.set_watched(from.watched);
  to.set_lost(from.lost);
  to.set_lost_since(to_nanoseconds(from.lost_since));
  to.set_pods_lost(from.pods_lost);
  to.mutable_left_behind()->Assign(from.left_behind.begin(), from.left_behind.end());
  if (from.most_pods)
    to.set_most_pods(*from.most_pods);
  return to;
}

absl::StatusOr<node_status> from_proto(const v1::NodeStatus& from) {
  field_reader read;
  node_status to;
  to.watched = from.watched();
  to.lost = from.lost();
  read.time("lost_since", from.lost_since(), to.lost_since);
  to.pods_lost = from.pods_lost();
  to.left_behind.assign(from.left_behind().begin(), from.left_behind().end());
  if (from.has_most_pods())
    read.count("most_pods", from.most_pods(), to.most_pods.emplace());
  return read.result(std::move(to));
}

} // namespace reprieve
