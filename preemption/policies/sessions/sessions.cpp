#include "preemption/policies/sessions/sessions.hpp"

#include "preemption/policies/required_node/required_node.hpp"
#include "preemption/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace reprieve {

namespace {

std::vector<wide_int> needed_in_all(const problem& given) {
  std::vector<wide_int> total(given.view.width());
  for (const auto& group : given.asked.groups)
    for (std::size_t c = 0; c < total.size(); ++c)
      total[c] += static_cast<wide_int>(group.request[c]) * static_cast<wide_int>(group.needed);
  return total;
}

} // namespace

std::optional<std::size_t> front_of_queue(std::span<const preemptor* const> waiting) {
  const auto front = std::ranges::find_if_not(
    waiting, [](const preemptor* who) { return is_bound_to_a_node(*who); });
  if (front == waiting.end())
    return std::nullopt;
  return static_cast<std::size_t>(front - waiting.begin());
}

void front_of_line::served(const preemptor& who, const plan& made) {
  if (!session_ && !is_bound_to_a_node(who) && made.result != plan::outcome::placed)
    session_ = who.workload;
}

plan preempt_sessions(const problem& given) {
  sessions rules{given};
  if (given.who.at_front)
    return search_victims(given, rules);
  plan none;
  none.policy = rules.name();
  none.why.summary = fmt::format("{} does not fit in what is free, and is not at the front of the "
                                 "job queue, from where alone sessions preempt",
                                 explainer{given}.preemptor_name());
  return none;
}

sessions::sessions(const problem& given)
    : given_(given), rules_(given, {.highest = given.settings.group.preemptible_priority,
                                    .whole_workloads = true}),
      cascade_(given), room_(given), asked_in_all_(needed_in_all(given)) {}

domain_set sessions::domains() const {
  return domain_set::for_gang(given_);
}

attempt sessions::try_domain(const domain& where) {
  attempt made{given_.asked};
  effort spent{given_.settings.group.limits.search_budget};
  spent.spend(where.nodes.size());
  room_.start(where.nodes, domain_room::basis::promised);
  rules_.keep_who_may_not_go(room_, where.nodes);
  room_.open(std::int64_t{given_.who.priority} - 1);
  seating with_all_gone{given_.asked};
  const bool fits = room_.seat(with_all_gone);
  const auto line = line_of(where);
  if (!fits) {
    made.lacking = shortage_of(given_, room_);
    return made;
  }
  const auto enough = enough_of(line, spent);
  made.budget_reached = spent.exhausted();
  if (!enough) {
    made.why_not = "the search budget ended before enough sessions were found";
    return made;
  }
  const auto gone = std::span{line}.first(*enough);
  room_.open(nobody_goes);
  for (const auto& one : gone)
    vacate(one);
  // Of several templates that compete, the seats may have been found only in the order that nodes
  // are in with everybody gone. They are there all the same: who is not in the line is not in
  // their way.
  if (!room_.seat(made.found))
    made.found = std::move(with_all_gone);
  room_.claim(made.found);
  room_.seat_the_rest(made.found);
  evict(gone, made);
  return made;
}

/// Where seats are counted, one by one; else by binary search: of several templates that compete it
/// is a number that is enough while one session less is not, as far as seating them can tell. Where
/// the budget ends before that, it is the lowest that was seen to be enough; that the whole line is
/// was not found by looking for it, and nobody goes for that alone.
std::optional<std::size_t> sessions::enough_of(std::span<const session> line, effort& spent) {
  const auto fits_without = [&](std::size_t count) {
    room_.open(nobody_goes);
    for (const auto& one : line.first(count))
      vacate(one);
    return room_.fits();
  };
  if (room_.counts_seats()) {
    room_.open(nobody_goes);
    std::size_t count = 0;
    while (count < line.size() && !room_.fits()) {
      spent.spend(1);
      if (spent.exhausted())
        return std::nullopt;
      vacate(line[count++]);
    }
    return count;
  }
  if (spent.exhausted())
    return std::nullopt;
  std::size_t too_few = 0;
  std::size_t enough = line.size();
  while (enough - too_few > 1) {
    const auto middle = too_few + (enough - too_few) / 2;
    spent.spend(middle);
    if (spent.exhausted())
      return enough < line.size() ? std::optional{enough} : std::nullopt;
    (fits_without(middle) ? enough : too_few) = middle;
  }
  return enough;
}

std::vector<sessions::session> sessions::line_of(const domain& where) {
  std::vector<session> line;
  std::set<portion_row> in_line;
  for (const auto portion : of_use_in(where))
    if (!in_line.contains(portion)) {
      line.push_back(session_of(portion));
      in_line.insert(line.back().portions.begin(), line.back().portions.end());
    }
  const bool oldest = given_.settings.group.order == preemption_order::oldest;
  std::ranges::sort(line, [&](const session& a, const session& b) {
    if (a.priority != b.priority)
      return a.priority < b.priority;
    if (a.start != b.start)
      return oldest ? a.start < b.start : a.start > b.start;
    return a.id < b.id;
  });
  return line;
}

sessions::session sessions::session_of(portion_row p) const {
  const auto& view = given_.view;
  session whole{rules_.kin_of(p), view.card(p).priority, time_point::max(), {}};
  for (const auto one : whole.portions) {
    const auto card = view.card(one);
    whole.priority = std::max(whole.priority, card.priority);
    if (card.earliest_start != no_time)
      whole.start = std::min(whole.start, card.earliest_start);
  }
  whole.id = view.id_of(whole.portions.front());
  return whole;
}

void sessions::vacate(const session& one) {
  for (const auto p : one.portions)
    room_.vacate(p);
}

std::vector<portion_row> sessions::of_use_in(const domain& where) {
  const auto& view = given_.view;
  std::vector<portion_row> found;
  for (std::size_t i = 0; i < where.nodes.size(); ++i)
    if (takes_a_pod(i))
      for (const auto p : view.pods_on(where.nodes[i]))
        if (frees_what_is_short(p) && rules_.may_go(view.portion_of(p)))
          found.push_back(view.portion_of(p));
  // Once each; the order is made later.
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

bool sessions::takes_a_pod(std::size_t position) const {
  const auto& groups = given_.asked.groups;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (given_.filter.suits(g, room_.node(position))
        && covers(room_.room(position), groups[g].request))
      return true;
  return false;
}

bool sessions::frees_what_is_short(pod_row p) const {
  const auto room = given_.view.promised(given_.view.node_of(p));
  const auto held = given_.view.requests(p);
  for (std::size_t c = 0; c < held.size(); ++c)
    if (held[c] > 0 && asked_in_all_[c] > room[c])
      return true;
  return false;
}

void sessions::evict(std::span<const session> gone, attempt& made) {
  const auto& view = given_.view;
  const auto& settings = given_.settings;
  std::vector<std::pair<portion_row, std::size_t>> turns;
  for (std::size_t i = 0; i < gone.size(); ++i)
    for (const auto p : gone[i].portions)
      turns.emplace_back(p, i + 1);
  std::ranges::sort(
    turns, [&](const auto& a, const auto& b) { return view.more_important(a.first, b.first); });
  std::vector<portion_row> victims;
  for (const auto& [portion, turn] : turns)
    victims.push_back(portion);

  made.victims = cost_of(view, victims, settings.now);
  for (std::size_t i = 0; i < turns.size(); ++i)
    made.reasons.push_back(why_goes(made.victims[i], turns[i].second, gone.size()));
  if (!gone.empty())
    made.threshold = gone.back().priority;
  const auto most = settings.group.limits.victims_per_decision;
  made.too_many_victims = most && std::ssize(victims) > *most;
  made.feasible = !made.too_many_victims;
  made.scored =
    score_of(view, made.victims, cascade_.cascades(made.victims, made.found.seats), settings.now);
}

std::string sessions::why_goes(const evicted_portion& one, std::size_t turn, std::size_t of) const {
  const auto& group = given_.settings.group;
  return fmt::format("number {} of {} that go, lowest priority first, then {}; its priority {} is "
                     "below {} and not above {}, up to which sessions may be preempted{}",
                     turn, of, group.order == preemption_order::oldest ? "oldest" : "newest",
                     given_.view.card(one.portion).priority, given_.who.priority,
                     group.preemptible_priority,
                     one.pods_over_budget > 0 ? "; this exceeds a disruption budget" : "");
}

} // namespace reprieve
