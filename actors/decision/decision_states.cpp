#include "actors/decision/decision_states.hpp"

#include <algorithm>
#include <optional>

namespace reprieve {

namespace {

using enum decision_state;
using enum decision_event;
using enum decision_action;

struct rule {
  decision_state in;
  decision_event what;
  decision_state next;
  std::array<decision_action, 2> actions;
};

/// The events by which a decision acts. Every other pair is answered by `outside_the_table`.
constexpr auto rules = std::to_array<rule>({
  {launched, begin, voting, {ask_votes}},
  {launched, cancelled, given_up, {let_go}},
  // One that a new owner of its coordinator found in the store.
  {launched, found_committed, applying, {apply}},
  {launched, found_starting, starting, {begin_start}},
  {launched, found_aborted, withdrawing_workloads, {withdraw_from_workloads}},

  {voting, agreed, writing_parts, {write_parts}},
  // Somebody who is to leave may still be where the plan saw nobody, as what another decision waits
  // for came sooner: then this one waits as well.
  {voting, room_taken, voting, {ask_votes_to_wait}},
  {voting, refused, given_up, {let_go}},
  {voting, votes_due, given_up, {let_go}},

  {writing_parts, written, committing, {write_commit}},
  {writing_parts, rejected, given_up, {let_go}},
  {writing_parts, unanswered, given_up, {let_go}},
  // The owner has another epoch, or has lost its place.
  {writing_parts, overtaken, reading, {read_store}},

  {committing, written, applying, {tell_committed, apply}},
  {committing, written_as_starting, starting, {tell_committed, begin_start}},
  {committing, rejected, given_up, {let_go}},
  // Not known, or somebody aborted it: writing the abort tells which.
  {committing, overtaken, aborting, {write_abort}},
  {committing, unanswered, aborting, {write_abort}},

  {applying, agreed, waiting_for_room, {tell_applied, await_room}},
  // Its room is not there any more, or never will be in a record.
  {applying, refused, aborting_applied, {write_abort}},
  {applying, unanswered, applying, {pause}},
  {applying, retry_due, applying, {apply}},

  {waiting_for_room, room_free, writing_start, {write_start}},
  {waiting_for_room, cancelled, aborting_applied, {write_abort}},

  {writing_start, written, starting, {tell_starting, start}},
  {writing_start, rejected, reading_applied, {read_store}},
  {writing_start, overtaken, reading_applied, {read_store}},
  {writing_start, unanswered, reading_applied, {read_store}},

  {starting, agreed, writing_end, {tell_started, write_end}},
  {starting, unanswered, starting, {pause}},
  {starting, retry_due, starting, {start}},

  {writing_end, written, done, {tell_end, close}},
  {writing_end, rejected, reading_starting, {read_store}},
  {writing_end, overtaken, reading_starting, {read_store}},
  {writing_end, unanswered, reading_starting, {read_store}},

  {aborting, written, withdrawing_workloads, {withdraw_from_workloads}},
  {aborting, overtaken, reading, {read_store}},
  {aborting, rejected, aborting, {pause}},
  {aborting, unanswered, aborting, {pause}},
  {aborting, retry_due, aborting, {write_abort_again}},

  {aborting_applied, written, withdrawing_workloads, {withdraw_from_workloads}},
  {aborting_applied, overtaken, reading_applied, {read_store}},
  {aborting_applied, rejected, aborting_applied, {pause}},
  {aborting_applied, unanswered, aborting_applied, {pause}},
  {aborting_applied, retry_due, aborting_applied, {write_abort_again}},

  {withdrawing_workloads, agreed, withdrawing_nodes, {withdraw_from_nodes}},
  {withdrawing_workloads, unanswered, withdrawing_workloads, {pause}},
  {withdrawing_workloads, retry_due, withdrawing_workloads, {withdraw_from_workloads}},

  {withdrawing_nodes, agreed, writing_aborted_end, {write_end}},
  // From the start, in that order.
  {withdrawing_nodes, unanswered, withdrawing_workloads, {pause}},

  {writing_aborted_end, written, ended_as_aborted, {tell_end, close}},
  {writing_aborted_end, rejected, reading_aborted, {read_store}},
  {writing_aborted_end, overtaken, reading_aborted, {read_store}},
  {writing_aborted_end, unanswered, reading_aborted, {read_store}},

  {reading, found_committed, applying, {apply}},
  {reading, found_starting, starting, {begin_start}},
  {reading, found_aborted, withdrawing_workloads, {withdraw_from_workloads}},
  // It was kept from writing it.
  {reading, never_had_key, given_up, {let_go}},
  {reading, key_gone, done, {close}},
  {reading, owner_lost, left, {leave}},
  {reading, unanswered, reading, {pause}},
  {reading, retry_due, reading, {read_store}},

  {reading_applied, found_committed, applying, {apply}},
  {reading_applied, found_starting, starting, {begin_start}},
  {reading_applied, found_aborted, withdrawing_workloads, {withdraw_from_workloads}},
  {reading_applied, key_gone, done, {close}},
  {reading_applied, owner_lost, left, {leave}},
  {reading_applied, unanswered, reading_applied, {pause}},
  {reading_applied, retry_due, reading_applied, {read_store}},

  {reading_starting, found_starting, starting, {begin_start}},
  {reading_starting, key_gone, done, {close}},
  {reading_starting, owner_lost, left, {leave}},
  {reading_starting, unanswered, reading_starting, {pause}},
  {reading_starting, retry_due, reading_starting, {read_store}},

  {reading_aborted, found_aborted, withdrawing_workloads, {withdraw_from_workloads}},
  {reading_aborted, key_gone, ended_as_aborted, {close}},
  {reading_aborted, owner_lost, left, {leave}},
  {reading_aborted, unanswered, reading_aborted, {pause}},
  {reading_aborted, retry_due, reading_aborted, {read_store}},
});

/// What it does instead where it was cancelled by then.
struct cancelled_rule {
  rule instead;
  bool only_where_it_tells_nobody = false;
};

constexpr auto cancelled_rules = std::to_array<cancelled_rule>({
  {{voting, agreed, given_up, {let_go}}},
  {{committing, written, aborting, {tell_committed, write_abort}}},
  {{reading, found_committed, aborting, {write_abort}}},
  {{applying, agreed, aborting_applied, {tell_applied, write_abort}}},
  // Where victims may have been told of it, all shards apply it first.
  {{applying, retry_due, aborting_applied, {write_abort}}, true},
  {{reading_applied, found_committed, aborting_applied, {write_abort}}, true},
});

constexpr bool names_no_pair_twice() {
  for (std::size_t i = 0; i < rules.size(); ++i)
    for (std::size_t j = i + 1; j < rules.size(); ++j)
      if (rules[i].in == rules[j].in && rules[i].what == rules[j].what)
        return false;
  return true;
}
static_assert(names_no_pair_twice());

const rule* find(decision_state in, decision_event what) {
  const auto* found =
    std::ranges::find_if(rules, [&](const rule& one) { return one.in == in && one.what == what; });
  return found == rules.end() ? nullptr : found;
}

const rule* find_cancelled(decision_state in, decision_event what, const decision_facts& known) {
  if (!known.cancelled)
    return nullptr;
  for (const auto& one : cancelled_rules)
    if (one.instead.in == in && one.instead.what == what
        && (known.tells_nobody || !one.only_where_it_tells_nobody))
      return &one.instead;
  return nullptr;
}

/// Why a cancel changes nothing any more in this state and those after it, where that is so.
std::optional<std::string_view> why_too_late_to_cancel(decision_state in) {
  switch (in) {
  case starting:
  case writing_end:
  case reading_starting:
    return "it is starting: its pods start, whatever happens";
  case withdrawing_workloads:
  case withdrawing_nodes:
  case writing_aborted_end:
  case reading_aborted:
    return "it is aborted already";
  default:
    return std::nullopt;
  }
}

decision_answer ignored(std::string_view because) {
  return {decision_answer::kind::ignored, {}, {}, because, false};
}

decision_answer remembered(std::string_view because) {
  return {decision_answer::kind::remembered, {}, {}, because, false};
}

decision_answer impossible(std::string_view because) {
  return {decision_answer::kind::impossible, {}, {}, because, false};
}

/// Why a decision that is in this state does not act by this event.
decision_answer outside_the_table(decision_event what, decision_state in) {
  if (is_ended(in))
    return ignored("it has ended");
  switch (what) {
  case begin:
    return ignored("it has begun");
  case cancelled:
    if (const auto because = why_too_late_to_cancel(in))
      return ignored(*because);
    return remembered("a step is under way; it is looked at before the next");
  case votes_due:
    return ignored("it does not wait for votes");
  case room_free:
    return ignored("it does not wait for room; when it does, it asks for it");
  case agreed:
  case room_taken:
  case refused:
    return impossible("no shard was asked for this");
  case written:
  case written_as_starting:
  case rejected:
  case overtaken:
    return impossible("no such write is under way");
  case unanswered:
    return impossible("nobody was asked who may be away for a moment");
  case found_committed:
  case found_starting:
  case found_aborted:
  case never_had_key:
  case key_gone:
    return impossible("the store was not asked, or is known to be further than this");
  case owner_lost:
    return impossible("the store was not asked who the owner is");
  case retry_due:
    return impossible("there is no pause before another attempt");
  }
  return impossible("there is no such event");
}

constexpr std::array<std::string_view, decision_state_count> names_of_states{
  "launched",
  "voting",
  "writing_parts",
  "committing",
  "applying",
  "waiting_for_room",
  "writing_start",
  "starting",
  "writing_end",
  "aborting",
  "aborting_applied",
  "withdrawing_workloads",
  "withdrawing_nodes",
  "writing_aborted_end",
  "reading",
  "reading_applied",
  "reading_starting",
  "reading_aborted",
  "done",
  "ended_as_aborted",
  "given_up",
  "left",
};
static_assert(static_cast<std::size_t>(left) + 1 == decision_state_count);

constexpr std::array<std::string_view, decision_event_count> names_of_events{
  "begin",         "cancelled", "votes_due",       "room_free",      "agreed",
  "room_taken",    "refused",   "unanswered",      "written",        "written_as_starting",
  "rejected",      "overtaken", "found_committed", "found_starting", "found_aborted",
  "never_had_key", "key_gone",  "owner_lost",      "retry_due",
};
static_assert(static_cast<std::size_t>(retry_due) + 1 == decision_event_count);

} // namespace

decision_answer answer_to(decision_event what, decision_state in, const decision_facts& known) {
  const auto* instead = find_cancelled(in, what, known);
  const auto* found = instead != nullptr ? instead : find(in, what);
  if (found == nullptr)
    return outside_the_table(what, in);
  return {decision_answer::kind::acts,
          found->next,
          found->actions,
          {},
          instead != nullptr || what == cancelled};
}

std::optional<decision_event> event_of(decision_phase in_store) {
  switch (in_store) {
  case decision_phase::committed:
    return found_committed;
  case decision_phase::starting:
    return found_starting;
  case decision_phase::aborted:
    return found_aborted;
  case decision_phase::preparing:
  case decision_phase::done:
    break;
  }
  return std::nullopt;
}

bool is_ended(decision_state state) {
  switch (state) {
  case decision_state::done:
  case decision_state::ended_as_aborted:
  case decision_state::given_up:
  case decision_state::left:
    return true;
  default:
    return false;
  }
}

std::string_view to_string(decision_state state) {
  return names_of_states[static_cast<std::size_t>(state)];
}

std::string_view to_string(decision_event what) {
  return names_of_events[static_cast<std::size_t>(what)];
}

} // namespace reprieve
