#pragma once

#include "state/decision.hpp"
#include "state/placement.hpp"

#include <utility>

/// What becomes of a placement's record (DESIGN 3.3).
namespace reprieve {

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
  next.nominations = change.nominations;
  return next;
}

/// The same with what the coordinator has found out about it.
inline placement remembering(placement known, const placement& noted) {
  known.assigned = noted.assigned;
  known.preempted = noted.preempted;
  known.nominations = noted.nominations;
  return known;
}

} // namespace reprieve
