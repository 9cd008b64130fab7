#pragma once

#include "tests/engine/lifecycle/lifecycle_world.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

/// The choice of the lifecycle policy for one pod, once more and by trying everything.
namespace reprieve::tests {

/// Stage, priority, score, creation, name: less is preferred. Surplus is by phase only, so that a
/// pod's stage does not depend on who else goes.
using victim_rank = std::tuple<int, std::int32_t, std::int64_t, time_point::rep, std::string>;

victim_rank rank_of(const lifecycle_world& world, const pod& p, const lifecycle_deployment& who);

/// The worst victim of the best set on any node: without one where nobody has to go, nothing where
/// no set makes room.
std::optional<std::optional<victim_rank>> best_worst_victim(const lifecycle_world& world,
                                                            const lifecycle_deployment& who);

} // namespace reprieve::tests
