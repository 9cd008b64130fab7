#pragma once

#include <cstdint>
#include <limits>

namespace reprieve {

/// What a policy has of its own in who may be a victim.
struct candidate_terms {
  std::int32_t highest = std::numeric_limits<std::int32_t>::max(); ///< priority that may go
  bool opt_out_may_veto = true; ///< false where the policy has a class for it

  bool operator==(const candidate_terms&) const = default;
};

} // namespace reprieve
