#pragma once

#include "preemption/pipeline/cascade.hpp"
#include "preemption/pipeline/policy.hpp"
#include "preemption/problem/effort.hpp"
#include "preemption/victims/fewer_elsewhere.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace reprieve {

/// The workload-aware policy (docs/policies.md#workload-aware): whoever is less important may go,
/// and as few as can be.
///
/// A domain is tried in several ways: plainly, as KEP-5710 describes it, and thriftily, with the
/// preemptor's place left open until it is known who goes at the least cost. The best counts.
class workload_aware final : public policy {
public:
  explicit workload_aware(const problem& given);

  std::string_view name() const override {
    return given_.scope ? std::string_view(given_.scope->policy) : "workload-aware";
  }

  domain_set domains() const override;
  attempt try_domain(const domain& where) override;

  bool node_by_node() const override {
    return !given_.who.gang;
  }
  /// A gang has few domains; a lone pod's are bounded.
  std::optional<score> bound(const domain& where) const override;
  std::optional<score> bound_on(const node_block& block) const override;

  const candidate_rules& rules() const override {
    return rules_;
  }

private:
  std::int64_t highest_level() const {
    return given_.highest_level();
  }
  std::optional<attempt> try_plainly(const domain& where, effort& spent);
  void try_thriftily(const domain& where, std::optional<attempt>& best, effort& spent);
  /// With these kept, by a rule of thumb or two. Returns the threshold.
  std::int64_t try_keeping(const std::set<portion_row>& kept, std::optional<attempt>& best,
                           effort& spent);
  /// Where it may be done in time, by all ways to share out a gang's seats.
  void try_to_share_out(std::int64_t threshold, std::optional<attempt>& best, effort& spent);
  /// Where those are too many for one decision: those who hold much, up to the lowest level from
  /// the threshold on at which they are few enough.
  void try_fewer_victims(std::int64_t threshold, std::optional<attempt>& best, effort& spent);
  /// Whether the best that is known is sure to be the best of the node, by now: where it can't be
  /// told at a glance, the set that is the least by amounts alone is found first.
  bool is_least_on_node(std::int64_t level, std::optional<attempt>& best, effort& spent);
  /// Whether all were gone through.
  bool try_everything(std::span<const portion_row> candidates, std::int64_t level,
                      std::size_t most_steps, std::optional<attempt>& best, effort& spent);

  /// The candidates of the domain that budgets may count on, most important first.
  std::vector<portion_row> counted_by_budgets(const domain& where) const;
  /// Candidates whose going breaks a budget, when all of them go, stay where `stays` says that the
  /// preemptor fits anyway (docs/policies.md#workload-aware step 6). They are kept in the room.
  template <class Stays>
  std::set<portion_row> respect_budgets(std::span<const portion_row> candidates, Stays stays);
  /// The plain way to count what goes beyond budgets: as if all candidates went.
  void count_as_if_all_went(attempt& made, std::span<const portion_row> candidates) const;
  /// The priorities in the domain that may go, lowest first.
  std::vector<std::int64_t> levels() const;
  /// The lowest level for which `fits` holds once the room is opened to it
  /// (docs/policies.md#workload-aware step 7).
  template <class Fits>
  std::int64_t lowest_level(Fits fits);
  std::size_t pods_up_to(std::int64_t level) const;

  /// The outcome of these victims, most important first, and these seats. The room has the victims
  /// gone and the seats not yet taken.
  attempt outcome_of(std::span<const portion_row> victims, seating found);
  /// Likewise with seats that are found now.
  attempt outcome_of(std::span<const portion_row> victims);
  /// Whether the outcome may be, whether it is the best by now or not.
  bool consider(attempt made, std::optional<attempt>& best);
  /// Whether some of its victims are enough in another domain.
  bool is_more_than_enough(const attempt& made);

  const problem& given_;
  candidate_rules rules_;
  cascade_check cascade_;
  domain_room room_;
  fewer_elsewhere elsewhere_;
  std::string_view enough_in_;            ///< a domain where fewer are enough than here
  std::optional<std::int64_t> threshold_; ///< of the domain, once it is known
};

} // namespace reprieve
