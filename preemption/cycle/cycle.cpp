#include "preemption/cycle/cycle.hpp"

#include "preemption/cycle/ever_runs.hpp"
#include "preemption/cycle/wait_reason.hpp"
#include "preemption/engine.hpp"
#include "preemption/policies/queues/limit_exchange.hpp"
#include "preemption/policies/required_node/required_node.hpp"
#include "preemption/problem/apportion.hpp"
#include "state/model/queue_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace reprieve {

namespace {

/// Whose going costs least changes as they lose more work: others may go then who have room again.
constexpr std::chrono::seconds until_others_cost_less{30};

/// What a cycle does at most for units that are set aside, in steps of about a microsecond: when it
/// has come that far, others are heard who may have come meanwhile, and the next cycle goes on. Who
/// is set aside is not looked at again there.
constexpr std::int64_t most_effort_in_vain = 100'000;
constexpr std::int64_t effort_to_judge = 100;

/// So many pods of one group keep room for themselves at the node that the group is bound to, or
/// are told why not. Those behind them would find less still, and may be a hundred thousand.
constexpr int most_at_their_node = 16;

/// How many times the room is enough for the request, and no more than `most`.
template <class Room>
std::int64_t times_in(amounts request, Room room, std::int64_t most) {
  for (std::size_t c = 0; c < request.size() && most > 0; ++c)
    if (request[c] > 0)
      most = std::min(most, std::max<std::int64_t>(room(c), 0) / request[c]);
  return most;
}

/// How many pods with the request the node has room for, up to `most`, once everybody up to the
/// level has gone, and whoever is promised room there has given it up.
std::int64_t most_taken(const cluster_view& view, node_row n, amounts request, std::int64_t level,
                        std::int64_t most) {
  const auto promised = view.promised(n);
  const auto now = times_in(
    request, [&](std::size_t c) { return promised[c]; }, most);
  if (level == nobody_goes || now == most)
    return now;
  const auto steps = view.steps(n);
  const auto first = std::ranges::find_if(
    steps, [&](const priority_step& step) { return std::int64_t{step.priority} <= level; });
  const auto has = view.capacity(n);
  const auto then = [&](std::size_t c) {
    auto room = has[c];
    if (!steps.empty())
      room -= view.held_from(n, 0)[c];
    if (first != steps.end())
      room += view.held_from(n, static_cast<std::size_t>(first - steps.begin()))[c];
    return room;
  };
  return std::max(now, times_in(request, then, most));
}

bool could_take(const cluster_view& view, node_row n, amounts request, std::int64_t level) {
  return most_taken(view, n, request, level, 1) > 0;
}

/// Likewise of all nodes together: whether they have room for so many.
bool all_could_take(const cluster_view& view, amounts request, std::int64_t level,
                    std::int64_t pods) {
  for (node_row n = 0; n < view.node_rows() && pods > 0; ++n)
    if (view.present(n) && view.usable(n))
      pods -= most_taken(view, n, request, level, pods);
  return pods <= 0;
}

bool any_grew(const std::vector<std::int64_t>& now, const std::vector<std::int64_t>& before) {
  return now.size() != before.size() || !std::ranges::equal(now, before, std::ranges::less_equal{});
}

bool any_fell(const std::vector<std::int64_t>& now, const std::vector<std::int64_t>& before) {
  return !before.empty() && any_grew(before, now);
}

/// Leaves of queues, where most who ask come queue by queue.
class leaf_finder {
public:
  explicit leaf_finder(const group_shares& in) : in_(in) {}

  std::size_t of(std::string_view queue) {
    if (queue != queue_) {
      queue_ = queue;
      leaf_ = in_.leaf_of(queue);
    }
    return leaf_;
  }

private:
  const group_shares& in_;
  std::string_view queue_;
  std::size_t leaf_ = no_vertex;
};

/// The queue and those above it, from below.
std::vector<std::string_view> with_those_above(const by_name<queue>& queues,
                                               std::string_view name) {
  std::vector<std::string_view> found;
  for (const auto* at = find(queues, name); at != nullptr && found.size() <= queues.size();
       at = find(queues, at->parent))
    found.push_back(at->name);
  return found;
}

/// Whether the queue's limit, and those above it, would admit so much if nobody else ran.
bool limits_admit(const by_name<queue>& queues, std::string_view name, const resources& amounts) {
  for (const auto above : with_those_above(queues, name))
    for (const auto& [resource, most] : find(queues, above)->limit)
      if (amount_of(amounts, resource) > most)
        return false;
  return true;
}

/// Queues below which more stays than their limits admit.
std::set<std::string_view> exceeded_limits(const queue_stage_result& of,
                                           const by_name<queue>& queues) {
  std::set<std::string_view> found;
  for (const auto& one : of.queues)
    if (const auto* at = find(queues, one.queue); at != nullptr && !one.own_pods)
      for (const auto& line : one.lines)
        if (const auto limit = at->limit.find(line.resource);
            limit != at->limit.end() && line.used - line.leaving > limit->second)
          found.insert(at->name);
  return found;
}

/// The decisions that are to place a gang, or a pod, in one of these queues that its limits can
/// never admit: it would have to go as soon as it starts. Whom they stop and who was told leaves
/// all the same.
std::vector<given_up> never_admitted(cycle_port& port, const by_name<queue>& queues,
                                     const std::set<std::string_view>& of) {
  std::vector<given_up> which;
  for (const auto& held : port.holds_below(std::numeric_limits<std::int32_t>::max())) {
    std::map<std::tuple<std::string_view, std::string_view, std::int32_t, std::int32_t>, resources>
      units;
    for (const auto& p : held.nominated)
      if (of.contains(port.queue_of(p.workload)))
        add_taken(
          units[{p.workload, p.group, p.replica, port.is_gang(p.workload, p.group) ? 0 : p.index}],
          p);
    for (const auto& [unit, takes] : units)
      if (const auto queue = port.queue_of(std::get<0>(unit));
          !limits_admit(queues, queue, takes)) {
        which.push_back(
          {held.id, fmt::format("a limit of queue {} can't admit what it would place", queue)});
        break;
      }
  }
  return which;
}

/// Sessions find something or nothing by who is at the front, and not by what they ask for alone.
bool sets_kinds_aside(cycle_port& port, const plan_settings& settings) {
  return settings.group.policy != group_policy::sessions && port.sets_aside();
}

std::int64_t pods_of(const preemptor& who) {
  std::int64_t pods = 0;
  for (const auto& group : who.groups)
    pods += std::ssize(group.pods);
  return pods;
}

void add_demand(by_name<resources>& to, const by_name<resources>& more) {
  for (const auto& [queue, amounts] : more)
    add_to(to[queue], amounts);
}

} // namespace

scheduling_cycle::scheduling_cycle(cycle_port& port, plan_settings settings)
    : port_(port), settings_(std::move(settings)) {}

bool scheduling_cycle::run() {
  if (!std::exchange(begun_, true))
    begin();
  for (;;) {
    auto* line = next_line();
    if (line != nullptr && line->behind) { // they had their turn
      line->passed = line->behind;
      find_who_is_before(*line);
      continue;
    }
    if (line == nullptr && first_to_pause_) {
      if (served_of_many_)
        port_.look_again(settings_.now);
      return true;
    }
    if (move_to_free_room(line == nullptr ? nullptr : &line->heap.front().place))
      continue; // others may be next by now
    if (line == nullptr)
      return true;
    const auto [place, unit, kind] = line->heap.front();
    last_ = {place, precedence_of(*line)};
    // Others are to be heard between those of a queue with many units.
    const bool is_of_many = port_.line().size_of(unit.queue()) > unit_run::served_at_once
                            && !is_bound_to_a_node(*unit.who); // one node takes no more than that
    if (is_of_many && line->served_of_many >= most_of_many()) {
      line->pauses = true;
      if (!first_to_pause_)
        first_to_pause_ = last_;
      continue;
    }
    made_room_ = false;
    const auto found = serve(unit);
    if (found == turn_result::asks)
      return false;
    advance(*line, found);
    if (made_room_)
      wake_kinds(&last_);
    if (found == turn_result::decided && is_of_many) {
      line->served_of_many += pods_of(*unit.who);
      served_of_many_ = true;
    }
    if (found == turn_result::parked && effort_in_vain_ >= most_effort_in_vain) {
      port_.look_again(settings_.now);
      return true;
    }
  }
}

/// The first of those that wait for others to go and come before that place moves where there is
/// free room for it. Whether one did.
bool scheduling_cycle::move_to_free_room(const service_place* before) {
  if (!awaiting_)
    awaiting_ = next_awaiting();
  while (!awaiting_->empty() && (before == nullptr || awaiting_->back().place < *before)) {
    const auto one = std::move(awaiting_->back());
    awaiting_->pop_back();
    looked_up_to(one.place);
    if (!has_free_room(one.unit))
      continue;
    const auto unit = port_.take_back_nomination(
      one, fmt::format(
             "there is free room for {} by now; what those leave whom it waits for is for others",
             one.unit.who->workload));
    if (!unit)
      continue;
    awaiting_.reset(); // another of its kind may be the next
    decided_ = true;
    others_go();
    if (auto made = reprieve::place(port_.nodes(), *unit->who, settings_);
        !made.assignments.empty()) {
      note_promised(*unit);
      port_.place(*unit, std::move(made));
    } else { // it waits again as others do
      auto& line = lines_[std::string(unit->queue())];
      line.leaf = shares_->leaf_of(unit->queue());
      line.heap.push_back({one.place, *unit, {}});
      std::push_heap(line.heap.begin(), line.heap.end());
      look_at_front(line);
    }
    wake_kinds(&last_);
    return true;
  }
  looked_up_to(before == nullptr ? behind_all : *before); // there is as little for others alike
  return false;
}

std::vector<cycle_port::awaited_room> scheduling_cycle::next_awaiting() {
  auto found = port_.awaiting(looked_at_);
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return std::tie(b.place, b.decision) < std::tie(a.place, a.decision);
  });
  return found;
}

void scheduling_cycle::looked_up_to(const service_place& place) {
  if (looked_at_ < place)
    looked_at_ = place;
}

/// Whether there is room in which nobody has to be waited for. Within a limit those who leave count
/// until they have gone.
bool scheduling_cycle::has_free_room(const waiting_unit& unit) {
  const auto leaf = shares_->leaf_of(unit.queue());
  if (leaf == no_vertex || !shares_->is_within_limits_with_all(leaf, asked_by(*shares_, *unit.who)))
    return false;
  auto bare = settings_;
  bare.explained = depth::nothing;
  bare.tells_failure = false;
  return !reprieve::place(port_.nodes(), *unit.who, bare).assignments.empty();
}

void scheduling_cycle::serve_only(const std::vector<waiting_unit>& units, front_of_line line) {
  begin();
  front_ = std::move(line);
  lines_.clear();
  for (const auto& unit : units)
    serve(unit);
}

void scheduling_cycle::begin() {
  begun_ = true;
  most_of_runs_ = port_.most_of_runs();
  auto& line = port_.line();
  line.wake_sleepers(settings_.now);
  if (const auto due = line.next_due(); due != no_time)
    port_.look_again(due);
  auto in = port_.queue_input();
  demand_ = real_demand(in);
  if (run_queue_stage(in)) {
    shares_.reset(); // they are others by now
    // Who leaves now was demand as one who stays, and does not ask once more in this cycle.
    auto again = std::move(in.again);
    in = port_.queue_input();
    in.again = std::move(again);
  }
  const auto gives_back = [](const queue_outcome& one) {
    return std::ranges::any_of(one.lines, [](const auto& of) { return of.to_free > 0; });
  };
  if (line.size() > 0 || std::ranges::any_of(queues_.queues, gives_back))
    if (const auto next = port_.next_release(); next != no_time)
      port_.look_again(next);
  if (!shares_)
    share_out(in);
  judge_.emplace(port_, settings_, *shares_);
  wake_kinds(nullptr);
  line_up();
}

bool scheduling_cycle::run_queue_stage(queue_stage_input& in) {
  in.now = settings_.now;
  in.limits[settings_.group.name] = settings_.group.limits;
  in.recent_preemptions = {settings_.recent_preemptions.begin(),
                           settings_.recent_preemptions.end()};
  in.pending = demand_;
  queues_ = reprieve::run_queue_stage(in);
  std::vector<std::string> giving;
  for (const auto& one : queues_.queues)
    if (std::ranges::any_of(one.lines,
                            [](const reprieve::queue_line& line) { return line.to_free > 0; }))
      giving.push_back(one.queue);
  if (giving.empty())
    return false;
  std::ranges::sort(giving);
  giving.erase(std::ranges::unique(giving).begin(), giving.end());
  const auto listed = with_who_share_limits(in, giving);
  auto with_pods = in;
  for (const auto& queue : listed)
    with_pods.totals.erase(queue);
  with_pods.pods = port_.pods_in(listed);
  const auto& view = port_.nodes();
  for (auto& p : with_pods.pods) {
    const auto n = view.find_node(p.node);
    p.closed = n != no_row && !view.usable(n);
  }
  queues_ = reprieve::run_queue_stage(with_pods);
  if (const auto given_up = never_admitted(port_, with_pods.queues, {giving.begin(), giving.end()});
      !given_up.empty()) {
    take_back_nominations(given_up); // who has to go besides shows then
    return true;
  }
  std::vector<given_up> given_up;
  for (const auto& one : queues_.queues)
    if (!one.victims.empty())
      for (auto& held : nominations_to_take_back(one, with_pods.queues))
        if (std::ranges::find(given_up, held.decision, &given_up::decision) == given_up.end())
          given_up.push_back(std::move(held));
  if (!given_up.empty()) {
    take_back_nominations(given_up);
    return true;
  }
  for (const auto& one : queues_.queues) {
    if (one.victims.empty())
      continue;
    port_.take_back(one);
    decided_ = true;
    others_may_have_gone_ = true;
  }
  return decided_;
}

void scheduling_cycle::take_back_nominations(const std::vector<given_up>& which) {
  let_wait(which);
  port_.take_back_nominations(which);
  decided_ = true;
  others_may_have_gone_ = true;
}

/// Whoever had room by these decisions has its turn in the next cycle.
void scheduling_cycle::let_wait(std::span<const given_up> which) {
  // They were found among these, which are known still.
  for (const auto& held : port_.holds_below(last_.place.priority))
    if (std::ranges::find(which, held.id, &given_up::decision) != which.end())
      for (const auto& p : held.nominated)
        lost_their_room_.insert(p.workload);
  port_.look_again(settings_.now);
}

/// Before somebody goes who runs, those of the queue do not come who are not more important, wait
/// for room and have stopped nobody for it; of others below a limit that both exceed those who are
/// less important. The least important first, then the newest, as many as there is too much.
std::vector<given_up> scheduling_cycle::nominations_to_take_back(const queue_outcome& from,
                                                                 const by_name<queue>& queues) {
  const auto most = std::ranges::max(from.victims, {}, &victim::priority).priority;
  std::set<std::string_view> limits;
  const auto exceeded = exceeded_limits(queues_, queues);
  for (const auto above : with_those_above(queues, from.queue))
    if (exceeded.contains(above))
      limits.insert(above);
  const auto gives_way = [&](const pod& p) {
    const auto name = port_.queue_of(p.workload);
    if (name == from.queue)
      return p.priority <= most;
    const auto* other = find(queues, name);
    return p.priority < most && other != nullptr && other->cap_by_demand
           && std::ranges::any_of(with_those_above(queues, name),
                                  [&](std::string_view above) { return limits.contains(above); });
  };
  std::vector<const held_decision*> found;
  for (const auto& held : port_.holds_below(std::numeric_limits<std::int32_t>::max()))
    if (!held.stops_others && waits_for_room(port_.nodes(), held)
        && std::ranges::all_of(held.nominated, gives_way))
      found.push_back(&held);
  std::ranges::sort(found, [](const held_decision* a, const held_decision* b) {
    const auto strength = [](const held_decision* of) {
      return std::ranges::max(of->nominated, {}, &pod::priority).priority;
    };
    return std::pair(strength(a), std::string_view(b->id))
           < std::pair(strength(b), std::string_view(a->id));
  });
  resources too_much;
  for (const auto& line : from.lines)
    if (line.to_free > 0)
      too_much[line.resource] = line.to_free;
  std::vector<given_up> which;
  for (const auto* held : found) {
    resources placed;
    for (const auto& p : held->nominated)
      add_taken(placed, p);
    bool helps = false;
    for (auto& [resource, amount] : too_much)
      if (const auto less = amount_of(placed, resource); less > 0 && amount > 0) {
        amount -= less;
        helps = true;
      }
    if (helps)
      which.push_back(
        {held->id, fmt::format("queue {} may not keep what it would use", from.queue)});
  }
  return which;
}

/// What waits, by queue, as far as its own queue and the nodes could ever admit it: nothing else
/// counts as demand (docs/policies.md#queues). A unit that is larger than all that its queue would
/// deserve deserves it in vain: others may have it. What the queue's pods use does not matter here,
/// as shares would change with who runs, and whoever gained by it would have to go again. Where
/// queues share, they are shared out by it afterwards.
by_name<resources> scheduling_cycle::real_demand(queue_stage_input& in) {
  shares_.reset();
  auto& line = port_.line();
  const auto beside = in.pending;
  if (line.asked().empty() || in.queues.size() < 2) {
    add_demand(in.pending, line.asked());
    return in.pending;
  }
  std::vector<std::string> columns;
  for (const auto& [name, amount] : in.capacity)
    columns.push_back(name);
  const auto by_column = [&](const resources& amounts) {
    group_shares::amounts_by_column found;
    for (const auto& name : columns)
      found.push_back(amount_of(amounts, name));
    return found;
  };
  line.judge_kinds(port_.nodes_seen(), columns, [&](const waiting_line::kind& of) {
    const auto& who = *of.units.begin()->second.who;
    const auto& view = port_.nodes();
    waiting_line::kind::finding found{
      could_ever_run(view, who), asked_by(columns, who), by_column(of.wanted), {}};
    for (const auto& group : who.groups)
      found.groups.push_back(
        view.columns(group.pods.front().requests).value_or(std::vector<std::int64_t>{}));
    return found;
  });
  std::vector<wish> wishes;
  std::deque<group_shares::amounts_by_column> kept;
  const auto wish_of = [&](const waiting_unit& unit, const resources& each, std::int64_t units) {
    const auto& asked = kept.emplace_back(asked_by(columns, *unit.who));
    wishes.push_back({unit.queue(), &asked, &kept.emplace_back(by_column(each)), units});
  };
  for (const auto& [queue, units] : line.fresh())
    for (const auto& [place, unit] : units)
      if (!queue.empty() && ever_runs(unit))
        wish_of(unit, demand_of(*unit.who), unit.run ? unit.run->size() : 1);
  for (const auto& [key, kind] : line.all_kinds())
    if (!kind.units.empty() && kind.found.ever_runs)
      wishes.push_back({kind.queue, &kind.found.asked, &kind.found.wanted, kind.count});
  line.each_asleep([&](const waiting_unit& unit, const resources& each, std::int64_t units) {
    if (unit.record && ever_runs(unit))
      wish_of(unit, each, units);
  });
  for (bool changed = true; changed;) {
    in.pending = beside;
    add_wishes(in.pending, columns, wishes);
    shares_.emplace(in);
    leaf_finder leaves{*shares_};
    const auto in_vain = [&](const wish& one) {
      const auto leaf = leaves.of(one.queue);
      return leaf == no_vertex || !shares_->could_deserve(leaf, *one.asked);
    };
    changed = std::erase_if(wishes, in_vain) > 0;
  }
  return in.pending;
}

void scheduling_cycle::add_wishes(by_name<resources>& to, std::span<const std::string> columns,
                                  std::span<const wish> wishes) {
  std::vector<wide_int> sum(columns.size());
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const auto& one = wishes[i];
    for (std::size_t c = 0; c < sum.size(); ++c)
      sum[c] += static_cast<wide_int>((*one.each)[c]) * one.units;
    if (i + 1 < wishes.size() && wishes[i + 1].queue == one.queue)
      continue;
    auto& total = to[std::string(one.queue)];
    for (std::size_t c = 0; c < sum.size(); ++c)
      if (const auto more = std::exchange(sum[c], 0); more > 0)
        add_to(total, resources{{columns[c], narrowed(more)}});
  }
}

bool scheduling_cycle::ever_runs(const waiting_unit& unit) const {
  auto key = kind_of(unit);
  if (!key)
    return could_ever_run(port_.nodes(), *unit.who);
  const auto [at, fresh] = ever_runs_.try_emplace(*std::move(key), false);
  if (fresh)
    at->second = could_ever_run(port_.nodes(), *unit.who);
  return at->second;
}

const group_shares::amounts_by_column& scheduling_cycle::asked_of(const waiting_line::kind& of) {
  if (of.judged_on == port_.nodes_seen() && of.found.asked.size() == shares_->columns().size())
    return of.found.asked;
  asked_ = asked_by(*shares_, *of.units.begin()->second.who);
  return asked_;
}

void scheduling_cycle::share_out(queue_stage_input& in) {
  in.pending = demand_;
  shares_.emplace(in);
}

void scheduling_cycle::wake_kinds(const turn_of* behind) {
  const auto changed = port_.take_changes();
  const auto excess = shares_->excess();
  const auto scarce = shares_->scarce();
  const auto leaving = shares_->leaving();
  const auto before = std::exchange(entitled_, {});
  const auto over = port_.decisions_over();
  auto& waiting = port_.line();
  const auto settled = waiting.settled();
  leaf_finder leaves{*shares_};
  const auto woken = waiting.wake([&](const waiting_line::kind& of) {
    const auto leaf = leaves.of(of.queue);
    if (leaf == no_vertex || changed.rules)
      return true;
    const auto& asked = asked_of(of);
    const auto& was = *of.aside;
    if (behind == nullptr && was.others_promised)
      return true;
    const bool entitled = shares_->is_entitled(leaf, asked);
    if (entitled)
      entitled_.push_back({&of, leaf, *waiting_line::last_of(of)});
    if (behind == nullptr && was.behind_kept)
      return true;
    const bool crowded = entitled && shares_->anybody_uses_too_much(asked);
    if ((entitled && !was.entitled)
        || (crowded && (any_grew(excess, was.excess) || any_fell(scarce, was.scarce)))
        || (entitled && was.crowded && !crowded)) // less important ones may go by now
      return true;
    if (!was.may_borrow
        && (quota_eased(of, shares_->all_in_the_way(leaf, asked), changed)
            || (was.others_had_pods && !shares_->others_have_pods(leaf))
            || any_fell(leaving, was.leaving)))
      return true;
    // Less important ones below a limit may go for whoever is beyond it.
    if (was.may_borrow && !shares_->is_within_limits(leaf, asked))
      return true;
    if (was.others_lacked_room && (!changed.freed.empty() || settings_.now >= was.look_again))
      return true;
    if (!was.left_of_share.empty()
        && (shares_->leaves_others_their_share(leaf, asked)
            || shares_->left_at({leaf}) != was.left_of_share))
      return true;
    return could_help(of, changed.freed)
           || (was.decisions > settled && could_help(of, changed.arrived));
  });
  waiting.settle(over);
  if (behind == nullptr)
    return;
  for (auto& [queue, line] : lines_)
    line.nobody_entitled = false;
  line_up_passed_over(*behind);
  for (const auto& key : woken) {
    const auto& of = port_.line().all_kinds().find(key)->second;
    const auto leaf = shares_->leaf_of(of.queue);
    const auto& first = *of.units.begin();
    // Whoever is within what its queue deserves since somebody made room has its turn yet.
    const bool entitled =
      leaf == no_vertex || std::ranges::find(before, &of, &entitled_kind::of) != before.end();
    const auto own = entitled ? precedence::is_entitled
                     : std::ranges::any_of(before,
                                           [&](const entitled_kind& one) {
                                             return one.leaf == leaf && first.first < one.last;
                                           })
                       ? precedence::has_entitled
                       : precedence::others;
    const service_place* after = own == behind->before ? &behind->place : nullptr;
    const auto known = lines_.find(of.queue);
    const bool was_served = known != lines_.end() && known->second.passed == behind->place;
    if (own > behind->before && !was_served) {
      // Its turn would have been before, but for those who come after others of their queue.
      if (known == lines_.end() || known->second.heap.empty()) {
        port_.look_again(settings_.now);
        continue;
      }
      after = &known->second.heap.front().place;
    }
    auto& line = lines_[of.queue];
    // Those have had their turn that come before others of their queue which had theirs.
    if (line.passed && (after == nullptr || *after < *line.passed))
      after = &*line.passed;
    auto next =
      after != nullptr ? waiting_line::next_of(of, *after) : std::optional<placed_unit>{first};
    if (next) {
      line.leaf = leaf;
      line.heap.push_back({next->first, next->second, key});
      std::push_heap(line.heap.begin(), line.heap.end());
      look_at_front(line);
    } else {
      port_.look_again(settings_.now);
    }
  }
}

/// Whether one of the queue behind that place is within what it deserves, set aside or not.
bool scheduling_cycle::is_any_entitled(std::string_view queue, std::size_t leaf,
                                       const service_place& behind) {
  const auto is_entitled = [&](const service_place& last, const auto& asked) {
    return behind < last && shares_->is_entitled(leaf, asked);
  };
  for (const auto& [key, of] : port_.line().kinds_in(queue))
    if (const auto* last = waiting_line::last_of(of);
        last != nullptr && is_entitled(*last, asked_of(of)))
      return true;
  const auto& fresh = port_.line().fresh();
  const auto units = fresh.find(queue);
  return units != fresh.end() && std::ranges::any_of(units->second, [&](const auto& one) {
           return is_entitled(one.first, asked_by(*shares_, *one.second.who));
         });
}

/// Whether one of the nodes could take a pod of the kind once all have gone whom it may take.
bool scheduling_cycle::could_help(const waiting_line::kind& of,
                                  std::span<const node_row> nodes) const {
  if (nodes.empty())
    return false;
  const auto& view = port_.nodes();
  const auto& who = *of.units.begin()->second.who;
  const auto level = !who.may_preempt     ? nobody_goes
                     : of.aside->entitled ? std::numeric_limits<std::int64_t>::max()
                                          : std::int64_t{who.priority} - 1;
  const auto one_could = [&](amounts asked) {
    return std::ranges::any_of(nodes, [&](node_row n) {
      return n < view.node_rows() && view.present(n) && view.usable(n)
             && could_take(view, n, asked, level);
    });
  };
  const bool known = of.judged_on == port_.nodes_seen();
  const auto any_of_its_groups = [&](auto could) {
    for (std::size_t i = 0; i < who.groups.size(); ++i) {
      if (known && of.found.groups[i].size() == view.width()) {
        if (could(amounts{of.found.groups[i]}, who.groups[i]))
          return true;
        continue;
      }
      const auto asked = view.columns(who.groups[i].pods.front().requests);
      if (asked && could(amounts{*asked}, who.groups[i]))
        return true;
    }
    return false;
  };
  if (!any_of_its_groups([&](amounts asked, const wanted_group&) { return one_could(asked); }))
    return false;
  // A large gang costs much to plan: first all nodes are to have room for that many.
  return !any_of_its_groups([&](amounts asked, const wanted_group& group) {
    return group.needed > 1 && !all_could_take(view, asked, level, group.needed);
  });
}

/// Whether the quotas in the way are others by now, or one of them leaves more, or somebody could
/// give some of it back.
bool scheduling_cycle::quota_eased(const waiting_line::kind& of,
                                   std::span<const group_shares::obstacle> obstacles,
                                   const cycle_port::changes& changed) const {
  const auto& was = *of.aside;
  // Of a larger quota of which less is left, less important ones have the rest, who may go.
  const auto as_before = [&](const group_shares::obstacle& now,
                             const parked_reason::obstacle& before) {
    return now.limit == before.limit && shares_->at(now.vertex).spec.name == before.queue
           && !shares_->grew_since(now, before.allowed, before.left);
  };
  if (obstacles.empty() || !std::ranges::equal(obstacles, was.in_the_way, as_before))
    return true;
  const auto shares_it = [&](std::string_view queue) {
    const auto leaf = shares_->leaf_of(queue);
    return leaf != no_vertex && std::ranges::any_of(obstacles, [&](const auto& one) {
             return shares_->is_below(leaf, one.vertex);
           });
  };
  if (std::ranges::any_of(changed.lighter, shares_it))
    return true;
  if (was.decisions <= port_.line().settled())
    return false; // whoever came since then took what was free, and gives back no more
  const auto& who = *of.units.begin()->second.who;
  return std::ranges::any_of(changed.arrivals, [&](const auto& one) {
    return one.second < who.priority && shares_it(one.first);
  });
}

void scheduling_cycle::line_up() {
  for (const auto& [queue, units] : port_.line().fresh()) {
    auto& line = lines_[queue];
    for (const auto& [place, unit] : units)
      line.heap.push_back({place, unit, {}});
  }
  const auto& kinds = port_.line().all_kinds();
  const bool by_kind = sets_kinds_aside(port_, settings_);
  for (const auto& [key, kind] : kinds) {
    if (kind.aside || kind.units.empty())
      continue;
    auto& heap = lines_[kind.queue].heap;
    if (by_kind) {
      heap.push_back({kind.units.begin()->first, kind.units.begin()->second, key});
      continue;
    }
    for (const auto& [place, unit] : kind.units) // each of them is told why it waits
      heap.push_back({place, unit, {}});
  }
  for (auto& [queue, line] : lines_) {
    std::make_heap(line.heap.begin(), line.heap.end());
    line.leaf = queue.empty() ? no_vertex : shares_->leaf_of(queue);
  }
  auto line = lines_.end(); // most kinds come queue by queue
  for (const auto& [key, kind] : kinds)
    if (kind.aside && !kind.units.empty()) {
      if (line == lines_.end() || line->first != kind.queue)
        line = lines_.find(kind.queue);
      if (line == lines_.end())
        others_aside_ = true;
      else if (line->second.leaf != no_vertex)
        line->second.aside.push_back({key, asked_of(kind)});
    }
  for (auto& [queue, of] : lines_)
    look_at_front(of);
}

void scheduling_cycle::set_aside(const std::string& key, const waiting_line::kind& of) {
  const auto known = lines_.find(of.queue);
  if (known != lines_.end() && known->second.leaf != no_vertex)
    known->second.aside.push_back({key, asked_of(of)});
}

void scheduling_cycle::find_who_is_before(queue_line& line) {
  line.behind.reset();
  if (line.heap.empty() || line.leaf == no_vertex)
    return;
  const auto& kinds = port_.line().all_kinds();
  for (const auto& [key, asked] : line.aside) {
    const auto of = kinds.find(key);
    if (of == kinds.end() || !of->second.aside || shares_->is_entitled(line.leaf, asked))
      continue;
    const auto last = waiting_line::last_before(of->second, line.heap.front().place);
    if (last && (!line.passed || *line.passed < *last) && (!line.behind || *line.behind < *last))
      line.behind = last;
  }
}

void scheduling_cycle::look_at_front(queue_line& line) {
  line.asked.clear();
  line.behind.reset();
  if (is_only_line() || line.heap.empty() || line.leaf == no_vertex)
    return;
  line.asked = asked_by(*shares_, *line.heap.front().unit.who);
  find_who_is_before(line);
}

/// The line whose first is served next: of those that precede the others, the one whose first comes
/// first.
scheduling_cycle::queue_line* scheduling_cycle::next_line() {
  queue_line* best = nullptr;
  const service_place* best_place = nullptr;
  auto best_before = precedence::others;
  for (auto& [queue, line] : lines_) {
    if (line.heap.empty() || line.pauses)
      continue;
    if (is_only_line())
      return &line;
    if (line.asked.empty()) // there was no other line yet
      look_at_front(line);
    if (first_to_pause_ && !may_come_between(line))
      continue;
    const auto before = precedence_of(line);
    const auto& place = line.behind ? *line.behind : line.heap.front().place;
    if (best == nullptr || before > best_before || (before == best_before && place < *best_place)) {
      best = &line;
      best_before = before;
      best_place = &place;
    }
  }
  return best;
}

bool scheduling_cycle::may_come_between(queue_line& line) const {
  return precedence_of(line) >= first_to_pause_->before
         && line.heap.front().unit.who->priority >= first_to_pause_->place.priority;
}

std::int64_t scheduling_cycle::most_of_many() const {
  constexpr std::int64_t least_of_each = 16;
  if (most_of_runs_ == 0)
    return 0;
  return std::max(most_of_runs_ / std::ssize(lines_), least_of_each);
}

scheduling_cycle::precedence scheduling_cycle::precedence_of(queue_line& line) const {
  if (!line.behind && is_entitled(line))
    return precedence::is_entitled;
  return has_entitled(line) ? precedence::has_entitled : precedence::others;
}

/// Those who are set aside count as well, so that it does not matter that they are.
bool scheduling_cycle::has_entitled(queue_line& line) const {
  if (line.nobody_entitled || line.heap.empty() || line.leaf == no_vertex)
    return false;
  const auto& from = line.behind ? *line.behind : line.heap.front().place;
  const auto found = [&](const service_place& last, group_shares::amounts_by_column asked) {
    if (!(from < last) || !shares_->is_entitled(line.leaf, asked))
      return false;
    line.entitled.emplace(last, std::move(asked));
    return true;
  };
  if (line.entitled && from < line.entitled->first
      && shares_->is_entitled(line.leaf, line.entitled->second))
    return true;
  const auto& kinds = port_.line().all_kinds();
  const auto is_aside = [&](const kind_aside& one) {
    const auto of = kinds.find(one.key);
    const auto* last =
      of != kinds.end() && of->second.aside ? waiting_line::last_of(of->second) : nullptr;
    return last != nullptr && found(*last, one.asked);
  };
  const auto waits = [&](const candidate& one) {
    return found(one.place, asked_by(*shares_, *one.unit.who));
  };
  line.nobody_entitled =
    std::ranges::none_of(line.heap, waits) && std::ranges::none_of(line.aside, is_aside);
  return !line.nobody_entitled;
}

bool scheduling_cycle::is_entitled(const queue_line& line) const {
  return line.leaf == no_vertex || is_only_line() || shares_->is_entitled(line.leaf, line.asked);
}

/// Where there was nothing for one of a run, and it is not set aside, there is nothing for those
/// behind it until somebody makes room.
void scheduling_cycle::advance(queue_line& line, turn_result found) {
  std::pop_heap(line.heap.begin(), line.heap.end());
  auto served = std::move(line.heap.back());
  line.heap.pop_back();
  if (!line.passed || *line.passed < served.place)
    line.passed = served.place;
  if (found == turn_result::waits && served.unit.run)
    passed_over_.emplace_back(served, last_.before);
  else if (found != turn_result::parked)
    line_up_next(line, served, served.place);
  // More of the same workload may have come with it, or gone with those whom it stops.
  const auto is_over = [&](const candidate& next) {
    return next.kind.empty() && !next.unit.run
           && next.unit.who->workload == served.unit.who->workload && !lacks_its_pods(next.unit);
  };
  while (found == turn_result::decided && !line.heap.empty() && is_over(line.heap.front())) {
    std::pop_heap(line.heap.begin(), line.heap.end());
    line.heap.pop_back();
  }
  look_at_front(line);
}

/// Lines up the next of its kind, or of its run, behind that place.
void scheduling_cycle::line_up_next(queue_line& line, const candidate& of,
                                    const service_place& behind) {
  std::optional<placed_unit> next;
  if (of.kind.empty()) {
    if (of.unit.run)
      next = port_.line().next_of_run(of.unit, behind);
  } else {
    const auto& kinds = port_.line().all_kinds();
    const auto alike = kinds.find(of.kind);
    if (alike != kinds.end() && !alike->second.aside)
      next = waiting_line::next_of(alike->second, behind);
  }
  if (!next)
    return;
  line.heap.push_back({next->first, next->second, of.kind});
  std::push_heap(line.heap.begin(), line.heap.end());
}

/// Somebody has made room: those of runs that were passed over have their turn, where it is not
/// over.
void scheduling_cycle::line_up_passed_over(const turn_of& behind) {
  for (const auto& [one, before] : std::exchange(passed_over_, {})) {
    if (before > behind.before) {
      port_.look_again(settings_.now);
      continue;
    }
    auto& line = lines_[std::string(one.unit.queue())];
    line_up_next(line, one, std::max(one.place, behind.place));
    look_at_front(line);
  }
}

/// A decision with victims may have taken those that the unit was to join, and so may whatever came
/// while shards were asked. Placements leave all others as they were, but for more of a gang.
bool scheduling_cycle::lacks_its_pods(const waiting_unit& unit) {
  const bool as_it_was = !others_may_have_gone_ && unit.record
                         && std::ranges::none_of(unit.record->spec->groups, &pod_group::is_gang);
  return as_it_was || port_.still_lacks(*unit.who);
}

bool scheduling_cycle::may_park(const waiting_unit& unit) const {
  return sets_kinds_aside(port_, settings_) && unit.record && !is_bound_to_a_node(*unit.who);
}

parked_reason scheduling_cycle::reason_to_park(const waiting_unit& unit,
                                               const judgement& made) const {
  const auto asked = asked_by(*shares_, *unit.who);
  parked_reason why;
  why.entitled = made.entitled;
  why.may_borrow = made.may_borrow;
  why.others_lacked_room = made.others_lack_room;
  if (made.others_lack_room) {
    why.look_again = settings_.now + until_others_cost_less;
    port_.look_again(why.look_again);
  }
  why.crowded = shares_->anybody_uses_too_much(asked);
  if (made.entitled) {
    why.excess = shares_->excess();
    why.scarce = shares_->scarce();
  }
  why.decisions = port_.decisions_made();
  if (const auto leaf = shares_->leaf_of(unit.queue()); leaf != no_vertex) {
    if (made.goes_with_more)
      why.left_of_share = shares_->left_at({leaf});
    why.others_had_pods = shares_->others_have_pods(leaf);
    if (!made.may_borrow)
      why.leaving = shares_->leaving();
    const auto obstacles = shares_->all_in_the_way(leaf, asked);
    why.behind_kept = made.entitled ? !kept_.empty() : is_kept_below(obstacles);
    for (const auto& one : obstacles)
      why.in_the_way.push_back({shares_->at(one.vertex).spec.name, one.limit,
                                shares_->allowed_at(one), shares_->left_at(one)});
  }
  why.others_promised = could_take_promised(unit, why);
  return why;
}

bool scheduling_cycle::is_kept_below(std::span<const group_shares::obstacle> obstacles) const {
  return std::ranges::any_of(kept_, [&](const kept_part& kept) {
    const auto leaf = shares_->leaf_of(kept.queue);
    return leaf != no_vertex && std::ranges::any_of(obstacles, [&](const auto& one) {
             return shares_->is_below(leaf, one.vertex);
           });
  });
}

void scheduling_cycle::note_promised(const waiting_unit& unit) {
  const auto [at, first] = promised_.try_emplace(std::string(unit.queue()), unit.who->priority);
  at->second = std::min(at->second, unit.who->priority);
}

/// Whoever is within what its queue deserves may take the room of others where no queue uses too
/// much; else of those who share a quota with it.
bool scheduling_cycle::could_take_promised(const waiting_unit& unit,
                                           const parked_reason& why) const {
  if (promised_.empty() || !unit.who->may_preempt)
    return false;
  const auto own = shares_->leaf_of(unit.queue());
  std::vector<std::size_t> quotas{own};
  if (own != no_vertex)
    for (const auto& one : shares_->limits_in_the_way(own, asked_by(*shares_, *unit.who)))
      quotas.push_back(one.vertex);
  return std::ranges::any_of(promised_, [&](const auto& one) {
    const auto leaf = shares_->leaf_of(one.first);
    return one.second < unit.who->priority
           && ((why.entitled && !why.crowded)
               || std::ranges::any_of(quotas, [&](std::size_t quota) {
                    return leaf != no_vertex && shares_->is_below(leaf, quota);
                  }));
  });
}

void scheduling_cycle::others_go() {
  others_may_have_gone_ = true;
  judge_->forget_candidates();
  returning_.clear();
  coming_soon_.reset();
}

/// Whether it is back in a moment. Of those who leave nobody knows, so that it is a moment after
/// they were told.
bool scheduling_cycle::comes_soon(const returning_work& one) const {
  if (!one.leaves)
    return one.due - settings_.now < claims::shortest;
  if (one.due != no_time && settings_.now - one.due >= claims::shortest)
    return false;
  port_.look_again((one.due == no_time ? settings_.now : one.due) + claims::shortest);
  return true;
}

const std::vector<returning_work>& scheduling_cycle::returning_to(const std::string& queue) {
  const auto [at, fresh] = returning_.try_emplace(queue);
  if (fresh)
    at->second = port_.returning(queue, settings_.now + claims::longest);
  return at->second;
}

const claims::by_leaf& scheduling_cycle::coming_soon() {
  if (coming_soon_)
    return *coming_soon_;
  coming_soon_.emplace();
  for (const auto leaf : shares_->leaves())
    for (const auto& one : returning_to(shares_->at(leaf).spec.name))
      if (comes_soon(one))
        claims::add((*coming_soon_)[leaf], shares_->columns_of(one.takes));
  return *coming_soon_;
}

claims scheduling_cycle::claims_before(const waiting_unit& unit) {
  claims found;
  if (!unit.record || unit.queue().empty())
    return found;
  found.elsewhere = [this]() -> const claims::by_leaf& { return coming_soon(); };
  const auto own = place_of(unit, 0);
  if (!port_.may_return_before(unit.queue(), own))
    return found;
  for (const auto& one : returning_to(std::string(unit.queue()))) {
    if (!(one.place < own) || one.place.workload == own.workload)
      continue;
    const auto takes = shares_->columns_of(one.takes);
    claims::add(found.later, takes);
    if (comes_soon(one))
      claims::add(found.soon, takes);
  }
  return found;
}

/// Within a limit those who leave count until they have gone; its own victims have, when it starts,
/// and those for whose room it waits. What it will use is its already where it stops nobody, so
/// that nobody less important comes in between.
bool scheduling_cycle::waits_for_a_limit(const waiting_unit& unit, judgement& made) {
  const auto leaf = shares_->leaf_of(unit.queue());
  if (leaf == no_vertex || !shares_->is_limited(leaf))
    return false;
  resources sum;
  for (const auto& one : made.made.assignments)
    add_taken(sum, one.placed);
  const auto taken = shares_->columns_of(sum);
  const auto movements = judge_->movements_of(unit, made.made);
  const bool stops_nobody = made.made.victims.empty() && made.released.empty();
  const bool waits = made.made.result != plan::outcome::placed;
  std::optional<group_shares> then;
  if (!stops_nobody || waits) {
    then = *shares_;
    for (const auto& one : made.released)
      then->release(one.leaf, one.amounts);
    for (const auto& one : movements)
      if (one.sign < 0)
        then->release(one.leaf, one.amounts);
    if (waits)
      for (const auto& one : judge_->awaited_by(made.made))
        then->release(one.leaf, one.amounts);
  }
  if ((then ? *then : *shares_).is_within_limits_with_all(leaf, taken, &taken))
    return false;
  if (stops_nobody) {
    for (const auto& one : movements)
      shares_->add(one.leaf, one.amounts, one.sign);
    kept_.push_back({last_, std::string(unit.queue()), std::move(sum)});
  }
  kept_for_a_limit_ = true;
  auto policy = std::move(made.made.policy);
  made.made = plan{};
  made.made.policy = std::move(policy);
  made.made.why.summary = "there is room, but pods that leave count within a limit of its queue "
                          "until they have gone";
  return true;
}

/// How many of the unit's group found no room at the node that they are bound to.
int& scheduling_cycle::found_nothing_at_node(const preemptor& who) {
  return at_their_nodes_[{who.workload, who.groups.front().name}];
}

scheduling_cycle::turn_result scheduling_cycle::serve(const waiting_unit& unit) {
  if (lost_their_room_.contains(unit.who->workload) || !lacks_its_pods(unit))
    return turn_result::passes;
  const bool bound = is_bound_to_a_node(*unit.who);
  if (bound && found_nothing_at_node(*unit.who) >= most_at_their_node) {
    plan none;
    none.why.summary = fmt::format("{} others of its group wait for room at their node before it",
                                   most_at_their_node);
    port_.waits(unit, std::move(none));
    return turn_result::waits;
  }
  if (may_park(unit) && port_.line().parked(unit) != nullptr) {
    port_.waits(unit, plan{});
    return turn_result::parked;
  }
  const bool sessions = settings_.group.policy == group_policy::sessions;
  auto made = judge_->judge(unit, !sessions || front_.has(*unit.who), claims_before(unit));
  if (made.asks) {
    others_go();
    return turn_result::asks;
  }
  // Who could not run in empty nodes either stands in nobody's way.
  if (made.quota.empty() && (!sessions || ever_runs(unit)))
    front_.served(*unit.who, made.made);
  if (bound && made.quota.empty())
    port_.reserve(*unit.who, made.made);
  if (made.made.look_again != no_time)
    port_.look_again(made.made.look_again);
  if (!made.made.assignments.empty() && waits_for_a_limit(unit, made)) {
    port_.waits(unit, std::move(made.made));
    return turn_result::passes;
  }
  if (made.made.assignments.empty()) {
    bool parked = false;
    if (!made.lets_others_back && may_park(unit)) {
      auto why = reason_to_park(unit, made);
      if (kept_for_a_limit_) { // for one who may go
        const auto soon = settings_.now + std::chrono::seconds{1};
        why.look_again = why.look_again == no_time ? soon : std::min(why.look_again, soon);
        port_.look_again(why.look_again);
      }
      port_.line().park(unit, std::move(why));
      effort_in_vain_ += effort_to_judge;
      parked = port_.line().parked(unit) != nullptr;
      // Its record may be another since shards were asked.
      const auto key = parked ? kind_of(unit) : std::nullopt;
      const auto& kinds = port_.line().all_kinds();
      if (const auto of = key ? kinds.find(*key) : kinds.end(); of != kinds.end()) {
        set_aside(*key, of->second);
        std::erase_if(entitled_, [&](const entitled_kind& one) { return one.of == &of->second; });
        if (const auto* last = waiting_line::last_of(of->second); made.entitled && last != nullptr)
          entitled_.push_back({&of->second, shares_->leaf_of(of->second.queue), *last});
      }
    }
    if (!made.quota.empty())
      made.made.why.summary = std::move(made.quota);
    port_.waits(unit, std::move(made.made));
    if (bound) { // each of them keeps room by itself
      ++found_nothing_at_node(*unit.who);
      return turn_result::passes;
    }
    return parked ? turn_result::parked : turn_result::waits;
  }
  decided_ = true;
  note_promised(unit);
  for (const auto& one : judge_->movements_of(unit, made.made))
    shares_->add(one.leaf, one.amounts, one.sign);
  if (!made.gives_up.empty()) {
    for (const auto& one : made.released)
      shares_->release(one.leaf, one.amounts);
    made_room_ = true;
    let_wait(made.gives_up);
    port_.take_holds(unit, made.gives_up);
    awaiting_.reset(); // these do not wait for room any more, and others alike may be next
    others_go();
  }
  if (made.made.victims.empty() && made.made.result == plan::outcome::placed) {
    port_.place(unit, std::move(made.made));
    judge_->forget_candidates(); // more of a gang may have come, which goes as a whole
  } else {
    made_room_ = true;
    port_.preempt({unit.record, made.as_a_whole ? made.as_a_whole : unit.who},
                  std::move(made.made));
    others_go();
  }
  return turn_result::decided;
}

/// What is kept for those whose turn comes before the unit's. With what is kept for them its queue
/// may have nothing left of what it deserves, and its turn come later.
void scheduling_cycle::count_kept(const waiting_unit& unit, std::span<const kept_part> kept) {
  const auto leaf = shares_->leaf_of(unit.queue());
  if (leaf == no_vertex || kept.empty())
    return;
  const auto place = place_of(unit, 0);
  const auto asked = asked_by(*shares_, *unit.who);
  const auto own = [&] {
    if (shares_->is_entitled(leaf, asked))
      return precedence::is_entitled;
    return is_any_entitled(unit.queue(), leaf, place) ? precedence::has_entitled
                                                      : precedence::others;
  };
  const auto comes_before = [&](std::size_t at, const turn_of& turn) {
    if (at == leaf)
      return turn.place < place;
    const auto before = own();
    return turn.before > before || (turn.before == before && turn.place < place);
  };
  for (const auto& one : kept) // in the order of their turns
    if (const auto at = shares_->leaf_of(one.queue); at != no_vertex && comes_before(at, one.turn))
      shares_->add(at, shares_->columns_of(one.takes), 1);
}

std::string scheduling_cycle::why_waits(const waiting_unit& unit, std::span<const kept_part> kept,
                                        bool at_front) {
  if (!shares_) {
    auto in = port_.queue_input();
    demand_ = real_demand(in);
    if (!shares_)
      share_out(in);
    count_kept(unit, kept);
  }
  auto made = unit_judge{port_, settings_, *shares_}.judge(unit, at_front, claims_before(unit));
  return made.quota.empty() ? std::move(made.made.why.summary) : std::move(made.quota);
}

} // namespace reprieve
