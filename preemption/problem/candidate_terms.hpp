#pragma once

#include "state/view/cluster_view.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// The portions that a plan may take where priority alone does not tell: those of queues that use
/// more than they deserve, whatever their priority, or those that share a quota with the preemptor
/// (docs/policies.md#queues). Rows are of the view that the plan is made on.
struct victim_scope {
  std::map<portion_row, std::size_t> portions; ///< with the position of what is said of them
  std::vector<std::string> reasons;            ///< why a portion may go
  std::string why_others_stay;
  std::int32_t highest = std::numeric_limits<std::int32_t>::max(); ///< priority that may go
  std::string policy;                                              ///< as it stands in decisions
  /// They are on room that their queues only borrow, and go for somebody whose queue deserves it:
  /// no minimum runtime, opt-out or protected member holds.
  bool overrules = false;
};

/// What a policy has of its own in who may be a victim.
struct candidate_terms {
  std::int32_t highest = std::numeric_limits<std::int32_t>::max(); ///< priority that may go
  bool opt_out_may_veto = true;                ///< false where the policy has a class for it
  bool whole_workloads = false;                ///< all of a workload goes, or nothing of it
  std::shared_ptr<const victim_scope> scope{}; ///< null where priority tells

  bool operator==(const candidate_terms&) const = default;
};

} // namespace reprieve
