#pragma once

#include "actors/gateway/gateway.hpp"
#include "actors/replica/replica.hpp"
#include "actors/simulated/simulated_cluster.hpp"
#include "testbed/stored/counting_store.hpp"
#include "testbed/stored/stored_cluster.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace reprieve {

/// What the cluster that runs the pods was told, counted on its actor's thread.
struct order_counts {
  std::atomic<std::size_t> started = 0;
  std::atomic<std::size_t> running = 0;
  std::atomic<std::size_t> stopping = 0;
  std::atomic<std::size_t> stopped = 0;

  void count(const simulated_journal::entry& life);
};

/// One replica with all that it needs, on any scheduler.
struct whole_replica {
  /// Its store is in memory and holds a cluster that is made up.
  whole_replica(caf::actor_system& system, const stored_cluster& made_up, wall_clock time);

  /// Its store is given, and holds what it holds.
  whole_replica(caf::actor_system& system, std::shared_ptr<store> holding, wall_clock time);

  /// Waits until it serves; not for a scheduler that stands still by itself.
  absl::Status start(caf::actor_system& system) const;

  /// Waits until the count is reached, for a minute at most without any progress.
  static bool reaches(const std::atomic<std::size_t>& count, std::size_t wanted);

  /// Waits until nothing is written any more.
  void wait_until_quiet() const;

  void stop() const;

  /// So many workloads of one pod each, named `prefix` and a number, so many with each request.
  static std::vector<apply_request> workloads(std::string_view prefix, std::size_t count,
                                              std::int32_t priority, std::size_t at_once = 1000);
  void submit(std::vector<apply_request> requests) const;
  /// Has the workloads deleted that these requests have made.
  void take_back(const std::vector<apply_request>& requests) const;

  std::shared_ptr<counting_store> behind;
  order_counts told;
  /// Called with every stage of a pod's life, on the thread of the cluster's actor; to be set while
  /// nothing happens.
  std::function<void(const simulated_journal::entry&)> watched;
  cluster_actor cluster;
  replica_actor member;
  gateway_actor front;
};

/// So many threads; those that have nothing to do sleep until they have, while those that steal
/// work would look for it.
caf::actor_system_config& with_threads(caf::actor_system_config& config, std::size_t threads);

} // namespace reprieve
