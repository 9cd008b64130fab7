#pragma once

#include "state/records/pod_list.hpp"

#include <utility>
#include <vector>

namespace reprieve {

/// What became of a node's pods from one form of its list to the next.
struct pod_changes {
  pod_list shown; ///< the next form as it is shown
  struct change {
    pod_list::pointer before; ///< as it was shown; null for one that is new
    pod_list::pointer now;
  };
  std::vector<change> changed;
  std::vector<pod_list::pointer> gone;
};

/// Compares two forms, of which the first was shown as `shown`. Pods that are the same object are
/// not looked at, unless all are to be `shown_anew`. `show` makes of a pod what is shown of it.
template <class Show>
pod_changes changes_between(const pod_list& before, const pod_list& shown, const pod_list& next,
                            bool shown_anew, Show show) {
  const auto& old_pods = before.shared();
  const auto& old_shown = shown.shared();
  const auto& pods = next.shared();
  pod_changes found;
  // Mostly pods are shown as they are: then the list is, too.
  std::vector<pod_list::pointer> differently;
  bool as_they_are = true;
  const auto add = [&](std::size_t i, pod_list::pointer one) {
    if (as_they_are && one == pods[i])
      return;
    if (std::exchange(as_they_are, false)) {
      differently.reserve(pods.size());
      differently.assign(pods.begin(), pods.begin() + static_cast<std::ptrdiff_t>(i));
    }
    differently.push_back(std::move(one));
  };
  std::size_t old = 0;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const auto& p = pods[i];
    if (old < old_pods.size() && old_pods[old] == p && !shown_anew) {
      add(i, old_shown[old++]);
      continue;
    }
    while (old < old_pods.size() && old_pods[old]->what().uid < p->what().uid)
      found.gone.push_back(old_pods[old++]);
    auto now = show(p);
    const bool known = old < old_pods.size() && old_pods[old]->what().uid == p->what().uid;
    auto shown_before = known ? old_shown[old++] : nullptr;
    if (!known || shown_before->what() != now->what())
      found.changed.push_back({std::move(shown_before), now});
    add(i, std::move(now));
  }
  for (; old < old_pods.size(); ++old)
    found.gone.push_back(old_pods[old]);
  found.shown = as_they_are ? next : pod_list{std::move(differently)};
  return found;
}

} // namespace reprieve
