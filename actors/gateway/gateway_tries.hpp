#pragma once

#include "actors/gateway/gateway.hpp"
#include "state/model/unchanged_error.hpp"

namespace reprieve {

/// How often a change is tried again that somebody else was in the way of.
inline constexpr int most_tries = 5;

/// Whether it may be tried again: somebody else changed something meanwhile, and nothing was done.
inline bool was_in_the_way(const absl::Status& how) {
  return absl::IsAborted(how) && is_marked_nothing_changed(how);
}

} // namespace reprieve
