#include "preemption/search/domain_comparison.hpp"

#include "preemption/pipeline/scoring.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

std::string why_passed_by(const score& bound, const winner& best) {
  if (bound.highest_victim_priority > best.scored.highest_victim_priority)
    return fmt::format("costs a victim of priority {} or above; {} costs none above {}",
                       bound.highest_victim_priority, best.domain,
                       best.scored.highest_victim_priority);
  return better(best.scored, bound, best.minimised)
           ? fmt::format("can't cost as little as {}: {} at best", best.domain,
                         why_worse(bound, best.scored, best.minimised))
           : fmt::format("can't cost less, and {} comes first by name", best.domain);
}

} // namespace

domain_outcome outcome_of(const cluster_view& view, std::string_view domain, const attempt& made,
                          std::string_view why_not) {
  domain_outcome outcome;
  outcome.domain = domain;
  outcome.feasible = made.feasible;
  outcome.threshold = made.threshold;
  outcome.victims = std::ssize(made.victims);
  outcome.scored = made.scored;
  if (!made.feasible)
    outcome.reason = why_not;
  if (made.lacking && made.lacking->nearest != no_row) {
    outcome.short_resource = view.resource_name(made.lacking->resource);
    outcome.short_by = made.lacking->by;
  }
  return outcome;
}

domain_outcome outcome_of_passed_by(std::string_view domain, const score& bound,
                                    const winner& best) {
  domain_outcome outcome;
  outcome.domain = domain;
  outcome.feasible = true;
  outcome.threshold = bound.highest_victim_priority;
  outcome.reason = why_passed_by(bound, best);
  return outcome;
}

void tell_why_won_or_lost(domain_outcome& outcome, const winner& best) {
  outcome.chosen = outcome.domain == best.domain;
  outcome.reason =
    outcome.chosen ? "costs least" : why_worse(outcome.scored, best.scored, best.minimised);
  if (outcome.reason.empty())
    outcome.reason = fmt::format("costs the same; {} comes first by name", best.domain);
}

} // namespace reprieve
