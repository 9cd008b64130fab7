#include "protocol/peers/peer_session_followers.hpp"

#include "protocol/peers/peer_proxies.hpp"

namespace reprieve {

namespace {

template <class Message>
void send_to(peer_session_pointer self, const std::string& token, const Message& m) {
  self->state.exchange->tell(token, std::string(peer_kind<Message>()), encode_peer(m));
}

/// A shard's changes go to all who follow it; everything, to who asked for it first.
template <class Delta>
void send_delta(peer_session_pointer self, const std::string& shard, const Delta& delta) {
  auto& of = self->state.followed[shard];
  if (delta.everything && !of.fresh.empty()) {
    send_to(self, of.fresh.front(), delta);
    of.tokens.push_back(std::move(of.fresh.front()));
    of.fresh.pop_front();
    return;
  }
  const auto bytes = encode_peer(delta);
  for (const auto& token : of.tokens)
    self->state.exchange->tell(token, std::string(peer_kind<Delta>()), bytes);
}

} // namespace

std::pair<std::string, std::string> token_and_rest(const std::string& payload) {
  const auto space = payload.find(' ');
  return {payload.substr(0, space), space == std::string::npos ? "" : payload.substr(space + 1)};
}

void add_peer_follower(peer_session_pointer self, const node_shard_actor& whom,
                       peer_envelope& letter) {
  self->state.followed[letter.to].fresh.push_back(token_and_rest(letter.payload).first);
  self->send(whom, follow_nodes{self});
}

void add_peer_follower(peer_session_pointer self, const workload_shard_actor& whom,
                       peer_envelope& letter) {
  auto& of = self->state.followed[letter.to];
  const auto [token, takes] = token_and_rest(letter.payload);
  of.takes_whole_records = takes != peer_kinds::takes_pages; // one of a version before
  of.fresh.push_back(token);
  self->send(whom, follow_workloads{self});
}

void add_peer_follower(peer_session_pointer self, const queue_shard_actor& whom,
                       peer_envelope& letter) {
  self->state.catalog_tokens.push_back(token_and_rest(letter.payload).first);
  self->send(whom, follow_catalog{self});
}

void await_room_for(peer_session_pointer self, const node_shard_actor& whom, peer_envelope& letter,
                    bool victims_gone) {
  const auto [token, decision] = token_and_rest(letter.payload);
  self->state.room_tokens[{decision, letter.to.substr(2)}] = token;
  self->send(whom, await_room{decision, self, victims_gone});
}

void forget_room(peer_session_state& state, const std::string& decision, const std::string& shard) {
  state.room_tokens.erase({decision, shard});
}

void forget_followers(peer_session_state& state, const std::string& shard) {
  state.followed.erase(shard);
  if (shard == queue_tree_shard)
    state.catalog_tokens.clear();
  std::erase_if(state.room_tokens,
                [&](const auto& one) { return "n/" + one.first.second == shard; });
}

void send_to_followers(peer_session_pointer self, const node_delta& delta) {
  send_delta(self, "n/" + delta.shard, delta);
}

void send_to_followers(peer_session_pointer self, const workload_delta& delta) {
  const auto shard = "w/" + delta.shard;
  auto& of = self->state.followed[shard];
  const bool whole = of.takes_whole_records;
  send_delta(self, shard, whole ? delta : of.paged.without_known(delta));
}

void send_to_followers(peer_session_pointer self, const catalog_update& update) {
  for (const auto& token : self->state.catalog_tokens)
    send_to(self, token, update);
}

void send_to_followers(peer_session_pointer self, const room_free& there) {
  if (const auto token = self->state.room_tokens.extract({there.decision, there.shard});
      !token.empty())
    send_to(self, token.mapped(), there);
}

} // namespace reprieve
