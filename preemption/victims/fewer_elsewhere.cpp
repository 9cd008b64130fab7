#include "preemption/victims/fewer_elsewhere.hpp"

#include <algorithm>

namespace reprieve {

fewer_elsewhere::fewer_elsewhere(const problem& given) : given_(given), room_(given) {}

std::string_view fewer_elsewhere::find(const domain_room& where,
                                       std::span<const portion_row> victims) {
  const auto& view = given_.view;
  if (victims.size() < 2)
    return {};
  others_.clear();
  for (const auto portion : victims)
    for (const auto p : view.pods_of(portion))
      if (const auto n = view.node_of(p); where.position_of(n) == no_row)
        others_.push_back(n);
  std::ranges::sort(others_);
  others_.erase(std::ranges::unique(others_).begin(), others_.end());
  if (!given_.who.gang) {
    std::ranges::sort(others_, {}, [&](node_row n) { return view.node_name(n); });
    for (const auto& n : others_)
      if (view.usable(n) && given_.filter.suits_any_group(n) && some_are_enough({&n, 1}, victims))
        return view.node_name(n);
    return {};
  }
  if (others_.empty() || topology_keys_of(given_.who).empty())
    return {};
  if (!domains_)
    domains_.emplace(domain_set::for_gang(given_));
  for (const auto& one : domains_->all())
    if (std::ranges::any_of(one.nodes,
                            [&](node_row n) { return std::ranges::binary_search(others_, n); })
        && some_are_enough(one.nodes, victims))
      return one.name;
  return {};
}

bool fewer_elsewhere::some_are_enough(std::span<const node_row> nodes,
                                      std::span<const portion_row> victims) {
  room_.start(nodes, domain_room::basis::promised);
  for (const auto p : victims)
    room_.vacate(p);
  return room_.fits() && std::ranges::any_of(victims, [&](portion_row p) {
           room_.occupy(p);
           const bool stays = room_.fits();
           if (!stays)
             room_.vacate(p);
           return stays;
         });
}

} // namespace reprieve
