#include "actors/durability/archive_keeper.hpp"

#include "actors/durability/store_reading.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace reprieve {

namespace {

using self_pointer = archive_keeper_pointer;

constexpr std::chrono::seconds longest_rest{10};
/// What a write may take, and clocks of replicas differ by: nobody counts on what is newer.
constexpr std::chrono::seconds settling_time{10};
/// After which no decision comes into an hour that is over.
constexpr std::chrono::minutes closing_time{10};

constexpr std::int64_t counted_at_once = 5000;
constexpr std::int64_t let_go_at_once = 1000;

time_point now_of(self_pointer self) {
  return self->state.settings.clock.now(self);
}

bool is_over(std::int64_t hour, time_point now) {
  return start_of_hour(hour + 1) + closing_time <= now;
}

/// What the page holds; what can't be read counts as nothing, and goes with the rest.
std::vector<archive_entry> entries_in(const std::vector<key_value>& page) {
  std::vector<archive_entry> entries;
  for (const auto& one : page)
    entries.push_back({std::string(keys::last_part(one.key)), keys::end_of(one.key),
                       decode<archived_decision>(one.value).value_or(archived_decision{})});
  return entries;
}

// -- what is known --------------------------------------------------------------------------------

/// Reads what the predecessor knew.
void read_record(self_pointer self, const next_step& then) {
  read_all(self, self->state.settings.store,
           {std::string(keys::archive), std::string(keys::archive_hours)},
           [self, then](absl::StatusOr<key_values> found) {
             if (!found.ok()) {
               rest(self);
               return;
             }
             auto& state = self->state;
             state.record = {};
             state.totals = {};
             state.closed.clear();
             state.live.clear();
             state.counted.clear();
             for (const auto& one : *found) {
               if (one.key == keys::archive) {
                 state.record = decode<archive_record>(one.value).value_or(archive_record{});
               } else if (const auto total = decode<archive_total>(one.value); total.ok()) {
                 const auto hour = keys::hour_of_archive(one.key);
                 state.totals.add(hour, *total);
                 state.closed.insert(hour);
               }
             }
             if (!state.closed.empty())
               state.counted = keys::ended_since(start_of_hour(*state.closed.rbegin() + 1));
             state.known = true;
             then();
           });
}

// -- counting -------------------------------------------------------------------------------------

/// Counts what ended from the key `from` up to `end`, an hour at a time: for each page etcd looks
/// at all of its range.
void count(self_pointer self, const std::string& from, const std::string& end,
           const next_step& then) {
  if (from >= end) {
    then();
    return;
  }
  const auto hour = hour_of(keys::end_of(from));
  const auto next_hour = keys::ended_since(start_of_hour(hour + 1));
  const auto until = std::min(end, next_hour);
  read_for(self, {{from, until}, counted_at_once, 0, false},
           [self, hour, until, end, then](const range_result& page) {
             for (const auto& one : entries_in(page.values))
               self->state.totals.add(hour, {1, one.what.bytes});
             count(self, page.more ? page.values.back().key + '\0' : until, end, then);
           });
}

/// Begins with the first that there is behind `from`, for there may be days without any.
void count_from_first(self_pointer self, const std::string& from, const std::string& end,
                      const next_step& then) {
  if (from >= end) {
    then();
    return;
  }
  read_for(self, {{from, end}, 1, 0, true}, [self, end, then](const range_result& first) {
    if (first.values.empty())
      then();
    else
      count(self, first.values.front().key, end, then);
  });
}

/// Writes down the totals of hours that are over. What was counted while the hour was not is
/// counted anew, for a decision may have come in late.
void close_hours(self_pointer self, const next_step& then) {
  auto& state = self->state;
  const auto next = std::ranges::find_if(state.totals.hours(), [&](const auto& one) {
    return !state.closed.contains(one.first) && is_over(one.first, now_of(self));
  });
  if (next == state.totals.hours().end()) {
    then();
    return;
  }
  const auto hour = next->first;
  if (state.live.erase(hour) > 0) {
    state.totals.forget(hour);
    state.totals.add(hour, {});
    count(self, keys::ended_since(start_of_hour(hour)), keys::ended_since(start_of_hour(hour + 1)),
          [self, then] { close_hours(self, then); });
    return;
  }
  write_for(self, {put{keys::archive_hour(hour), encode(next->second), 0}}, [self, hour, then] {
    self->state.closed.insert(hour);
    close_hours(self, then);
  });
}

/// Counts what has ended since the last time.
void count_new(self_pointer self, const next_step& then) {
  auto& state = self->state;
  const auto now = now_of(self);
  auto end = keys::ended_since(now - settling_time);
  auto from = state.counted.empty() ? std::string(keys::ended_decisions) : state.counted;
  count_from_first(self, from, end, [self, now, end, then] {
    auto& s = self->state;
    s.counted = std::max(s.counted, end);
    for (const auto& [hour, total] : s.totals.hours())
      if (!is_over(hour, now) && !s.closed.contains(hour))
        s.live.insert(hour);
    close_hours(self, then);
  });
}

// -- letting go -----------------------------------------------------------------------------------

void let_go(self_pointer self);

/// The write of an hour's total, where it stands in the store.
void add_total(const archive_keeper_state& state, std::int64_t hour,
               std::vector<operation>& writes) {
  if (state.closed.contains(hour))
    writes.emplace_back(put{keys::archive_hour(hour), encode(state.totals.of(hour)), 0});
}

/// Carries out what `what_to_let_go` came to, one write after the other.
void write_all(self_pointer self, std::int64_t hour,
               const std::shared_ptr<std::vector<letting_go>>& writes, std::size_t next,
               const next_step& then) {
  if (next == writes->size()) {
    then();
    return;
  }
  auto& state = self->state;
  auto& one = (*writes)[next];
  auto operations = std::move(one.erased);
  state.totals.take(hour, one.gone);
  if (one.gone.count > 0) {
    state.record.let_go_until = std::max(state.record.let_go_until, one.until);
    state.record.made_room = one.made_room;
    operations.emplace_back(put{std::string(keys::archive), encode(state.record), 0});
    add_total(state, hour, operations);
  }
  write_for(self, std::move(operations),
            [self, hour, writes, next, then] { write_all(self, hour, writes, next + 1, then); });
}

/// An hour that nothing is left of.
void forget_hour(self_pointer self, std::int64_t hour) {
  auto& state = self->state;
  state.totals.forget(hour);
  state.live.erase(hour);
  if (state.closed.erase(hour) > 0)
    write_for(self, {erase{just(keys::archive_hour(hour))}}, [self] { let_go(self); });
  else
    let_go(self);
}

/// Lets go what is too much in the oldest hour, as far as it is on the page.
void let_go_from(self_pointer self, std::int64_t hour, const range_result& page) {
  auto& state = self->state;
  const auto entries = entries_in(page.values);
  auto writes = std::make_shared<std::vector<letting_go>>(
    what_to_let_go(entries, state.totals.bytes(), state.settings.limits, now_of(self)));
  std::int64_t gone = 0;
  for (const auto& one : *writes)
    gone += one.gone.count;
  const bool all = gone == std::ssize(entries);
  write_all(self, hour, writes, 0, [self, all] {
    if (all)
      let_go(self);
    else
      rest(self);
  });
}

/// Reads the oldest of an hour that end before `until`. Where there are many of them only a part of
/// the hour is asked for, as etcd looks at all of the range.
void read_oldest(self_pointer self, std::int64_t hour, time_point from, time_point until) {
  const auto& state = self->state;
  const auto end = std::min(keys::ended_since(until), state.counted);
  const auto begin = keys::ended_since(from);
  const bool whole =
    from == start_of_hour(hour) && (until == start_of_hour(hour + 1) || end == state.counted);
  if (begin >= end) {
    if (whole)
      forget_hour(self, hour);
    else
      read_oldest(self, hour, start_of_hour(hour), start_of_hour(hour + 1));
    return;
  }
  read_for(self, {{begin, end}, let_go_at_once, 0, false},
           [self, hour, whole](const range_result& page) {
             if (!page.values.empty())
               let_go_from(self, hour, page);
             else if (whole)
               forget_hour(self, hour);
             else
               read_oldest(self, hour, start_of_hour(hour), start_of_hour(hour + 1));
           });
}

void let_go(self_pointer self) {
  const auto& state = self->state;
  if (!is_too_much(state.totals, state.settings.limits, now_of(self))) {
    rest(self);
    return;
  }
  const auto hour = *state.totals.oldest();
  const auto start = start_of_hour(hour);
  const auto next = start_of_hour(hour + 1);
  const auto from = state.record.let_go_until > start && state.record.let_go_until < next
                      ? state.record.let_go_until
                      : start;
  const auto share = std::chrono::hours{1} / (state.totals.of(hour).count / let_go_at_once + 1);
  read_oldest(self, hour, from, std::min(next, from + share + std::chrono::seconds{1}));
}

void look(self_pointer self) {
  auto& state = self->state;
  // Until every replica knows of the archive, decisions end as they did before.
  if (state.settings.owner->schema() < schema_with_archive) {
    rest(self);
    return;
  }
  if (!state.known) {
    read_record(self, [self] { look(self); });
    return;
  }
  settle_archive(self, [self] { count_new(self, [self] { let_go(self); }); });
}

} // namespace

void read_for(self_pointer self, range_request wanted, std::function<void(range_result)> then) {
  self->request(self->state.settings.store, caf::infinite, std::move(wanted))
    .then(
      [self, then = std::move(then)](range_answer& answer) {
        if (answer.ok()) {
          then(*std::move(answer));
          return;
        }
        self->state.known = false;
        rest(self);
      },
      [self](caf::error&) {
        self->state.known = false;
        rest(self);
      });
}

void write_for(self_pointer self, std::vector<operation> writes, next_step then) {
  const auto& settings = self->state.settings;
  self
    ->request(settings.store, caf::infinite,
              transaction{{settings.owner->held()}, std::move(writes)})
    .then(
      [self, then = std::move(then)](transaction_answer& answer) {
        if (answer.ok() && answer->succeeded) {
          then();
          return;
        }
        self->state.known = false; // it may have happened
        rest(self);
      },
      [self](caf::error&) {
        self->state.known = false;
        rest(self);
      });
}

void rest(self_pointer self) {
  const auto short_rest =
    std::max<duration>(self->state.settings.limits.age / 2, std::chrono::seconds{1});
  self->delayed_send(self, std::min<duration>(longest_rest, short_rest), look_at_archive{});
}

archive_keeper_actor::behavior_type archive_keeper(self_pointer self,
                                                   archive_keeper_settings settings) {
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); });
  self->monitor(settings.beside);
  settings.beside = nullptr; // which it would keep alive
  self->state.settings = std::move(settings);
  self->send(self, look_at_archive{});
  return {
    [self](look_at_archive) { look(self); },
  };
}

} // namespace reprieve
