#include "preemption/room/seating_order.hpp"

#include "preemption/problem/amounts.hpp"

#include <algorithm>

namespace reprieve {

namespace {

/// A part of the cluster: `amount` out of `whole` of one resource.
struct share {
  std::int64_t amount = 0;
  wide_int whole = 1;
  resource_column resource = 0;

  bool operator>(const share& other) const {
    return amount * other.whole > other.amount * whole;
  }
};

/// The largest of the shares that one pod takes of each resource.
share dominant_share(amounts request, const std::vector<wide_int>& capacity) {
  share largest;
  for (resource_column c = 0; c < request.size(); ++c)
    if (const share one{request[c], std::max<wide_int>(capacity[c], 1), c}; one > largest)
      largest = one;
  return largest;
}

std::vector<wide_int> capacity_in_all(const cluster_view& view) {
  std::vector<wide_int> total(view.width());
  for (node_row n = 0; n < view.node_rows(); ++n)
    if (view.present(n))
      for (std::size_t c = 0; c < total.size(); ++c)
        total[c] += view.capacity(n)[c];
  return total;
}

struct waiting_group {
  turn waits;
  std::int64_t suitable_nodes = 0;
  share of_cluster;
};

bool harder(const waiting_group& a, const waiting_group& b) {
  return a.suitable_nodes != b.suitable_nodes ? a.suitable_nodes < b.suitable_nodes
                                              : a.of_cluster > b.of_cluster;
}

} // namespace

std::vector<turn> hardest_first(const problem& given) {
  const auto& groups = given.asked.groups;
  if (groups.size() == 1)
    return {turn{}};
  const auto capacity = capacity_in_all(given.view);
  std::vector<waiting_group> waiting;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto taken = dominant_share(groups[g].request, capacity);
    const auto counts = count_nodes(given.view, given.filter, g);
    waiting.push_back({{g, taken.resource}, counts[suitability::suitable], taken});
  }
  std::ranges::stable_sort(waiting, harder);
  std::vector<turn> turns;
  for (const auto& one : waiting)
    turns.push_back(one.waits);
  return turns;
}

} // namespace reprieve
