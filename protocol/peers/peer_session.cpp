#include "protocol/peers/peer_session.hpp"

#include "protocol/peers/peer_proxies.hpp"
#include "protocol/peers/peer_session_followers.hpp"
#include "protocol/peers/peer_session_letters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace reprieve {

namespace {

/// Whether the store is known to have given all epochs that the letter speaks of.
bool is_proven(const peer_session_state& state, const peer_envelope& letter) {
  const auto inside = epoch_inside(letter);
  return state.host->is_given(letter.epoch)
         && (inside == 0 || state.host->is_given_with_base(inside));
}

/// Asks the store how far it has come.
void look_at_position(peer_session_pointer self) {
  const peer_session_actor me = self;
  self->state.host->read_position([me](absl::StatusOr<store_position> found) {
    caf::anon_send(me, position_read{std::move(found)});
  });
}

/// The letter waits until it is known that the store has given its epoch: this replica may not have
/// heard of that yet.
void hold(peer_session_pointer self, peer_envelope letter) {
  constexpr std::size_t most = 10'000;
  auto& waiting = self->state.unproven;
  waiting.push_back(std::move(letter));
  if (waiting.size() > most)
    self->quit(caf::exit_reason::user_shutdown);
  else if (waiting.size() == 1)
    look_at_position(self);
}

/// Goes on with those that waited. Whoever speaks in an epoch that was never given is no replica of
/// this store, and is not listened to.
void receive_held_letters(peer_session_pointer self) {
  auto& waiting = self->state.unproven;
  if (waiting.empty())
    return;
  const bool was_first = is_proven(self->state, waiting.front());
  if (!was_first) {
    self->state.host->say(
      fmt::format("a connection to the peers' port is ended: it spoke in epoch {}, which the store "
                  "has not given",
                  std::max(waiting.front().epoch, epoch_inside(waiting.front()))));
    self->quit(caf::exit_reason::user_shutdown);
    return;
  }
  while (!waiting.empty() && is_proven(self->state, waiting.front())) {
    auto letter = std::move(waiting.front());
    waiting.pop_front();
    receive_letter(self, letter);
  }
  if (!waiting.empty())
    look_at_position(self);
}

} // namespace

peer_session_actor::behavior_type peer_session(peer_session_pointer self,
                                               std::shared_ptr<peer_host> host,
                                               std::shared_ptr<peer_wire> wire) {
  auto& state = self->state;
  state.host = std::move(host);
  state.wire = wire;
  state.exchange = std::make_shared<peer_exchange>(wire, nullptr);
  // Whatever it ends by, the other side must not go on talking to nobody.
  self->attach_functor([exchange = state.exchange](const caf::error&) { exchange->end(); });
  self->set_down_handler([self](const caf::down_msg& down) {
    if (const auto found = self->state.watched.extract(down.source); !found.empty()) {
      self->state.exchange->tell(found.mapped(), peer_kinds::ended, {});
      forget_followers(self->state, found.mapped());
    }
  });
  return {
    [self](const node_delta& delta) { send_to_followers(self, delta); },
    [self](const workload_delta& delta) { send_to_followers(self, delta); },
    [self](const catalog_update& update) { send_to_followers(self, update); },
    [self](const room_free& there) { send_to_followers(self, there); },
    [self](ask_peer& asked) -> caf::result<peer_reply> {
      auto answer = promise_from<peer_reply>(self);
      auto& what = asked.what;
      self->state.exchange->ask(
        std::move(what.to), std::move(what.kind), std::move(what.payload), std::move(what.trace),
        [answer](absl::StatusOr<std::string> with) mutable { answer.deliver(std::move(with)); });
      return answer;
    },
    [self](wire_arrived& one) {
      auto& s = self->state;
      if (s.exchange->take_answer(one.letter))
        return;
      if (s.unproven.empty() && is_proven(s, one.letter))
        receive_letter(self, one.letter);
      else
        hold(self, std::move(one.letter));
    },
    [self](wire_closed) { self->quit(caf::exit_reason::user_shutdown); },
    [self](const position_read& read) {
      constexpr std::chrono::milliseconds pause{200};
      if (read.found.ok())
        receive_held_letters(self);
      else // the store does not answer, and nothing can be decided without it
        self->delayed_send(self, pause, look_at_position_again{});
    },
    [self](look_at_position_again) { look_at_position(self); },
  };
}

} // namespace reprieve
