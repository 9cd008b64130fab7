#pragma once

#include "state/model/placement.hpp"
#include "state/model/pod.hpp"
#include "state/model/portion.hpp"
#include "state/quantities/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprieve {

/// Where a decision stands in the two-phase, delayed-actuation commit
/// (docs/protocol.md#two-phase-commit).
enum class decision_phase { preparing, committed, starting, done, aborted };

/// A pod of the preemptor and the node it gets.
struct assignment {
  pod placed; ///< as it will stand in the node record, node included

  bool operator==(const assignment&) const = default;
};

struct victim_pod {
  std::string uid;
  std::string node;

  bool operator==(const victim_pod&) const = default;
};

/// A portion that goes, whole, wherever its pods run.
struct victim {
  portion_id portion;
  std::int32_t priority = 0;
  bool violates_budget = false;
  std::int64_t work_lost = 0; ///< GPU-seconds since the last checkpoint
  std::vector<victim_pod> pods;
  std::string reason;
  /// A replica that its cluster counts, so that no place in its workload goes with it.
  bool counted = false;
  /// Nobody stops it: its deployment is scaled down, and the cluster chooses who goes.
  bool expected = false;

  bool operator==(const victim&) const = default;
};

/// What a decision does to a placement.
struct count_change {
  std::string placement;
  std::string deployment;
  std::string cluster;
  std::int32_t from = 0; ///< committed replicas; 0 where there is no such placement yet
  std::int32_t to = 0;
  bool preempted = false; ///< from now on, as in `placement`
  std::vector<nominated_room> nominations;

  bool operator==(const count_change&) const = default;
};

/// A candidate that stays after all, or was never one, and why.
struct spared {
  portion_id portion;
  std::int32_t priority = 0;
  std::string reason;

  bool operator==(const spared&) const = default;
};

/// What tells victims of one priority apart: groups stay before single pods, more pods before
/// fewer, and who has run for longer before others.
struct importance {
  bool group = false;
  std::int64_t pods = 0;
  time_point start = no_time;

  bool operator==(const importance&) const = default;
};

/// The order of docs/policies.md#workload-aware step 9, best first when compared field by field.
struct score {
  std::int64_t budget_violations = 0;
  std::int32_t highest_victim_priority = 0;
  bool cascades = false;
  std::int64_t priority_sum = 0; ///< of (priority + 2^31) over all pods that go
  std::int64_t pods = 0;
  importance most_important;  ///< of those who go
  std::int64_t work_lost = 0; ///< GPU-seconds
  time_point earliest_start_of_most_important = no_time;

  bool operator==(const score&) const = default;
};

/// One domain that was tried and how it ended.
struct domain_outcome {
  std::string domain;
  bool feasible = false;
  bool chosen = false;
  std::string reason;         ///< why it lost, or won
  std::string short_resource; ///< what fell short, where infeasible
  std::int64_t short_by = 0;
  std::optional<std::int32_t> threshold;
  std::int64_t victims = 0;
  score scored;

  bool operator==(const domain_outcome&) const = default;
};

/// All that `explain` tells.
struct reasoning {
  std::string summary;
  std::optional<std::int32_t> threshold; ///< N: nothing above it was touched
  std::vector<domain_outcome> domains;
  std::vector<spared> reprieved;
  std::vector<spared> passed_over;
  bool budget_reached = false; ///< best found so far when the search budget ended
  bool proved_least = false;   ///< no set of victims is better, by all that scores count
  std::int64_t fewest_pods =
    0; ///< otherwise: on these nodes no fewer have to go, as far as is known

  bool operator==(const reasoning&) const = default;
};

/// W3C trace context, so that a decision's trace survives its process.
struct trace_context {
  std::string traceparent;
  std::string tracestate;

  bool operator==(const trace_context&) const = default;
};

/// A preemption, or a batch of plain placements.
struct decision {
  std::string id;
  std::string resource_group;
  std::vector<std::string> workloads; ///< whom it places; one, where there are victims
  std::string queue;                  ///< that gives up what it used, where nobody is placed
  std::int32_t priority = 0;          ///< of the preemptor
  std::string policy;
  decision_phase phase = decision_phase::preparing;
  std::vector<assignment> assignments;
  std::vector<victim> victims;
  std::vector<count_change> counts;      ///< of replicas (docs/policies.md#lifecycle)
  std::vector<victim_pod> force_deletes; ///< pods that leave, and are not given more time
  reasoning why;
  score scored;
  time_point decided = no_time;
  time_point committed = no_time;
  time_point ended = no_time;
  std::string abort_reason;
  bool victims_told = false; ///< when it was aborted: they go although it does not
  /// Its room was free when it was decided: the commit is its start, and nothing is nominated.
  bool at_once = false;
  trace_context trace;

  bool operator==(const decision&) const = default;
};

} // namespace reprieve
