#pragma once

#include "preemption/snapshot/snapshot_cycle.hpp"
#include "tests/simulation/dice.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace reprieve::tests {

/// Queues that share a few nodes, drawn by a seed, with work that asks for more than there is and
/// never ends by itself; and what becomes of them when whatever the cycle decides is carried out:
/// victims take their time to leave, whoever gets their room starts when it is free, and preempted
/// work comes back by the rules of resume, after its pause.
class played_queues {
public:
  explicit played_queues(std::uint64_t seed);

  /// Lets so much time pass.
  void play(duration time);
  /// Somebody changes something: a weight, a limit, or what work there is.
  void change();

  /// A portion that was stopped.
  struct eviction {
    time_point at;
    std::string portion;
    std::string in_favour_of; ///< a workload, or empty where its queue gives it back
    std::string policy;
  };
  const std::vector<eviction>& evictions() const {
    return evictions_;
  }
  time_point now() const {
    return now_;
  }
  /// Decisions that were made for nothing: given up after somebody was told to go for them.
  int in_vain() const {
    return in_vain_;
  }
  /// Work that has waited for others to leave since then and has not started.
  bool anybody_is_nominated() const {
    return !open_.empty();
  }
  std::string story() const;

private:
  void draw_queue(const std::string& name);
  workload draw_work();
  void submit(workload w);
  snapshot taken() const;
  bool run_cycle();
  void carry_out(const snapshot_cycle& cycle);
  void stop(const std::vector<victim>& victims, const std::string& id,
            const std::string& in_favour_of, const std::string& policy);
  bool start_what_has_room();
  bool has_room(const std::string& id) const;
  void let_go();
  time_point next_event() const;

  simulation::dice luck_;
  std::map<std::string, node> nodes_;
  std::map<std::string, queue> queues_;
  by_name<queue_status> standing_;
  std::map<std::string, workload_record> records_;
  std::vector<pod> pods_;
  std::map<std::string, bool>
    open_; ///< decisions that wait for room, and whether they stop anybody
  std::vector<eviction> evictions_;
  time_point now_{std::chrono::hours{1000}};
  int named_ = 0;
  int decided_ = 0;
  int in_vain_ = 0;
};

} // namespace reprieve::tests
