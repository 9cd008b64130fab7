#pragma once

#include "actors/replica/directory.hpp"
#include "state/store/memory/memory_store.hpp"
#include "tests/actors/properties/cluster_records.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/support/actor_world.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace caf {
class scheduled_actor;
} // namespace caf

namespace reprieve::tests {

/// A whole replica that finds a cluster in its store, and whose actors get their messages in an
/// order that a seed decides. Messages of one actor to another keep theirs.
class shuffled_replica {
public:
  struct settings {
    std::uint32_t shards = 1;
    std::uint64_t seed = 0;
    std::size_t most_domains_told = 64;
    /// Whether decisions go on while the cycle that makes them goes on as well; else they begin
    /// when it has ended.
    bool decisions_at_once = false;
    /// Comes to its shard about when the cycle begins.
    std::optional<admitted> change{};
  };

  shuffled_replica(const cluster_records& of, const settings& with);
  ~shuffled_replica();
  shuffled_replica(const shuffled_replica&) = delete;
  shuffled_replica& operator=(const shuffled_replica&) = delete;

  /// Runs the first scheduling cycle to its end, and then its decisions as far as they go without
  /// any time passing.
  void run_first_cycle();

  /// Of those workloads that wait, why.
  const std::map<std::string, std::string>& waiting() const {
    return waiting_;
  }
  /// What the coordinator decided, in order.
  const std::map<std::string, decision>& launched() const {
    return launched_;
  }
  /// What the votes were that ended decisions.
  const std::map<std::string, absl::Status>& refused() const {
    return refused_;
  }
  /// What the store has of decisions.
  std::map<std::string, decision> stored();

  /// When the cycle began.
  time_point cycle_began() const {
    return cycle_began_;
  }
  /// How many messages asked a shard what it has for a preemptor.
  std::size_t questions() const {
    return questions_;
  }
  /// Whether the coordinator knew of the change when it decided for a single unit: when the cycle
  /// began, or when the last shard had answered.
  bool knew_of_change() const {
    return knew_at_last_;
  }
  /// Whether it was told after it had asked, and before the last answer.
  bool was_told_meanwhile() const {
    return knew_at_last_ && !knew_at_first_;
  }

private:
  bool may_go_on(std::size_t position);
  bool step();
  void note(caf::scheduled_actor& next);
  void note_for_coordinator(caf::scheduled_actor& next);
  void settle();
  void find_directory();
  void send_change();
  void ask_why();
  std::vector<key_value> read(std::string prefix);

  settings with_;
  const cluster_records& of_;
  simulation::dice luck_;
  std::shared_ptr<memory_store> store_;
  std::shared_ptr<faulty_store> door_; ///< between the replica and its store
  actor_world world_;
  cluster_actor machines_;
  replica_actor replica_;
  bool hold_decisions_ = true;
  bool cycle_ran_ = false;
  std::size_t questions_ = 0;
  time_point cycle_began_ = no_time;
  bool change_sent_ = false;
  bool heard_of_change_ = false;
  bool knew_at_first_ = false;
  bool knew_at_last_ = false;
  std::shared_ptr<const directory> serving_;
  std::map<std::string, std::string> waiting_;  ///< by workload
  std::set<caf::actor_id> begun_;               ///< decisions
  std::map<std::string, decision> launched_;    ///< by id
  std::map<std::string, absl::Status> refused_; ///< likewise
};

} // namespace reprieve::tests
