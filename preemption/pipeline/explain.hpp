#pragma once

#include "preemption/pipeline/attempt.hpp"
#include "preemption/pipeline/candidates.hpp"
#include "preemption/pipeline/domains.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace reprieve {

/// Turns what a search found into sentences for users.
class explainer {
public:
  explicit explainer(const problem& given)
      : view_(given.view), who_(given.who), asked_(given.asked), filter_(given.filter),
        settings_(given.settings), scope_(given.scope.get()) {}

  /// Such as `train-b (priority 100)`.
  std::string preemptor_name() const;

  /// Adds the nodes that do not suit a lone pod; those are not worth a word that it never asked
  /// for.
  void tell_unsuitable_nodes(std::vector<domain_outcome>& domains) const;
  /// Why nothing suits a group: how many nodes there are, and what keeps the pods off them.
  std::string why_no_node() const;
  /// Why a lone pod finds no node at all, with a look only at nodes whose block may have the most.
  std::string why_on_no_node() const;
  std::string why_infeasible(const attempt& tried) const;
  /// Such as `2 gpu` or `1 place for pods`.
  std::string amount_lacking(const shortage& lacking) const;
  /// What there is too little of: `gpu`, or `places for pods`.
  std::string_view what_is_lacking(resource_column resource) const;
  /// Why a portion goes for a preemptor that gets these nodes.
  std::string why_victim(std::span<const node_row> used, portion_row p, bool over_budget) const;

  /// Why each victim goes, as far as its policy has not said so, who stays on the preemptor's nodes
  /// although it could have gone, and who never could.
  void tell(const candidate_rules& rules, plan& made) const;
  /// Who may not go in a domain that has too little room without; on a single node also those who
  /// are too important, which are too many to name otherwise.
  void tell_who_may_not_go(const candidate_rules& rules, const domain& where, reasoning& why) const;

  /// Likewise in few words, but for those who are too important: `; 1 portion may not go: a/w/0/0
  /// (has opted out of preemption)`. Nothing where there are none. Costs a look at every pod on the
  /// nodes where somebody may have to stay.
  std::string who_may_not_go(const candidate_rules& rules, const domain& where) const;

  std::string summary_of_seats(const seating& found) const;
  std::string summary_of(const attempt& chosen) const;

private:
  void raise_by_room_without_candidates(node_row n, std::vector<std::int64_t>& most) const;
  std::string why_passed_over(standing s, portion_row p) const;
  /// What is said of portions by their priority, for it is the same of many.
  using said_before = std::map<std::int32_t, std::string>;
  /// `fits` is what is said of one that goes on beside the preemptor.
  std::string why_reprieved(const plan& made, portion_row p, std::int32_t priority,
                            const std::string& fits, said_before& said) const;
  /// Why each goes, and which of those `all` on the nodes that look the same stays instead.
  void tell_of_victims(const candidate_rules& rules, std::span<const portion_row> all,
                       plan& made) const;
  /// Those that look the same and stay, the most important first; nothing where none is told from
  /// the one that goes.
  std::string why_rather_than_equals(std::span<const portion_row> equals, portion_row goes) const;
  /// The nodes among those used by the preemptor that the portion is on.
  std::string shared_nodes(std::span<const node_row> used, portion_row p) const;

  const cluster_view& view_;
  const preemptor& who_;
  const demand& asked_;
  const node_filter& filter_;
  const plan_settings& settings_;
  const victim_scope* scope_; ///< null where priority tells who may go
};

} // namespace reprieve
