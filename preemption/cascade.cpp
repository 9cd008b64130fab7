#include "preemption/cascade.hpp"

#include <algorithm>

namespace reprieve {

namespace {

node_row first_of(std::span<const node_row> nodes, auto takes) {
  const auto found = std::ranges::find_if(nodes, takes);
  return found == nodes.end() ? no_row : *found;
}

} // namespace

cascade_check::cascade_check(const cluster_view& view) : view_(view) {
  for (node_row n = 0; n < view.node_rows(); ++n) {
    if (!view.present(n))
      continue;
    auto end = view.pods_on(n).size();
    const auto steps = view.steps(n);
    for (auto s = steps.size(); s-- > 0; end = steps[s].first)
      pods_by_priority_[steps[s].priority] += static_cast<std::int64_t>(end - steps[s].first);
  }
}

bool cascade_check::cascades(std::span<const evicted_portion> victims, trial& after) {
  std::vector<node_row> changed{after.claimed_nodes().begin(), after.claimed_nodes().end()};
  std::size_t pods = 0;
  for (const auto& one : victims) {
    pods += one.pods.size();
    for (const auto p : one.pods)
      changed.push_back(view_.node_of(p));
  }
  std::ranges::sort(changed, {}, [&](node_row n) { return view_.node_name(n); });
  changed.erase(std::ranges::unique(changed).begin(), changed.end());
  for (const auto& one : victims) {
    if (!somebody_below(view_.card(one.portion).priority, victims))
      return false; // nor is there for those who follow
    if (!find_room(one.pods, pods + changed.size(), changed, after))
      return true;
  }
  return false;
}

bool cascade_check::find_room(std::span<const pod_row> pods, std::size_t most,
                              std::span<const node_row> changed, trial& after) {
  for (const auto p : pods) {
    const auto request = view_.requests(p);
    const auto takes = [&](node_row n) { return view_.usable(n) && after.fits(n, request); };
    const auto roomy = roomy_for(request, most);
    auto n = first_of(roomy, takes);
    if (n == no_row)
      n = first_of(changed, takes);
    if (n == no_row)
      return false;
    after.take(n, request);
  }
  return true;
}

std::span<const node_row> cascade_check::roomy_for(amounts request, std::size_t most) {
  auto [at, fresh] = roomy_.try_emplace({request.begin(), request.end()});
  auto& [nodes, sorted] = at->second;
  if (fresh)
    for (node_row n = 0; n < view_.node_rows(); ++n)
      if (view_.present(n) && view_.usable(n) && covers(view_.promised(n), request))
        nodes.push_back(n);
  const auto wanted = std::min(most, nodes.size());
  if (sorted < wanted) {
    const auto begin = nodes.begin() + static_cast<std::ptrdiff_t>(sorted);
    const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(wanted);
    std::ranges::partial_sort(begin, end, nodes.end(), {},
                              [&](node_row n) { return view_.node_name(n); });
    sorted = wanted;
  }
  return std::span{nodes}.first(wanted);
}

bool cascade_check::somebody_below(std::int32_t priority,
                                   std::span<const evicted_portion> victims) const {
  std::int64_t below = 0;
  for (const auto& [present, pods] : pods_by_priority_) {
    if (present >= priority)
      break;
    below += pods;
  }
  for (const auto& one : victims)
    if (view_.card(one.portion).priority < priority)
      below -= std::ssize(one.pods);
  return below > 0;
}

} // namespace reprieve
