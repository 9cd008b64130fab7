#include "actors/scheduling_cycle.hpp"

#include "actors/hopeless_kinds.hpp"
#include "preemption/budgets.hpp"
#include "preemption/engine.hpp"
#include "preemption/required_node.hpp"
#include "preemption/sessions.hpp"
#include "preemption/turn.hpp"
#include "state/keys.hpp"
#include "state/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = coordinator_pointer;
using pending_unit = group_mirror::pending_unit;

/// Long enough for a burst to share a cycle, short enough that nobody waits for it.
constexpr std::chrono::milliseconds gathering_time{2};
constexpr std::size_t most_pods_in_a_batch = 512;

resources taken_by(const std::vector<assignment>& assignments) {
  resources sum;
  for (const auto& one : assignments)
    add_taken(sum, one.placed);
  return sum;
}

/// Adds one unit's plan to a decision that is being put together.
void take_plan(decision_settings& settings, const pending_unit& unit, plan&& made) {
  auto& what = settings.what;
  for (auto& one : made.assignments) {
    one.placed.placed_by = what.id;
    settings.placed.push_back(std::make_shared<const shared_pod>(std::move(one.placed)));
  }
  const auto& workload = unit.who->workload;
  if (settings.generations.insert_or_assign(workload, unit.record->status.generation).second)
    what.workloads.push_back(workload);
}

} // namespace

/// One cycle's work on the pending units. Where shards are asked, it goes on with their answers.
class scheduling_cycle : public std::enable_shared_from_this<scheduling_cycle> {
public:
  explicit scheduling_cycle(self_pointer self)
      : self_(self), state_(self->state), now_(state_.settings.clock.now(self)),
        decisions_before_(state_.last_decision) {
    settings_.now = now_;
    if (const auto* group = find(state_.known->groups, state_.settings.resource_group))
      settings_.group = *group;
    if (settings_.group.limits.preemptions_per_workload_per_hour)
      settings_.preempted_lately = state_.mirror.preempted_lately(now_);
  }

  /// Whoever is served first takes what is free, else preempts, else waits; those behind see what
  /// the others hold, so that nobody takes the room that a more important one is about to use.
  void run() {
    stop_unwanted();
    state_.waiting_because.clear();
    units_ = state_.mirror.pending();
    count_pending();
    state_.inquiries.forget_outdated(settings_.group);
    go_on();
  }

private:
  void go_on() {
    for (; next_ < units_.size(); ++next_) {
      const auto& unit = units_[next_];
      if (may_be_tried(unit) && still_lacks(unit) && !is_hopeless(unit) && !serve(unit))
        return;
    }
    launch_batch();
    state_.mirror.forget_reservations();
    report_needs();
    choose_pause();
    state_.running_cycle.reset();
    if (state_.cycle_due) // something changed while shards were asked
      cycle_after(self_, std::max<duration>(gathering_time, state_.pause));
  }

  void choose_pause() {
    constexpr std::chrono::milliseconds longest{50};
    constexpr int times = 3; // so much longer than it took
    const bool in_vain = state_.last_decision == decisions_before_;
    const auto took = state_.settings.clock.now(self_) - now_;
    state_.pause = in_vain ? std::min<duration>(times * took, longest) : duration{0};
  }

  /// Asks for it, and once more where that may have been lost.
  template <class Handle, class Order>
  void clean_up(const Handle& shard, Order order) {
    const auto again = [self = self_] {
      self->state.mirror.look_at_leftovers_again();
      cycle_after(self, cycle_retry_delay);
    };
    self_->request(shard, answer_time, std::move(order))
      .then(
        [again](absl::Status& done) {
          if (!done.ok())
            again();
        },
        [again](caf::error&) { again(); });
  }

  void stop_unwanted() {
    const auto& shards = *state_.settings.shards;
    std::map<std::uint32_t, stop_pods> orders;
    const auto node_shards = static_cast<std::uint32_t>(shards.nodes.size());
    for (auto& one : state_.mirror.take_unwanted())
      orders[shard_number(one.node, node_shards)].pods.push_back(std::move(one));
    for (auto& [number, order] : orders) {
      order.reason = not_wanted;
      clean_up(shards.nodes[number], std::move(order));
    }
    std::map<std::uint32_t, forget_workloads> ended;
    const auto workload_shards = static_cast<std::uint32_t>(shards.workloads.size());
    for (auto& name : state_.mirror.take_ended_workloads())
      ended[shard_number(name, workload_shards)].names.push_back(std::move(name));
    for (auto& [number, order] : ended)
      clean_up(shards.workloads[number], std::move(order));
  }

  void waits(const pending_unit& unit, std::string because) {
    state_.waiting_because[unit.who->workload] = std::move(because);
  }

  bool may_be_tried(const pending_unit& unit) {
    if (auto backed_off = why_backed_off(*unit.record, now_)) {
      waits(unit, std::move(backed_off->why));
      try_again_at(self_, backed_off->until);
      return false;
    }
    if (!state_.grants)
      waits(unit, "what its queue may use is not known yet");
    return state_.grants.has_value();
  }

  /// A decision with victims may have taken those that the unit was to join, and so may whatever
  /// came while shards were asked. Placements leave all others as they were, but for more of a
  /// gang.
  bool still_lacks(const pending_unit& unit) const {
    const bool as_it_was = !others_may_have_gone_
                           && std::ranges::none_of(unit.record->spec->groups, &pod_group::is_gang);
    return as_it_was || state_.mirror.still_lacks(*unit.who);
  }

  /// Whether the group's grant covers so much more in the unit's queue, once these have gone; if
  /// not, the unit waits for it.
  bool is_granted(const pending_unit& unit, const resources& more,
                  const std::vector<victim>& victims = {}) {
    const auto& queue = unit.record->spec->queue;
    const auto* granted = find(*state_.grants, queue);
    const auto* used = find(state_.mirror.usage(), queue);
    auto staying = used == nullptr ? resources{} : used->staying;
    const auto going = state_.mirror.usage_of(victims);
    if (const auto* ours = find(going, queue))
      for (const auto& [resource, amount] : *ours)
        staying[resource] -= amount;
    auto why = granted == nullptr
                 ? fmt::format("queue {} has nothing in this resource group", queue)
                 : beyond_grant(queue, *granted, staying, more);
    if (why.empty())
      return true;
    add_to(needs_[queue].blocked, more);
    waits(unit, std::move(why));
    return false;
  }

  bool is_hopeless(const pending_unit& unit) {
    auto why = hopeless_.why(*unit.who, settings_);
    if (why.empty())
      return false;
    waits(unit, std::move(why));
    return true;
  }

  /// False where the shards are asked first.
  bool serve(const pending_unit& unit) {
    const auto& who = *unit.who;
    settings_.explained =
      depth_for(state_.mirror.view_of_nodes(), who, state_.settings.most_domains_told);
    auto* known = state_.inquiries.find(who);
    if (known == nullptr && may_ask_for(who)) {
      auto made = find_room(state_.mirror.view_of_nodes(), who, settings_);
      if (made.assignments.empty()) {
        launch_batch(); // nobody waits for the answers who does not need them
        others_may_have_gone_ = true;
        hopeless_.forget();
        ask_shards(self_, request_for(who, settings_, nodes_to_ask_for(who)),
                   [cycle = shared_from_this()] { cycle->go_on(); });
        return false;
      }
      carry_out(unit, std::move(made));
      return true;
    }
    foresight none{state_.mirror.view_of_nodes(), {}};
    decide_for(unit, known != nullptr && known->seen ? *known->seen : none);
    return true;
  }

  bool may_ask_for(const preemptor& who) const {
    return !state_.inquiries.are_enough() && shards_can_help(who, settings_);
  }

  /// Enough for all of the kind that wait, if they are spread over the shards.
  std::size_t nodes_to_ask_for(const preemptor& who) const {
    constexpr std::ptrdiff_t least = 32;
    constexpr std::ptrdiff_t most = 2048;
    const evaluation_request kind = request_for(who, settings_);
    const auto waiting =
      std::count_if(units_.begin() + static_cast<std::ptrdiff_t>(next_), units_.end(),
                    [&](const pending_unit& unit) { return is_for(kind, *unit.who); });
    const auto shards = std::ssize(state_.settings.shards->nodes);
    return static_cast<std::size_t>(std::clamp(2 * waiting / shards, least, most));
  }

  void place(const pending_unit& unit, plan made) {
    if (!is_granted(unit, taken_by(made.assignments)))
      return;
    auto& what = batch_.what;
    if (what.id.empty())
      begin(batch_, "placement");
    const auto before = batch_.placed.size();
    take_plan(batch_, unit, std::move(made));
    // The next unit must see what this one takes.
    for (const auto& p : std::span{batch_.placed}.subspan(before))
      state_.mirror.promise(what.id, p);
    if (batch_.placed.size() >= most_pods_in_a_batch)
      launch_batch();
  }

  void launch_batch() {
    if (batch_.what.id.empty())
      return;
    batch_.what.at_once = state_.settings.owner->schema() >= schema_with_starts_at_once;
    batch_.what.why.summary = fmt::format("{} pods of {} workloads fit without preemption",
                                          batch_.placed.size(), batch_.what.workloads.size());
    launch(self_, std::exchange(batch_, decision_settings{}));
  }

  /// Remembers since when the node of a pod that is bound to one is reserved for it (DESIGN 3.5).
  void keep_reservation(const preemptor& who, const plan& made) {
    const auto& uid = who.groups.front().pods.front().uid;
    if (made.reserve)
      state_.reserved[uid] = made.reserve->since;
    else
      state_.reserved.erase(uid);
    if (auto hold = hold_of_reservation(who, made))
      state_.mirror.reserve(*hold);
    if (made.look_again != no_time)
      try_again_at(self_, made.look_again);
  }

  void decide_for(const pending_unit& unit, foresight& seen) {
    auto who = unit.who;
    const auto since = state_.reserved.find(who->groups.front().pods.front().uid);
    if (since != state_.reserved.end() || !front_.has(*who)) {
      auto changed = *who;
      changed.at_front = front_.has(changed);
      if (since != state_.reserved.end())
        changed.reserved_since = since->second;
      who = std::make_shared<const preemptor>(std::move(changed));
    }
    auto [made, gives_up] = state_.mirror.decide_over_holds(*who, settings_, seen);
    front_.served(*who, made);
    keep_reservation(*who, made);
    if (!gives_up.empty())
      take_holds(unit, gives_up);
    else
      carry_out(unit, std::move(made));
  }

  void carry_out(const pending_unit& unit, plan made) {
    if (made.assignments.empty()) {
      hopeless_.add(*unit.who, settings_, made.why.summary);
      waits(unit, made.why.summary);
    } else if (made.result == plan::outcome::placed) {
      place(unit, std::move(made));
    } else {
      preempt(unit, std::move(made));
    }
  }

  void preempt(const pending_unit& unit, plan made) {
    if (!is_granted(unit, taken_by(made.assignments), made.victims))
      return;
    const auto& view = state_.mirror.view_of_nodes();
    if (settings_.explained == depth::summary && !made.victims.empty())
      explain(view, *unit.who, settings_, made);
    decision_settings settings;
    begin(settings, made.policy.empty() ? "placement" : made.policy);
    settings.what.priority = unit.who->priority;
    settings.what.victims = std::move(made.victims);
    settings.what.why = std::move(made.why);
    settings.what.scored = made.scored;
    settings.budgets = budget_parts(view, made.followed.victims);
    take_plan(settings, unit, std::move(made));
    launch(self_, std::move(settings));
    others_may_have_gone_ = true;
    hopeless_.forget(); // victims may leave room for others
  }

  /// The room that the unit may have is held for less important ones: they give it up, and when
  /// they have, the unit comes to its turn again (DESIGN 3.2).
  void take_holds(const pending_unit& unit, const std::vector<given_up>& holds) {
    hopeless_.forget();
    for (const auto& one : holds) {
      waits(unit, fmt::format("it takes the room of decision {}: {}", one.decision, one.reason));
      if (const auto found = state_.decisions.find(one.decision); found != state_.decisions.end())
        self_->send(found->second.actor, cancel_decision{one.reason});
    }
  }

  void begin(decision_settings& settings, std::string policy) {
    settings.what.id = new_decision_id(state_);
    settings.what.resource_group = state_.settings.resource_group;
    settings.what.policy = std::move(policy);
    settings.what.decided = now_;
  }

  void count_pending() {
    for (const auto& unit : units_)
      if (unit.record->status.resume_after <= now_)
        add_to(needs_[unit.record->spec->queue].pending, wanted_by(*unit.who));
  }

  /// Tells the queue shard what has changed since it was told last.
  void report_needs() {
    quota_report report{state_.settings.resource_group, std::move(needs_), state_.mirror.capacity(),
                        static_cast<std::int64_t>(state_.mirror.node_count()), state_.epoch};
    for (const auto& [queue, used] : state_.mirror.usage())
      report.queues[queue].used = used;
    if (report == state_.told)
      return;
    state_.told = report;
    self_->send(state_.settings.queues, std::move(report));
  }

  self_pointer self_;
  coordinator_state& state_;
  time_point now_;
  std::uint64_t decisions_before_; ///< how many there were
  plan_settings settings_;
  decision_settings batch_;
  by_name<quota_need> needs_; ///< by queue
  hopeless_kinds hopeless_;
  front_of_line front_; ///< who may preempt in a group with sessions (DESIGN 3.6)
  std::vector<pending_unit> units_;
  std::size_t next_ = 0; ///< of them to be served
  bool others_may_have_gone_ = false;
};

void cycle_after(self_pointer self, duration delay) {
  self->delayed_send(self, delay, run_cycle{});
}

void wake(self_pointer self) {
  auto& state = self->state;
  ++state.changes;
  if (std::exchange(state.cycle_due, true))
    return;
  cycle_after(self, std::max<duration>(gathering_time, state.pause));
}

void try_again_at(self_pointer self, time_point when) {
  auto& planned = self->state.next_retry;
  const auto now = self->state.settings.clock.now(self);
  if (planned > now && planned <= when)
    return;
  planned = when;
  cycle_after(self, std::max(when - now, duration{0}));
}

void look_at_votes_later(self_pointer self) {
  if (!std::exchange(self->state.looks_at_votes, true))
    self->delayed_send(self, answer_time, look_at_votes{});
}

std::string new_decision_id(coordinator_state& state) {
  return fmt::format("{:08x}.{:06x}.{}", state.epoch, ++state.last_decision,
                     state.settings.resource_group);
}

namespace {

/// Which of the open decisions have to be told before this one asks for its votes, which would be
/// against it until then (DESIGN 4, progress): those whose victims' room it counts on, and those
/// that leave nothing of a budget for it.
std::set<std::string> to_be_told_before(const coordinator_state& state,
                                        const decision_settings& settings) {
  if (settings.recovered)
    return {};
  auto found = state.mirror.counts_on(settings.what.id, settings.parts);
  for (const auto& part : settings.budgets)
    if (part.over > 0)
      for (const auto& [id, one] : state.decisions)
        if (std::ranges::find(one.budgets, part.budget) != one.budgets.end())
          found.insert(id);
  std::erase_if(found, [&](const std::string& id) {
    const auto open = state.decisions.find(id);
    return open == state.decisions.end() || open->second.told;
  });
  return found;
}

} // namespace

void launch(self_pointer self, decision_settings settings) {
  auto& state = self->state;
  const auto& ours = state.settings;
  settings.shards = ours.shards;
  settings.store = ours.store;
  settings.ground = ours.owner;
  settings.owner = self;
  settings.events = ours.events;
  settings.clock = ours.clock;
  const auto id = settings.what.id;
  coordinator_state::in_flight begun;
  begun.phase = settings.what.phase;
  begun.planned_at = state.changes;
  begun.asked = ours.clock.now(self);
  for (const auto& part : settings.budgets)
    begun.budgets.push_back(part.budget);
  if (settings.recovered)
    settings.placed = shared_pods(std::exchange(settings.what.assignments, {}));
  settings.parts = parts_of(settings.placed, settings.what.victims);
  begun.after = to_be_told_before(state, settings);
  settings.waits_for_others = !begun.after.empty();
  state.mirror.open({id, settings.what.workloads, settings.placed, settings.what.victims},
                    settings.parts);
  begun.actor = self->spawn<caf::monitored>(run_decision, std::move(settings));
  state.running->emplace(id, begun.actor);
  for (const auto& other : begun.after)
    state.decisions.find(other)->second.followed_by.push_back(id);
  state.decisions[id] = std::move(begun);
  look_at_votes_later(self);
}

void serve_all(self_pointer self) {
  self->state.running_cycle = std::make_shared<scheduling_cycle>(self);
  std::shared_ptr(self->state.running_cycle)->run();
}

} // namespace reprieve
