#pragma once

#include "preemption/cascade.hpp"
#include "preemption/policy.hpp"
#include "preemption/seating.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace reprieve {

/// The workload-aware policy (DESIGN 3.1): whoever is less important may go, in the order of
/// importance, and as few as can be.
class workload_aware final : public policy {
public:
  explicit workload_aware(const problem& given);

  std::string_view name() const override {
    return "workload-aware";
  }

  domain_set domains() const override;
  attempt try_domain(const domain& where) override;

  /// Told by running sums alone, for a lone pod; a gang's domains are few.
  std::optional<std::int64_t> least_level(const domain& where) const override;
  attempt ruled_out(const domain& where) override;

  const candidate_rules& rules() const override {
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
