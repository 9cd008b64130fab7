#include "protocol/messages/convert_resource_group.hpp"

#include "protocol/messages/convert_fields.hpp"

namespace reprieve {
namespace {

constexpr enum_table<group_policy, v1::GroupPolicy, 3> policies{{
  {group_policy::workload_aware, v1::GROUP_POLICY_WORKLOAD_AWARE},
  {group_policy::lifecycle, v1::GROUP_POLICY_LIFECYCLE},
  {group_policy::sessions, v1::GROUP_POLICY_SESSIONS},
}};

constexpr enum_table<preemption_order, v1::PreemptionOrder, 2> orders{{
  {preemption_order::oldest, v1::PREEMPTION_ORDER_OLDEST},
  {preemption_order::newest, v1::PREEMPTION_ORDER_NEWEST},
}};

constexpr enum_table<victim_strategy, v1::VictimStrategy, 2> strategies{{
  {victim_strategy::single, v1::VICTIM_STRATEGY_SINGLE},
  {victim_strategy::multiple, v1::VICTIM_STRATEGY_MULTIPLE},
}};

constexpr enum_table<minimise, v1::Minimise, 2> aims{{
  {minimise::pods, v1::MINIMISE_PODS},
  {minimise::work, v1::MINIMISE_WORK},
}};

} // namespace

v1::GroupPolicy to_proto(group_policy value) {
  return policies.to_message(value);
}

absl::StatusOr<group_policy> from_proto(v1::GroupPolicy value) {
  return policies.from_message(value);
}

v1::PreemptionOrder to_proto(preemption_order value) {
  return orders.to_message(value);
}

absl::StatusOr<preemption_order> from_proto(v1::PreemptionOrder value) {
  return orders.from_message(value);
}

v1::VictimStrategy to_proto(victim_strategy value) {
  return strategies.to_message(value);
}

absl::StatusOr<victim_strategy> from_proto(v1::VictimStrategy value) {
  return strategies.from_message(value);
}

v1::Minimise to_proto(minimise value) {
  return aims.to_message(value);
}

absl::StatusOr<minimise> from_proto(v1::Minimise value) {
  return aims.from_message(value);
}

v1::Guards to_proto(const guards& from) {
  v1::Guards to;
  to.set_minimum_runtime(from.minimum_runtime.count());
  to.set_opt_out_is_veto(from.opt_out_is_veto);
  if (from.victims_per_decision)
    to.set_victims_per_decision(*from.victims_per_decision);
  if (from.preemptions_per_workload_per_hour)
    to.set_preemptions_per_workload_per_hour(*from.preemptions_per_workload_per_hour);
  if (from.search_budget)
    to.set_search_budget(*from.search_budget);
  return to;
}

absl::StatusOr<guards> from_proto(const v1::Guards& from) {
  guards to;
  field_reader read;
  read.length("minimum_runtime", from.minimum_runtime(), to.minimum_runtime);
  to.opt_out_is_veto = from.opt_out_is_veto();
  if (from.has_victims_per_decision())
    read.count("victims_per_decision", from.victims_per_decision(),
               to.victims_per_decision.emplace());
  if (from.has_preemptions_per_workload_per_hour())
    read.count("preemptions_per_workload_per_hour", from.preemptions_per_workload_per_hour(),
               to.preemptions_per_workload_per_hour.emplace());
  if (from.has_search_budget())
    read.count("search_budget", from.search_budget(), to.search_budget.emplace(), 1);
  return read.result(std::move(to));
}

v1::RequiredNodeSettings to_proto(const required_node_settings& from) {
  v1::RequiredNodeSettings to;
  to.set_preemption_start_delay(from.preemption_start_delay.count());
  for (auto strategy : from.strategies)
    to.add_strategies(to_proto(strategy));
  to.set_deviation_percent(from.deviation_percent);
  to.set_max_victims(from.max_victims);
  return to;
}

absl::StatusOr<required_node_settings> from_proto(const v1::RequiredNodeSettings& from) {
  required_node_settings to;
  field_reader read;
  read.length("preemption_start_delay", from.preemption_start_delay(), to.preemption_start_delay);
  if (!from.strategies().empty())
    to.strategies.resize(static_cast<std::size_t>(from.strategies_size()));
  for (int i = 0; i < from.strategies_size(); ++i)
    read.one(fmt::format("strategies[{}]", i), from.strategies(i),
             to.strategies[static_cast<std::size_t>(i)], from_proto);
  if (from.has_deviation_percent())
    read.count("deviation_percent", from.deviation_percent(), to.deviation_percent);
  if (from.has_max_victims())
    read.count("max_victims", from.max_victims(), to.max_victims, 1);
  return read.result(std::move(to));
}

v1::ResourceGroup to_proto(const resource_group& from) {
  v1::ResourceGroup to;
  to.set_name(from.name);
  to.set_policy(to_proto(from.policy));
  to.set_preemptible_priority(from.preemptible_priority);
  to.set_preemption_order(to_proto(from.order));
  to.set_minimise(to_proto(from.minimised));
  *to.mutable_required_node() = to_proto(from.required_node);
  to.set_force_delete_after(from.force_delete_after.count());
  to.set_heartbeat_timeout(from.heartbeat_timeout.count());
  if (from.lost_node_timeout != resource_group{}.lost_node_timeout)
    to.set_lost_node_timeout(from.lost_node_timeout.count());
  if (from.preemption_priority_gap)
    to.set_preemption_priority_gap(*from.preemption_priority_gap);
  to.mutable_divisible()->Assign(from.divisible.begin(), from.divisible.end());
  *to.mutable_guards() = to_proto(from.limits);
  return to;
}

absl::StatusOr<resource_group> from_proto(const v1::ResourceGroup& from) {
  resource_group to;
  field_reader read;
  to.name = from.name();
  read.one("policy", from.policy(), to.policy, from_proto);
  if (from.has_preemptible_priority())
    to.preemptible_priority = from.preemptible_priority();
  read.one("preemption_order", from.preemption_order(), to.order, from_proto);
  read.one("minimise", from.minimise(), to.minimised, from_proto);
  read.one("required_node", from.required_node(), to.required_node, from_proto);
  if (from.has_force_delete_after())
    read.length("force_delete_after", from.force_delete_after(), to.force_delete_after);
  if (from.has_heartbeat_timeout())
    read.length("heartbeat_timeout", from.heartbeat_timeout(), to.heartbeat_timeout);
  if (from.has_lost_node_timeout())
    read.length("lost_node_timeout", from.lost_node_timeout(), to.lost_node_timeout);
  if (from.has_preemption_priority_gap())
    read.count("preemption_priority_gap", from.preemption_priority_gap(),
               to.preemption_priority_gap.emplace());
  to.divisible.assign(from.divisible().begin(), from.divisible().end());
  read.one("guards", from.guards(), to.limits, from_proto);
  return read.result(std::move(to));
}

} // namespace reprieve
