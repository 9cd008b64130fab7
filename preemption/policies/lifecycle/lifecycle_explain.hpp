#pragma once

#include "preemption/policies/lifecycle/lifecycle_match.hpp"

#include <span>
#include <string>
#include <vector>

namespace reprieve {

/// Turns what the lifecycle phase found into sentences for users.
class lifecycle_explainer {
public:
  lifecycle_explainer(const lifecycle_stock& stock, const lifecycle_input& given)
      : stock_(stock), victims_(stock.victims()), view_(stock.view()), now_(given.now) {}

  std::string why_victim(const lifecycle_candidate& one, const lifecycle_deployment& who) const;

  /// Why a pod finds no room on any of these nodes, which suit it.
  std::string why_no_room(const lifecycle_demand& asked, std::span<const node_row> nodes) const;

  /// Who stays on the nodes that the preemptor was matched to, but for its own victims.
  std::vector<passed_over_pod> who_stays(const lifecycle_deployment& who,
                                         std::span<const node_row> nodes) const;
  /// Who may not go on any of these nodes. Those who are too important are named where there is but
  /// one node; elsewhere they are too many.
  std::vector<passed_over_pod> who_may_not_go(const lifecycle_deployment& who,
                                              std::span<const node_row> nodes) const;

private:
  /// Whether a replica is left of its deployment when it goes and no other on its node does: those
  /// who were not needed do not count as gone.
  bool may_go_alone(const lifecycle_passed& one, node_row n, const lifecycle_deployment& who) const;
  std::string why_passed_over(const lifecycle_passed& one, const lifecycle_deployment& who) const;

  const lifecycle_stock& stock_;
  const lifecycle_victims& victims_;
  const cluster_view& view_;
  time_point now_;
};

} // namespace reprieve
