#include "protocol/peers/letter_parts.hpp"

#include <fmt/format.h>

#include <utility>

namespace reprieve {

/// Larger payloads go in several envelopes.
static constexpr std::size_t most_at_once = 1 << 20;

void split_letter(peer_envelope letter, const std::function<void(v1::PeerEnvelope)>& each) {
  v1::PeerEnvelope first;
  first.set_number(letter.number);
  first.set_answers(letter.answers);
  first.set_to(std::move(letter.to));
  first.set_kind(std::move(letter.kind));
  first.set_traceparent(std::move(letter.trace.traceparent));
  first.set_tracestate(std::move(letter.trace.tracestate));
  first.set_epoch(letter.epoch);
  first.set_status(static_cast<int>(letter.how.code()));
  first.set_reason(std::string(letter.how.message()));
  if (letter.payload.size() <= most_at_once) {
    first.set_payload(std::move(letter.payload));
    each(std::move(first));
    return;
  }
  first.set_payload(letter.payload.substr(0, most_at_once));
  first.set_more(true);
  each(std::move(first));
  for (std::size_t at = most_at_once; at < letter.payload.size(); at += most_at_once) {
    v1::PeerEnvelope next;
    next.set_payload(letter.payload.substr(at, most_at_once));
    next.set_more(at + most_at_once < letter.payload.size());
    each(std::move(next));
  }
}

absl::StatusOr<std::optional<peer_envelope>> letter_gatherer::take(v1::PeerEnvelope& part) {
  const auto before = gathering_ ? letter_.payload.size() : 0;
  if (part.payload().size() > most_ - before) {
    letter_ = {};
    return absl::ResourceExhaustedError(
      fmt::format("a letter of more than {} bytes is not taken", most_));
  }
  if (gathering_) {
    letter_.payload += part.payload();
  } else {
    letter_ = {};
    letter_.number = part.number();
    letter_.answers = part.answers();
    letter_.to = std::move(*part.mutable_to());
    letter_.kind = std::move(*part.mutable_kind());
    letter_.trace = {part.traceparent(), part.tracestate()};
    letter_.epoch = part.epoch();
    letter_.how = absl::Status(static_cast<absl::StatusCode>(part.status()), part.reason());
    letter_.payload = std::move(*part.mutable_payload());
  }
  gathering_ = part.more();
  if (gathering_)
    return std::nullopt;
  return std::move(letter_);
}

} // namespace reprieve
