#pragma once

#include "preemption/problem/amounts.hpp"
#include "preemption/problem/plan.hpp"
#include "state/model/workload.hpp"
#include "state/view/cluster_view.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace reprieve {

/// What is free on the nodes once some have gone and others have come, for those who then look for
/// a place. Whoever comes takes of it, so that it only shrinks: a size that was looked for before
/// goes on where it stopped.
class room_after {
public:
  /// As the view has it; whoever leaves anyway has gone.
  room_after(const cluster_view& view, const plan_settings& settings)
      : view_(view), settings_(settings) {}

  void vacate(pod_row p);
  void take(node_row n, amounts request) {
    change(n, request, -1);
  }

  /// Puts the pod on the first node by name that has room; false where none has. Nobody may vacate
  /// anything afterwards. Of a group that is known only nodes count on which its pods may run.
  bool place(amounts request, const pod_group* group = nullptr);

  /// Puts the pod on a node that would have room without those of less than that priority who run
  /// there and may go; false where none would.
  bool place_without_those_below(std::int32_t priority, amounts request, const pod_group* group);

private:
  struct place_in_order {
    std::size_t block = 0;
    std::size_t node = 0;
  };
  /// Whose nodes and how much.
  using wanted_place = std::pair<const pod_group*, std::vector<std::int64_t>>;

  bool may_take(const node_block& block, amounts request) const;
  bool may_take_without_those_below(const node_block& block, std::int32_t priority,
                                    amounts request) const;
  bool has_changed_in(const node_block& block) const;
  /// What pods of less than that priority hold on the node who are still there and may go.
  std::vector<std::int64_t> held_below(node_row n, std::int32_t priority) const;
  bool suits(node_row n, const pod_group* group) const;
  amounts room(node_row n) const;
  void change(node_row n, amounts request, std::int64_t sign);

  const cluster_view& view_;
  const plan_settings& settings_;
  std::map<node_row, std::vector<std::int64_t>> changed_;
  std::map<node_row, std::vector<pod_row>> gone_;
  std::map<wanted_place, place_in_order> reached_;
};

} // namespace reprieve
