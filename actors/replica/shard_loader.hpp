#pragma once

#include "actors/coordinator/coordinator.hpp"
#include "actors/durability/store_actor.hpp"
#include "actors/interfaces/record_table.hpp"
#include "state/model/catalog.hpp"
#include "state/model/disruption_budget.hpp"
#include "state/model/placement.hpp"
#include "state/records/node_record.hpp"
#include "state/records/quota_record.hpp"
#include "state/records/set_aside.hpp"
#include "state/records/workload_record.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// What the store has for one that is to be started: a node shard, a workload shard, the queue tree
/// or a coordinator. Of each, the fields of the others stay empty.
struct shard_contents {
  record_table<node_record>::map_type nodes;
  by_name<left_pods> left_behind; ///< by node that was deleted
  record_table<workload_record>::map_type workloads;
  std::map<std::string, std::vector<slot_page>> slot_pages; ///< of these, until all are read
  record_table<disruption_budget>::map_type budgets;
  record_table<placement>::map_type placements;
  catalog known = initial_catalog();
  std::set<std::string> unfinished; ///< resource groups of which more is to come
  by_name<quota_record> quota;
  std::vector<open_decision> open;
  std::vector<std::string> barred;   ///< decisions that can't be committed late any more, by id
  std::optional<key_value> sequence; ///< where its ledger stands
  /// What can't be read. Of nodes, what can be told stands among the others; of queues, one stands
  /// there that has the settings of a new one.
  std::vector<set_aside> aside;
  /// Of workloads among them, who is to be there instead when they are deleted by force.
  record_table<workload_record>::map_type salvaged;
  std::vector<std::string> begun_anew; ///< what could not be read, and is worked out again
};

/// What was to be read, and what came of it.
struct shard_loaded {
  std::string shard;
  ownership_pointer owner; ///< on whose ground it was asked for
  absl::StatusOr<std::shared_ptr<shard_contents>> contents;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::shard_loaded)

namespace reprieve {

using load_listener_actor = typed_actor<handles<void(shard_loaded)>>;

struct shard_loader_settings {
  std::string shard;
  store_actor store;
  ownership_pointer owner;
  load_listener_actor listener;
  /// What its writes compare: the epoch in which the shard was to be read. In a later one it may be
  /// given up, and somebody else's to write.
  comparison held = owner->held();
  time_point now = no_time;
};

/// The catalog that the queue tree's records make, as far as they can be read.
catalog catalog_in(const std::vector<key_value>& tree);

/// Reads what one shard or coordinator starts from, tells, and ends. Shards are read side by side.
/// What a shard has promised to write is written first. For a coordinator it also clears away what
/// decisions of its group wrote that were never committed.
caf::behavior load_shard(caf::event_based_actor* self, shard_loader_settings settings);

} // namespace reprieve
