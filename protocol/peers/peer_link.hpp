#pragma once

#include "actors/replica/peers.hpp"
#include "protocol/peers/peer_exchange.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace reprieve {

/// Passes a message on to an actor of the other replica.
struct pass_on {
  std::string to;
  std::string kind;
  std::string payload;
  trace_context trace;
};

/// Likewise, and answers with the payload of the answer.
struct ask_peer {
  pass_on what;
};

using peer_reply = absl::StatusOr<std::string>;

/// Asks an actor of the other replica to send messages to whoever is behind `deliver`, which is
/// given each of them, and how to answer those that want an answer.
struct follow_peer {
  pass_on what;
  std::function<void(peer_envelope&, peer_answer)> deliver;
};

/// An answer to a question of the other side.
struct answer_peer {
  std::uint64_t number = 0;
  absl::StatusOr<std::string> with;
};

/// What the other side says of a shard by itself is for `deliver`.
struct listen_to_shard {
  std::string shard;
  std::function<void(peer_envelope&)> deliver;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::pass_on)
REPRIEVE_MESSAGE(reprieve::ask_peer)
REPRIEVE_MESSAGE(reprieve::peer_reply)
REPRIEVE_MESSAGE(reprieve::follow_peer)
REPRIEVE_MESSAGE(reprieve::listen_to_shard)
REPRIEVE_MESSAGE(reprieve::answer_peer)

namespace reprieve {

/// This side's end of a connection that it asked for: what proxies send goes over it. It ends with
/// the connection, and they with it.
using peer_link_actor =
  typed_actor<handles<void(pass_on)>, handles<peer_reply(ask_peer)>, handles<void(follow_peer)>,
              handles<void(listen_to_shard)>, handles<void(answer_peer)>,
              /// From the wire.
              handles<void(wire_opened)>,
              /// From the wire.
              handles<void(wire_arrived)>,
              /// From the wire.
              handles<void(wire_closed)>>;

/// Makes a wire to the address; events come from then on.
using wire_maker =
  std::function<std::shared_ptr<peer_wire>(const std::string& address, peer_events events)>;

struct peer_link_settings {
  std::string replica;      ///< the other one
  std::uint64_t number = 0; ///< of this connection
  std::string address;
  ownership_pointer ground; ///< this one's
  wire_maker dial;
  peer_listener_actor listener;
};

struct peer_link_state {
  static inline const char* name = "peer_link";

  peer_link_settings settings;
  std::shared_ptr<peer_exchange> exchange;
  struct follower {
    std::function<void(peer_envelope&, peer_answer)> deliver;
    std::string shard;
    std::string asked; ///< what was said beside that, such as the decision that waits
  };
  std::map<std::string, follower> followers; ///< of what the other side sends by itself, by token
  std::map<std::string, std::function<void(peer_envelope&)>> shards; ///< proxies, by shard
  std::uint64_t tokens = 0;
};

peer_link_actor::behavior_type peer_link(peer_link_actor::stateful_pointer<peer_link_state> self,
                                         peer_link_settings settings);

/// What a follower's token stands behind in a `to`, so that it is not taken for a shard.
inline constexpr std::string_view follower_mark = "f/";

} // namespace reprieve
