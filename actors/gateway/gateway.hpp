#pragma once

#include "actors/gateway/followed_objects.hpp"
#include "actors/gateway/pod_index.hpp"
#include "actors/interfaces/snapshot_messages.hpp"
#include "actors/replica/directory.hpp"
#include "state/admission/admission.hpp"
#include "state/containers/name_map.hpp"
#include "state/model/requests.hpp"
#include "state/store/backup.hpp"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

using backup_page_result = absl::StatusOr<backup_page>;

/// Something to be done later, by whoever sends it to itself.
struct to_do_later {
  std::function<void()> with;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::apply_request)
REPRIEVE_MESSAGE(reprieve::apply_result)
REPRIEVE_MESSAGE(reprieve::get_request)
REPRIEVE_MESSAGE(reprieve::get_result)
REPRIEVE_MESSAGE(reprieve::describe_request)
REPRIEVE_MESSAGE(reprieve::describe_result)
REPRIEVE_MESSAGE(reprieve::delete_request)
REPRIEVE_MESSAGE(reprieve::explain_request)
REPRIEVE_MESSAGE(reprieve::explain_result)
REPRIEVE_MESSAGE(reprieve::backup_page_request)
REPRIEVE_MESSAGE(reprieve::backup_page_result)
REPRIEVE_MESSAGE(reprieve::to_do_later)

namespace reprieve {

/// Where requests of users come in: admits, passes on to the owners, and answers reads from what
/// the owners have told it.
using gateway_actor = typed_actor<
  /// All or nothing; answers when durable.
  handles<apply_result(apply_request)>, handles<get_result(get_request)>,
  handles<describe_result(describe_request)>,
  /// Answers when it is durable that the objects go.
  handles<absl::Status(delete_request)>, handles<explain_result(explain_request)>,
  /// Passed on to the node shards; answers with those that are not known.
  handles<heartbeat_result(heartbeat_request)>,
  /// Reads the store, which nobody else has to wait for.
  handles<backup_page_result(backup_page_request)>,
  /// Asks the coordinators and the queue shard.
  handles<snapshot_result(snapshot_request)>,
  /// Passed on to the event log.
  handles<event_list(read_events)>, handles<event_page(next_events)>,
  handles<void(directory_update)>, handles<void(node_delta)>, handles<void(workload_delta)>,
  handles<void(catalog_update)>>;

/// With what the gateway reminds itself of.
using private_gateway_actor = gateway_actor::extend<handles<void(to_do_later)>>;

/// Objects that were admitted together.
using admitted_batch = std::vector<std::shared_ptr<const admitted>>;

struct gateway_limits {
  std::int64_t workloads_per_queue = 1'000'000;
};

struct gateway_state {
  static inline const char* name = "gateway";

  gateway_limits limits;

  std::shared_ptr<const directory> serving;
  std::set<std::string> unheard; ///< shards that were asked to tell everything, and have not yet
  caf::actor_clock::time_point started; ///< before which nothing is known
  /// When shards last said that they are still their owner's, by name.
  std::map<std::string, caf::actor_clock::time_point> confirmed;
  std::map<std::string, objects_aside> aside; ///< what can't be read, by shard
  std::shared_ptr<const catalog> known;
  revision known_at = 0;            ///< where it stood so in the store
  std::set<std::string> unfinished; ///< resource groups whose contents did not come yet
  followed_objects<std::shared_ptr<const node_record>> nodes;
  pod_index pods;                    ///< on these nodes
  by_name<wide_int> capacity_in_all; ///< of these nodes
  followed_objects<std::shared_ptr<const workload_record>> workloads;
  by_name<std::int64_t> workloads_in_queue;
  by_name<std::int64_t> pods_in_queue; ///< that these ask for
  followed_objects<disruption_budget> budgets;
  followed_objects<placement> placements;
  /// Batches that were admitted and are being written: later ones are judged as if they were there.
  std::list<admitted_batch> under_way;
  /// One or more objects in them of one kind and name.
  struct coming_object {
    std::vector<const admitted*> forms; ///< oldest first
    std::string counts_in;              ///< the queue that has it in `new_in_queue`, if one does
  };
  std::map<object_kind, name_map<coming_object>> coming;
  /// How many of them are workloads that are not there yet, by queue.
  by_name<std::int64_t> new_in_queue;
  std::uint64_t bundles = 0;         ///< that were made
  std::size_t ending = 0;            ///< of them, whose shards are being told what became of them
  std::uint64_t told_of_bundles = 0; ///< how often shards told of what may be a part of one
  /// What waits for resource groups to be served; each says whether it went on.
  std::map<std::uint64_t, std::function<bool()>> for_groups;
  std::uint64_t waits_for_groups = 0; ///< that there were
  /// What is to be read yet; each takes a step and says whether it was the last.
  std::deque<std::function<bool()>> reads;
  bool reads_take_turns = false; ///< the next step is on its way
};

using gateway_pointer = private_gateway_actor::stateful_pointer<gateway_state>;

private_gateway_actor::behavior_type gateway(gateway_pointer self);

/// The same with other limits than the usual ones.
private_gateway_actor::behavior_type limited_gateway(gateway_pointer self, gateway_limits limits);

} // namespace reprieve
