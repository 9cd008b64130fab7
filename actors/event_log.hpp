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

  bool operator==(const read_events&) const = default;
};

using event_list = std::vector<event>;

/// What another replica's log took in.
struct relayed_event {
  event seen;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::event)
REPRIEVE_MESSAGE(reprieve::event_list)
REPRIEVE_MESSAGE(reprieve::relayed_event)
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

/// The logs of the other replicas, which get what happens here as well.
struct share_events {
  std::vector<event_follower_actor> others;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::share_events)

namespace reprieve {

/// The newest events of the whole cluster, in memory. They are numbered by time, so that who
/// follows one replica's log can go on with that of another.
using event_log_actor = typed_actor<
  /// Takes an event in.
  handles<void(event)>,
  /// From the log of another replica.
  handles<void(relayed_event)>,
  /// From the replica.
  handles<void(share_events)>,
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
  std::vector<event_follower_actor> others; ///< logs of other replicas
};

event_log_actor::behavior_type event_log(event_log_actor::stateful_pointer<event_log_state> self);

} // namespace reprieve
