#pragma once

#include "preemption/policies/lifecycle/lifecycle.hpp"
#include "preemption/problem/epoch_array.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reprieve {

/// Whether a pod may make room for a preemptor, and if not, why.
enum class pod_standing : std::uint8_t {
  candidate,
  matched,          ///< makes room for another already
  daemon,           ///< belongs to its node
  protected_member, ///< must not go
  whole_replica,    ///< goes with pods on other nodes, or not at all
  unmanaged,        ///< no placement: its replicas are not ours to count
  opted_out,        ///< and its cluster takes that as a veto
  too_young,        ///< has not run for the minimum runtime
  at_or_above,      ///< its priority is not below the preemptor's
  too_often,        ///< its workload lost enough in the last hour
  last_replica,     ///< of its deployment in its cluster, after those already matched
};

/// A pod that may make room for one preemptor.
struct lifecycle_candidate {
  std::uint32_t entry = 0; ///< its number in `lifecycle_victims`
  pod_row pod = no_row;
  victim_stage stage = victim_stage::committed;
  std::int32_t priority = 0;
  std::int64_t score = 0; ///< that the preemptor gives to its cluster
  bool below = false;     ///< its priority is below the preemptor's
  bool too_often = false; ///< its workload lost enough in the last hour

  /// Otherwise it makes room only where it goes anyway.
  bool may_be_scaled_down() const {
    return below && !too_often;
  }
};

struct lifecycle_passed {
  std::uint32_t entry = 0;
  pod_standing standing = pod_standing::candidate;
};

/// A workload that has pods, a placement, or a part in the phase.
struct lifecycle_owner {
  std::string name;
  const lifecycle_deployment* given = nullptr; ///< where it takes part
  bool placed = false;                         ///< has a placement
  bool going = false;                          ///< has pods that leave or are surplus
  std::int32_t recent_preemptions = 0;         ///< times in the last hour
};

/// What a deployment has left in a cluster, after the matches made so far.
struct replicas_left {
  std::int32_t bound = 0;     ///< pods on nodes that are not leaving
  std::int32_t committed = 0; ///< no more than have a pod that is not surplus
  std::int32_t surplus = 0;   ///< bound pods too many of which nobody said which ones

  /// Takes one pod out, and tells in which stage; nothing where it has to stay. The last replica
  /// always has to: a cluster may take long to go down to zero (docs/policies.md#lifecycle).
  std::optional<victim_stage> take(bool named_surplus, bool may_scale_down);
};

/// A deployment's share in one cluster.
struct lifecycle_share {
  std::uint32_t owner = 0; ///< number of its workload
  std::string cluster;
  const placement* given = nullptr; ///< where there is one
  std::int32_t named_surplus = 0;   ///< pods that are surplus by their phase
  replicas_left left{};
  std::int32_t scaled_down = 0; ///< replicas, by this phase
};

/// The pods on all nodes as victims: the stage each is in, who may go, in which order, and what is
/// left of each deployment's replicas while the phase matches one after another.
///
/// Where a placement has more pods than committed replicas, and nobody said yet which of them are
/// the surplus, any of them stands for it, as many as there are too many: so the one that was
/// matched when its deployment was scaled down is found again.
class lifecycle_victims {
public:
  lifecycle_victims(const cluster_view& view, const lifecycle_input& given);

  /// Who may make room on the node for `who`, most preferred first; who may not goes to `passed`.
  std::vector<lifecycle_candidate>
  candidates_on(node_row n, const lifecycle_deployment& who,
                std::vector<lifecycle_passed>* passed = nullptr) const;

  /// Likewise of these pods only, wherever others are further on.
  std::vector<lifecycle_candidate> candidates_among(std::span<const pod_row> pods, node_row n,
                                                    const lifecycle_deployment& who) const;

  /// Stage and order of these, as if no others on their node were asked to go.
  void restage(std::vector<lifecycle_candidate>& some,
               std::vector<lifecycle_passed>* passed = nullptr) const;

  /// Less where `a` is preferred: its stages, then its ties. Names are unique in a cluster
  /// only, so that two pods may be equal.
  std::weak_ordering compare(const lifecycle_candidate& a, const lifecycle_candidate& b) const;

  /// Its room belongs to `preemptor` from now on. Candidates are matched in order of preference.
  void match(const lifecycle_candidate& one, const lifecycle_deployment& preemptor);

  // -- what is known of pods and their workloads --------------------------------------------------

  pod_row row_of(std::uint32_t entry) const {
    return entries_[entry].pod;
  }
  const lifecycle_deployment* matched_to(std::uint32_t entry) const {
    return entries_[entry].matched_to;
  }
  const lifecycle_share& share_of(std::uint32_t entry) const {
    return shares_[entries_[entry].share];
  }
  const std::vector<lifecycle_share>& shares() const {
    return shares_;
  }
  const lifecycle_owner& owner(std::uint32_t number) const {
    return owners_[number];
  }
  /// Whether the workload has pods that leave or are surplus.
  bool is_going(std::string_view workload) const;
  /// When its grace period is over; `no_time` where that is not known.
  time_point grace_over(pod_row p) const;
  std::int32_t priority_of(std::uint32_t entry) const;
  const guards& limits_on(node_row n) const;
  std::size_t count_on(node_row n) const {
    return first_[n + 1] - first_[n];
  }

private:
  struct entry_type {
    pod_row pod;
    std::uint32_t share;
    victim_stage by_phase; ///< `committed` may turn out to be surplus by the counts
    bool leaves;           ///< no longer counted as a replica
    const lifecycle_deployment* matched_to;
  };

  std::uint32_t add_owner(std::string_view name);
  std::uint32_t add_share(std::string_view workload, std::string_view cluster);
  void add_pods(node_row n, std::span<const pod_row> pods);
  void count_replicas();

  std::vector<lifecycle_candidate> collect(node_row n, const lifecycle_deployment& who,
                                           std::vector<lifecycle_passed>* passed) const;
  pod_standing judge(const entry_type& entry, node_row n) const;
  bool too_often(const entry_type& entry, node_row n) const;
  std::string name_of(pod_row p) const;

  const cluster_view& view_;
  time_point now_;
  std::vector<lifecycle_owner> owners_;
  std::map<std::string, std::uint32_t, std::less<>> owners_by_name_;
  std::vector<lifecycle_share> shares_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> shares_by_key_;
  std::map<std::string, guards, std::less<>> limits_;
  std::unordered_map<pod_row, const lifecycle_pod*> known_; ///< only looked up
  std::vector<entry_type> entries_;                         ///< node by node
  std::vector<std::uint32_t> first_; ///< entry of each node, and one more at the end
  mutable epoch_array<std::optional<replicas_left>> tried_; ///< by share
};

} // namespace reprieve
