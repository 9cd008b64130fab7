#pragma once

#include "state/quantities/resources.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace reprieve {

/// Amounts by resource column of a view.
using amounts = std::span<const std::int64_t>;

/// Whether `room` has all that `request` asks for. A resource that is not asked for never stands in
/// the way, even where the room is below zero.
inline bool covers(amounts room, amounts request) {
  for (std::size_t c = 0; c < request.size(); ++c)
    if (request[c] > 0 && request[c] > room[c])
      return false;
  return true;
}

} // namespace reprieve
