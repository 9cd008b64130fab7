#include "actors/interfaces/event_log.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

using self_pointer = event_log_pointer;

/// Events that come one after the other are told together.
constexpr std::chrono::milliseconds gathering_time{20};
/// Who waits is answered by then; so those are noticed who are not there any more.
constexpr std::chrono::seconds longest_wait{4};

/// The first of those that are kept behind `after`.
auto first_after(const event_log_state& state, std::int64_t after) {
  return std::ranges::upper_bound(state.events, after, {}, &event::sequence);
}

event_page page_for(const event_log_state& state, const next_events& wanted) {
  event_page page;
  page.gap = wanted.after < state.dropped;
  for (auto at = first_after(state, wanted.after);
       at != state.events.end() && page.events.size() < wanted.most; ++at)
    page.events.push_back(*at);
  return page;
}

void record_event(self_pointer self, event& seen) {
  auto& state = self->state;
  const auto time =
    std::chrono::duration_cast<std::chrono::microseconds>(seen.at.time_since_epoch()).count();
  state.last = std::max<std::int64_t>(state.last + 1, time);
  seen.sequence = state.last;
  state.events.push_back(std::move(seen));
  if (state.events.size() > event_log_state::kept) {
    state.dropped = state.events.front().sequence;
    state.events.pop_front();
  }
  if (!state.waiting_for_more.empty() && !std::exchange(state.will_tell, true))
    self->delayed_send(self, gathering_time, tell_waiting{});
}

caf::result<event_page> give_next(self_pointer self, const next_events& wanted) {
  auto& state = self->state;
  auto page = page_for(state, wanted);
  if (!page.events.empty())
    return page;
  auto answer = promise_from<event_page>(self);
  state.waiting_for_more.push_back({wanted, answer, self->clock().now()});
  if (!std::exchange(state.will_look, true))
    self->delayed_send(self, longest_wait, tell_waiting{true});
  return answer;
}

event_list kept_for(const event_log_state& state, const read_events& wanted) {
  event_list found;
  for (auto at = first_after(state, wanted.after); at != state.events.end(); ++at)
    if (wanted.name.empty() || at->name == wanted.name)
      found.push_back(*at);
  return found;
}

/// Gives copies of all that is kept to those who may have one now.
void give_copies(self_pointer self) {
  auto& state = self->state;
  while (!state.copies_wanted.empty() && state.have_copies.size() < event_log_state::most_copies) {
    const auto next = std::move(state.copies_wanted.front());
    state.copies_wanted.pop_front();
    if (next.by) {
      self->monitor(next.by);
      state.have_copies.push_back(caf::actor_cast<caf::actor_addr>(next.by));
    }
    next.answer.deliver(kept_for(state, next.wanted));
  }
}

caf::result<event_list> give_kept(self_pointer self, const read_events& wanted) {
  if (!wanted.name.empty())
    return kept_for(self->state, wanted);
  const auto by = self->current_sender(); // which the promise takes
  auto answer = promise_from<event_list>(self);
  self->state.copies_wanted.push_back({wanted, answer, by});
  give_copies(self);
  return answer;
}

void tell(self_pointer self, bool all) {
  auto& state = self->state;
  (all ? state.will_look : state.will_tell) = false;
  const auto now = self->clock().now();
  std::erase_if(state.waiting_for_more, [&](event_log_state::waiting& one) {
    const bool over = all && now - one.since >= longest_wait;
    if (!over && state.last <= one.wanted.after)
      return false;
    one.answer.deliver(page_for(state, one.wanted));
    return true;
  });
  if (all && !state.waiting_for_more.empty()) {
    state.will_look = true;
    self->delayed_send(self, longest_wait, tell_waiting{true});
  }
}

} // namespace

private_event_log_actor::behavior_type event_log(self_pointer self) {
  self->set_down_handler([self](const caf::down_msg& down) {
    std::erase(self->state.have_copies, down.source);
    give_copies(self);
  });
  return {
    [self](event& seen) {
      for (const auto& other : self->state.others)
        self->send(other, seen);
      record_event(self, seen);
    },
    [self](relayed_event& other) { record_event(self, other.seen); },
    [self](share_events& with) { self->state.others = std::move(with.others); },
    [self](const read_events& wanted) { return give_kept(self, wanted); },
    [self](const next_events& wanted) { return give_next(self, wanted); },
    [self](tell_waiting whom) { tell(self, whom.all); },
  };
}

} // namespace reprieve
