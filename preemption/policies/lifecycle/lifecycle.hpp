#pragma once

#include "preemption/problem/preemptor.hpp"
#include "state/model/placement.hpp"
#include "state/model/resource_group.hpp"
#include "state/model/workload.hpp"
#include "state/view/cluster_view.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Preemption in clusters whose own scheduler places the pods (docs/policies.md#lifecycle): only
/// replica counts are ours to set. After normal allocation the phase finds, for each pod that still
/// lacks room, a node and the pods on it that are to make room; it scales nobody up.
namespace reprieve {

/// How far a pod is on its way out, the least intrusive first: the order in which they are used.
enum class victim_stage : std::uint8_t {
  force_deleting, ///< nothing to do but wait
  terminating,    ///< wait until its grace period is over, then force-delete it
  surplus,        ///< above the committed replicas: wait until it terminates
  committed       ///< its deployment has to be scaled down
};

std::string_view to_string(victim_stage stage);

// -- what goes in --------------------------------------------------------------------------------

struct lifecycle_deployment {
  std::string name;               ///< the workload
  std::int32_t priority = 0;      ///< static while the phase runs
  bool may_preempt = true;        ///< otherwise it gets only what is free
  time_point submitted = no_time; ///< earlier goes first among equals
  pod_template pods;              ///< a replica is one such pod
  std::int32_t lacking = 0;       ///< replicas that normal allocation found no room for
  std::map<std::string, std::int64_t, std::less<>> scores; ///< by cluster that it may run in
};

/// What the view does not keep of a pod. One without such a record goes by its uid and, where it
/// terminates, is never force-deleted, since nobody knows for how long it has.
struct lifecycle_pod {
  std::string uid;
  std::string name;
  time_point grace_over = no_time; ///< of one that terminates
};

lifecycle_pod lifecycle_pod_of(const pod& p);

/// Highest priority first, then the one that has waited longest.
bool goes_first(const lifecycle_deployment& a, const lifecycle_deployment& b);

/// One of its pods, as the part of the engine that knows nodes asks for it.
preemptor one_pod_of(const lifecycle_deployment& who);

/// A node that was matched to a pod of a deployment, and the uids of who is to make room there.
struct lifecycle_nomination {
  std::string deployment;
  std::string node;
  std::vector<std::string> victims;

  bool operator==(const lifecycle_nomination&) const = default;
};

/// What a cycle hands on to the next. Without it the stages alone keep decisions stable, which is
/// enough as long as victims move on together.
struct lifecycle_memory {
  /// One for each match, in their order. Until the pods are there, normal allocation holds the
  /// room they ask for, beyond what victims still have, against others of the same priority or
  /// below.
  std::vector<lifecycle_nomination> nominations;
  /// Deployments whose pods make room for a more important one, or did so before and still make
  /// room, by name: these get no allocation until they have no such pods.
  std::vector<std::string> preempted;

  bool operator==(const lifecycle_memory&) const = default;
};

struct lifecycle_input {
  std::vector<lifecycle_deployment> deployments; ///< no name twice
  std::vector<placement> placements;             ///< one for each deployment and cluster
  std::vector<lifecycle_pod> pods;
  std::vector<resource_group> clusters; ///< for their guards; one that is not listed has none
  lifecycle_memory before;
  /// How many preemptions each workload had in the last hour, where there were any.
  std::map<std::string, std::int32_t, std::less<>> recent_preemptions;
  time_point now = no_time;
  bool explain = true; ///< false leaves reasons short and `passed_over` empty
};

// -- what comes out ------------------------------------------------------------------------------

struct lifecycle_victim {
  std::string uid;
  std::string deployment;
  victim_stage stage = victim_stage::committed;
  std::int32_t priority = 0;
  std::string reason;

  bool operator==(const lifecycle_victim&) const = default;
};

/// A pod of a preemptor, the node it is to get, and who is expected to make room there. Which pods
/// go in truth, the cluster's own scheduler decides.
struct lifecycle_match {
  std::string deployment;
  std::int32_t replica = 0; ///< counts the lacking ones
  std::string cluster;
  std::string node;
  std::vector<lifecycle_victim> victims; ///< most preferred first; none where room is left over

  bool operator==(const lifecycle_match&) const = default;
};

struct scale_down {
  std::string placement;
  std::string deployment;
  std::string cluster;
  std::int32_t from = 0; ///< committed now
  std::int32_t to = 0;   ///< committed from now on

  bool operator==(const scale_down&) const = default;
};

struct awaited_pod {
  std::string uid;
  std::string node;
  victim_stage stage = victim_stage::surplus;
  time_point until = no_time; ///< when it may be force-deleted, where it terminates

  bool operator==(const awaited_pod&) const = default;
};

struct unmatched_deployment {
  std::string deployment;
  std::int32_t pods = 0; ///< that found nothing
  std::string reason;

  bool operator==(const unmatched_deployment&) const = default;
};

/// A pod that stays although a preemptor looked at it, and why.
struct passed_over_pod {
  std::string preemptor;
  std::string uid;
  std::string reason;

  bool operator==(const passed_over_pod&) const = default;
};

struct lifecycle_plan {
  std::vector<lifecycle_match> matches;        ///< in the order they were made
  std::vector<scale_down> scale_downs;         ///< by deployment and cluster
  std::vector<std::string> force_deletes;      ///< uids, in order
  std::vector<awaited_pod> awaited;            ///< matched, and nothing to do now; by uid
  time_point look_again = no_time;             ///< when the first grace period ends
  std::vector<unmatched_deployment> unmatched; ///< in the order of preemptors
  std::vector<passed_over_pod> passed_over;
  lifecycle_memory memory;

  bool operator==(const lifecycle_plan&) const = default;
};

/// Runs the phase. Pure: the same input gives the same plan, in whatever order things are listed.
/// Costs, for each deployment that lacks replicas, about one look at every pod on the nodes that
/// suit it, and for each replica a look at the nodes that changed.
lifecycle_plan preempt_by_lifecycle(const cluster_view& view, const lifecycle_input& given);

} // namespace reprieve
