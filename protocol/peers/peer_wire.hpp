#pragma once

#include "actors/caf.hpp"
#include "state/model/decision.hpp"
#include "state/store/store.hpp"

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace reprieve {

/// One message between replicas: `PeerEnvelope` in reprieve/v1/peer.proto says what the fields are.
struct peer_envelope {
  std::uint64_t number = 0;
  std::uint64_t answers = 0;
  std::string to;
  std::string kind;
  std::string payload;
  trace_context trace;
  revision epoch = 0; ///< of the replica that sends it
  absl::Status how;   ///< of an answer
};

/// A connection to another replica, of which each side has one end. Both send in order and from any
/// thread; what is sent to one that has ended is lost.
class peer_wire {
public:
  peer_wire() = default;
  peer_wire(const peer_wire&) = delete;
  peer_wire& operator=(const peer_wire&) = delete;
  virtual ~peer_wire() = default;

  virtual void send(peer_envelope letter) = 0;
  virtual void close() = 0;
};

/// What comes over a wire, on any thread; after `closed` nothing does.
struct peer_events {
  std::function<void()> opened;
  std::function<void(peer_envelope)> arrived;
  std::function<void()> closed;
};

/// The same as messages to the actor that has the wire's end.
struct wire_opened {};
struct wire_arrived {
  peer_envelope letter;
};
struct wire_closed {};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::wire_opened)
REPRIEVE_MESSAGE(reprieve::wire_arrived)
REPRIEVE_MESSAGE(reprieve::wire_closed)

namespace reprieve {

/// Who has the end of a wire that another process asked for.
using wire_end_actor = typed_actor<handles<void(wire_arrived)>, handles<void(wire_closed)>>;

} // namespace reprieve
