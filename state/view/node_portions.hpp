#pragma once

#include "state/view/cluster_view.hpp"

#include <span>
#include <vector>

namespace reprieve {

/// Calls `visit` with each portion that the pods belong to and with what these pods of it hold
/// together. The pods are some of one node's, in its order, in which those of a portion are
/// neighbours.
template <class Visit>
void each_portion_on(const cluster_view& view, std::span<const pod_row> pods, Visit&& visit) {
  std::vector<std::int64_t> together(view.width());
  for (std::size_t at = 0; at < pods.size();) {
    const auto portion = view.portion_of(pods[at]);
    together.assign(view.width(), 0);
    for (; at < pods.size() && view.portion_of(pods[at]) == portion; ++at)
      for (std::size_t column = 0; column < together.size(); ++column)
        together[column] += view.requests(pods[at])[column];
    visit(portion, std::span<const std::int64_t>{together});
  }
}

} // namespace reprieve
