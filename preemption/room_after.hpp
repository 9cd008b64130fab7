#pragma once

#include "preemption/amounts.hpp"
#include "state/cluster_view.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace reprieve {

/// What is free on the nodes once some have gone and others have come, for those who then look for
/// a place. Only amounts are looked at. Whoever comes takes of it, so that it only shrinks: a size
/// that was looked for before goes on where it stopped.
class room_after {
public:
  /// As the view has it; whoever leaves anyway has gone.
  explicit room_after(const cluster_view& view) : view_(view) {}

  void vacate(node_row n, amounts held) {
    change(n, held, 1);
  }
  void take(node_row n, amounts request) {
    change(n, request, -1);
  }

  /// Puts the pod on the first node by name that has room; false where none has. Nobody may vacate
  /// anything afterwards.
  bool place(amounts request);

private:
  struct place_in_order {
    std::size_t block = 0;
    std::size_t node = 0;
  };

  bool may_take(const node_block& block, amounts request) const;
  amounts room(node_row n) const;
  void change(node_row n, amounts request, std::int64_t sign);

  const cluster_view& view_;
  std::map<node_row, std::vector<std::int64_t>> changed_;
  std::map<std::vector<std::int64_t>, place_in_order> reached_; ///< by request
};

} // namespace reprieve
