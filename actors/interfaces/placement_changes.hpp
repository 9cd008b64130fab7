#pragma once

#include "state/model/decision.hpp"
#include "state/model/placement.hpp"
#include "state/records/record_limits.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

/// What becomes of a placement's record (docs/policies.md#lifecycle).
namespace reprieve {

/// As many of them as a placement's record has room for. Those left out are found again once others
/// have come.
inline std::vector<nominated_room> within_record(std::vector<nominated_room> nominations) {
  std::size_t bytes = 0;
  const auto first_too_many = std::ranges::find_if(nominations, [&](const nominated_room& one) {
    bytes += bytes_of(one);
    return bytes > record_limits::nominations_bytes;
  });
  nominations.erase(first_too_many, nominations.end());
  return nominations;
}

/// What somebody applies in place of what is there, if anything is: counts that are not given stay
/// as they are, and so does what it remembers.
inline placement admitted_over(const placement* known, placement given) {
  if (known == nullptr || known->deployment != given.deployment || known->cluster != given.cluster)
    return given;
  if (given.committed == 0 && given.assigned == 0) {
    given.committed = known->committed;
    given.assigned = known->assigned;
  }
  if (!given.preempted && given.nominations.empty()) {
    given.preempted = known->preempted;
    given.nominations = known->nominations;
  }
  return given;
}

/// What a decision makes of it, or the one that it makes.
inline placement after(const placement* known, const count_change& change) {
  placement next = known == nullptr ? placement{} : *known;
  next.name = change.placement;
  next.deployment = change.deployment;
  next.cluster = change.cluster;
  next.committed = change.to;
  next.preempted = change.preempted;
  next.nominations = within_record(change.nominations);
  return next;
}

/// The same with what the coordinator has found out about it.
inline placement remembering(placement known, const placement& noted) {
  known.assigned = noted.assigned;
  known.preempted = noted.preempted;
  known.nominations = within_record(noted.nominations);
  return known;
}

} // namespace reprieve
