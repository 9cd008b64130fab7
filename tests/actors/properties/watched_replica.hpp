#pragma once

#include "actors/coordinator/coordinator.hpp"
#include "actors/coordinator/scheduling_cycle.hpp"
#include "actors/replica/directory.hpp"
#include "state/records/cluster_snapshot.hpp"
#include "state/store/memory/memory_store.hpp"
#include "tests/actors/properties/drawn_site.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/support/actor_world.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace reprieve::tests {

/// What a coordinator decided in one cycle.
struct cycle_seen {
  std::vector<decision> decisions;            ///< in order of their ids
  std::vector<std::string> given_up;          ///< earlier decisions
  std::map<std::string, std::string> waiting; ///< workloads, and why, where that was said
  bool undisturbed = true; ///< whether it heard of nothing new while it waited for shards
};

/// A whole replica with machines, whose actors get their messages in an order that a seed decides,
/// and whose coordinators are looked at before and after each of their cycles.
class watched_replica {
public:
  /// Is told of a cycle that is about to begin, and answers with what to do when it is through.
  using after_cycle = std::function<void(coordinator_pointer, const cycle_seen&)>;
  using watcher =
    std::function<after_cycle(coordinator_pointer, std::shared_ptr<const cluster_snapshot>)>;

  watched_replica(std::uint32_t shards, std::uint64_t seed, watcher told);
  ~watched_replica();
  watched_replica(const watched_replica&) = delete;
  watched_replica& operator=(const watched_replica&) = delete;

  /// Asks for the change, and lets the time pass that comes before the next.
  void make(const site_change& change);

  /// What went wrong beside the cycles, empty where nothing did.
  const std::string& trouble() const {
    return trouble_;
  }

private:
  bool step();
  void settle();
  void pass(duration time);
  void find_directory();
  template <class Reply, class Message>
  void ask(Message message);
  coordinator_pointer coordinator_of(const std::string& group) const;
  std::shared_ptr<const cluster_snapshot> read_all(coordinator_pointer about_to_decide) const;
  void watch_cycle(std::size_t position, coordinator_pointer self);
  bool step_for_answers(coordinator_pointer self, cycle_seen& seen);
  void begin_decision(const decision_actor& whom);

  simulation::dice luck_;
  watcher told_;
  std::shared_ptr<memory_store> store_ = std::make_shared<memory_store>();
  std::shared_ptr<faulty_store> door_;
  actor_world world_;
  cluster_actor machines_;
  replica_actor replica_;
  gateway_actor gateway_;
  std::shared_ptr<const directory> serving_;
  std::string trouble_;
};

} // namespace reprieve::tests
