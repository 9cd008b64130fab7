#pragma once

#include "preemption/pipeline/cascade.hpp"
#include "preemption/pipeline/explain.hpp"
#include "preemption/pipeline/policy.hpp"
#include "preemption/policies/required_node/victim_strategies.hpp"
#include "preemption/room/seating.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// Reserves the node of a pod that is bound to it and does not fit, and looks for victims there
/// once the reservation is old enough (docs/policies.md#required-node).
plan preempt_on_required_node(const problem& given);

/// The pod of a plan that reserves its node, as it holds the room that it asks for there. In a view
/// it keeps others out who are served after it, even where the room is not free yet: less than
/// nothing is left then of what is short, and others fit only where they ask for none of that.
std::optional<pod> hold_of_reservation(const preemptor& who, const plan& made);

/// The required-node policy (docs/policies.md#required-node): on one node, class by class, by the
/// strategies that the resource group names.
class required_node final : public policy {
public:
  explicit required_node(const problem& given);

  std::string_view name() const override {
    return "required-node";
  }

  domain_set domains() const override;
  attempt try_domain(const domain& where) override;

  const candidate_rules& rules() const override {
    return rules_;
  }

private:
  /// Who may go, and for what.
  struct choice {
    wanted_room wanted;
    std::vector<possible_victim> victims;
  };

  /// Takes those who go where one of the strategies finds enough among these; else says why not.
  bool try_strategies(const domain& where, const choice& from, bool all_classes, attempt& made);
  selection select(victim_strategy by, const choice& from) const;
  /// `max_victims`, and less where a guard says so.
  std::int64_t most_victims() const;
  void evict(const domain& where, const choice& from, victim_strategy by, const selection& chosen,
             attempt& made);
  /// What the node lacks with everybody gone who may go.
  shortage shortage_on(const domain& where);

  std::string why_picked(victim_strategy by, const possible_victim& one,
                         const wanted_room& wanted) const;
  std::string why_failed(victim_strategy by, const selection& failed, const choice& from,
                         const std::optional<shortage>& lacking) const;

  const problem& given_;
  const required_node_settings& settings_;
  explainer explain_;
  candidate_rules rules_;
  cascade_check cascade_;
  domain_room room_;
};

} // namespace reprieve
