#pragma once

#include "actors/coordinator/group_mirror.hpp"
#include "actors/coordinator/lifecycle_coordination.hpp"
#include "actors/coordinator/shard_inquiries.hpp"
#include "actors/decision/decision_actor.hpp"
#include "actors/interfaces/snapshot_messages.hpp"
#include "preemption/cycle/cycle.hpp"
#include "preemption/problem/plan.hpp"
#include "preemption/problem/preemptor.hpp"
#include "preemption/waiting/unwritten_work.hpp"
#include "state/model/catalog.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// The coordinator's reminder to itself to run a cycle; bursts of changes share one.
struct run_cycle {};

/// The coordinator's reminder to itself that decisions may wait for votes for too long.
struct look_at_votes {};

/// The queue shard is another by now.
struct meet_queues {
  queue_shard_actor shard;
};

/// Asks why a workload waits.
struct why_pending {
  std::string workload;

  bool operator==(const why_pending&) const = default;
};

/// A decision that was open when its owner was lost.
struct open_decision {
  decision what;
  revision head_revision = 0;
  std::uint32_t chunks = 0;
  std::int64_t body_bytes = 0; ///< of the chunks
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::run_cycle)
REPRIEVE_MESSAGE(reprieve::look_at_votes)
REPRIEVE_MESSAGE(reprieve::meet_queues)
REPRIEVE_MESSAGE(reprieve::why_pending)

namespace reprieve {

/// Runs the scheduling cycle of one resource group whenever something has changed: places what
/// fits, preempts for what does not, and hands every plan to a decision of its own.
using coordinator_actor = typed_actor<
  /// From a node shard.
  handles<void(node_delta)>,
  /// From a workload shard.
  handles<void(workload_delta)>,
  /// From the queue shard.
  handles<void(catalog_update)>,
  /// From a decision.
  handles<void(decision_moved)>,
  /// From a decision.
  handles<void(victims_told)>,
  /// From a decision.
  handles<void(decision_ended)>,
  /// From the queue shard: what may be spent.
  handles<void(quota_grants)>,
  /// From the queue shard: agrees to less, as far as it is not spent.
  handles<quota_grants(lower_grants)>,
  /// From the replica.
  handles<void(meet_queues)>,
  /// Answers with the reason of the newest cycle, empty where there is none.
  handles<std::string(why_pending)>,
  /// Answers with all that it decides on.
  handles<read_group_result(read_group)>>;

/// With what the coordinator reminds itself of.
using private_coordinator_actor =
  coordinator_actor::extend<handles<void(run_cycle)>, handles<void(look_at_votes)>>;

struct coordinator_settings {
  std::string resource_group;
  std::shared_ptr<const group_shards> shards;
  queue_shard_actor queues;
  store_actor store;
  ownership_pointer owner;
  event_log_actor events;
  wall_clock clock;
  std::vector<open_decision> open; ///< found in the store; go on from where they stand
  std::vector<std::string> barred; ///< likewise, whose keys nobody needs any more
  /// Of more domains than this, only those that the preemptor gets are told of: what came of each
  /// of very many is too much to write down with every decision.
  std::size_t most_domains_told = 64;
  cluster_actor cluster; ///< that is told counts, where it has a scheduler of its own
};

class live_cycle;

struct coordinator_state {
  static inline const char* name = "coordinator";

  /// Of a unit that was decided for and waits for others to go, and its decision.
  using awaiting_place = std::pair<service_place, std::string>;

  /// A decision under way.
  struct in_flight {
    decision_actor actor;
    decision_phase phase = decision_phase::preparing;
    std::uint64_t planned_at = 0;         ///< the number of changes the plan had seen
    time_point asked = no_time;           ///< for its votes, as soon as it waits for nobody
    bool told = false;                    ///< whether its victims can't come back any more
    bool given_up = false;                ///< it was told to end, and nothing counts on it
    std::set<std::string> after;          ///< decisions that have to be told first
    std::vector<std::string> followed_by; ///< that wait for this one to be told
    std::vector<std::string> awaited_by;  ///< that wait for this one to be given up
    std::vector<std::string> workloads;   ///< whose pods it places
    std::size_t pods = 0;                 ///< that it places
    bool whole = false;                   ///< they are placed together or not at all
    std::vector<std::string> budgets;     ///< that it takes from
    std::set<std::string> queues_freed;   ///< of its victims
    /// Where it stands among those that wait for others to go.
    std::optional<std::pair<std::string, awaiting_place>> awaiting{};
  };

  coordinator_settings settings;
  std::shared_ptr<const catalog> known;
  group_mirror mirror;
  std::map<std::string, in_flight, std::less<>> decisions;
  std::set<std::string, std::less<>> giving_up; ///< those of them that were told to end
  /// Those of them that wait for others to go and may move to free room until then, with the units
  /// they are for, by kind.
  std::map<std::string, std::map<awaiting_place, waiting_unit>> awaiting;
  /// The same actors, to be ended with this one. They are not linked to it: to take one link of
  /// thousands away costs a look at all of them.
  std::shared_ptr<std::map<std::string, decision_actor>> running =
    std::make_shared<std::map<std::string, decision_actor>>();
  /// By workload, of those that were served in the newest cycle; a sentence that nobody needed yet
  /// is empty.
  std::map<std::string, std::string, std::less<>> waiting_because;
  by_name<queue_status> queues;                             ///< as the newest cycle found them
  std::vector<scheduling_cycle::kept_part> kept_for_limits; ///< by that cycle
  struct reservation {
    std::string workload;
    time_point since = no_time;
  };
  std::map<std::string, reservation> reserved;     ///< by uid: since when its required node is
  std::optional<by_name<resources>> grants;        ///< of limits, by queue; not known at first
  std::pair<revision, std::uint64_t> grants_order; ///< the epoch and number that they came with
  time_point grants_due = no_time;   ///< until when those of limits are waited for that came since
  time_point lowering_due = no_time; ///< likewise, where less was agreed to
  quota_report told;                 ///< to the queue shard
  std::set<std::string> seen_shards; ///< that have sent what they hold
  time_point next_retry = no_time;   ///< when a cycle is due for work that backs off
  revision epoch = 0;                ///< in which it was started; its decisions are named by it
  std::uint64_t last_decision = 0;
  /// Decisions that are kept from being committed late, and the owner's epoch that they compared.
  std::map<std::string, revision> barred;
  std::uint64_t changes = 0;
  bool cycle_due = false;
  bool rules_changed = false; ///< since the last cycle
  /// Before the next cycle, after one that came to nothing: longer than that took, so that those
  /// who wait in vain cost no more than a part of the time.
  duration pause{0};
  bool looks_at_votes = false;               ///< whether a reminder is under way
  std::shared_ptr<live_cycle> running_cycle; ///< that waits for answers of shards
  bool lets_others_go = false;               ///< the last was put off until others are told to go
  shard_inquiries inquiries;
  lifecycle_state lifecycle;
  unwritten_work unwritten;
};

/// All shards and the catalog have told what they hold.
bool knows_enough(const coordinator_state& state);

using coordinator_pointer = private_coordinator_actor::stateful_pointer<coordinator_state>;

private_coordinator_actor::behavior_type coordinator(coordinator_pointer self,
                                                     coordinator_settings settings);

} // namespace reprieve
