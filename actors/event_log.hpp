#pragma once

#include "actors/caf.hpp"
#include "state/requests.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace reprieve {

struct read_events {
  std::int64_t after = 0; ///< only those with a higher sequence
  std::string name;       ///< only those of this object, where given
};

using event_list = std::vector<event>;

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::event)
REPRIEVE_MESSAGE(reprieve::event_list)
REPRIEVE_MESSAGE(reprieve::read_events)

namespace reprieve {

using event_follower_actor = typed_actor<handles<void(event)>>;

/// Send what is after `after` now, and everything from then on until the follower ends.
struct follow_events {
  std::int64_t after = 0;
  event_follower_actor follower;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::follow_events)

namespace reprieve {

/// The newest events, in memory.
using event_log_actor = typed_actor<
  /// Takes an event in.
  handles<void(event)>,
  /// Answers with what is kept, oldest first.
  handles<event_list(read_events)>,
  /// Sends the follower every event.
  handles<void(follow_events)>>;

struct event_log_state {
  static inline const char* name = "event_log";
  static constexpr std::size_t kept = 10'000;

  std::deque<event> events;
  std::int64_t last = 0;
  std::vector<event_follower_actor> followers;
};

event_log_actor::behavior_type event_log(event_log_actor::stateful_pointer<event_log_state> self);

} // namespace reprieve
