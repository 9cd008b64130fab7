#pragma once

#include "actors/coordinator/coordinator.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace reprieve {

/// How long the coordinator lets pass before it tries again what found no answer.
inline constexpr std::chrono::seconds cycle_retry_delay{1};

/// Whether it knows enough, and what it may spend of limits as far as that is about to be told.
bool may_run_cycle(coordinator_pointer self);

/// Has a cycle run after a while.
void cycle_after(coordinator_pointer self, duration delay);

/// Something has changed: a cycle runs soon, and changes that come meanwhile share it.
void wake(coordinator_pointer self);

/// Has a cycle run at that time. One timer is enough: the earliest brings a cycle that sets the
/// next.
void try_again_at(coordinator_pointer self, time_point when);

/// Has the coordinator look for votes that do not come.
void look_at_votes_later(coordinator_pointer self);

std::string new_decision_id(coordinator_state& state);

/// Hands a plan to a decision of its own; the mirror shows its effect from now on. It asks for
/// votes when the victims of those others are told.
void launch(coordinator_pointer self, decision_settings settings, std::set<std::string> after = {});

/// Has the decision given up, if that is still possible; the mirror shows it as given up from now
/// on.
void give_up(coordinator_pointer self, const std::string& id, std::string reason);
/// A decision that places so many pods of these can't be written: they are decided for apart from
/// others, and what can't be written even so is put aside, of which `explain` tells.
void put_aside(coordinator_pointer self, std::span<const std::string> workloads, std::size_t pods,
               bool whole, std::string_view why);
/// The decision's unit does not move to free room any more.
void await_no_more(coordinator_state& state, const std::string& id);

/// Asks all node shards, and calls `then` when their answers are among the inquiries.
void ask_shards(coordinator_pointer self, evaluation_request wanted, std::function<void()> then);

/// The queues with the group's part of their limits, and what its pods use in them.
queue_stage_input queues_of_group(coordinator_state& state);

/// Runs a lifecycle cycle, where the group has that policy and nothing of the last one is under
/// way.
void run_lifecycle(coordinator_pointer self);

/// The counts that the decision changes are known by now, or stay as they were: the cluster is told
/// them. False where it changes none.
bool end_counting(coordinator_pointer self, const std::string& decision);

/// Tells the node shards what the group's settings say.
void tell_group_limits(coordinator_pointer self);

/// Runs the cycle: whoever waits takes what is free, else preempts, else waits.
void serve_all(coordinator_pointer self);

/// Why the workload waits; empty where it does not. The sentence is made now, where the cycle that
/// found nothing for it did not need one.
std::string why_waits(coordinator_pointer self, const std::string& workload);

} // namespace reprieve
