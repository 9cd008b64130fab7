#pragma once

#include "actors/gateway/gateway.hpp"

#include <cstddef>
#include <functional>

namespace reprieve {

/// As many entries as one step of a read looks at: some milliseconds' work.
constexpr std::size_t most_looked_at = 5000;

/// Calls `step` until it says that all is done. Whatever else has come is heard before each call,
/// so that heartbeats and changes wait behind one step, however much is to be read.
void read_in_turn(gateway_pointer self, std::function<bool()> step);

} // namespace reprieve
