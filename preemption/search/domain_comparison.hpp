#pragma once

#include "preemption/pipeline/attempt.hpp"
#include "state/model/resource_group.hpp"

#include <string>
#include <string_view>

namespace reprieve {

/// The domain that won, as others are compared with it.
struct winner {
  std::string_view domain;
  const score& scored;
  minimise minimised = minimise::pods;
};

/// What came of a domain that was tried; `why_not` where it is not feasible.
domain_outcome outcome_of(const cluster_view& view, std::string_view domain, const attempt& made,
                          std::string_view why_not);

/// Of a domain that was not tried, since nothing there could have won.
domain_outcome outcome_of_passed_by(std::string_view domain, const score& bound,
                                    const winner& best);

/// Says of a feasible domain why it won, or did not.
void tell_why_won_or_lost(domain_outcome& outcome, const winner& best);

} // namespace reprieve
