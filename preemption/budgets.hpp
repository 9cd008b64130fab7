#pragma once

#include "state/cluster_view.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace reprieve {

/// For each of `portions`, how many of its pods, wherever they run, go beyond what a budget allows
/// when it goes after all those before it.
std::vector<std::int64_t> pods_over_budget(const cluster_view& view,
                                           std::span<const portion_row> portions);

} // namespace reprieve
