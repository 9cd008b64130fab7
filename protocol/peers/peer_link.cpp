#include "protocol/peers/peer_link.hpp"

#include "protocol/peers/peer_proxies.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

using self_pointer = peer_link_actor::stateful_pointer<peer_link_state>;

/// What the other side sends by itself: to a follower, or news of a shard.
void receive_letter(self_pointer self, peer_envelope& letter) {
  auto& state = self->state;
  if (letter.to.starts_with(follower_mark)) {
    peer_answer answer = [](const absl::StatusOr<std::string>&) {};
    if (letter.number != 0)
      answer = [me = peer_link_actor(self),
                number = letter.number](absl::StatusOr<std::string> with) {
        caf::anon_send(me, answer_peer{number, std::move(with)});
      };
    if (const auto found = state.followers.find(letter.to); found != state.followers.end()) {
      found->second.deliver(letter, std::move(answer));
      if (letter.kind == peer_kind<room_free>()) // is said once
        state.followers.erase(found);
    } else
      answer(absl::NotFoundError("nobody follows this any more"));
  } else if (const auto found = state.shards.find(letter.to); found != state.shards.end()) {
    found->second(letter);
    if (letter.kind == peer_kinds::ended) // whoever follows the next asks for that anew
      std::erase_if(state.followers,
                    [&](const auto& one) { return one.second.shard == letter.to; });
  }
}

/// A decision that is given up waits for no room any more.
void forget_who_waits(self_pointer self, const pass_on& what) {
  if (what.kind != peer_kind<withdraw>())
    return;
  if (const auto dropped = decode_peer<withdraw>(what.payload); dropped.ok())
    std::erase_if(self->state.followers, [&](const auto& one) {
      return one.second.shard == what.to && one.second.asked == dropped->decision;
    });
}

} // namespace

peer_link_actor::behavior_type peer_link(self_pointer self, peer_link_settings settings) {
  auto& state = self->state;
  state.settings = std::move(settings);
  const peer_link_actor me = self;
  state.exchange = std::make_shared<peer_exchange>(
    state.settings.dial(
      state.settings.address,
      {[me] { caf::anon_send(me, wire_opened{}); },
       [me](peer_envelope letter) { caf::anon_send(me, wire_arrived{std::move(letter)}); },
       [me] { caf::anon_send(me, wire_closed{}); }}),
    state.settings.ground);
  self->attach_functor([exchange = state.exchange](const caf::error&) { exchange->end(); });
  return {
    [self](pass_on& what) {
      self->state.exchange->tell(std::move(what.to), std::move(what.kind), std::move(what.payload),
                                 std::move(what.trace));
    },
    [self](ask_peer& asked) -> caf::result<peer_reply> {
      auto answer = promise_from<peer_reply>(self);
      auto& what = asked.what;
      forget_who_waits(self, what);
      self->state.exchange->ask(
        std::move(what.to), std::move(what.kind), std::move(what.payload), std::move(what.trace),
        [answer](absl::StatusOr<std::string> with) mutable { answer.deliver(std::move(with)); });
      return answer;
    },
    [self](follow_peer& wanted) {
      auto& s = self->state;
      auto& what = wanted.what;
      const auto token = fmt::format("{}{}", follower_mark, ++s.tokens);
      s.followers[token] = {std::move(wanted.deliver), what.to, what.payload};
      // The token goes before what else there is to say.
      s.exchange->tell(std::move(what.to), std::move(what.kind), token + " " + what.payload,
                       std::move(what.trace));
    },
    [self](listen_to_shard& wanted) {
      self->state.shards[wanted.shard] = std::move(wanted.deliver);
    },
    [self](answer_peer& answer) {
      self->state.exchange->answer(answer.number, std::move(answer.with));
    },
    [self](wire_opened) {
      const auto& ours = self->state.settings;
      self->send(ours.listener, peer_connected{ours.replica, ours.number});
    },
    [self](wire_arrived& one) {
      if (!self->state.exchange->take_answer(one.letter))
        receive_letter(self, one.letter);
    },
    [self](wire_closed) {
      auto& s = self->state;
      s.exchange->end();
      self->send(s.settings.listener, peer_lost{s.settings.replica, s.settings.number});
      self->quit(caf::exit_reason::remote_link_unreachable);
    },
  };
}

} // namespace reprieve
