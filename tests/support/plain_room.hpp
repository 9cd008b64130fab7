#pragma once

#include "state/view/cluster_view.hpp"

namespace reprieve {

// Room as plain sums, for tests that compute again what the view and the engine say.

/// What a node has; it is not limited in the number of pods unless it says so.
inline resources room_of(const node& n) {
  auto room = n.capacity;
  room.try_emplace(std::string(resource::pods), unlimited_pods);
  return room;
}

/// What a pod takes: one of `pods` besides what it asks for.
inline resources taken_by(resources requests) {
  ++requests[std::string(resource::pods)];
  return requests;
}

/// Takes what a pod takes if it is there.
inline bool take(resources& room, const resources& requests) {
  const auto wanted = taken_by(requests);
  for (const auto& [name, value] : wanted)
    if (value > amount_of(room, name))
      return false;
  for (const auto& [name, value] : wanted)
    room[name] -= value;
  return true;
}

} // namespace reprieve
