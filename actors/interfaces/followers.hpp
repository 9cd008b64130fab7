#pragma once

#include "actors/caf.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace reprieve {

/// Adds one who is told of changes from now on, until it ends; `drop_follower` stands in the down
/// handler of `self`. Whoever asks twice is told once.
template <class Self, class Follower>
void add_follower(Self self, std::vector<Follower>& to, Follower who) {
  if (std::ranges::find(to, who) != to.end())
    return;
  self->monitor(who);
  to.push_back(std::move(who));
}

template <class Follower>
void drop_follower(std::vector<Follower>& from, const caf::down_msg& down) {
  std::erase_if(from, [&](const Follower& one) { return one.address() == down.source; });
}

} // namespace reprieve
