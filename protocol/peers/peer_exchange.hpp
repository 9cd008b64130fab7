#pragma once

#include "protocol/peers/messages/peer_messages.hpp"
#include "protocol/peers/peer_wire.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace reprieve {

using peer_answer = std::function<void(absl::StatusOr<std::string>)>; ///< of a payload

/// Requests and answers over one wire, either way; of the actor that has the wire's end.
class peer_exchange {
public:
  /// `ground` is what this side sends on.
  peer_exchange(std::shared_ptr<peer_wire> wire, ownership_pointer ground)
      : wire_(std::move(wire)), ground_(std::move(ground)) {}

  /// Sends what wants no answer.
  void tell(std::string to, std::string kind, std::string payload, trace_context trace = {}) {
    send(0, std::move(to), std::move(kind), std::move(payload), std::move(trace));
  }

  /// Calls `done` with the answer, or with `kUnavailable` when the wire ends before.
  void ask(std::string to, std::string kind, std::string payload, trace_context trace,
           peer_answer done) {
    waiting_.emplace(++last_, std::move(done));
    send(last_, std::move(to), std::move(kind), std::move(payload), std::move(trace));
  }

  void answer(std::uint64_t number, absl::StatusOr<std::string> with) {
    peer_envelope letter;
    letter.answers = number;
    letter.how = with.status();
    if (with.ok())
      letter.payload = *std::move(with);
    wire_->send(std::move(letter));
  }

  /// Takes an answer to its question; false where the letter is none.
  bool take_answer(peer_envelope& letter) {
    if (letter.answers == 0)
      return false;
    if (auto found = waiting_.extract(letter.answers); !found.empty()) {
      if (letter.how.ok())
        found.mapped()(std::move(letter.payload));
      else
        found.mapped()(letter.how);
    }
    return true;
  }

  void end() {
    for (const auto& [number, done] : std::exchange(waiting_, {}))
      done(absl::UnavailableError("the connection to another replica ended"));
    wire_->close();
  }

private:
  void send(std::uint64_t number, std::string to, std::string kind, std::string payload,
            trace_context trace) {
    peer_envelope letter;
    letter.number = number;
    letter.to = std::move(to);
    letter.kind = std::move(kind);
    letter.payload = std::move(payload);
    letter.trace = std::move(trace);
    letter.epoch = ground_ ? ground_->epoch() : 0;
    wire_->send(std::move(letter));
  }

  std::shared_ptr<peer_wire> wire_;
  ownership_pointer ground_;
  std::map<std::uint64_t, peer_answer> waiting_;
  std::uint64_t last_ = 0;
};

/// The message's trace, where it has one.
template <class Message>
trace_context trace_of(const Message& m) {
  if constexpr (requires { m.trace; })
    return m.trace;
  else
    return {};
}

/// The message in the letter, with its trace.
template <class Message>
absl::StatusOr<Message> open_letter(const peer_envelope& letter) {
  auto m = decode_peer<Message>(letter.payload);
  if constexpr (requires(Message x) { x.trace; })
    if (m.ok())
      m->trace = letter.trace;
  return m;
}

} // namespace reprieve
