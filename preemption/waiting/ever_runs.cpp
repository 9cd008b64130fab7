#include "preemption/waiting/ever_runs.hpp"

#include "preemption/pipeline/domains.hpp"

#include <algorithm>
#include <limits>
#include <span>

namespace reprieve {

namespace {

/// How many of the group's pods an empty node takes.
std::int64_t seats_on(const cluster_view& view, node_row n, const demanded_group& group) {
  const auto capacity = view.capacity(n);
  auto seats = std::numeric_limits<std::int64_t>::max();
  for (std::size_t c = 0; c < group.request.size(); ++c)
    if (group.request[c] > 0)
      seats = std::min(seats, capacity[c] / group.request[c]);
  return seats;
}

bool could_seat(const problem& given, std::span<const node_row> nodes, std::size_t g) {
  const auto& group = given.asked.groups[g];
  auto lacking = static_cast<std::int64_t>(group.needed);
  for (const auto n : nodes) {
    if (lacking <= 0)
      break;
    if (given.filter.suits(g, n))
      lacking -= std::min(lacking, seats_on(given.view, n, group));
  }
  return lacking <= 0;
}

bool could_seat_all(const problem& given, std::span<const node_row> nodes) {
  for (std::size_t g = 0; g < given.asked.groups.size(); ++g)
    if (!could_seat(given, nodes, g))
      return false;
  return true;
}

} // namespace

bool could_ever_run(const cluster_view& view, const preemptor& who) {
  const plan_settings plain;
  const problem given{view, who, plain};
  if (!given.asked.unknown_resource.empty())
    return false;
  if (!who.gang || topology_keys_of(who).empty()) {
    std::vector<node_row> nodes;
    for (node_row n = 0; n < view.node_rows(); ++n)
      if (view.present(n))
        nodes.push_back(n);
    return could_seat_all(given, nodes);
  }
  const auto domains = domain_set::for_gang(given);
  return std::ranges::any_of(domains.all(),
                             [&](const domain& one) { return could_seat_all(given, one.nodes); });
}

} // namespace reprieve
