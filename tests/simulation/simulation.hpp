#pragma once

#include "actors/simulated_cluster.hpp"
#include "preemption/plan.hpp"
#include "state/memory_store.hpp"
#include "tests/simulation/client.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/simulation/member.hpp"
#include "tests/simulation/truth.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace reprieve::simulation {

struct simulation_settings {
  std::uint64_t seed = 1;
  std::size_t steps = 2000;
  bool log = false; ///< print every step
};

/// A whole cluster on one thread: processes of the scheduler, their store, the machines and the
/// people, in virtual time. Which message is handled next, what the store does with a call, who
/// crashes or stalls and when: the seed says all of it, so that a run can be had again.
class simulation {
public:
  explicit simulation(const simulation_settings& settings);
  ~simulation();
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  /// What was not as it must be; empty where all was well.
  std::string run();

  const truth::counters& counted() const {
    return facts_.counted();
  }

private:
  /// An actor that has a message, in the scheduler of one of the worlds.
  struct waiting_actor {
    actor_world* in = nullptr;
    std::size_t position = 0;
    const member* owner = nullptr; ///< none: the machines
  };

  void step();
  void heal();
  void check_holds();
  void check_progress();
  bool is_granted(const std::string& queue, const plan& made) const;
  std::string reason_given(const std::string& workload);
  bool handle_message();
  bool move_store();
  void pass(duration time);
  void harm();
  void start_member();
  member* newest_live();
  std::vector<waiting_actor> waiting();
  void log(const std::string& line) const;
  std::string text_of(const waiting_actor& one) const;

  simulation_settings settings_;
  dice luck_;
  truth facts_;
  bool faults_ = true;
  std::size_t steps_ = 0;
  duration elapsed_{0};
  std::shared_ptr<memory_store> store_;
  actor_world outside_;
  cluster_actor machines_;
  std::vector<std::unique_ptr<member>> members_;
  client people_;
};

} // namespace reprieve::simulation
