#include "actors/replica/replica_events.hpp"

#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <utility>

namespace reprieve {

namespace {

using self_pointer = replica_pointer;

} // namespace

void tell_of_end(self_pointer self, const std::string& shard, const caf::error& why) {
  auto& state = self->state;
  const auto now = state.settings.clock.now(self);
  const auto wait = state.restarts.ended(shard, now);
  const auto message = fmt::format(
    "{} ended, for the {}. time since this process began, and begins anew {}: {}", shard,
    state.restarts.times(shard),
    wait == duration{0} ? "at once" : fmt::format("in {}", format_duration(wait)), reason_of(why));
  self->send(state.events,
             event{0, now, "Replica", state.settings.name, "Restarted", message, {}, {}});
  if (state.settings.say)
    state.settings.say(message);
}

void tell_unreadable(self_pointer self, const std::string& shard, const absl::Status& why) {
  constexpr std::chrono::seconds pause{10};
  auto& state = self->state;
  self->delayed_send(self, pause, load_again{shard, state.ground});
  if (!state.unreadable.insert(shard).second)
    return; // people know
  const auto message =
    fmt::format("{} can't be read, and nobody serves it until it can; that is tried every {}: {}",
                shard, format_duration(pause), std::string(why.message()));
  self->send(state.events, event{0,
                                 state.settings.clock.now(self),
                                 "Replica",
                                 state.settings.name,
                                 "Unreadable",
                                 message,
                                 {},
                                 {}});
  if (state.settings.say)
    state.settings.say(message);
}

void tell_aside(self_pointer self, const shard_contents& from) {
  auto& state = self->state;
  const auto now = state.settings.clock.now(self);
  const auto say = [&](const std::string& what) {
    if (state.settings.say)
      state.settings.say(what);
  };
  for (const auto& one : from.aside)
    if (state.told_aside.emplace(one.key, one.why).second) {
      const auto message = describe(one);
      self->send(
        state.events,
        event{0, now, std::string(to_string(one.kind)), one.name, "Unreadable", message, {}, {}});
      say(message);
    }
  for (const auto& message : from.begun_anew) {
    self->send(state.events,
               event{0, now, "Replica", state.settings.name, "Unreadable", message, {}, {}});
    say(message);
  }
}

} // namespace reprieve
