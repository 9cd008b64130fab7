#pragma once

#include "preemption/problem/candidate_terms.hpp"
#include "preemption/problem/problem.hpp"
#include "preemption/room/domain_room.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace reprieve {

/// Whether a portion may be a victim of one preemptor, and if not, why.
enum class standing : std::uint8_t {
  candidate,
  at_or_above,      ///< its priority is not below the preemptor's
  own,              ///< of the preemptor's own workload
  daemon,           ///< belongs to its node
  protected_member, ///< a pod of it must not go, so none of it does
  arriving,         ///< some of its pods are still being placed
  too_young,        ///< has not run for the minimum runtime
  opted_out,        ///< and the group takes that as a veto
  too_often,        ///< its workload lost enough in the last hour
  not_preemptible,  ///< above the priority up to which sessions may go
  kin_stays,        ///< others of its workload may not go, and workloads go whole
  out_of_scope,     ///< not among those that the plan may take
};

/// Which shields count.
struct guards_that_hold {
  bool opt_out_may_veto = true;
  bool any = true; ///< else only daemons, who arrives, and the limit per hour
};

/// Whether the portion may go, for anybody of whatever priority (docs/policies.md#guards).
standing standing_by_guards(const cluster_view& view, const plan_settings& settings, portion_row p,
                            const guards_that_hold& with = {});

/// Who may be a victim (docs/policies.md#workload-aware step 3, with the guards of 3.7).
class candidate_rules {
public:
  explicit candidate_rules(const problem& given, candidate_terms terms = {});

  standing of(portion_row p) const;

  bool may_go(portion_row p) const {
    return of(p) == standing::candidate;
  }

  /// The portions that go with it, itself among them, in order of name: those of its workload where
  /// workloads go whole.
  std::vector<portion_row> kin_of(portion_row p) const;

  const candidate_terms& terms() const {
    return terms_;
  }

  /// The highest priority that may go.
  std::int64_t highest_level() const {
    return level_;
  }

  /// Whether everybody on the node up to the highest level may go.
  bool all_may_go(node_row n) const {
    return !looks_closer_ && !view_.has_immovable(n);
  }

  /// Tells `room` which pods stay although their priority is below.
  void keep_who_may_not_go(domain_room& room, std::span<const node_row> nodes) const;

  /// The portions up to `level` that may go and have a pod on one of the nodes, most important
  /// first.
  std::vector<portion_row> candidates_on(std::span<const node_row> nodes, std::int64_t level) const;
  /// Those of any level among them that budgets may count on.
  std::vector<portion_row> candidates_with_budgets_on(std::span<const node_row> nodes) const;

private:
  /// Without a look at its kin.
  standing of_itself(portion_row p) const;
  std::vector<portion_row> collect(std::span<const node_row> nodes, std::int64_t level,
                                   auto wanted) const;

  const cluster_view& view_;
  const preemptor& who_;
  std::int64_t level_;
  candidate_terms terms_;
  const plan_settings& settings_;
  /// By workload, once somebody asks: the portions that run.
  mutable std::unordered_map<std::string, std::vector<portion_row>> kin_;
  bool looks_closer_; ///< whether a guard may keep anybody, or the preemptor is on nodes itself
};

} // namespace reprieve
