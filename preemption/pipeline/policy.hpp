#pragma once

#include "preemption/pipeline/attempt.hpp"
#include "preemption/pipeline/candidates.hpp"
#include "preemption/pipeline/domains.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace reprieve {

/// The rules of one way to preempt (docs/policies.md): where the preemptor may sit, who may go,
/// which steps a domain goes through and what its outcome costs. The search goes through the
/// domains, takes the best and keeps the reasons; a policy has no part in that.
class policy {
public:
  policy() = default;
  virtual ~policy() = default;
  policy(const policy&) = delete;
  policy& operator=(const policy&) = delete;

  /// As it stands in decisions.
  virtual std::string_view name() const = 0;

  /// The domains that the preemptor tries.
  virtual domain_set domains() const = 0;

  /// Goes through all steps in the domain.
  virtual attempt try_domain(const domain& where) = 0;

  /// A score that no outcome of the domain is better than, as far as can be told at once; nothing
  /// where it is sure to be infeasible. Where domains are few, each is looked at.
  virtual std::optional<score> bound(const domain&) const {
    return best_score();
  }

  /// Whether every node is a domain of its own. Then blocks of nodes are bounded as well, and only
  /// the nodes of promising ones are looked at.
  virtual bool node_by_node() const {
    return false;
  }
  virtual std::optional<score> bound_on(const node_block&) const {
    return std::nullopt;
  }

  /// Who may be a victim, and why others may not.
  virtual const candidate_rules& rules() const = 0;
};

} // namespace reprieve
