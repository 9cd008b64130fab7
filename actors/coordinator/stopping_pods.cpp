#include "actors/coordinator/stopping_pods.hpp"

namespace reprieve {

void stopping_pods::put(const std::string& uid, std::string node, time_point grace_over) {
  erase(uid);
  told_[uid] = {std::move(node), grace_over};
  in_order_.emplace(grace_over, uid);
}

void stopping_pods::erase(const std::string& uid) {
  const auto found = told_.find(uid);
  if (found == told_.end())
    return;
  in_order_.erase({found->second.grace_over, uid});
  told_.erase(found);
}

stopping_pods::found_stuck stopping_pods::look(time_point now, duration force_delete_after) {
  found_stuck found;
  for (const auto& [grace_over, uid] : in_order_) {
    const auto limit = grace_over + 2 * force_delete_after;
    if (limit > now) {
      found.next = limit;
      break;
    }
    if (stuck_.insert(uid).second)
      found.nodes.push_back(told_.find(uid)->second.node);
  }
  std::erase_if(stuck_, [&](const auto& uid) { return !told_.contains(uid); });
  return found;
}

} // namespace reprieve
