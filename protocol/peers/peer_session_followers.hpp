#pragma once

#include "protocol/peers/peer_session.hpp"

#include <string>
#include <utility>

/// Who on the other side follows shards here, or waits for room on their nodes.
namespace reprieve {

/// Splits the token, behind which a follower is, from what else was said.
std::pair<std::string, std::string> token_and_rest(const std::string& payload);

/// The one behind the letter's token follows the shard.
void add_peer_follower(peer_session_pointer self, const node_shard_actor& whom,
                       peer_envelope& letter);
void add_peer_follower(peer_session_pointer self, const workload_shard_actor& whom,
                       peer_envelope& letter);
void add_peer_follower(peer_session_pointer self, const queue_shard_actor& whom,
                       peer_envelope& letter);

/// The one behind the letter's token waits for the room that a decision is to have there.
void await_room_for(peer_session_pointer self, const node_shard_actor& whom, peer_envelope& letter,
                    bool victims_gone);
/// Nobody waits there any more for what the decision is to have.
void forget_room(peer_session_state& state, const std::string& decision, const std::string& shard);

/// Whoever follows the next one of the name asks for that anew.
void forget_followers(peer_session_state& state, const std::string& shard);

void send_to_followers(peer_session_pointer self, const node_delta& delta);
/// Of large workloads only pages that have changed, to those who can put them together.
void send_to_followers(peer_session_pointer self, const workload_delta& delta);
void send_to_followers(peer_session_pointer self, const catalog_update& update);
void send_to_followers(peer_session_pointer self, const room_free& there);

} // namespace reprieve
