#pragma once

#include "actors/durability/hold_book.hpp"
#include "actors/durability/ledger.hpp"
#include "actors/interfaces/decision_protocol.hpp"
#include "actors/interfaces/followers.hpp"
#include "actors/interfaces/node_delta.hpp"
#include "actors/interfaces/record_table.hpp"
#include "state/admission/admission.hpp"
#include "state/containers/name_map.hpp"
#include "state/model/disruption_budget.hpp"
#include "state/model/placement.hpp"
#include "state/records/set_aside.hpp"
#include "state/records/workload_record.hpp"
#include "state/view/budget_count.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// What is other in the pages of a workload's slots than in the record before.
struct slot_page_changes {
  std::string workload;
  std::vector<std::shared_ptr<const slot_page>> changed;
  std::vector<std::uint32_t> gone; ///< their numbers

  bool operator==(const slot_page_changes& other) const {
    return workload == other.workload && gone == other.gone
           && std::ranges::equal(changed, other.changed,
                                 [](const auto& a, const auto& b) { return *a == *b; });
  }
};

/// Changes of a shard's durable workloads, budgets and placements, numbered without gaps.
struct workload_delta {
  std::string shard;
  std::uint64_t number = 0;
  std::vector<std::shared_ptr<const workload_record>> changed;
  std::vector<std::string> removed;
  std::vector<disruption_budget> budgets;
  std::vector<std::string> removed_budgets;
  std::vector<placement> placements;
  std::vector<std::string> removed_placements;
  bool everything = false; ///< what a follower gets first
  bool of_bundle = false;  ///< other shards have parts of the same change
  /// Of large workloads among those changed, between replicas: their records come without slots.
  std::vector<slot_page_changes> pages{};
  /// With everything: what can't be read. What changes or goes can be.
  std::vector<set_aside> aside{};
};

/// Admitted workloads, budgets and placements.
struct put_workloads {
  std::vector<std::shared_ptr<const admitted>> objects;
  revision known_at = 0; ///< of the catalog that they were let in by; 0 where nobody knows
  std::vector<apply_outcome> told{}; ///< what becomes of each; it is refused where that is not so

  bool operator==(const put_workloads& other) const {
    return known_at == other.known_at && told == other.told
           && std::ranges::equal(objects, other.objects,
                                 [](const auto& a, const auto& b) { return *a == *b; });
  }
};

/// Workloads are marked as deleting and go when their pods have gone; the rest goes at once.
struct remove_workloads {
  object_kind kind = object_kind::workload;
  std::vector<std::string> names;

  bool operator==(const remove_workloads&) const = default;
};

/// The workloads were being deleted and none of their pods is left.
struct forget_workloads {
  std::vector<std::string> names;

  bool operator==(const forget_workloads&) const = default;
};

/// A pod ended by itself.
struct slot_ended {
  std::string workload;
  pod_slot slot;
  std::uint32_t incarnation = 0;
  slot_state how = slot_state::succeeded;
  bool lost = false;      ///< with its node; whether it comes back, its workload says
  std::string node{};     ///< that it was lost with
  bool forgotten = false; ///< that node's machine does not know it any more

  bool operator==(const slot_ended&) const = default;
};

struct slots_ended {
  std::vector<slot_ended> ends;

  bool operator==(const slots_ended&) const = default;
};

/// What placements are to remember, and how many pods their cluster has assigned; what they have
/// committed is for decisions to say.
struct note_placements {
  std::vector<placement> placements;

  bool operator==(const note_placements&) const = default;
};

/// The node shards of the same resource group, whose pods budgets count.
struct meet_nodes {
  std::vector<node_feed_actor> shards;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::workload_delta)

namespace reprieve {

using workload_follower_actor = typed_actor<handles<void(workload_delta)>>;

/// Send everything now and every change from then on.
struct follow_workloads {
  workload_follower_actor follower;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::put_workloads)
REPRIEVE_MESSAGE(reprieve::remove_workloads)
REPRIEVE_MESSAGE(reprieve::lend<reprieve::put_workloads>)
REPRIEVE_MESSAGE(reprieve::lend<reprieve::remove_workloads>)
REPRIEVE_MESSAGE(reprieve::forget_workloads)
REPRIEVE_MESSAGE(reprieve::slots_ended)
REPRIEVE_MESSAGE(reprieve::note_placements)
REPRIEVE_MESSAGE(reprieve::meet_nodes)
REPRIEVE_MESSAGE(reprieve::follow_workloads)

namespace reprieve {

/// Owns a slice of what should exist: workloads, and the budgets and placements that go with them.
/// What a decision was told by a vote stays so until the decision is known to be committed or given
/// up: who wants to change it meanwhile has it aborted first.
using workload_shard_actor = typed_actor<
  /// Adds or changes what admission let through; answers when durable.
  handles<absl::Status(put_workloads)>,
  /// Begins to delete workloads, deletes the rest; answers when durable.
  handles<absl::Status(remove_workloads)>,
  /// Likewise where others write it.
  handles<lent_result(lend<put_workloads>)>, handles<lent_result(lend<remove_workloads>)>,
  handles<lent_result(lend<close_shard>)>, handles<absl::Status(lent_end)>,
  /// Ends the deletion of workloads.
  handles<absl::Status(forget_workloads)>,
  /// Records the ends of pods; answers when durable, so that the pods' own records may go.
  handles<absl::Status(slots_ended)>,
  /// Sends the follower all records, then every change.
  handles<void(follow_workloads)>,
  /// Votes whether the workloads are still what the plan saw and budgets allow what it takes, and
  /// holds on a yes.
  handles<absl::Status(prepare<workload_parts>)>,
  /// Drops a hold whose decision did not commit.
  handles<void(release_hold)>,
  /// Records who goes and who comes back; answers when durable.
  handles<absl::Status(apply_parts<workload_parts>)>,
  /// Takes back what a decision did to victims that were not told; answers when durable.
  handles<absl::Status(withdraw)>,
  /// From the coordinator of a group whose cluster places pods by itself; answers when durable.
  handles<absl::Status(note_placements)>,
  /// Where to find the pods that budgets count.
  handles<void(meet_nodes)>,
  /// From a node shard, where there are budgets.
  handles<void(node_delta)>,
  /// From a coordinator that begins anew.
  handles<void(drop_votes)>,
  /// How many there are; by the answer another replica knows that the shard serves.
  handles<std::size_t(count_holds)>, handles<absl::Status(confirm_ownership)>>;

/// With what the shard reminds itself of.
using private_workload_shard_actor = workload_shard_actor::extend<
  /// Takes back holds that nobody has come back for.
  handles<void(look_at_holds)>, handles<void(ledger_flush)>, handles<void(ledger_retry)>>;

struct workload_shard_settings {
  std::string shard;
  record_table<workload_record>::map_type workloads; ///< as the store has them
  record_table<disruption_budget>::map_type budgets;
  record_table<placement>::map_type placements;
  ledger_settings ledger;
  duration hold_time{0};
  wall_clock clock;
  objects_aside aside{};
  record_table<workload_record>::map_type salvaged{}; ///< of these, who is there instead
};

struct workload_shard_state {
  static inline const char* name = "workload_shard";

  std::string shard;
  record_table<workload_record> workloads;
  record_table<disruption_budget> budgets;
  record_table<placement> placements;
  objects_aside aside;
  record_table<workload_record>::map_type salvaged;
  reprieve::ledger ledger;
  revision epoch = 0; ///< in which it was started
  wall_clock clock;

  hold_book<workload_parts> holds;
  std::vector<node_feed_actor> nodes;
  bool follows_nodes = false;          ///< only where there are budgets
  std::set<std::string> counted_nodes; ///< shards that have told of their pods
  budget_count counted;
  /// What decisions take from budgets, from the vote until the node records show it.
  std::map<std::string, std::vector<budget_part>, std::less<>> evicting;

  std::vector<workload_follower_actor> followers;
  std::uint64_t deltas = 0;
  std::uint64_t uids = 0;            ///< given to workloads in this epoch
  time_point closed_until = no_time; ///< nothing comes until then
  /// Entries of the catalog that went, and when; they go just now where that is `goes_now`. Who was
  /// let in by an earlier catalog may still name them.
  static constexpr revision goes_now = std::numeric_limits<revision>::max();
  std::map<object_reference, revision> gone;
};

using workload_shard_pointer = private_workload_shard_actor::stateful_pointer<workload_shard_state>;

private_workload_shard_actor::behavior_type workload_shard(workload_shard_pointer self,
                                                           workload_shard_settings settings);

} // namespace reprieve
