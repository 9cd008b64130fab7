#pragma once

#include "actors/caf.hpp"
#include "state/model/requests.hpp"

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

/// The next ones after `after`; where there is none yet, the answer waits for one, but not for
/// ever.
struct next_events {
  std::int64_t after = 0;
  std::size_t most = 0; ///< in the answer
};

struct event_page {
  event_list events;
  bool gap = false; ///< some that came behind `after` are not kept any more
};

/// What another replica's log took in.
struct relayed_event {
  event seen;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::event)
REPRIEVE_MESSAGE(reprieve::event_list)
REPRIEVE_MESSAGE(reprieve::relayed_event)
REPRIEVE_MESSAGE(reprieve::read_events)
REPRIEVE_MESSAGE(reprieve::next_events)
REPRIEVE_MESSAGE(reprieve::event_page)

namespace reprieve {

/// Takes events, such as another replica's log.
using event_follower_actor = typed_actor<handles<void(event)>>;

/// A reminder to itself to answer those who wait for events.
struct tell_waiting {
  bool all = false; ///< those too for whom there is nothing, where they have waited for too long
};

/// The logs of the other replicas, which get what happens here as well.
struct share_events {
  std::vector<event_follower_actor> others;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::share_events)
REPRIEVE_MESSAGE(reprieve::tell_waiting)

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
  /// Answers with what is kept, oldest first. Who asks for more than what befell one object gets a
  /// large copy, and is to end when it has done with it: others wait for that.
  handles<event_list(read_events)>,
  /// For those who read on and on: whoever does not take what it has costs nothing more.
  handles<event_page(next_events)>>;

/// With what the log reminds itself of.
using private_event_log_actor = event_log_actor::extend<handles<void(tell_waiting)>>;

struct event_log_state {
  static inline const char* name = "event_log";
  static constexpr std::size_t kept = 10'000;
  static constexpr std::size_t most_copies = 4; ///< of all that is kept, at a time

  struct copy_wanted {
    read_events wanted;
    promise<event_list> answer;
    caf::strong_actor_ptr by;
  };
  struct waiting {
    next_events wanted;
    promise<event_page> answer;
    caf::actor_clock::time_point since;
  };

  std::deque<event> events;
  std::int64_t last = 0;
  std::int64_t dropped = 0; ///< sequence of the newest that is not kept any more
  std::vector<waiting> waiting_for_more;
  bool will_tell = false;                   ///< new ones, in a moment
  bool will_look = false;                   ///< for those who have waited for too long
  std::vector<event_follower_actor> others; ///< logs of other replicas
  std::deque<copy_wanted> copies_wanted;
  std::vector<caf::actor_addr> have_copies; ///< and have not ended yet
};

using event_log_pointer = private_event_log_actor::stateful_pointer<event_log_state>;

private_event_log_actor::behavior_type event_log(event_log_pointer self);

} // namespace reprieve
