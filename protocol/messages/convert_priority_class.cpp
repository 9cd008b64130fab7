#include "protocol/messages/convert_priority_class.hpp"

#include "protocol/messages/convert_fields.hpp"

namespace reprieve {
namespace {

constexpr enum_table<preemption_policy, v1::PreemptionPolicy, 2> policies{{
  {preemption_policy::preempt_lower_priority, v1::PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY},
  {preemption_policy::never, v1::PREEMPTION_POLICY_NEVER},
}};

} // namespace

v1::PreemptionPolicy to_proto(preemption_policy value) {
  return policies.to_message(value);
}

absl::StatusOr<preemption_policy> from_proto(v1::PreemptionPolicy value) {
  return policies.from_message(value);
}

v1::PriorityClass to_proto(const priority_class& from) {
  v1::PriorityClass to;
  to.set_name(from.name);
  to.set_value(from.value);
  to.set_global_default(from.global_default);
  to.set_policy(to_proto(from.policy));
  return to;
}

absl::StatusOr<priority_class> from_proto(const v1::PriorityClass& from) {
  priority_class to;
  field_reader read;
  to.name = from.name();
  to.value = from.value();
  to.global_default = from.global_default();
  read.one("policy", from.policy(), to.policy, from_proto);
  return read.result(std::move(to));
}

} // namespace reprieve
