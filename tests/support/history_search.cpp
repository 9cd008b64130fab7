#include "tests/support/history_search.hpp"

#include <fmt/format.h>

#include <ranges>
#include <set>
#include <unordered_map>
#include <utility>

namespace reprieve {

std::size_t possibility_hash::operator()(const possibility& one) const {
  std::uint64_t hash = 14695981039346656037U;
  const auto mix = [&](auto number) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 1099511628211U;
    hash ^= hash >> 29U;
  };
  mix(one.state.at);
  mix(one.state.counts);
  mix(one.state.uid);
  mix(one.state.generation);
  for (const auto uid : one.state.gone)
    mix(uid);
  mix(-1);
  for (const auto call : one.done)
    mix(call);
  return hash;
}

std::vector<history_event> events_of(const std::vector<recorded_call>& calls,
                                     std::optional<duration> latest_effect) {
  std::vector<history_event> events;
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    events.push_back({calls[i].invoked, false, i});
    if (calls[i].how != call_end::unknown)
      events.push_back({calls[i].returned, true, i});
    else if (latest_effect)
      events.push_back({calls[i].invoked + *latest_effect, true, i});
  }
  std::sort(events.begin(), events.end());
  return events;
}

history_search::history_search(std::vector<recorded_call> calls, const history_limits& limits)
    : calls_(std::move(calls)), effort_(limits.effort) {
  for (const auto& call : calls_)
    modelled_.push_back(in_numbers(call));
  events_ = events_of(calls_, limits.latest_effect);
  for (std::size_t at = 0; at < events_.size(); ++at)
    if (const auto uid = modelled_[events_[at].call].uid; uid != 0)
      last_seen_[uid] = at;
}

model_call history_search::in_numbers(const recorded_call& call) {
  const bool gets = call.what == workload_call::get;
  model_call modelled{call.what, call.how};
  modelled.counts = counts_(gets ? call.seen.counts : call.counts);
  if (call.how == call_end::unknown) // there is no answer to look at
    return modelled;
  modelled.outcome = call.outcome;
  modelled.uid = call.seen.uid.empty() ? 0 : uids_(call.seen.uid);
  modelled.generation = call.seen.generation;
  return modelled;
}

history_search::result history_search::run() {
  for (now_ = 0; now_ < events_.size(); ++now_) {
    const auto& event = events_[now_];
    if (!event.is_return)
      begin(event.call);
    else if (is_unknown(event.call) ? !give_up(event.call) : !end(event.call))
      return looked_at_ > effort_ ? result::undecided : result::unexplained;
    note_certainty();
  }
  return result::explained;
}

void history_search::begin(std::uint32_t call) {
  open_.push_back(call);
  if (!changes_nothing(modelled_[call]))
    return;
  possibilities next;
  for (const auto& one : possible_)
    next.insert(with_free_calls(one));
  possible_ = std::move(next);
}

/// It has had its effect by now, seen or not, or never will. False where that is too much to look
/// at.
bool history_search::give_up(std::uint32_t call) {
  auto next = possible_;
  if (!look_behind({possible_.begin(), possible_.end()}, call, next))
    return false;
  take_as_ended(call, std::move(next));
  return true;
}

/// The call has been carried out, or is carried out now, behind any of the others.
bool history_search::end(std::uint32_t call) {
  possibilities next;
  if (!look_behind({possible_.begin(), possible_.end()}, call, next) || next.empty())
    return false;
  take_as_ended(call, std::move(next));
  ++ended_;
  return true;
}

void history_search::take_as_ended(std::uint32_t call, possibilities next) {
  possible_.clear();
  while (!next.empty()) {
    auto one = std::move(next.extract(next.begin()).value());
    std::erase(one.done, call);
    possible_.insert(std::move(one));
  }
  drop_what_adds_nothing(possible_);
  std::erase(open_, call);
}

/// Finds all that can be the case when the call is carried out, with few surprises first. False
/// where that is too much.
bool history_search::look_behind(std::vector<possibility> from, std::uint32_t call,
                                 possibilities& next) {
  possibilities seen;
  std::vector<possibility> more_surprising;
  for (int surprises = 0; !from.empty() && surprises <= surprises_; ++surprises) {
    while (!from.empty()) {
      auto one = std::move(from.back());
      from.pop_back();
      if (one.has_done(call)) {
        forget_uids(one.state);
        next.insert(std::move(one));
        continue;
      }
      for (const auto other : open_)
        for (auto& follows : carry_out(one, other))
          if (seen.insert(follows).second) {
            if (++looked_at_ > effort_)
              return false;
            (is_unknown(other) ? more_surprising : from).push_back(std::move(follows));
          }
    }
    from = std::exchange(more_surprising, {});
  }
  return true;
}

/// Whoever has used fewer of the calls without an end, and is as far otherwise, can do all that
/// another can.
void history_search::drop_what_adds_nothing(possibilities& from) const {
  std::unordered_map<possibility, std::vector<std::vector<std::uint32_t>>, possibility_hash> kept;
  std::vector<possibility> in_order(from.begin(), from.end());
  std::ranges::sort(in_order, {}, [](const possibility& one) { return one.done.size(); });
  possibilities left;
  for (auto& one : in_order) {
    possibility known{one.state, {}};
    std::vector<std::uint32_t> surprises;
    for (const auto call : one.done)
      (is_unknown(call) ? surprises : known.done).push_back(call);
    auto& others = kept[std::move(known)];
    if (std::ranges::any_of(
          others, [&](const auto& fewer) { return std::ranges::includes(surprises, fewer); }))
      continue;
    others.push_back(std::move(surprises));
    left.insert(std::move(one));
  }
  from = std::move(left);
}

std::vector<possibility> history_search::carry_out(const possibility& before,
                                                   std::uint32_t call) const {
  std::vector<possibility> after;
  const auto& what = modelled_[call];
  const bool unknown = is_unknown(call);
  if (before.has_done(call) || (unknown && is_one_of_several(before, call)))
    return after;
  for (auto& state : states_after(before.state, what)) {
    // What may be left out is carried out only where that makes a difference.
    if (unknown && state == before.state)
      continue;
    possibility next{std::move(state), before.done};
    next.set_done(call);
    after.push_back(with_free_calls(std::move(next)));
  }
  return after;
}

/// Of calls that are the same and have no answer, the first is taken: it began before the others.
bool history_search::is_one_of_several(const possibility& before, std::uint32_t call) const {
  return std::any_of(open_.begin(), open_.end(), [&](std::uint32_t other) {
    return other < call && modelled_[other] == modelled_[call] && !before.has_done(other);
  });
}

/// Calls that fit, and never change anything, are carried out at once: later is not better.
possibility history_search::with_free_calls(possibility one) const {
  for (const auto call : open_)
    if (changes_nothing(modelled_[call]) && !one.has_done(call)) {
      const auto after = states_after(one.state, modelled_[call]);
      if (std::find(after.begin(), after.end(), one.state) != after.end())
        one.set_done(call);
    }
  return one;
}

/// That a uid was there before does not matter when nobody sees it again.
void history_search::forget_uids(model_state& state) const {
  std::erase_if(state.gone, [&](std::int32_t uid) { return last_seen_.at(uid) <= now_; });
}

/// Nothing but calls without an end is under way, and there is one possibility only.
void history_search::note_certainty() {
  const bool quiet =
    std::all_of(open_.begin(), open_.end(), [&](std::uint32_t call) { return is_unknown(call); });
  if (quiet && possible_.size() == 1)
    certain_.push_back({ended_, now_ + 1, possible_.begin()->state});
}

history_search::certainty history_search::last_certainty(std::size_t most_ended) const {
  const auto found = std::find_if(certain_.rbegin(), certain_.rend(),
                                  [&](const auto& one) { return one.ended <= most_ended; });
  return {found->ended, found->events, text_of(found->state)};
}

std::string history_search::possible_states() const {
  std::set<std::string> words;
  for (const auto& one : possible_)
    words.insert(text_of(one.state));
  return fmt::format("{}", fmt::join(words, "; or "));
}

std::string history_search::text_of(const model_state& state) const {
  std::string text = "absent";
  if (state.at != model_state::life::absent)
    text = (state.at == model_state::life::deleting ? "being deleted, " : "")
           + to_string(workload_sight{state.uid == 0 ? "" : uids_.value(state.uid),
                                      state.generation, counts_.value(state.counts)});
  for (const auto uid : state.gone)
    text += fmt::format(", uid {} gone", uids_.value(uid));
  return text;
}

} // namespace reprieve
