#pragma once

#include "protocol/peers/paged_deltas.hpp"
#include "protocol/peers/peer_exchange.hpp"
#include "protocol/peers/peer_host.hpp"
#include "protocol/peers/peer_link.hpp"

#include <absl/status/statusor.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// The position that a session asked for.
struct position_read {
  absl::StatusOr<store_position> found;
};

/// A reminder to ask for it again.
struct look_at_position_again {};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::position_read)
REPRIEVE_MESSAGE(reprieve::look_at_position_again)

namespace reprieve {

/// Answers one connection that another replica asked for: what comes over it goes to the actors
/// here, and what they answer or send to followers goes back. All of it passes through this one
/// actor, so that an answer does not overtake the change that it tells of.
using peer_session_actor = typed_actor<
  /// What followers on the other side are sent.
  handles<void(node_delta)>, handles<void(workload_delta)>, handles<void(catalog_update)>,
  handles<void(room_free)>,
  /// From one that stands for a coordinator of the other side.
  handles<peer_reply(ask_peer)>,
  /// From the wire.
  handles<void(wire_arrived)>,
  /// From the wire.
  handles<void(wire_closed)>,
  /// From the store.
  handles<void(position_read)>,
  /// From itself.
  handles<void(look_at_position_again)>>;

struct peer_session_state {
  static inline const char* name = "peer_session";

  std::shared_ptr<peer_host> host;
  std::shared_ptr<peer_wire> wire;
  std::shared_ptr<peer_exchange> exchange;
  std::map<caf::actor_addr, std::string> watched; ///< shards, to tell of their end

  /// Who follows a shard.
  struct following {
    std::vector<std::string> tokens;
    std::deque<std::string> fresh; ///< that get everything first
    bool takes_whole_records = false;
    paged_deltas_out paged;
  };
  std::map<std::string, following> followed; ///< by shard as its deltas name it, behind n/ or w/
  std::vector<std::string> catalog_tokens;
  std::map<std::pair<std::string, std::string>, std::string> room_tokens; ///< by decision, shard
  /// Letters that wait, in their order, until it is known whether the store has given the epoch of
  /// the first.
  std::deque<peer_envelope> unproven;
};

using peer_session_pointer = peer_session_actor::stateful_pointer<peer_session_state>;

peer_session_actor::behavior_type peer_session(peer_session_pointer self,
                                               std::shared_ptr<peer_host> host,
                                               std::shared_ptr<peer_wire> wire);

} // namespace reprieve
