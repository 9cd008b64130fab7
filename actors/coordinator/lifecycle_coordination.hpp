#pragma once

#include "actors/caf.hpp"
#include "actors/interfaces/cluster.hpp"
#include "preemption/cycle/quota.hpp"
#include "preemption/policies/lifecycle/lifecycle_cycle.hpp"
#include "state/model/catalog.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What a coordinator does where its group's cluster has a scheduler of its own
/// (docs/policies.md#lifecycle): it runs the lifecycle cycle on what it knows, hands each step of
/// it to a decision, has placements remember what the next cycle needs, and tells the cluster the
/// counts that have become durable.
///
/// A cycle decides nothing while counts are being changed: by decisions of the cycle before, which
/// are short, as they wait for no room, or by others that take replicas, until their victims are
/// told. Decisions that take replicas of the same deployment come one after another. What replicas
/// ask for is found in every cycle, from what is known then. All that the next cycle needs stands
/// in records, so that a coordinator that begins anew goes on as its predecessor would have.
namespace reprieve {

struct coordinator_state;
struct decision_settings;

struct lifecycle_state {
  bool on = false;
  /// Decisions, in their order, and which counts they change, until those are known here.
  std::map<std::string, std::vector<count_change>, std::less<>> open;
  std::size_t notes = 0;                                   ///< that shards have not answered yet
  std::map<std::string, std::string, std::less<>> waiting; ///< deployments, and why
  replica_needs needs;
  std::map<std::string, count_order, std::less<>> ordered; ///< by deployment: what was told last
  bool ordered_at_all = false;                             ///< the cluster was told what is counted
  std::map<std::string, time_point, std::less<>> orphans;  ///< placements, and since when
  std::set<std::string, std::less<>> had_deployment;       ///< placements that are no orphans
};

/// What open decisions make of the placement.
placement as_decided(const coordinator_state& state, placement share);
/// Whether what was decided of counts is still under way, so that nothing more is decided of them.
bool is_counting(const coordinator_state& state);

/// Why replicas of the deployment wait; empty where none does.
std::string why_replicas_wait(const coordinator_state& state, std::string_view deployment);

/// Adds what replicas ask for to what the group needs.
void add_needs_of_replicas(const coordinator_state& state, by_name<quota_need>& needs);

/// Completes a decision that is about to begin: replicas among its victims are not to be made again
/// by their cluster, so that there are to be fewer of them than open decisions leave.
void count_replicas(coordinator_state& state, decision_settings& settings);

/// The open decisions that change the same counts and have to come before this one, or to be given
/// up.
std::set<std::string> to_count_before(const coordinator_state& state, const decision& what);

} // namespace reprieve
