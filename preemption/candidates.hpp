#pragma once

#include "preemption/problem.hpp"
#include "preemption/trial.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace reprieve {

/// Whether a portion may be a victim of one preemptor, and if not, why.
enum class standing : std::uint8_t {
  candidate,
  at_or_above,      ///< its priority is not below the preemptor's
  daemon,           ///< belongs to its node
  protected_member, ///< a pod of it must not go, so none of it does
  too_young,        ///< has not run for the minimum runtime
  opted_out,        ///< and the group takes that as a veto
};

/// Who may be a victim (DESIGN 3.1 step 3, with the guards of 3.7).
class candidate_rules {
public:
  explicit candidate_rules(const problem& given)
      : view_(given.view), priority_(given.who.priority), limits_(given.settings.group.limits),
        now_(given.settings.now) {}

  /// Of the pod's portion.
  standing of(pod_row p) const;

  bool may_go(pod_row p) const {
    return of(p) == standing::candidate;
  }

  std::int32_t preemptor_priority() const {
    return priority_;
  }

  /// Tells `tried` which pods on the nodes stay although their priority is below.
  void keep_who_may_not_go(trial& tried, std::span<const node_row> nodes) const;

  /// The portions that may go and have a pod on one of the nodes, most important first.
  std::vector<portion_row> candidates_on(std::span<const node_row> nodes) const;
  /// Those among them that budgets may count on.
  std::vector<portion_row> candidates_with_budgets_on(std::span<const node_row> nodes) const;

private:
  std::vector<portion_row> collect(std::span<const node_row> nodes, auto wanted) const;
  standing judge(const portion_card& card, std::span<const pod_row> pods) const;

  const cluster_view& view_;
  std::int32_t priority_;
  const guards& limits_;
  time_point now_;
  mutable std::unordered_map<portion_row, standing> of_groups_; ///< judged before; only looked up
};

} // namespace reprieve
