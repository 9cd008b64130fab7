#pragma once

#include "protocol/manifest/manifest_field.hpp"
#include "state/model/object.hpp"

#include <string_view>
#include <tuple>

namespace reprieve {

inline constexpr std::string_view manifest_version = "reprieve/v1";

/// The name of the only group of a lone pod.
inline constexpr std::string_view lone_group = "pod";

/// The description of an object of its own: `apiVersion` and `kind` are looked at first, apart.
template <class... Entries>
constexpr auto object_fields(Entries... entries) {
  return std::make_tuple(ignored_field{"apiVersion"}, ignored_field{"kind"}, entries...);
}

// One field to a line:
// clang-format off

template <>
inline constexpr auto fields_of<taint> = std::make_tuple(
    required_field("key", &taint::key),
    optional_field("value", &taint::value),
    written_field("effect", &taint::effect));

template <>
inline constexpr auto fields_of<toleration> = std::make_tuple(
    optional_field("key", &toleration::key),
    written_field("operator", &toleration::any_value, either_word{{"Equal", "Exists"}}),
    optional_field("value", &toleration::value),
    optional_field("effect", &toleration::effect));

template <>
inline constexpr auto fields_of<node> = object_fields(
    section("metadata",
        required_field("name", &node::name, not_empty{}),
        optional_field("labels", &node::labels)),
    section("spec",
        optional_field("resourceGroup", &node::resource_group),
        optional_field("taints", &node::taints),
        optional_field("capacity", &node::capacity),
        optional_field("unschedulable", &node::schedulable, negated{}),
        optional_field("ready", &node::ready)),
    ignored_field{"status"});

template <>
inline constexpr auto fields_of<queue_ceilings> = std::make_tuple(
    optional_field("priority", &queue_ceilings::priority),
    optional_field("preemptionPriority", &queue_ceilings::preemption_priority),
    optional_field("priorityClasses", &queue_ceilings::priority_classes),
    optional_field("minimumRuntime", &queue_ceilings::minimum_runtime),
    optional_field("gracePeriod", &queue_ceilings::grace_period),
    optional_field("checkpointTimeNeeded", &queue_ceilings::checkpoint_time),
    optional_field("protectedPods", &queue_ceilings::protected_pods),
    optional_field("requiredNodes", &queue_ceilings::required_nodes),
    optional_field("daemons", &queue_ceilings::daemons),
    optional_field("podsPerWorkload", &queue_ceilings::pods_per_workload),
    optional_field("pods", &queue_ceilings::pods),
    optional_field("annotationBytes", &queue_ceilings::annotation_bytes));

template <>
inline constexpr auto fields_of<queue> = object_fields(
    section("metadata",
        required_field("name", &queue::name, not_empty{})),
    section("spec",
        optional_field("parent", &queue::parent),
        optional_field("weight", &queue::weight),
        optional_field("guaranteed", &queue::guaranteed),
        optional_field("limit", &queue::limit),
        optional_field("capByDemand", &queue::cap_by_demand),
        optional_field("ceilings", &queue::ceilings)),
    ignored_field{"status"});

/// Its fields stand at the top, as in Kubernetes; `spec` is accepted because all else has one.
template <>
inline constexpr auto fields_of<priority_class> = object_fields(
    section("metadata",
        required_field("name", &priority_class::name, not_empty{})),
    required_field("value", &priority_class::value),
    optional_field("globalDefault", &priority_class::global_default),
    optional_field("preemptionPolicy", &priority_class::policy),
    section("spec",
        accepted_field("value", &priority_class::value),
        accepted_field("globalDefault", &priority_class::global_default),
        accepted_field("preemptionPolicy", &priority_class::policy)));

template <>
inline constexpr auto fields_of<guards> = std::make_tuple(
    optional_field("minimumRuntime", &guards::minimum_runtime),
    optional_field("optOutIsVeto", &guards::opt_out_is_veto),
    optional_field("victimsPerDecision", &guards::victims_per_decision),
    optional_field("preemptionsPerWorkloadPerHour", &guards::preemptions_per_workload_per_hour),
    optional_field("searchBudget", &guards::search_budget));

template <>
inline constexpr auto fields_of<required_node_settings> = std::make_tuple(
    optional_field("preemptionStartDelay", &required_node_settings::preemption_start_delay),
    optional_field("preemptionVictimPodsSelectionStrategy", &required_node_settings::strategies,
                   comma_list{}),
    optional_field("deviationPercent", &required_node_settings::deviation_percent),
    optional_field("maxVictims", &required_node_settings::max_victims));

template <>
inline constexpr auto fields_of<resource_group> = object_fields(
    section("metadata",
        required_field("name", &resource_group::name, not_empty{})),
    section("spec",
        optional_field("policy", &resource_group::policy),
        optional_field("preemptiblePriority", &resource_group::preemptible_priority),
        optional_field("preemptionOrder", &resource_group::order),
        optional_field("minimise", &resource_group::minimised),
        optional_field("requiredNode", &resource_group::required_node),
        optional_field("forceDeleteAfter", &resource_group::force_delete_after),
        optional_field("heartbeatTimeout", &resource_group::heartbeat_timeout),
        optional_field("lostNodeTimeout", &resource_group::lost_node_timeout),
        optional_field("preemptionPriorityGap", &resource_group::preemption_priority_gap),
        optional_field("divisible", &resource_group::divisible),
        optional_field("guards", &resource_group::limits)),
    ignored_field{"status"});

template <>
inline constexpr auto fields_of<pod_template> = std::make_tuple(
    section("metadata",
        optional_field("labels", &pod_template::labels),
        optional_field("annotations", &pod_template::annotations)),
    section("spec",
        optional_field("requests", &pod_template::requests),
        optional_field("nodeSelector", &pod_template::node_selector),
        optional_field("tolerations", &pod_template::tolerations),
        optional_field("priority", &pod_template::priority)));

template <>
inline constexpr auto fields_of<pod_group> = std::make_tuple(
    required_field("name", &pod_group::name),
    optional_field("count", &pod_group::count),
    optional_field("replicas", &pod_group::replicas),
    optional_field("minCount", &pod_group::min_count),
    written_field("disruptionMode", &pod_group::disruption),
    optional_field("topology", &pod_group::topology_keys),
    optional_field("requiredNode", &pod_group::required_node),
    optional_field("priorityClassName", &pod_group::priority_class),
    optional_field("priority", &pod_group::priority),
    optional_field("protectedMembers", &pod_group::protected_members),
    optional_field("template", &pod_group::pods));

template <>
inline constexpr auto fields_of<resume_settings> = std::make_tuple(
    optional_field("policy", &resume_settings::policy),
    optional_field("backoff", &resume_settings::backoff),
    optional_field("limit", &resume_settings::limit));

template <>
inline constexpr auto fields_of<checkpoint_settings> = std::make_tuple(
    optional_field("supported", &checkpoint_settings::supported),
    optional_field("last", &checkpoint_settings::last),
    optional_field("timeNeeded", &checkpoint_settings::time_needed));

template <>
inline constexpr auto fields_of<workload> = object_fields(
    section("metadata",
        required_field("name", &workload::name, not_empty{}),
        optional_field("labels", &workload::labels)),
    section("spec",
        optional_field("resourceGroup", &workload::resource_group),
        optional_field("queue", &workload::queue),
        optional_field("kind", &workload::kind),
        optional_field("autoscaled", &workload::autoscaled),
        optional_field("priorityClassName", &workload::priority_class),
        optional_field("priority", &workload::priority),
        optional_field("preemptionPriorityClassName", &workload::preemption_priority_class),
        optional_field("preemptionPriority", &workload::preemption_priority),
        required_field("podGroups", &workload::groups),
        accepted_field("template", &workload::groups, lone_template{}),
        optional_field("resume", &workload::resume),
        optional_field("checkpoint", &workload::checkpoint),
        optional_field("minimumRuntime", &workload::minimum_runtime),
        optional_field("gracePeriod", &workload::grace_period)),
    ignored_field{"status"});

template <>
inline constexpr auto fields_of<nominated_room> = std::make_tuple(
    required_field("node", &nominated_room::node),
    optional_field("victims", &nominated_room::victims));

template <>
inline constexpr auto fields_of<placement> = object_fields(
    section("metadata",
        required_field("name", &placement::name, not_empty{})),
    section("spec",
        required_field("deployment", &placement::deployment),
        required_field("cluster", &placement::cluster),
        optional_field("committed", &placement::committed),
        optional_field("assigned", &placement::assigned),
        optional_field("score", &placement::score),
        optional_field("preempted", &placement::preempted),
        optional_field("nominations", &placement::nominations)));

template <>
inline constexpr auto fields_of<disruption_budget> = object_fields(
    section("metadata",
        required_field("name", &disruption_budget::name, not_empty{})),
    section("spec",
        optional_field("resourceGroup", &disruption_budget::resource_group),
        section("selector",
            optional_field("matchLabels", &disruption_budget::match_labels)),
        optional_field("minAvailable", &disruption_budget::min_available),
        optional_field("maxUnavailable", &disruption_budget::max_unavailable)));

/// Left out, `uid` and `workload` are the pod's name, `group` is that of a lone pod, and
/// `preemptionPriority` is `priority`; what else is always written, the pod's workload says where
/// the pod does not.
template <>
inline constexpr auto fields_of<pod> = object_fields(
    section("metadata",
        required_field("name", &pod::name, not_empty{}),
        written_field("uid", &pod::uid),
        optional_field("labels", &pod::labels),
        optional_field("annotations", &pod::annotations)),
    section("spec",
        written_field("workload", &pod::workload),
        written_field("group", &pod::group),
        optional_field("replica", &pod::replica),
        optional_field("index", &pod::index),
        optional_field("incarnation", &pod::incarnation),
        optional_field("nodeName", &pod::node),
        optional_field("requests", &pod::requests),
        optional_field("priority", &pod::own_priority),
        written_field("preemptionPriority", &pod::priority),
        optional_field("disruptionMode", &pod::disruption),
        written_field("daemon", &pod::daemon),
        optional_field("optOut", &pod::opted_out),
        optional_field("protected", &pod::protected_member),
        optional_field("owner", &pod::owner),
        written_field("minimumRuntime", &pod::minimum_runtime),
        written_field("gracePeriod", &pod::grace_period),
        written_field("checkpointTimeNeeded", &pod::checkpoint_time)),
    section("status",
        written_field("phase", &pod::phase),
        optional_field("creationTime", &pod::created),
        accepted_field("created", &pod::created),
        optional_field("startTime", &pod::started),
        optional_field("checkpointTime", &pod::checkpointed),
        optional_field("stopToldTime", &pod::stop_told),
        optional_field("placedBy", &pod::placed_by),
        optional_field("evictedBy", &pod::evicted_by)));

// What the writer puts under `status`, and the reader takes from there in snapshots only.

template <>
inline constexpr auto fields_of<queue_status> = std::make_tuple(
    written_field("deserved", &queue_status::deserved),
    written_field("allocated", &queue_status::allocated),
    written_field("used", &queue_status::used),
    written_field("preempting", &queue_status::preempting));

template <>
inline constexpr auto fields_of<node_status> = std::make_tuple(
    optional_field("watched", &node_status::watched),
    optional_field("lost", &node_status::lost),
    optional_field("lostSince", &node_status::lost_since),
    optional_field("podsLost", &node_status::pods_lost),
    optional_field("leftBehind", &node_status::left_behind),
    optional_field("mostPods", &node_status::most_pods));

template <>
inline constexpr auto fields_of<resolved_priority> = std::make_tuple(
    written_field("priority", &resolved_priority::priority),
    written_field("preemptionPriority", &resolved_priority::preemption_priority),
    written_field("mayPreempt", &resolved_priority::may_preempt));

template <>
inline constexpr auto fields_of<condition> = std::make_tuple(
    written_field("type", &condition::type),
    written_field("status", &condition::status),
    optional_field("reason", &condition::reason),
    optional_field("message", &condition::message),
    optional_field("since", &condition::since));

template <>
inline constexpr auto fields_of<past_preemption> = std::make_tuple(
    optional_field("decision", &past_preemption::decision),
    required_field("at", &past_preemption::at));

template <>
inline constexpr auto fields_of<workload_status> = std::make_tuple(
    written_field("uid", &workload_status::uid),
    written_field("generation", &workload_status::generation),
    optional_field("submitted", &workload_status::submitted),
    written_field("resolved", &workload_status::resolved),
    optional_field("podGroups", &workload_status::by_group),
    written_field("attempts", &workload_status::attempts),
    optional_field("resumeAfter", &workload_status::resume_after),
    optional_field("preempted", &workload_status::preempted),
    optional_field("conditions", &workload_status::conditions));

template <>
inline constexpr auto fields_of<pod_slot> = std::make_tuple(
    required_field("group", &pod_slot::group),
    written_field("replica", &pod_slot::replica),
    written_field("index", &pod_slot::index));

template <>
inline constexpr auto fields_of<slot_record> = std::make_tuple(
    required_field("place", &slot_record::slot),
    optional_field("incarnation", &slot_record::incarnation),
    optional_field("state", &slot_record::state),
    optional_field("decision", &slot_record::decision));

template <>
inline constexpr auto fields_of<workload_course> = std::tuple_cat(
    fields_of<workload_status>,
    std::make_tuple(
        optional_field("slots", &workload_course::slots),
        optional_field("deleting", &workload_course::deleting)));

template <>
inline constexpr auto fields_of<victim_pod> = std::make_tuple(
    required_field("uid", &victim_pod::uid),
    written_field("node", &victim_pod::node));

template <>
inline constexpr auto fields_of<standing_decision> = std::make_tuple(
    required_field("id", &standing_decision::id),
    written_field("phase", &standing_decision::phase),
    optional_field("told", &standing_decision::told),
    optional_field("workloads", &standing_decision::workloads),
    optional_field("places", &standing_decision::places),
    optional_field("victims", &standing_decision::victims));

template <>
inline constexpr auto fields_of<node_reservation> = std::make_tuple(
    required_field("uid", &node_reservation::uid),
    required_field("node", &node_reservation::node),
    optional_field("since", &node_reservation::since));

template <>
inline constexpr auto fields_of<group_status> = std::make_tuple(
    optional_field("grants", &group_status::grants),
    optional_field("queues", &group_status::queues),
    optional_field("decisions", &group_status::decisions),
    optional_field("reservations", &group_status::reservations),
    optional_field("counting", &group_status::counting));

// clang-format on

} // namespace reprieve
