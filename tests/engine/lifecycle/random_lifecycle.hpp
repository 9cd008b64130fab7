#pragma once

#include "tests/engine/lifecycle/lifecycle_world.hpp"

#include <cstdint>
#include <string>

/// Worlds for the lifecycle phase drawn by rapidcheck; only while a property runs.
namespace reprieve::tests {

struct lifecycle_traits {
  std::int64_t most_gpus = 4; ///< that a pod asks for
  bool leaving = true;        ///< some pods terminate, are force-deleted, or surplus
  bool immovable = true;      ///< daemons, protected members and those that must run for longer
  bool one_cluster = false;   ///< where everybody may run
};

std::int64_t between(std::int64_t low, std::int64_t high);
bool one_in(std::int64_t n);

/// A few nodes in two clusters, well filled and never overfull. All pods of a deployment are alike.
/// Some deployments lack replicas.
lifecycle_world draw_lifecycle_world(const lifecycle_traits& with);

/// Whether `a` takes its turn before `b`.
bool goes_before(const lifecycle_deployment& a, const lifecycle_deployment& b);

/// What is free on the node, with leaving pods in place.
resources free_on(const lifecycle_world& world, const node& n);
void give(resources& room, const resources& requests);
void take(resources& room, const resources& requests);
bool has(const resources& room, const resources& requests);

/// What must hold of every plan, judged from the objects that went in.
void check(const lifecycle_world& world, const lifecycle_plan& plan);

} // namespace reprieve::tests
