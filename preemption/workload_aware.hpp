#pragma once

#include "preemption/attempt.hpp"
#include "preemption/candidates.hpp"
#include "preemption/cascade.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace reprieve {

/// The workload-aware policy (DESIGN 3.1): who may be a victim, in which order they are put back,
/// which steps one domain goes through and what its outcome costs.
class workload_aware {
public:
  explicit workload_aware(const problem& given);

  /// Goes through all steps in the domain.
  attempt try_domain(const domain& where);

  /// The lowest level at which a lone pod fits on the node if everybody below it could go, told by
  /// running sums alone. Nothing where even that is not enough.
  std::optional<std::int64_t> lowest_level(node_row n) const;

  /// What a domain lacks that running sums have ruled out.
  attempt ruled_out(const domain& where);

  const candidate_rules& rules() const {
    return rules_;
  }

private:
  bool find_seats(const domain& where, std::span<const opening> openings, seating& found);
  bool find_packed_seats(const domain& where, std::span<const opening> openings, seating& found);
  void respect_budgets(const domain& where, std::span<const opening> openings, attempt& made);
  std::optional<std::int32_t> highest_opened() const;

  const problem& given_;
  seater seater_;
  candidate_rules rules_;
  cascade_check cascade_;
  trial tried_;
};

} // namespace reprieve
