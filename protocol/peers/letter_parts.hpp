#pragma once

#include "protocol/peers/peer_wire.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/peer.pb.h>

#include <cstddef>
#include <functional>
#include <optional>

/// Letters as they go over the wire: a large one in several envelopes.
namespace reprieve {

/// Calls `each` with the envelopes that the letter goes in.
void split_letter(peer_envelope letter, const std::function<void(v1::PeerEnvelope)>& each);

/// Puts letters together again from envelopes in their order.
class letter_gatherer {
public:
  explicit letter_gatherer(std::size_t most) : most_(most) {}

  /// The letter, when it is whole; or `kResourceExhausted` where it is too large.
  absl::StatusOr<std::optional<peer_envelope>> take(v1::PeerEnvelope& part);

private:
  std::size_t most_;
  peer_envelope letter_;
  bool gathering_ = false;
};

} // namespace reprieve
