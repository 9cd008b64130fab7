#pragma once

#include "actors/node_shard/node_shard.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// New forms of records by node name; null erases.
using record_changes = std::map<std::string, std::shared_ptr<node_record>, std::less<>>;

/// Whether what the node runs is not what its record says: pods were given up that may be there
/// still.
inline bool is_given_up(const node_status& status) {
  return status.pods_lost || !status.left_behind.empty();
}

/// A copy of the newest form, to be changed; null where there is no such node, or it can't be
/// read: its record is not touched.
std::shared_ptr<node_record> edit(const node_shard_state& state, std::string_view name);

/// What the pods may come to in a node's record.
std::size_t bytes_of_pods(const pod_list& pods);

/// What is not there, or as it was, need not be written.
void leave_out_unchanged(const node_shard_state& state, record_changes& changes);

/// Whether one transaction takes all of them.
bool fits_one_batch(const node_shard_state& state, const record_changes& changes);

/// Makes the changes durable, and with them that a decision is carried out by them, if one is; then
/// visible, then calls `then`, then tells those who wait for room. Where the store does not take
/// them, all stays as it is, and `refused` is called. What is written beside the records becomes
/// durable with them.
void write_records(node_shard_pointer self, record_changes changes, std::function<void()> then = {},
                   write_terms terms = {}, std::function<void(const absl::Status&)> refused = {},
                   std::vector<ledger_entry> beside = {});

/// Likewise for a request, which is answered when all of that is done.
void write_and_answer(node_shard_pointer self, record_changes changes, status_answer answer,
                      std::function<void()> then = {});

/// The rest of a change that orders something for each of these pods once it is durable.
inline auto order_each(node_shard_pointer self, pod_pointers pods,
                       void (*order)(node_shard_pointer, const pod_list::pointer&)) {
  return [self, pods = std::move(pods), order] {
    for (const auto& p : pods)
      order(self, p);
  };
}

/// Whether all that the decision places here has its room.
bool room_is_free(const node_shard_state& state, const std::string& decision);

/// Promises a decision to tell when its room is free.
void wait_for_room(node_shard_pointer self, const await_room& asked);

/// The decision waits for room no more.
void wait_no_more(node_shard_state& state, const std::string& decision);

/// Tells a decision that waits for room whether it is there now.
void check_room(node_shard_pointer self, const std::string& decision);

/// Likewise all that wait for room on nodes that have changed, in order.
void check_room_on(node_shard_pointer self, const std::vector<std::string>& nodes);

} // namespace reprieve
