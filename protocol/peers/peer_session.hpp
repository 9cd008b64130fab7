#pragma once

#include "actors/replica/peers.hpp"
#include "protocol/peers/paged_deltas.hpp"
#include "protocol/peers/peer_link.hpp"
#include "state/store/store.hpp"

#include <absl/status/statusor.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace reprieve {

/// How far a store has come: no epoch beyond that was ever given.
struct store_position {
  revision current = 0;
  revision epoch_base = 0; ///< of its schema, which epochs have added that are remembered elsewhere
};

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

/// Reads the store's position as it is at some moment after the call, and calls back, on any
/// thread.
using position_reader = std::function<void(std::function<void(absl::StatusOr<store_position>)>)>;
position_reader position_of(std::weak_ptr<store> behind);

/// What a replica lets others reach: shared by all connections that others asked for.
class peer_host : public std::enable_shared_from_this<peer_host> {
public:
  peer_host() = default;
  /// Also sees to it that nobody speaks in an epoch which the store has not given. `say` is told of
  /// those who do.
  peer_host(position_reader read, std::function<void(const std::string&)> say)
      : read_(std::move(read)), say_(std::move(say)) {}

  /// Whether the store is known to have given that epoch, or one behind it.
  bool is_given(revision epoch) const;
  /// Likewise of one that has the base of the store's schema added.
  bool is_given_with_base(revision epoch) const;
  void read_position(std::function<void(absl::StatusOr<store_position>)> done);
  void say(const std::string& what) const;

  void serve(std::shared_ptr<const local_shards> here);
  std::shared_ptr<const local_shards> here() const;

  /// Whether what a coordinator of that epoch on another replica says still counts: not when a
  /// newer one has spoken, or one runs here.
  bool may_decide(const std::string& group, revision epoch) const;
  /// A coordinator of that epoch begins.
  void begins(const std::string& group, revision epoch);

private:
  position_reader read_;
  std::function<void(const std::string&)> say_;
  mutable std::mutex mutex_;
  store_position known_;
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

peer_session_actor::behavior_type
peer_session(peer_session_actor::stateful_pointer<peer_session_state> self,
             std::shared_ptr<peer_host> host, std::shared_ptr<peer_wire> wire);

} // namespace reprieve
