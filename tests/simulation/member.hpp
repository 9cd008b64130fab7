#pragma once

#include "actors/gateway.hpp"
#include "actors/replica.hpp"
#include "tests/simulation/chaotic_store.hpp"
#include "tests/support/actor_world.hpp"

#include <memory>

namespace reprieve::simulation {

/// One process of the scheduler: its actors, its clock and its connection to the store. A crash is
/// a pause without an end: nothing that waits in it has any effect any more.
class member {
public:
  enum class state { live, paused, dead };

  member(int generation, duration born, std::shared_ptr<store> behind,
         chaotic_store::observer carried_out, const cluster_actor& cluster);

  int generation() const {
    return generation_;
  }
  state now() const {
    return now_;
  }
  bool is_live() const {
    return now_ == state::live;
  }

  void crash() {
    now_ = state::dead;
    store_->cut();
  }
  void pause() {
    now_ = state::paused;
  }
  void resume();

  /// Lets time pass; a paused process notices when it goes on.
  void pass(duration time);

  /// Whether it has given up by itself.
  bool ended() const {
    return *ended_;
  }

  actor_world& world() {
    return world_;
  }
  chaotic_store& connection() {
    return *store_;
  }
  const gateway_actor& gateway() const {
    return gateway_;
  }
  /// Asks every shard how many votes it holds; `answer` has their sum once all messages are
  /// through.
  std::shared_ptr<std::size_t> count_holds();

  bool has(const caf::actor_system& system) {
    return &world_.system() == &system;
  }

  /// Ends all its actors; to be called before any of the processes goes.
  void end();

private:
  int generation_;
  state now_ = state::live;
  duration missed_{0};
  std::shared_ptr<bool> ended_ = std::make_shared<bool>(false);
  std::shared_ptr<chaotic_store> store_;
  actor_world world_;
  replica_actor replica_;
  gateway_actor gateway_;
};

} // namespace reprieve::simulation
