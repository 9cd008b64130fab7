#pragma once

#include "actors/simulated/simulated_cluster.hpp"
#include "preemption/snapshot/snapshot.hpp"
#include "state/store/memory/memory_store.hpp"
#include "tests/simulation/client.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/simulation/member.hpp"
#include "tests/simulation/truth.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace reprieve::simulation {

struct simulation_settings {
  std::uint64_t seed = 1;
  std::size_t steps = 2000;
  bool log = false;       ///< print every step
  bool lifecycle = false; ///< every cluster has a group whose cluster counts replicas
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
  void change_things();

  // Stories, of what random steps hardly ever come to.
  void tell_stories();
  void tell_of_returns();
  void tell_of_a_torn_gang();
  void tell_of_a_moving_limit();
  void tell_of_a_late_commit();
  void tell_of_a_lost_pier();
  void tell(const std::function<std::string(member&)>& ask, duration then);
  void move_until(duration longest, const std::function<bool()>& enough);
  std::size_t standing_of(std::string_view workload, bool bound) const;
  bool is_quota_written() const;

  void settle(duration time);
  void come_to_rest();
  bool handle_message();
  bool move_store();
  bool move_letter();
  void pass(duration time);
  bool start_member();
  void lose(member& gone, bool with_its_machine);
  void bury();
  member* newest_live();
  std::vector<member*> those(member::state now);
  std::vector<waiting_actor> waiting();

  // What goes wrong.
  void harm();
  bool repair();
  void cut_a_wire(const member& from, const member& to);
  bool forget_a_machine();
  void handle_orders();

  // What holds at rest.
  void check_rest();
  void check_serving();
  void check_schema();
  void check_holds();
  void check_archive();
  void check_progress(const std::string& group);
  void check_order(const std::string& group, const preemptor& who);
  void check_replicas();
  std::optional<snapshot> look_at(const std::string& group);
  std::string reason_given(const std::string& workload);

  void log(const std::string& line) const;
  std::string text_of(const waiting_actor& one) const;

  simulation_settings settings_;
  dice luck_;
  const cluster_shape shape_;
  truth facts_;
  bool faults_ = true;
  bool healed_ = false;
  std::size_t steps_ = 0;
  duration elapsed_{0};
  duration last_beat_{0}; ///< when machines were last heard
  std::shared_ptr<memory_store> store_;
  std::unique_ptr<watch_handle> records_; ///< of the owners
  wires network_;
  actor_world outside_;
  simulated_cluster_actor machines_;
  std::vector<std::unique_ptr<member>> members_; ///< by generation, from 1 on
  std::unordered_map<const caf::actor_system*, const member*> owners_;
  client people_;
};

} // namespace reprieve::simulation
