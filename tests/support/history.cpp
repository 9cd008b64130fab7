#include "tests/support/history.hpp"

#include "tests/support/history_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace reprieve {

// -- recording ------------------------------------------------------------------------------------

std::size_t history_recorder::begin(int client, std::string workload, workload_call what,
                                    group_counts counts) {
  const std::lock_guard lock(mutex_);
  recorded_call call{client, std::move(workload), what, std::move(counts)};
  call.invoked = std::chrono::steady_clock::now() - start_;
  calls_.push_back(std::move(call));
  return calls_.size() - 1;
}

recorded_call& history_recorder::ended(std::size_t call, call_end how) {
  auto& one = calls_.at(call);
  one.returned = std::chrono::steady_clock::now() - start_;
  one.how = how;
  return one;
}

void history_recorder::end(std::size_t call, call_end how, std::optional<apply_outcome> outcome) {
  const std::lock_guard lock(mutex_);
  ended(call, how).outcome = outcome;
}

void history_recorder::end(std::size_t call, workload_sight seen) {
  const std::lock_guard lock(mutex_);
  ended(call, call_end::ok).seen = std::move(seen);
}

std::vector<recorded_call> history_recorder::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

namespace {

// -- words ----------------------------------------------------------------------------------------

std::string text_of(const group_counts& counts) {
  std::string text;
  for (const auto& [group, count] : counts)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", group, count);
  return "{" + text + "}";
}

std::string asked_text(const recorded_call& call) {
  switch (call.what) {
  case workload_call::submit:
    return "submit " + text_of(call.counts);
  case workload_call::scale:
    return "scale " + text_of(call.counts);
  case workload_call::remove:
    return "delete";
  case workload_call::get:
    break;
  }
  return "get";
}

std::string answer_text(const recorded_call& call) {
  switch (call.how) {
  case call_end::not_found:
    return "there is none";
  case call_end::being_deleted:
    return "it is being deleted";
  case call_end::refused:
    return "refused";
  case call_end::unknown:
    return "no answer";
  case call_end::ok:
    break;
  }
  if (call.what == workload_call::get)
    return to_string(call.seen);
  if (call.outcome == apply_outcome::created)
    return "created";
  if (call.outcome == apply_outcome::configured)
    return "configured";
  return call.outcome == apply_outcome::unchanged ? "unchanged" : "ok";
}

std::string seconds(duration time) {
  return fmt::format("{:.6f}", std::chrono::duration<double>(time).count());
}

// -- the account ----------------------------------------------------------------------------------

/// Finds the shortest beginning of a history that can't be explained, and tells of it.
class anomaly_finder {
public:
  anomaly_finder(const std::vector<recorded_call>& calls, const history_limits& limits)
      : calls_(calls), limits_(limits), events_(events_of(calls, limits.latest_effect)) {}

  /// The search, which knows all answers, has ended with this event. A client that does not know
  /// those still to come may notice later only.
  anomaly find(std::size_t earliest) const {
    auto first = earliest;
    for (auto last = events_.size() - 1; first < last;) {
      const auto middle = first + (last - first) / 2;
      if (history_search(known_at(middle), limits_).run() == history_search::result::unexplained)
        last = middle;
      else
        first = middle + 1;
    }
    anomaly found;
    found.calls = known_at(first);
    found.culprit = events_[first].call;
    found.workload = calls_[found.culprit].workload;
    found.account = account(first);
    return found;
  }

private:
  /// The calls that have begun by then, without the answers that come later.
  std::vector<recorded_call> known_at(std::size_t event) const {
    std::vector<recorded_call> known;
    for (std::size_t at = 0; at <= event; ++at)
      if (!events_[at].is_return) {
        known.push_back(calls_[events_[at].call]);
        known.back().how = call_end::unknown;
      }
    for (std::size_t at = 0; at <= event; ++at)
      if (events_[at].is_return)
        known[events_[at].call].how = calls_[events_[at].call].how;
    return known;
  }

  std::string line_of(const recorded_call& known, const recorded_call& call, bool marked) const {
    const bool answered = known.how != call_end::unknown;
    return fmt::format(
      "{} {:>12} - {:<12} client {:<3} {:<28} {}\n", marked ? ">" : " ", seconds(call.invoked),
      answered ? seconds(call.returned) : "", call.client, asked_text(call),
      answered || call.how == call_end::unknown ? answer_text(call) : "no answer yet");
  }

  /// Calls that are far back do not matter where it is clear what came of them.
  std::set<std::uint32_t> calls_left_out(const history_search& search, std::size_t event,
                                         std::string& text) const {
    constexpr std::size_t told_at_least = 8;
    std::vector<std::uint32_t> ended;
    for (std::size_t at = 0; at < event; ++at)
      if (events_[at].is_return && calls_[events_[at].call].how != call_end::unknown)
        ended.push_back(events_[at].call);
    if (ended.size() <= told_at_least)
      return {};
    const auto certain = search.last_certainty(ended.size() - told_at_least);
    if (certain.ended > 0)
      text += fmt::format("  {} calls are left out, after which it was {}\n", certain.ended,
                          certain.state);
    return {ended.begin(), ended.begin() + static_cast<std::ptrdiff_t>(certain.ended)};
  }

  std::string account(std::size_t event) const {
    const auto culprit = events_[event].call;
    history_search before(known_at(event - 1), limits_);
    before.run();
    auto text =
      fmt::format("workload {}: no order of these calls explains the answer that is marked\n",
                  calls_[culprit].workload);
    const auto left_out = calls_left_out(before, event, text);
    const auto known = known_at(event);
    for (std::uint32_t i = 0; i < known.size(); ++i)
      if (!left_out.contains(i))
        text += line_of(known[i], calls_[i], i == culprit);
    text +=
      fmt::format("  but for what has no answer yet, it could be: {}\n", before.possible_states());
    return text;
  }

  const std::vector<recorded_call>& calls_;
  history_limits limits_;
  std::vector<history_event> events_;
};

/// Says something about its workload.
bool counts_at_all(const recorded_call& call) {
  return call.how != call_end::refused
         && (call.how != call_end::unknown || call.what != workload_call::get);
}

/// Most calls without an end were never carried out, or at once: it is seldom that several of them
/// are between two answers.
bool is_explained_easily(const std::vector<recorded_call>& calls, const history_limits& limits) {
  return std::ranges::any_of(std::initializer_list<int>{1, 2, 3, 4}, [&](int surprises) {
    history_search look(calls, limits);
    look.expect_at_most(surprises);
    return look.run() == history_search::result::explained;
  });
}

} // namespace

std::string to_string(const workload_sight& seen) {
  return fmt::format("{} of generation {}{}", text_of(seen.counts), seen.generation,
                     seen.uid.empty() ? "" : ", uid " + seen.uid);
}

std::string to_string(const recorded_call& call) {
  return fmt::format("client {}  {}  {}", call.client, asked_text(call), answer_text(call));
}

history_verdict check_history(const std::vector<recorded_call>& calls,
                              const history_limits& limits) {
  std::map<std::string, std::vector<recorded_call>> by_workload;
  for (const auto& call : calls)
    if (counts_at_all(call))
      by_workload[call.workload].push_back(call);
  history_verdict verdict;
  for (auto& [workload, its_calls] : by_workload) {
    std::stable_sort(its_calls.begin(), its_calls.end(),
                     [](const auto& a, const auto& b) { return a.invoked < b.invoked; });
    if (is_explained_easily(its_calls, limits))
      continue;
    history_search check(its_calls, limits);
    switch (check.run()) {
    case history_search::result::explained:
      break;
    case history_search::result::unexplained:
      verdict.anomalies.push_back(anomaly_finder(its_calls, limits).find(check.now()));
      break;
    case history_search::result::undecided:
      verdict.undecided.push_back(workload);
      break;
    }
  }
  return verdict;
}

} // namespace reprieve
