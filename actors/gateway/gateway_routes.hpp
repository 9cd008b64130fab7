#pragma once

#include "actors/gateway/gateway.hpp"
#include "state/model/unchanged_error.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <string_view>

namespace reprieve {

/// Who serves the resource group; null where nobody does, or not yet.
inline const directory::group* group_named(const gateway_state& state, std::string_view name) {
  if (!state.serving)
    return nullptr;
  const auto found = state.serving->groups.find(name);
  return found == state.serving->groups.end() ? nullptr : &found->second;
}

/// The one of a group's shards that owns the object of this name.
template <class Shards>
const auto& shard_for(const Shards& shards, std::string_view name) {
  return shards[shard_number(name, static_cast<std::uint32_t>(shards.size()))];
}

inline absl::Status starting() {
  return mark_nothing_changed(
    absl::UnavailableError("the replica is starting; try again in a moment"));
}

inline absl::Status not_serving(std::string_view group) {
  return mark_nothing_changed(absl::UnavailableError(
    fmt::format("resource group {} is not served yet; try again in a moment", group)));
}

} // namespace reprieve
