#pragma once

#include "state/pod_list.hpp"

#include <utility>
#include <vector>

namespace reprieve {

/// What became of a node's pods from one form of its list to the next.
struct pod_changes {
  pod_list shown; ///< the next form as it is shown
  std::vector<pod_list::pointer> changed;
  std::vector<pod_list::pointer> gone;
};

/// Compares two forms, of which the first was shown as `shown`. Pods that are the same object are
/// not looked at, unless all are to be `shown_anew`. `show` makes of a pod what is shown of it.
template <class Show>
pod_changes changes_between(const pod_list& before, const pod_list& shown, const pod_list& next,
                            bool shown_anew, Show show) {
  const auto& old_pods = before.shared();
  const auto& old_shown = shown.shared();
  std::vector<pod_list::pointer> new_shown;
  new_shown.reserve(next.size());
  pod_changes found;
  std::size_t old = 0;
  for (const auto& p : next.shared()) {
    if (old < old_pods.size() && old_pods[old] == p && !shown_anew) {
      new_shown.push_back(old_shown[old++]);
      continue;
    }
    while (old < old_pods.size() && old_pods[old]->what().uid < p->what().uid)
      found.gone.push_back(old_pods[old++]);
    new_shown.push_back(show(p));
    if (old < old_pods.size() && old_pods[old]->what().uid == p->what().uid) {
      if (old_shown[old++]->what() == new_shown.back()->what())
        continue;
    }
    found.changed.push_back(new_shown.back());
  }
  for (; old < old_pods.size(); ++old)
    found.gone.push_back(old_pods[old]);
  found.shown = pod_list{std::move(new_shown)};
  return found;
}

} // namespace reprieve
