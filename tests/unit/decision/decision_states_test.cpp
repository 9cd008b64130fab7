#include "actors/decision/decision_states.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace reprieve {

namespace {

using enum decision_state;
using enum decision_event;
using act = decision_action;
using kind = decision_answer::kind;

std::vector<decision_state> all_states() {
  std::vector<decision_state> all;
  for (std::size_t i = 0; i < decision_state_count; ++i)
    all.push_back(static_cast<decision_state>(i));
  return all;
}

std::vector<decision_event> all_events() {
  std::vector<decision_event> all;
  for (std::size_t i = 0; i < decision_event_count; ++i)
    all.push_back(static_cast<decision_event>(i));
  return all;
}

constexpr auto all_facts =
  std::to_array<decision_facts>({{false, false}, {false, true}, {true, false}, {true, true}});

/// Calls `see(state, event, facts, answer)` for every answer of the table.
template <class F>
void for_each_answer(F see) {
  for (const auto in : all_states())
    for (const auto what : all_events())
      for (const auto& known : all_facts)
        see(in, what, known, answer_to(what, in, known));
}

bool comes_from_others(decision_event what) {
  return what == begin || what == cancelled || what == votes_due || what == room_free;
}

std::string pair_of(decision_state in, decision_event what) {
  return fmt::format("{} in {}", to_string(what), to_string(in));
}

bool does(const decision_answer& answer, std::initializer_list<act> any_of) {
  return std::ranges::any_of(
    answer.actions, [&](act one) { return std::ranges::find(any_of, one) != any_of.end(); });
}

/// The action that is under way from then on.
act last_of(const decision_answer& answer) {
  return answer.actions[1] == act::none ? answer.actions[0] : answer.actions[1];
}

/// A decision on its way, and what has happened to it by then.
struct walker {
  decision_state in = launched;
  bool cancelled = false;
  bool tells_nobody = false;
  bool committed = false; ///< by its own commit, or so the store says
  bool applied = false;   ///< shards were asked to: victims may have been told
  bool started = false;   ///< the store has it as starting
  bool aborted = false;   ///< the store has it as aborted

  auto key() const {
    return std::tuple{in, cancelled, tells_nobody, committed, applied, started, aborted};
  }
};

constexpr std::initializer_list<act> actions_that_tell_victims = {act::apply, act::begin_start,
                                                                  act::start};

walker after(walker who, decision_event what, const decision_answer& answer) {
  who.cancelled = who.cancelled || what == decision_event::cancelled;
  if (answer.how != kind::acts)
    return who;
  const bool is_abort = who.in == aborting || who.in == aborting_applied;
  if (what == found_committed || what == found_starting || what == written_as_starting
      || (what == written && who.in == committing))
    who.committed = true;
  if (what == found_aborted || (what == written && is_abort))
    who.aborted = true;
  who.in = answer.next;
  who.applied = who.applied || does(answer, actions_that_tell_victims);
  who.started = who.started || who.in == starting;
  return who;
}

/// Goes every way through the table, and calls `see(before, event, answer, after)` at each step.
template <class F>
void walk_everywhere(F see) {
  std::vector<walker> open{{.tells_nobody = false}, {.tells_nobody = true}};
  std::set<decltype(walker{}.key())> seen;
  while (!open.empty()) {
    const auto before = open.back();
    open.pop_back();
    if (!seen.insert(before.key()).second)
      continue;
    for (const auto what : all_events()) {
      if (what == decision_event::cancelled && before.cancelled)
        continue; // it is asked for once
      const bool by_now = before.cancelled || what == decision_event::cancelled;
      const auto answer = answer_to(what, before.in, {by_now, before.tells_nobody});
      if (answer.how == kind::impossible)
        continue;
      const auto then = after(before, what, answer);
      see(before, what, answer, then);
      open.push_back(then);
    }
  }
}

/// The states that a decision may come to from this one.
std::set<decision_state> reachable_from(decision_state first, const decision_facts& known) {
  std::vector<decision_state> open{first};
  std::set<decision_state> seen;
  while (!open.empty()) {
    const auto in = open.back();
    open.pop_back();
    if (!seen.insert(in).second)
      continue;
    for (const auto what : all_events())
      if (const auto answer = answer_to(what, in, known); answer.how == kind::acts)
        open.push_back(answer.next);
  }
  return seen;
}

/// Takes a decision through these events and says where it is then.
decision_state led_by(std::initializer_list<decision_event> events, bool tells_nobody = false) {
  walker who{.tells_nobody = tells_nobody};
  for (const auto what : events) {
    const bool by_now = who.cancelled || what == decision_event::cancelled;
    const auto answer = answer_to(what, who.in, {by_now, tells_nobody});
    EXPECT_NE(answer.how, kind::impossible) << pair_of(who.in, what);
    who = after(who, what, answer);
  }
  return who.in;
}

TEST(decision_states, have_an_answer_to_every_event) {
  for_each_answer([](auto in, auto what, const auto&, const decision_answer& answer) {
    if (answer.how == kind::acts) {
      EXPECT_NE(answer.actions[0], act::none) << pair_of(in, what);
      EXPECT_TRUE(answer.because.empty()) << pair_of(in, what);
    } else {
      EXPECT_EQ(answer.actions[0], act::none) << pair_of(in, what);
      EXPECT_FALSE(answer.because.empty()) << pair_of(in, what);
    }
  });
}

TEST(decision_states, have_names_of_their_own) {
  std::set<std::string_view> names;
  for (const auto in : all_states())
    names.insert(to_string(in));
  EXPECT_EQ(names.size(), decision_state_count);
  names.clear();
  for (const auto what : all_events())
    names.insert(to_string(what));
  EXPECT_EQ(names.size(), decision_event_count);
  EXPECT_EQ(to_string(left), "left");
  EXPECT_EQ(to_string(reading_starting), "reading_starting");
  EXPECT_EQ(to_string(never_had_key), "never_had_key");
  EXPECT_EQ(to_string(retry_due), "retry_due");
}

TEST(decision_states, take_whatever_others_say_at_any_time) {
  for_each_answer([](auto in, auto what, const auto&, const decision_answer& answer) {
    if (comes_from_others(what)) {
      EXPECT_NE(answer.how, kind::impossible) << pair_of(in, what);
    } else if (!is_ended(in)) {
      EXPECT_TRUE(answer.how == kind::acts || answer.how == kind::impossible) << pair_of(in, what);
    }
    if (answer.how == kind::remembered) {
      EXPECT_EQ(what, decision_event::cancelled) << pair_of(in, what);
    }
  });
}

/// What may come of an action that asks somebody: there is an answer to all of it, and to nothing
/// else that does not come from others.
std::set<decision_event> outcomes_of(act what, decision_state in) {
  switch (what) {
  case act::ask_votes:
  case act::ask_votes_to_wait:
    return {agreed, room_taken, refused};
  case act::apply:
    return {agreed, refused, unanswered};
  case act::start:
  case act::begin_start:
  case act::withdraw_from_workloads:
  case act::withdraw_from_nodes:
    return {agreed, unanswered};
  case act::write_parts:
  case act::write_start:
  case act::write_end:
  case act::write_abort:
  case act::write_abort_again:
    return {written, rejected, overtaken, unanswered};
  case act::write_commit:
    return {written, written_as_starting, rejected, overtaken, unanswered};
  case act::read_store:
    switch (in) {
    case reading:
      return {found_committed, found_starting, found_aborted, never_had_key,
              key_gone,        owner_lost,     unanswered};
    case reading_applied:
      return {found_committed, found_starting, found_aborted, key_gone, owner_lost, unanswered};
    case reading_starting:
      return {found_starting, key_gone, owner_lost, unanswered};
    default:
      return {found_aborted, key_gone, owner_lost, unanswered};
    }
  case act::pause:
    return {retry_due};
  default:
    return {}; // nobody is asked, or others come back to it in their own time
  }
}

TEST(decision_states, answer_what_their_actions_may_bring_and_nothing_else) {
  std::map<decision_state, std::set<decision_event>> expected;
  for_each_answer([&](auto, auto, const auto&, const decision_answer& answer) {
    if (answer.how == kind::acts)
      expected[answer.next].merge(outcomes_of(last_of(answer), answer.next));
  });
  // At its launch one that is recovered knows what the store has.
  expected[launched] = {found_committed, found_starting, found_aborted};
  for_each_answer([&](auto in, auto what, const auto&, const decision_answer& answer) {
    if (!is_ended(in) && !comes_from_others(what)) {
      EXPECT_EQ(answer.how == kind::acts, expected[in].contains(what)) << pair_of(in, what);
    }
  });
}

TEST(decision_states, go_on_by_what_others_say_only_where_that_is_awaited) {
  for_each_answer([](auto in, auto what, const auto&, const decision_answer& answer) {
    if (what == begin) {
      EXPECT_EQ(answer.how == kind::acts, in == launched) << pair_of(in, what);
    }
    if (what == votes_due) {
      EXPECT_EQ(answer.how == kind::acts, in == voting) << pair_of(in, what);
    }
    if (what == room_free) {
      EXPECT_EQ(answer.how == kind::acts, in == waiting_for_room) << pair_of(in, what);
    }
  });
}

TEST(decision_states, let_no_victim_be_told_before_the_commit) {
  walk_everywhere([](const walker& before, auto what, const decision_answer& answer, auto& then) {
    if (does(answer, actions_that_tell_victims)) {
      EXPECT_TRUE(then.committed) << pair_of(before.in, what);
    }
  });
}

/// Their decision may be aborted all the same, but then its key says that they go.
TEST(decision_states, keep_on_record_that_victims_may_have_been_told) {
  walk_everywhere([](const walker& before, auto what, const decision_answer& answer, auto& then) {
    if (before.applied) {
      EXPECT_FALSE(does(answer, {act::let_go})) << pair_of(before.in, what);
      EXPECT_NE(then.in, given_up) << pair_of(before.in, what);
      EXPECT_NE(then.in, aborting) << pair_of(before.in, what);
    }
    if (then.in == aborting_applied) {
      EXPECT_TRUE(then.applied) << pair_of(before.in, what);
    }
  });
}

TEST(decision_states, start_what_is_starting_whatever_happens) {
  walk_everywhere([](const walker& before, auto what, const decision_answer& answer, auto& then) {
    if (!before.started)
      return;
    EXPECT_FALSE(does(answer, {act::let_go, act::write_abort, act::write_abort_again,
                               act::withdraw_from_workloads, act::withdraw_from_nodes}))
      << pair_of(before.in, what);
    EXPECT_FALSE(then.aborted) << pair_of(before.in, what);
    if (is_ended(then.in)) {
      EXPECT_TRUE(then.in == done || then.in == left) << pair_of(before.in, what);
    }
  });
}

TEST(decision_states, start_nothing_that_was_aborted) {
  walk_everywhere([](const walker& before, auto what, const decision_answer& answer, auto& then) {
    if (!before.aborted)
      return;
    EXPECT_FALSE(does(answer, {act::write_commit, act::apply, act::await_room, act::write_start,
                               act::begin_start, act::start}))
      << pair_of(before.in, what);
    if (is_ended(then.in)) {
      EXPECT_TRUE(then.in == ended_as_aborted || then.in == left) << pair_of(before.in, what);
    }
  });
}

TEST(decision_states, do_not_start_what_was_cancelled_in_time) {
  walk_everywhere([](const walker& before, auto what, const decision_answer& answer, auto&) {
    if (before.cancelled) {
      EXPECT_FALSE(does(answer, {act::write_parts, act::await_room, act::write_start}))
        << pair_of(before.in, what);
    }
  });
}

TEST(decision_states, remember_a_cancel_where_it_may_still_change_something) {
  for (const auto in : all_states()) {
    const auto later = reachable_from(in, {true, true});
    bool matters = false;
    for (const auto one : later)
      for (const auto what : all_events()) {
        const auto answer = answer_to(what, one, {true, true});
        matters =
          matters
          || (answer.how == kind::acts && answer.for_cancel && what != decision_event::cancelled);
      }
    const auto answer = answer_to(decision_event::cancelled, in, {true, true});
    if (answer.how != kind::acts) {
      EXPECT_EQ(answer.how == kind::remembered, matters) << to_string(in);
    }
  }
}

TEST(decision_states, end_only_in_ended_states_and_stay_there) {
  for_each_answer([](auto in, auto what, const auto&, const decision_answer& answer) {
    if (is_ended(in)) {
      EXPECT_EQ(answer.how, kind::ignored) << pair_of(in, what);
    }
    if (answer.how == kind::acts) {
      EXPECT_EQ(does(answer, {act::let_go, act::close, act::leave}), is_ended(answer.next))
        << pair_of(in, what);
    }
  });
}

TEST(decision_states, are_all_reached_and_all_have_a_way_to_an_end) {
  std::set<decision_state> reached;
  walk_everywhere([&](const walker& before, auto, const decision_answer&, const walker& then) {
    reached.insert(before.in);
    reached.insert(then.in);
  });
  for (const auto in : all_states()) {
    EXPECT_TRUE(reached.contains(in)) << to_string(in);
    for (const auto& known : all_facts) {
      const auto later = reachable_from(in, known);
      EXPECT_TRUE(in == left || later.contains(done) || later.contains(ended_as_aborted)
                  || later.contains(given_up))
        << to_string(in);
    }
  }
}

TEST(decision_states, lead_a_preemption_to_its_end) {
  EXPECT_EQ(led_by({begin, agreed, written, written, agreed, room_free, written, agreed, written}),
            done);
}

TEST(decision_states, lead_what_starts_at_once_to_its_end) {
  EXPECT_EQ(led_by({begin, agreed, written, written_as_starting, agreed, written}), done);
  EXPECT_EQ(led_by({begin, room_taken, agreed, written, written, agreed}), waiting_for_room);
}

TEST(decision_states, settle_a_commit_of_which_nothing_is_known) {
  EXPECT_EQ(led_by({begin, agreed, written, unanswered}), aborting);
  EXPECT_EQ(led_by({begin, agreed, written, unanswered, overtaken, found_committed}), applying);
  EXPECT_EQ(led_by({begin, agreed, written, unanswered, overtaken, found_starting}), starting);
  EXPECT_EQ(led_by({begin, agreed, written, unanswered, written}), withdrawing_workloads);
  EXPECT_EQ(led_by({begin, agreed, written, overtaken, overtaken, never_had_key}), given_up);
}

TEST(decision_states, look_at_a_cancel_before_the_next_step) {
  const auto now = decision_event::cancelled;
  EXPECT_EQ(led_by({now}), given_up);
  EXPECT_EQ(led_by({begin, now}), voting);
  EXPECT_EQ(led_by({begin, now, agreed}), given_up);
  EXPECT_EQ(led_by({begin, agreed, now, written}), committing);
  EXPECT_EQ(led_by({begin, agreed, now, written, written}), aborting);
  EXPECT_EQ(led_by({begin, agreed, now, written, written_as_starting}), starting);
  EXPECT_EQ(led_by({begin, agreed, written, written, now}), applying);
  EXPECT_EQ(led_by({begin, agreed, written, written, now, agreed}), aborting_applied);
  EXPECT_EQ(led_by({begin, agreed, written, written, agreed, now}), aborting_applied);
  EXPECT_EQ(led_by({begin, agreed, written, written, agreed, room_free, now, written}), starting);
  EXPECT_EQ(led_by({begin, agreed, written, written, agreed, room_free, now, unanswered,
                    found_committed, agreed}),
            aborting_applied);
}

TEST(decision_states, have_victims_told_before_a_cancel_is_looked_at_only_where_there_are_any) {
  const auto to_a_pause = {begin,      agreed,   written, written, decision_event::cancelled,
                           unanswered, retry_due};
  EXPECT_EQ(led_by(to_a_pause, false), applying);
  EXPECT_EQ(led_by(to_a_pause, true), aborting_applied);
}

TEST(decision_states, tell_how_the_store_has_an_open_decision) {
  EXPECT_EQ(event_of(decision_phase::committed), found_committed);
  EXPECT_EQ(event_of(decision_phase::starting), found_starting);
  EXPECT_EQ(event_of(decision_phase::aborted), found_aborted);
  EXPECT_EQ(event_of(decision_phase::preparing), std::nullopt);
  EXPECT_EQ(event_of(decision_phase::done), std::nullopt);
}

// -- the documentation ----------------------------------------------------------------------------

/// "state, event → state" for each pair by which a decision acts.
using steps = std::set<std::string>;

std::string step(std::string_view in, std::string_view what, std::string_view next) {
  return fmt::format("{}, {} → {}", in, what, next);
}

/// The section of docs/protocol.md with this heading, by line.
std::vector<std::string> lines_below(const std::string& heading) {
  std::ifstream file(REPRIEVE_SOURCE "/docs/protocol.md");
  std::vector<std::string> found;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#"))
      inside = line == heading;
    else if (inside)
      found.push_back(line);
  }
  return found;
}

/// Reads rows of the form "| `state` | … | `event`, `event` → `next`; … |": of each the first
/// column and the last.
steps steps_told_below(const std::string& heading) {
  constexpr std::string_view arrow = "→";
  steps found;
  for (const auto& line : lines_below(heading)) {
    if (!line.starts_with("| `"))
      continue;
    const auto in = line.substr(3, line.find('`', 3) - 3);
    std::vector<std::string> events;
    bool is_next = false;
    for (auto at = line.rfind(" | "); at < line.size(); ++at) {
      is_next = is_next || line.compare(at, arrow.size(), arrow) == 0;
      if (line[at] != '`')
        continue;
      const auto end = line.find('`', at + 1);
      const auto word = line.substr(at + 1, end - at - 1);
      at = end;
      if (!is_next) {
        events.push_back(word);
        continue;
      }
      for (const auto& what : events)
        found.insert(step(in, what, word));
      events.clear();
      is_next = false;
    }
  }
  return found;
}

void expect_same(const steps& documented, const steps& in_code) {
  steps missing;
  std::ranges::set_difference(in_code, documented, std::inserter(missing, missing.end()));
  EXPECT_EQ(missing, steps{}) << "is not in the documentation";
  steps extra;
  std::ranges::set_difference(documented, in_code, std::inserter(extra, extra.end()));
  EXPECT_EQ(extra, steps{}) << "is in the documentation only";
}

TEST(decision_states, are_documented) {
  steps in_the_table;
  steps for_a_cancel;
  for_each_answer([&](auto in, auto what, const auto& known, const decision_answer& answer) {
    if (answer.how != kind::acts)
      return;
    if (!known.cancelled)
      in_the_table.insert(step(to_string(in), to_string(what), to_string(answer.next)));
    else if (answer.for_cancel && what != decision_event::cancelled)
      for_a_cancel.insert(step(to_string(in), to_string(what), to_string(answer.next)));
  });
  expect_same(steps_told_below("### State by state"), in_the_table);
  expect_same(steps_told_below("### When it is cancelled"), for_a_cancel);
}

} // namespace

} // namespace reprieve
