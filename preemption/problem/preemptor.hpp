#pragma once

#include "state/model/pod.hpp"
#include "state/model/workload.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace reprieve {

/// Pods of one template that ask for room together.
struct wanted_group {
  std::string name;
  std::vector<pod> pods;   ///< as they will stand in a node record, without a node
  std::int32_t needed = 0; ///< how many of them must have a place
  string_map node_selector;
  std::vector<toleration> tolerations;
  std::vector<std::string> topology_keys; ///< outermost first
  std::string required_node;

  bool operator==(const wanted_group&) const = default;
};

/// What is placed as one: a lone pod, or replica k of every gang group of a workload, so that
/// groups of different templates start together or not at all.
struct preemptor {
  std::string workload;
  std::int32_t priority = 0; ///< its scheduling priority
  bool may_preempt = true;
  bool gang = false; ///< false for a lone pod, which tries node by node
  bool at_front =
    true; ///< of the job queue; without it sessions preempt nobody (docs/policies.md#sessions)
  time_point reserved_since =
    no_time; ///< when its required node was reserved (docs/policies.md#required-node)
  /// Whether pods of its own workload may have a lower priority. They are no victims of it, and
  /// where there can't be any, nobody has to look for them.
  bool may_have_weaker_kin = true;
  std::vector<wanted_group> groups;

  bool operator==(const preemptor&) const = default;
};

/// Whether the preemptor is one pod that only one node will do for, such as that of a DaemonSet.
/// A gang that names a node is not: whom to take for it is not told by the size of one pod.
bool is_bound_to_a_node(const preemptor& who);

/// The uid of the pod of `w` at a slot.
std::string uid_at(const workload& w, const workload_status& status, std::size_t group,
                   std::int32_t replica, std::int32_t index, std::uint32_t incarnation);

/// Whether the labels say that their pod is not to be preempted.
bool opts_out(const string_map& labels);

/// The pod of `w` at a slot, as it will stand in a node record once it has a node.
pod pod_at(const workload& w, const workload_status& status, std::size_t group,
           std::int32_t replica, std::int32_t index, std::uint32_t incarnation);

/// Brings a pod that has its node up to what its workload says by now of what it costs to preempt
/// it, which may change while it runs (docs/architecture.md#the-model): the preemption priority,
/// the last checkpoint and the minimum runtime.
void follow(pod& p, const workload& w, const workload_status& status);

/// Whether that would change nothing.
bool follows(const pod& p, const workload& w, const workload_status& status);

} // namespace reprieve
