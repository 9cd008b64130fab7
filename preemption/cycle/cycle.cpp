#include "preemption/cycle/cycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

/// What a cycle does at most for units that are set aside, in steps of about a microsecond: when it
/// has come that far, others are heard who may have come meanwhile, and the next cycle goes on. Who
/// is set aside is not looked at again there.
constexpr std::int64_t most_effort_in_vain = 100'000;
constexpr std::int64_t effort_to_judge = 100;

/// So many pods of one group keep room for themselves at the node that the group is bound to, or
/// are told why not. Those behind them would find less still, and may be a hundred thousand.
constexpr int most_at_their_node = 16;

std::int64_t pods_of(const preemptor& who) {
  std::int64_t pods = 0;
  for (const auto& group : who.groups)
    pods += std::ssize(group.pods);
  return pods;
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
