#pragma once

#include "actors/peers.hpp"
#include "protocol/paged_deltas.hpp"
#include "protocol/peer_link.hpp"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace reprieve {

/// What a replica lets others reach: shared by all connections that others asked for.
class peer_host {
public:
  void serve(std::shared_ptr<const local_shards> here);
  std::shared_ptr<const local_shards> here() const;

  /// Whether what a coordinator of that epoch on another replica says still counts: not when a
  /// newer one has spoken, or one runs here.
  bool may_decide(const std::string& group, revision epoch) const;
  /// A coordinator of that epoch begins.
  void begins(const std::string& group, revision epoch);

private:
  mutable std::mutex mutex_;
  std::shared_ptr<const local_shards> here_ = std::make_shared<const local_shards>();
  std::map<std::string, revision> newest_;
};

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
  handles<void(wire_closed)>>;

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
};

peer_session_actor::behavior_type
peer_session(peer_session_actor::stateful_pointer<peer_session_state> self,
             std::shared_ptr<peer_host> host, std::shared_ptr<peer_wire> wire);

} // namespace reprieve
