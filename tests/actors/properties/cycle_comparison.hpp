#pragma once

#include "preemption/snapshot/snapshot_cycle.hpp"
#include "tests/actors/properties/watched_replica.hpp"

#include <string>

namespace reprieve::tests {

/// How often something came about, so that a test that has come to test nothing shows.
struct cycle_tally {
  int cycles = 0;
  int at_rest = 0; ///< in which nothing was decided, so that all reasons are compared
  int placed = 0;
  int preempting = 0;
  int by_quota = 0;   ///< of these, within a queue or between queues
  int taken_back = 0; ///< by queues
  int given_up = 0;
  int groundless = 0;
  int waiting = 0;
  int reserved = 0;
  int disturbed = 0;     ///< that could not be compared
  int counted = 0;       ///< decisions about replica counts
  int scaled_down = 0;   ///< of these, with victims
  int replicas_wait = 0; ///< deployments that do, in cycles
};

/// What `decide --all` says of one resource group, and how what its coordinator did differs from
/// it.
class cycle_comparison {
public:
  cycle_comparison(snapshot taken, const std::string& group, time_point now, cycle_tally& sum);

  /// Empty where the live cycle decided the same: the same decisions in the same order, the same
  /// given up, the same who wait, and why.
  std::string with(coordinator_pointer self, const cycle_seen& live);

private:
  std::string of_groundless(const cycle_seen& live);
  std::string of_taken_back();
  std::string of_turn(const turn_taken& turn);
  std::string of_plan(const turn_taken& turn, const decision& by) const;
  std::string of_reservation(const turn_taken& turn, coordinator_pointer self);
  std::string of_waiting(coordinator_pointer self, const cycle_seen& live);
  std::string of_reasons(coordinator_pointer self);
  std::string of_replicas(coordinator_pointer self, const cycle_seen& live);
  bool is_asleep(const turn_taken& turn) const;

  snapshot taken_;
  plan_settings settings_;
  snapshot_cycle cycle_;
  cycle_tally& sum_;
  std::vector<const decision*> left_; ///< that nothing has accounted for yet, in order
  std::string last_preempting_;       ///< id
};

} // namespace reprieve::tests
