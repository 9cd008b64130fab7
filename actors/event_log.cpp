#include "actors/event_log.hpp"

#include "actors/followers.hpp"

namespace reprieve {

namespace {

void take_in(event_log_actor::stateful_pointer<event_log_state> self, event& seen) {
  auto& state = self->state;
  const auto time =
    std::chrono::duration_cast<std::chrono::microseconds>(seen.at.time_since_epoch()).count();
  state.last = std::max<std::int64_t>(state.last + 1, time);
  seen.sequence = state.last;
  for (const auto& follower : state.followers)
    self->send(follower, seen);
  state.events.push_back(std::move(seen));
  if (state.events.size() > event_log_state::kept)
    state.events.pop_front();
}

} // namespace

event_log_actor::behavior_type event_log(event_log_actor::stateful_pointer<event_log_state> self) {
  self->set_down_handler(
    [self](caf::down_msg& down) { drop_follower(self->state.followers, down); });
  return {
    [self](event& seen) {
      for (const auto& other : self->state.others)
        self->send(other, seen);
      take_in(self, seen);
    },
    [self](relayed_event& other) { take_in(self, other.seen); },
    [self](share_events& with) { self->state.others = std::move(with.others); },
    [self](const read_events& wanted) {
      event_list found;
      for (const auto& one : self->state.events)
        if (one.sequence > wanted.after && (wanted.name.empty() || one.name == wanted.name))
          found.push_back(one);
      return found;
    },
    [self](follow_events& wanted) {
      for (const auto& one : self->state.events)
        if (one.sequence > wanted.after)
          self->send(wanted.follower, one);
      add_follower(self, self->state.followers, std::move(wanted.follower));
    },
  };
}

} // namespace reprieve
