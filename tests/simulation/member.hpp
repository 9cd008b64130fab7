#pragma once

#include "actors/gateway/gateway.hpp"
#include "actors/replica/replica.hpp"
#include "protocol/peers/peer_session.hpp"
#include "tests/simulation/chaotic_store.hpp"
#include "tests/simulation/wires.hpp"
#include "tests/support/actor_world.hpp"

#include <memory>
#include <string>

namespace reprieve::simulation {

/// What is the same for all processes of one cluster.
/// A resource group whose cluster has a scheduler of its own (docs/policies.md#lifecycle).
inline constexpr const char* counted_group = "counted";

/// What there is more of than usual.
enum class mood {
  plain,
  sharing, ///< resource groups that share limits, which move between them
  crowded, ///< victims that take long to go, beside others who are evicted again meanwhile
};

struct cluster_shape {
  mood now = mood::plain;
  int replicas = 1; ///< that should run
  std::uint32_t node_shards = 3;
  std::uint32_t workload_shards = 2;
  duration lease_time{std::chrono::seconds{5}};
  std::int64_t nodes_per_replica = 50'000;
  batch_limits batches;
  std::vector<std::string> groups{"default"}; ///< of resources
  /// What the oldest of the programs know that are started before everything heals: where it is
  /// less than what the others know, they are exchanged one by one.
  std::int32_t oldest_schema = schema_version;
};

/// Where a process runs.
struct surroundings {
  duration now{0};                      ///< since the simulation began
  std::int32_t schema = schema_version; ///< that its program knows
  std::shared_ptr<store> behind;
  std::function<duration()> clock;
  chaotic_store::observer carried_out;
  cluster_actor cluster;
  wires& network;
};

/// One process of the scheduler: its actors, its clock and its connection to the store. A crash is
/// a pause without an end: nothing that waits in it has any effect any more.
class member {
public:
  enum class state { live, paused, dead };

  /// The `generation`-th of all that were started.
  member(int generation, std::string name, const cluster_shape& shape, surroundings at);

  int generation() const {
    return generation_;
  }
  std::int32_t schema() const {
    return schema_;
  }
  const std::string& name() const {
    return name_;
  }
  state now() const {
    return now_;
  }
  bool is_live() const {
    return now_ == state::live;
  }

  /// For good, or with its machine, of which nobody hears any more.
  void crash(bool with_its_machine);
  void pause();
  void resume();
  /// Asks it to hand over what it owns and to end.
  void stop();
  bool is_leaving() const {
    return leaving_;
  }

  /// Has a shard, a coordinator or one that speaks for another's end by a mistake. Says which.
  std::string lose_an_actor(dice& luck, bool a_coordinator = false);

  /// Likewise the one that decides for the resource group.
  void lose_coordinator(const std::string& group);

  /// Lets time pass; a paused process notices when it goes on.
  void pass(duration time);

  /// Whether it has given up by itself, or has handed over.
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

  /// Who serves what, as this process last told; null at first.
  const directory* serving() const {
    return serving_->get();
  }
  /// Asks every shard how many votes it holds; `answer` has their sum once all messages are
  /// through.
  std::shared_ptr<std::size_t> count_holds();

  /// Ends all its actors; to be called before any of the processes goes.
  void end();

private:
  int generation_;
  std::int32_t schema_;
  std::string name_;
  state now_ = state::live;
  bool leaving_ = false;
  duration missed_{0};
  std::shared_ptr<bool> ended_ = std::make_shared<bool>(false);
  std::shared_ptr<std::shared_ptr<const directory>> serving_ =
    std::make_shared<std::shared_ptr<const directory>>();
  std::shared_ptr<chaotic_store> store_;
  wires& network_;
  std::shared_ptr<peer_host> host_ = std::make_shared<peer_host>();
  actor_world world_;
  replica_actor replica_;
  gateway_actor gateway_;
  directory_follower_actor follower_;
};

} // namespace reprieve::simulation
