#include "protocol/messages/convert_node.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "protocol/messages/convert_reasoning.hpp"
#include "protocol/messages/convert_resource_group.hpp"
#include "protocol/peers/messages/peer_conversions.hpp"
#include "protocol/peers/messages/peer_messages.hpp"

#include <reprieve/v1/peer.pb.h>

#include <limits>
#include <memory>

// What node shards are told and asked so that they can judge their nodes alone, and their answers.
// As with the reasoning of decisions, no user gives these: numbers are taken as they are.

namespace reprieve {
namespace {

constexpr enum_table<placing_rule, v1::PlacingRule, 2> placing_rules{{
  {placing_rule::cheapest, v1::PLACING_RULE_CHEAPEST},
  {placing_rule::plain, v1::PLACING_RULE_PLAIN},
}};

constexpr enum_table<depth, v1::ExplanationDepth, 4> depths{{
  {depth::all, v1::EXPLANATION_DEPTH_ALL},
  {depth::nothing, v1::EXPLANATION_DEPTH_NOTHING},
  {depth::summary, v1::EXPLANATION_DEPTH_SUMMARY},
  {depth::chosen, v1::EXPLANATION_DEPTH_CHOSEN},
}};

} // namespace

// -- portion facts --------------------------------------------------------------------------------

static v1::PodCost to_proto(const pod_cost& from) {
  v1::PodCost to;
  to.set_priority(from.priority);
  to.set_checkpointed(to_nanoseconds(from.checkpointed));
  to.set_minimum_runtime(from.minimum_runtime.count());
  return to;
}

static absl::StatusOr<pod_cost> from_proto(const v1::PodCost& from) {
  return pod_cost{from.priority(), time_point{duration{from.checkpointed()}},
                  duration{from.minimum_runtime()}};
}

static v1::PortionPart to_proto(const portion_part& from) {
  v1::PortionPart to;
  to.set_priority(from.card.priority);
  to.set_pods(from.card.pods);
  to.set_earliest_start(to_nanoseconds(from.card.earliest_start));
  to.set_minimum_runtime(from.card.minimum_runtime.count());
  to.set_group(from.card.group);
  to.set_evictable(from.card.evictable);
  to.set_daemon(from.card.daemon);
  to.set_opted_out(from.card.opted_out);
  to.set_arriving(from.card.arriving);
  to.set_gpu(from.work.gpu);
  to.set_safe_until(from.work.safe_until);
  return to;
}

static portion_part part_from(const v1::PortionPart& from) {
  portion_part to;
  to.card.priority = from.priority();
  to.card.pods = from.pods();
  to.card.earliest_start = time_point{duration{from.earliest_start()}};
  to.card.minimum_runtime = duration{from.minimum_runtime()};
  to.card.group = from.group();
  if (from.has_evictable())
    to.card.evictable = from.evictable();
  to.card.daemon = from.daemon();
  to.card.opted_out = from.opted_out();
  to.card.arriving = from.arriving();
  to.work.gpu = from.gpu();
  to.work.safe_until = from.safe_until();
  return to;
}

using portion_elsewhere = std::pair<portion_id, portion_part>;

static v1::PortionElsewhere to_proto(const portion_elsewhere& from) {
  v1::PortionElsewhere to;
  *to.mutable_portion() = to_proto(from.first);
  *to.mutable_part() = to_proto(from.second);
  return to;
}

static absl::StatusOr<portion_elsewhere> from_proto(const v1::PortionElsewhere& from) {
  portion_elsewhere to{{}, part_from(from.part())};
  field_reader read;
  read.one("portion", from.portion(), to.first, from_proto);
  return read.result(std::move(to));
}

static v1::PortionFacts to_proto(const portion_facts& from) {
  v1::PortionFacts to;
  write_all(from.elsewhere, *to.mutable_elsewhere());
  for (const auto& [node, pods] : from.costs)
    write_each(pods, *(*to.mutable_costs())[node].mutable_pods());
  return to;
}

static absl::StatusOr<portion_facts> from_proto(const v1::PortionFacts& from) {
  portion_facts to;
  field_reader read;
  read.all("elsewhere", from.elsewhere(), to.elsewhere, from_proto);
  for (const auto& [node, costs] : from.costs())
    read.each(fmt::format("costs[{}].pods", node), costs.pods(), to.costs[node], from_proto);
  return read.result(std::move(to));
}

// -- the question ---------------------------------------------------------------------------------

static v1::WantedGroup to_proto(const wanted_group& from) {
  v1::WantedGroup to;
  to.set_name(from.name);
  write_all(from.pods, *to.mutable_pods());
  to.set_needed(from.needed);
  write_map(from.node_selector, *to.mutable_node_selector());
  write_all(from.tolerations, *to.mutable_tolerations());
  to.mutable_topology_keys()->Assign(from.topology_keys.begin(), from.topology_keys.end());
  to.set_required_node(from.required_node);
  return to;
}

static absl::StatusOr<wanted_group> from_proto(const v1::WantedGroup& from) {
  wanted_group to;
  field_reader read;
  to.name = from.name();
  read.all("pods", from.pods(), to.pods, from_proto);
  to.needed = from.needed();
  read_map(from.node_selector(), to.node_selector);
  read.all("tolerations", from.tolerations(), to.tolerations, from_proto);
  to.topology_keys.assign(from.topology_keys().begin(), from.topology_keys().end());
  to.required_node = from.required_node();
  return read.result(std::move(to));
}

static v1::Preemptor to_proto(const preemptor& from) {
  v1::Preemptor to;
  to.set_workload(from.workload);
  to.set_priority(from.priority);
  to.set_may_preempt(from.may_preempt);
  to.set_gang(from.gang);
  to.set_at_front(from.at_front);
  to.set_reserved_since(to_nanoseconds(from.reserved_since));
  to.set_may_have_weaker_kin(from.may_have_weaker_kin);
  write_all(from.groups, *to.mutable_groups());
  return to;
}

static absl::StatusOr<preemptor> from_proto(const v1::Preemptor& from) {
  preemptor to;
  field_reader read;
  to.workload = from.workload();
  to.priority = from.priority();
  if (from.has_may_preempt())
    to.may_preempt = from.may_preempt();
  to.gang = from.gang();
  if (from.has_at_front())
    to.at_front = from.at_front();
  to.reserved_since = time_point{duration{from.reserved_since()}};
  if (from.has_may_have_weaker_kin())
    to.may_have_weaker_kin = from.may_have_weaker_kin();
  read.all("groups", from.groups(), to.groups, from_proto);
  return read.result(std::move(to));
}

static absl::StatusOr<placing_rule> from_proto(v1::PlacingRule value) {
  return placing_rules.from_message(value);
}

static absl::StatusOr<depth> from_proto(v1::ExplanationDepth value) {
  return depths.from_message(value);
}

static v1::PlanSettings to_proto(const plan_settings& from) {
  v1::PlanSettings to;
  *to.mutable_group() = to_proto(from.group);
  to.set_now(to_nanoseconds(from.now));
  write_map(from.recent_preemptions, *to.mutable_preempted_lately());
  to.set_placing(placing_rules.to_message(from.placing));
  to.set_explained(depths.to_message(from.explained));
  return to;
}

static absl::StatusOr<plan_settings> from_proto(const v1::PlanSettings& from) {
  plan_settings to;
  field_reader read;
  read.one("group", from.group(), to.group, from_proto);
  to.now = time_point{duration{from.now()}};
  read_map(from.preempted_lately(), to.recent_preemptions);
  read.one("placing", from.placing(), to.placing, from_proto);
  read.one("explained", from.explained(), to.explained, from_proto);
  return read.result(std::move(to));
}

static v1::EvaluateNodes to_proto(const evaluate_nodes& from) {
  v1::EvaluateNodes to;
  *to.mutable_who() = to_proto(from.asked->who);
  *to.mutable_settings() = to_proto(from.asked->settings);
  to.set_most(from.asked->most);
  return to;
}

static absl::StatusOr<evaluate_nodes> from_proto(const v1::EvaluateNodes& from) {
  // Far more than there are nodes, and few enough to count on with.
  constexpr std::uint64_t limit = std::numeric_limits<std::int32_t>::max();
  evaluation_request to;
  field_reader read;
  read.one("who", from.who(), to.who, from_proto);
  read.one("settings", from.settings(), to.settings, from_proto);
  if (from.most() > limit)
    return absl::InvalidArgumentError(
      fmt::format("most: {} nodes are too many to list; give at most {}", from.most(), limit));
  if (from.has_most())
    to.most = from.most();
  if (!read.status().ok())
    return read.status();
  return evaluate_nodes{std::make_shared<const evaluation_request>(std::move(to)), {}};
}

// -- the answer -----------------------------------------------------------------------------------

static v1::NodeProspect to_proto(const node_prospect& from) {
  v1::NodeProspect to;
  to.set_node(from.node);
  *to.mutable_bound() = to_proto(from.bound);
  return to;
}

static absl::StatusOr<node_prospect> from_proto(const v1::NodeProspect& from) {
  node_prospect to;
  field_reader read;
  to.node = from.node();
  read.one("bound", from.bound(), to.bound, from_proto);
  return read.result(std::move(to));
}

static v1::CapacityCurve to_proto(const capacity_curve& from) {
  v1::CapacityCurve to;
  to.set_free(from.free);
  to.mutable_points()->Reserve(static_cast<int>(from.points.size()));
  for (const auto& [level, seats] : from.points) {
    auto* point = to.add_points();
    point->set_level(level);
    point->set_seats(seats);
  }
  return to;
}

static absl::StatusOr<capacity_curve> from_proto(const v1::CapacityCurve& from) {
  capacity_curve to;
  to.free = from.free();
  to.points.reserve(static_cast<std::size_t>(from.points_size()));
  for (const auto& point : from.points())
    to.points.push_back({point.level(), point.seats()});
  return to;
}

static v1::DomainCurves to_proto(const domain_curves& from) {
  v1::DomainCurves to;
  to.set_domain(from.domain);
  write_all(from.curves, *to.mutable_curves());
  return to;
}

static absl::StatusOr<domain_curves> from_proto(const v1::DomainCurves& from) {
  domain_curves to;
  field_reader read;
  to.domain = from.domain();
  read.all("curves", from.curves(), to.curves, from_proto);
  return read.result(std::move(to));
}

static v1::ShardEvaluation to_proto(const shard_evaluation& from) {
  v1::ShardEvaluation to;
  to.set_nodes(from.nodes);
  write_all(from.listed, *to.mutable_listed());
  if (from.rest)
    *to.mutable_rest() = to_proto(*from.rest);
  write_all(from.domains, *to.mutable_domains());
  return to;
}

static absl::StatusOr<shard_evaluation> from_proto(const v1::ShardEvaluation& from) {
  shard_evaluation to;
  field_reader read;
  to.nodes = from.nodes();
  read.all("listed", from.listed(), to.listed, from_proto);
  if (from.has_rest())
    read.one("rest", from.rest(), to.rest.emplace(), from_proto);
  read.all("domains", from.domains(), to.domains, from_proto);
  return read.result(std::move(to));
}

REPRIEVE_PEER_MESSAGE(portion_facts, v1::PortionFacts)
REPRIEVE_PEER_MESSAGE(evaluate_nodes, v1::EvaluateNodes)
REPRIEVE_PEER_MESSAGE(shard_evaluation, v1::ShardEvaluation)

} // namespace reprieve
