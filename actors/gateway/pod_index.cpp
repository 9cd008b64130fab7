#include "actors/gateway/pod_index.hpp"

#include <algorithm>

namespace reprieve {

void pod_index::replace(const pod_list& before, const pod_list& after) {
  auto old = before.shared().begin();
  const auto end = before.shared().end();
  for (const auto& p : after.shared()) {
    while (old != end && *old != p && (*old)->what().uid < p->what().uid)
      remove(*old++);
    if (old == end || (*old)->what().uid != p->what().uid)
      put(p);
    else if (const auto& was = *old++; was != p) {
      put(p);
      remove(was);
    }
  }
  while (old != end)
    remove(*old++);
}

const pod_index::pods& pod_index::of(std::string_view workload) const {
  static const pods none;
  const auto found = by_workload_.find(workload);
  return found == by_workload_.end() ? none : found->second;
}

std::vector<pod_list::pointer> pod_index::named(std::string_view pod) const {
  std::vector<pod_list::pointer> found;
  for (auto end = pod.find('-'); end != std::string_view::npos; end = pod.find('-', end + 1))
    std::ranges::copy_if(of(pod.substr(0, end)), std::back_inserter(found),
                         [&](const auto& p) { return p->what().name == pod; });
  return found;
}

void pod_index::put(const pod_list::pointer& p) {
  by_workload_[p->what().workload].insert(p);
}

void pod_index::remove(const pod_list::pointer& p) {
  const auto found = by_workload_.find(p->what().workload);
  if (found == by_workload_.end())
    return;
  found->second.erase(p);
  if (found->second.empty())
    by_workload_.erase(found);
}

} // namespace reprieve
