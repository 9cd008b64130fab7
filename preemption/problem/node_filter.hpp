#pragma once

#include "preemption/problem/demand.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace reprieve {

/// Whether pods of a group may run on a node at all, whoever goes.
enum class suitability : std::uint8_t {
  unknown,
  suitable,
  not_usable,    ///< not ready, or closed for new pods
  other_node,    ///< the group is bound to another one
  not_selected,  ///< labels do not match the node selector
  not_tolerated, ///< has a taint that the pods do not tolerate
  no_topology,   ///< lacks a topology key
  too_small,     ///< even when empty
};
inline constexpr std::size_t suitabilities = 8;

/// Whether pods of the group may run on the node, as far as selector, taints and names tell.
bool may_run_on(const pod_group& group, const node& n);

/// Which nodes suit which groups of one preemptor; judged once for each pair.
class node_filter {
public:
  node_filter(const cluster_view& view, const demand& asked);

  suitability of(std::size_t group, node_row n) const;

  bool suits(std::size_t group, node_row n) const {
    return of(group, n) == suitability::suitable;
  }

  bool suits_any_group(node_row n) const;

private:
  suitability judge(const demanded_group& group, node_row n) const;

  const cluster_view& view_;
  const demand& asked_;
  /// By group, then node; some nodes at a time, as most are never asked for.
  static constexpr std::size_t nodes_at_a_time = 256;
  using judged = std::array<suitability, nodes_at_a_time>;
  std::size_t parts_ = 0; ///< of each group
  mutable std::vector<std::unique_ptr<judged>> known_;
};

/// How many nodes there are of each suitability for one group.
struct suitability_counts : std::array<std::int64_t, suitabilities> {
  using std::array<std::int64_t, suitabilities>::operator[];
  std::int64_t operator[](suitability s) const {
    return (*this)[static_cast<std::size_t>(s)];
  }
};
suitability_counts count_nodes(const cluster_view& view, const node_filter& filter,
                               std::size_t group);

} // namespace reprieve
