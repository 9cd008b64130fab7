#pragma once

#include "preemption/pipeline/scoring.hpp"
#include "preemption/room/domain_room.hpp"
#include "preemption/room/seating.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// Why a preemptor found no seats in a domain with all candidates gone.
struct shortage {
  std::size_t group = 0;     ///< position in `demand::groups`
  std::size_t pods = 0;      ///< of that group that found no seat
  node_row nearest = no_row; ///< the node that falls short by the smallest part; none if none suits
  resource_column resource = 0;
  std::int64_t by = 0; ///< what `pods` pods lack there together
};

/// What came of one domain.
struct attempt {
  explicit attempt(const demand& asked) : found(asked) {}

  bool feasible = false;
  std::optional<shortage> lacking;
  bool too_many_victims = false;
  bool budget_reached = false;           ///< the search ended before it was through
  std::optional<std::int32_t> threshold; ///< nobody above it was assumed gone
  bool proved = false;                   ///< no victims in the domain are better
  std::int64_t floor = 0;                ///< of `score::priority_sum`: no victims there have less
  seating found;
  std::set<portion_row> kept_for_budgets;
  std::vector<evicted_portion> victims; ///< most important first
  std::vector<std::string> reasons;     ///< for each of them, where the policy has words of its own
  std::string why_not;                  ///< likewise, where it is not feasible
  score scored;
};

/// What the group without all its seats lacks, on the node that is nearest to having it. The room
/// has all candidates gone; the seats that are found take of it.
shortage shortage_of(const problem& given, domain_room& room);

} // namespace reprieve
