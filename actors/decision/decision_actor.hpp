#pragma once

#include "actors/decision/decision_states.hpp"
#include "actors/durability/store_actor.hpp"
#include "actors/interfaces/decision_protocol.hpp"
#include "actors/interfaces/event_log.hpp"
#include "actors/node_shard/node_shard.hpp"
#include "actors/queue_shard/queue_shard.hpp"
#include "actors/workload_shard/workload_shard.hpp"
#include "observability/tracing.hpp"
#include "state/model/decision.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// The shards of one resource group, by shard number, and the queue shard.
struct group_shards {
  std::vector<node_shard_actor> nodes;
  std::vector<workload_shard_actor> workloads;
  std::vector<ownership_pointer> node_owners;     ///< who owns them, by number
  std::vector<ownership_pointer> workload_owners; ///< by number, too
};

/// A decision is in its next phase.
struct decision_moved {
  std::string id;
  decision_phase phase = decision_phase::preparing;
};

/// All victims of a decision are told, so that they can't come back.
struct victims_told {
  std::string id;
};

/// A decision is over: done, or aborted for the reason in `how`.
struct decision_ended {
  std::string id;
  absl::Status how;
  bool barred = false; ///< its commit or abort may still arrive; a key is left that keeps it out
};

/// Give the decision up if that is still possible.
struct cancel_decision {
  std::string reason;
};

/// Those whose victims' room the decision counts on are told: it may ask for its votes.
struct begin_votes {};

/// Whoever has not voted by now is not waited for.
struct votes_due {};

/// The decision's reminder to itself that it may try again what it is at.
struct retry_step {};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::decision_moved)
REPRIEVE_MESSAGE(reprieve::victims_told)
REPRIEVE_MESSAGE(reprieve::decision_ended)
REPRIEVE_MESSAGE(reprieve::cancel_decision)
REPRIEVE_MESSAGE(reprieve::begin_votes)
REPRIEVE_MESSAGE(reprieve::votes_due)
REPRIEVE_MESSAGE(reprieve::retry_step)

namespace reprieve {

using decision_owner_actor = typed_actor<handles<void(decision_moved)>, handles<void(victims_told)>,
                                         handles<void(decision_ended)>>;

/// Lives as long as one decision and owns its trace: prepare, commit, apply and actuate, start, or
/// abort (docs/protocol.md#two-phase-commit).
using decision_actor = typed_actor<
  /// From a node shard: the decision's room there is free.
  handles<void(room_free)>,
  /// From the coordinator: the preemptor is gone, or the placement can't be had any more.
  handles<void(cancel_decision)>,
  /// From the coordinator, to a decision that waits for others.
  handles<void(begin_votes)>,
  /// From the coordinator.
  handles<void(votes_due)>>;

/// What the decision itself hears beside that.
using running_decision_actor = decision_actor::extend<handles<void(retry_step)>>;

struct decision_settings {
  reprieve::decision decision; ///< without its assignments
  pod_pointers placed;         ///< the pods of these
  node_parts parts;            ///< what it does by node
  /// Whether the store has it already: its owner was replaced, and it continues from its phase.
  bool recovered = false;
  bool waits_for_others = false;    ///< does nothing before `begin_votes`
  bool whole = false;               ///< its pods are placed together or not at all
  revision head_revision = 0;       ///< of its key, where it is recovered
  std::uint32_t chunks = 0;         ///< in which its content stands, where it is recovered
  std::int64_t body_bytes = 0;      ///< of these
  std::vector<budget_part> budgets; ///< what it takes from them; not known of one recovered
  std::map<std::string, std::int64_t>
    generations; ///< of the workloads placed, as the plan saw them
  std::shared_ptr<const group_shards> shards;
  store_actor store;
  ownership_pointer ground; ///< of the coordinator
  decision_owner_actor owner;
  event_log_actor events;
  wall_clock clock;
};

struct decision_actor_state {
  static inline const char* name = "decision";

  decision_settings settings;
  decision_state at = decision_state::launched;
  std::optional<std::string> cancel_reason;          ///< of one that was cancelled
  absl::Status why_aborted;                          ///< where that is written
  span whole;                                        ///< from the plan to the end
  span step;                                         ///< the step under way
  std::map<std::uint32_t, node_parts> nodes;         ///< by shard number
  std::map<std::uint32_t, workload_parts> workloads; ///< by shard number
  std::set<std::string> no_room_yet;                 ///< shards
  /// The epochs of the owners of all shards that were asked for a vote, from before they were: a
  /// vote does not outlast its shard's owner.
  std::map<std::string, revision> epochs; ///< by owner key
  std::string unwritten_body;             ///< where one chunk holds all, until the store has it
  bool is_draft = false;                  ///< chunks are written, and the key may not be
  /// Writes that may arrive at any time, or never, wherever the decision stands by then: the
  /// commit, and an abort that makes its key.
  bool commit_may_arrive = false;
  bool abort_may_arrive = false;
};

using decision_pointer = running_decision_actor::stateful_pointer<decision_actor_state>;

running_decision_actor::behavior_type run_decision(decision_pointer self,
                                                   decision_settings settings);

} // namespace reprieve
