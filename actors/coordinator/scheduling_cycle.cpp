#include "actors/coordinator/scheduling_cycle.hpp"

#include "actors/interfaces/planted_bug.hpp"
#include "preemption/cycle/cycle.hpp"
#include "preemption/cycle/quota.hpp"
#include "preemption/engine.hpp"
#include "preemption/pipeline/budgets.hpp"
#include "preemption/policies/lifecycle/lifecycle_cycle.hpp"
#include "preemption/policies/queues/queue_explain.hpp"
#include "preemption/policies/required_node/required_node.hpp"
#include "preemption/waiting/wait_reason.hpp"
#include "state/model/queue_limits.hpp"
#include "state/quantities/quantity.hpp"
#include "state/records/keys.hpp"
#include "state/text/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace reprieve {

namespace {

bool is_below(const by_name<queue>& queues, const std::string& name, const std::string& above) {
  const auto* at = find(queues, name);
  while (at != nullptr && at->name != above)
    at = find(queues, at->parent);
  return at != nullptr;
}

/// Those of the open decisions whose victims have to be told before so much more comes into the
/// queue, as a limit does not have room for all of them.
std::set<std::string> to_leave_quota_before(coordinator_state& state, std::string_view queue,
                                            const resources& more) {
  std::set<std::string> found;
  std::vector<std::string> limited;
  const auto& known = state.known->queues;
  for (const auto* at = find(known, queue); at != nullptr; at = find(known, at->parent))
    if (!at->limit.empty())
      limited.push_back(at->name);
  const auto is_untold = [](const auto& one) {
    return !one.second.told && !one.second.given_up && !one.second.queues_freed.empty();
  };
  if (limited.empty() || std::ranges::none_of(state.decisions, is_untold))
    return found;
  const auto here = queues_of_group(state).queues;
  usage_by_queue used;
  for (const auto& [name, of] : state.mirror.usage()) {
    add_to(used[name], of.staying);
    add_to(used[name], of.leaving);
  }
  add_to(used[std::string(queue)], more);
  for (const auto& name : limited) {
    const auto below = used_below(known, used, name);
    const auto* part = find(here, name);
    if (part == nullptr || std::ranges::none_of(part->limit, [&](const auto& limit) {
          return amount_of(below, limit.first) > limit.second;
        }))
      continue;
    for (const auto& one : state.decisions)
      if (is_untold(one) && std::ranges::any_of(one.second.queues_freed, [&](const auto& freed) {
            return is_below(known, freed, name);
          }))
        found.insert(one.first);
  }
  return found;
}

using self_pointer = coordinator_pointer;

/// Long enough for a burst to share a cycle, short enough that nobody waits for it.
constexpr std::chrono::milliseconds gathering_time{2};
constexpr auto most_pods_in_a_batch = unwritten_work::most_pods_at_once;

const std::string& first_uid(const preemptor& who) {
  return who.groups.front().pods.front().uid;
}

/// How many decisions there were so far. Those that were open when the coordinator started are one.
std::uint64_t decisions_made(const coordinator_state& state) {
  return state.last_decision + 1;
}

/// Likewise, before that one.
std::uint64_t decisions_before(const coordinator_state& state, std::string_view id) {
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;
  const auto first = id.find('.');
  const auto second = id.find('.', first + 1);
  std::from_chars(id.data(), id.data() + first, epoch, 16);
  std::from_chars(id.data() + first + 1, id.data() + second, number, 16);
  return epoch == static_cast<std::uint64_t>(state.epoch) ? number : 0;
}

/// What the victims of one queue have to free, in words.
std::string summary_of(const queue_outcome& of) {
  std::string amounts;
  for (const auto& line : of.lines)
    if (line.to_free > 0)
      amounts +=
        fmt::format("{}{}: {}", amounts.empty() ? "" : "; ", line.resource, why_moved(line));
  return fmt::format("queue {} gives back what it uses ({})", of.queue, amounts);
}

/// Adds one unit's plan to a decision that is being put together.
void take_plan(decision_settings& settings, const waiting_unit& unit, plan&& made) {
  auto& decided = settings.decision;
  settings.whole = settings.whole || unit.who->gang;
  for (auto& one : made.assignments) {
    one.placed.placed_by = decided.id;
    settings.placed.push_back(std::make_shared<const shared_pod>(std::move(one.placed)));
  }
  const auto& workload = unit.who->workload;
  if (settings.generations.insert_or_assign(workload, unit.record->status.generation).second)
    decided.workloads.push_back(workload);
}

/// Whether the unit gets all its pods, wherever there is room for them.
bool places_all_of(const preemptor& who, const decision_settings& settings) {
  std::size_t count = 0;
  for (const auto& group : who.groups)
    count += group.pods.size();
  return count == settings.placed.size() && !is_bound_to_a_node(who);
}

bool is_awaiting(const coordinator_state& state, const std::string& id) {
  const auto found = state.decisions.find(id);
  return found != state.decisions.end() && found->second.awaiting;
}

/// The decision's unit may move to free room until those have gone whom it waits for.
void await_room_for(coordinator_state& state, const std::string& id, const waiting_unit& unit) {
  const auto kind = kind_of(unit).value_or(id);
  auto place = std::pair{place_of(unit, 0), id};
  state.awaiting[kind].emplace(place, unit);
  state.decisions.find(id)->second.awaiting.emplace(kind, std::move(place));
}

} // namespace

void await_no_more(coordinator_state& state, const std::string& id) {
  const auto found = state.decisions.find(id);
  if (found == state.decisions.end() || !found->second.awaiting)
    return;
  const auto of = state.awaiting.find(found->second.awaiting->first);
  of->second.erase(found->second.awaiting->second);
  if (of->second.empty())
    state.awaiting.erase(of);
  found->second.awaiting.reset();
}

/// The cycle on a live group: what it asks for comes from the mirror and the shards, and what it
/// decides is handed to decisions. Where shards are asked, it goes on with their answers.
class live_cycle final : public cycle_port, public std::enable_shared_from_this<live_cycle> {
public:
  /// With `explains`, nothing is decided: somebody asks why.
  explicit live_cycle(self_pointer self, bool explains = false)
      : self_(self), state_(self->state), now_(state_.settings.clock.now(self)),
        decisions_before_(reprieve::decisions_made(state_)), explains_(explains),
        cycle_(*this, settings_of(state_, now_, explains)) {}

  void run() {
    if (stop_unwanted() && !std::exchange(state_.lets_others_go, true)) {
      // Until that is durable, their shards refuse whoever is to come in their stead.
      state_.running_cycle.reset();
      cycle_after(self_, std::chrono::milliseconds{20});
      return;
    }
    state_.lets_others_go = false;
    state_.waiting_because.clear();
    if (const auto* group = find(state_.known->groups, state_.settings.resource_group)) {
      state_.inquiries.forget_outdated(*group);
      state_.mirror.guard(group->limits);
    }
    state_.mirror.release(now_);
    if (const auto next = state_.unwritten.each_due(
          now_, [&](const std::string& name) { state_.mirror.put_aside(name, false); });
        next != no_time)
      try_again_at(self_, next);
    finish_cycle();
  }

  /// Why the unit waits, as things stand now.
  std::string why_waits(const waiting_unit& unit) {
    return cycle_.why_waits(unit, state_.kept_for_limits);
  }

  // -- what the cycle asks for --------------------------------------------------------------------

  cluster_view& nodes() override {
    return state_.mirror.changeable_view_of_nodes();
  }
  cluster_view& view() override {
    return state_.mirror.changeable_view();
  }
  std::vector<queue_pod> pods_in(const std::vector<std::string>& queues) override {
    return state_.mirror.pods_in(queues);
  }
  std::string_view queue_of(std::string_view workload) override {
    const auto record = state_.mirror.find_workload(workload);
    return record ? std::string_view(record->spec->queue) : std::string_view{};
  }
  bool is_gang(std::string_view workload, std::string_view group) override {
    const auto record = state_.mirror.find_workload(workload);
    return record && reprieve::is_gang(record->spec, group);
  }
  std::span<const held_decision> holds_below(std::int32_t priority) override {
    const auto [at, fresh] = holds_.try_emplace(priority);
    if (fresh) {
      at->second = state_.mirror.holds_below(priority);
      std::erase_if(at->second, [&](const held_decision& held) { // of this cycle
        return decisions_before(state_, held.id) >= decisions_before_;
      });
    }
    return at->second;
  }
  live_hints* answers_for(const preemptor& who) override {
    auto* known = state_.inquiries.find(who);
    return known != nullptr && known->seen ? &*known->seen : nullptr;
  }
  bool may_ask_shards(const preemptor& who, const plan_settings& settings) override {
    return !explains_ && state_.inquiries.find(who) == nullptr && !state_.inquiries.are_enough()
           && shards_can_help(who, settings);
  }
  bool ask_shards(const preemptor& who, const plan_settings& settings) override {
    launch_batch(); // nobody waits for the answers who does not need them
    auto asked = request_for(who, settings, nodes_to_ask_for(who));
    reprieve::ask_shards(self_, std::move(asked),
                         [cycle = shared_from_this()] { cycle->finish_cycle(); });
    return true;
  }
  std::size_t most_domains_told() const override {
    return state_.settings.most_domains_told;
  }
  time_point reserved_since(const preemptor& who) override {
    const auto since = state_.reserved.find(first_uid(who));
    return since == state_.reserved.end() ? no_time : since->second.since;
  }
  waiting_line& line() override {
    return state_.mirror.line();
  }
  bool still_lacks(const preemptor& who) override {
    return state_.mirror.still_lacks(who);
  }
  queue_stage_input queue_input() override {
    auto in = queues_of_group(state_);
    add_demand(in, state_.lifecycle.needs);
    for (const auto& [queue, later] : state_.mirror.held_back())
      add_to(in.pending[queue], later);
    return in;
  }
  std::vector<returning_work> returning(std::string_view queue, time_point until) override {
    auto found = state_.mirror.line().asleep_in(queue, until);
    for (auto& one : state_.mirror.leaving_in(queue, now_))
      found.push_back(std::move(one));
    return found;
  }
  bool may_return_before(std::string_view queue, const service_place& place) override {
    return state_.mirror.line().is_any_asleep_before(queue, place)
           || state_.mirror.is_any_leaving_before(queue, place);
  }
  changes take_changes() override {
    changes found;
    found.freed = state_.mirror.take_freed_nodes();
    found.arrived = state_.mirror.take_nodes_with_arrivals();
    found.lighter = state_.mirror.take_lighter_queues();
    found.arrivals = state_.mirror.take_arrivals();
    found.rules = std::exchange(state_.rules_changed, false);
    return found;
  }
  std::uint64_t nodes_seen() override {
    return state_.mirror.nodes_seen();
  }
  std::uint64_t decisions_made() override {
    return reprieve::decisions_made(state_);
  }
  std::uint64_t decisions_over() override {
    return state_.decisions.empty() ? decisions_made()
                                    : decisions_before(state_, state_.decisions.begin()->first);
  }
  bool sets_aside() override {
    return true;
  }
  std::vector<awaited_room> awaiting(const service_place& behind) override {
    std::vector<awaited_room> found;
    for (const auto& [kind, units] : state_.awaiting)
      for (const auto& [place, unit] :
           std::ranges::subrange(units.lower_bound({behind, {}}), units.end()))
        if (behind < place.first && waits_for_room(place.second)) {
          // Of a gang there may be more by now, or fewer, and what joined one may be part of one.
          const auto& spec = unit.record->spec;
          const auto group = group_position(spec, unit.who->groups.front().name);
          const bool may_be_another = group && spec->groups[*group].is_gang();
          const auto as_it_is =
            may_be_another ? state_.mirror.unit_placed_by(place.second) : std::optional(unit);
          if (!as_it_is)
            continue; // another of the kind may move
          // With others of its gang gone, it may have another place.
          if (auto now_at = place_of(*as_it_is, 0); behind < now_at)
            found.push_back({std::move(now_at), place.second, *as_it_is});
          if (kind_of(*as_it_is).value_or(place.second) == kind)
            break; // there is as little for others alike
        }
    return found;
  }
  std::optional<waiting_unit> take_back_nomination(const awaited_room& one,
                                                   std::string reason) override {
    if (!is_awaiting(state_, one.decision))
      return std::nullopt;
    give_up(self_, one.decision, std::move(reason));
    holds_.clear();
    auto unit = state_.mirror.line().find_like(*one.unit.who);
    takes_holds_ = takes_holds_ || unit.has_value();
    return unit;
  }
  time_point next_release() override {
    const auto next = state_.mirror.next_release();
    return next == no_time ? no_time : std::max(next, now_ + gathering_time);
  }

  // -- what it decides ----------------------------------------------------------------------------

  void place(const waiting_unit& unit, plan made) override {
    if (is_put_aside(unit, made))
      return;
    // Nobody else waits for those who give up, or for those who are to leave its quota.
    resources more;
    for (const auto& one : made.assignments)
      add_taken(more, one.placed);
    auto after = to_leave_quota_before(state_, unit.queue(), more);
    if (takes_holds_ || !after.empty()) {
      launch_for(unit, std::move(made), std::move(after));
      return;
    }
    // What is large, or was not written with others, is nobody else's trouble.
    const auto& workload = unit.who->workload;
    const auto most = state_.unwritten.most_by_itself(workload);
    const bool large = made.assignments.size() > most_pods_in_a_batch / 4;
    if (large || (most ? batch_of_ != workload : !batch_of_.empty()))
      launch_batch();
    if (most)
      batch_of_ = workload;
    const auto& id = batch_.decision.id;
    const bool first = id.empty();
    if (first)
      begin(batch_, "placement");
    alone_ = first ? std::optional(unit) : std::nullopt;
    const auto before = batch_.placed.size();
    take_plan(batch_, unit, std::move(made));
    // The next unit must see what this one takes.
    for (const auto& p : std::span{batch_.placed}.subspan(before))
      state_.mirror.promise(id, p);
    if (large || batch_.placed.size() >= most.value_or(most_pods_in_a_batch))
      launch_batch();
  }

  void preempt(const waiting_unit& unit, plan made) override {
    if (!is_put_aside(unit, made))
      launch_for(unit, std::move(made), {});
  }

  void launch_for(const waiting_unit& unit, plan made, std::set<std::string> after) {
    decision_settings settings;
    begin(settings, made.policy.empty() ? "placement" : made.policy);
    settings.decision.priority = unit.who->priority;
    const auto& view = state_.mirror.view_of_nodes();
    if (!made.victims.empty()
        && depth_for(view, *unit.who, most_domains_told()) == depth::summary) {
      auto as_planned = settings_of(state_, now_, false);
      as_planned.explained = depth::summary;
      explain(view, *unit.who, as_planned, made);
    }
    settings.decision.victims = std::move(made.victims);
    settings.decision.why = std::move(made.why);
    settings.decision.scored = made.scored;
    settings.budgets = budget_parts(view, made.followed.victims);
    take_plan(settings, unit, std::move(made));
    takes_holds_ = false;
    launch_alone(unit, std::move(settings), std::move(after));
  }

  /// Even where there is room for it now, there may be none before it starts: its node may change.
  void launch_alone(const waiting_unit& unit, decision_settings settings,
                    std::set<std::string> after) {
    const auto id = settings.decision.id;
    const bool moves = places_all_of(*unit.who, settings);
    launch(self_, std::move(settings), std::move(after));
    if (moves)
      await_room_for(state_, id, unit);
  }

  /// The room that the unit may have is held for less important ones: they give it up, and its own
  /// decision asks for it when they have (docs/policies.md#delayed-actuation).
  void take_holds(const waiting_unit&, const std::vector<given_up>& holds) override {
    for (const auto& one : holds)
      give_up(self_, one.decision, one.reason);
    holds_.clear();
    takes_holds_ = true;
  }

  void take_back_nominations(const std::vector<given_up>& which) override {
    for (const auto& one : which)
      give_up(self_, one.decision, one.reason);
    holds_.clear();
  }

  void take_back(const queue_outcome& from) override {
    decision_settings settings;
    begin(settings, "queues");
    settings.decision.queue = from.queue;
    settings.decision.victims = from.victims;
    settings.decision.why.summary = summary_of(from);
    settings.decision.why.reprieved = from.reprieved;
    settings.decision.why.passed_over = from.passed_over;
    launch(self_, std::move(settings));
  }

  /// Remembers since when the node of a pod that is bound to one is reserved for it
  /// (docs/policies.md#required-node).
  void reserve(const preemptor& who, const plan& made) override {
    if (made.reserve)
      state_.reserved[first_uid(who)] = {who.workload, made.reserve->since};
    else
      state_.reserved.erase(first_uid(who));
    if (auto hold = hold_of_reservation(who, made))
      state_.mirror.reserve(*hold);
  }

  void waits(const waiting_unit& unit, plan made) override {
    waits_because(unit, std::move(made.why.summary));
  }
  void look_again(time_point when) override {
    try_again_at(self_, when);
  }
  /// Where queues share the group, not so many that those of others would have to wait behind them
  /// at the shards.
  std::int64_t most_of_runs() override {
    const bool are_shared = state_.known->queues.size() > 1;
    const std::ptrdiff_t most_in_preparation = are_shared ? 2 : 4;
    const std::int64_t most_at_once = are_shared ? 128 : unit_run::served_at_once;
    const auto in_preparation = std::ranges::count_if(state_.decisions, [](const auto& one) {
      return one.second.phase == decision_phase::preparing && one.second.after.empty();
    });
    return in_preparation < most_in_preparation ? std::min(unit_run::served_at_once, most_at_once)
                                                : 0;
  }

private:
  static plan_settings settings_of(coordinator_state& state, time_point now, bool explains) {
    plan_settings settings;
    settings.now = now;
    settings.group.name = state.settings.resource_group;
    if (const auto* group = find(state.known->groups, state.settings.resource_group))
      settings.group = *group;
    if (settings.group.limits.preemptions_per_workload_per_hour)
      settings.recent_preemptions = state.mirror.recent_preemptions(now);
    // A sentence of why there is nothing is made when somebody asks; among sessions it depends on
    // who comes first.
    settings.tells_failure = explains || settings.group.policy == group_policy::sessions;
    settings.origins.find = [&mirror = state.mirror,
                             now](const portion_id& of) -> std::optional<pod_origin> {
      const auto record = mirror.find_workload(of.workload);
      return record ? origin_in(*record, of, now) : std::nullopt;
    };
    return settings;
  }

  /// Whether a decision of an earlier cycle can be given up and waits for somebody to leave.
  bool waits_for_room(const std::string& decision) {
    if (decisions_before(state_, decision) >= decisions_before_)
      return false;
    const auto held = state_.mirror.hold_of(decision);
    return held && reprieve::waits_for_room(nodes(), *held);
  }

  void waits_because(const waiting_unit& unit, std::string because) {
    state_.waiting_because[unit.who->workload] = std::move(because);
  }

  void finish_cycle() {
    holds_.clear(); // shards may have told more since
    if (!cycle_.run())
      return;
    launch_batch();
    state_.mirror.forget_reservations();
    state_.queues = statuses_of(cycle_.queues());
    state_.kept_for_limits = cycle_.kept_for_limits();
    report_needs();
    choose_pause();
    state_.running_cycle.reset();
    if (state_.cycle_due) // something changed while shards were asked
      cycle_after(self_, std::max<duration>(gathering_time, state_.pause));
  }

  void choose_pause() {
    constexpr std::chrono::milliseconds longest{50};
    constexpr int times = 3; // so much longer than it took
    const bool in_vain = decisions_made() == decisions_before_;
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

  /// Whether anybody is told to go.
  bool stop_unwanted() {
    const auto& shards = *state_.settings.shards;
    std::map<std::uint32_t, stop_pods> orders;
    const auto node_shards = static_cast<std::uint32_t>(shards.nodes.size());
    for (auto& one : state_.mirror.take_unwanted()) {
      const auto number = shard_number(one.node, node_shards);
      orders[number].pods.push_back(std::move(one));
    }
    for (auto& [number, order] : orders) {
      order.reason = not_wanted;
      clean_up(shards.nodes[number], std::move(order));
    }
    std::map<std::uint32_t, forget_workloads> ended;
    const auto workload_shards = static_cast<std::uint32_t>(shards.workloads.size());
    for (auto& name : state_.mirror.take_ended_workloads()) {
      const auto number = shard_number(name, workload_shards);
      ended[number].names.push_back(std::move(name));
    }
    for (auto& [number, order] : ended)
      clean_up(shards.workloads[number], std::move(order));
    return !orders.empty();
  }

  /// Enough for all of the kind that wait, if they are spread over the shards.
  std::size_t nodes_to_ask_for(const preemptor& who) {
    constexpr std::ptrdiff_t least = 32;
    constexpr std::ptrdiff_t most = 2048;
    const evaluation_request kind = request_for(who, {});
    std::ptrdiff_t waiting = 0;
    const auto& line = state_.mirror.line();
    for (const auto& [queue, units] : line.fresh())
      for (const auto& [place, one] : units)
        if (is_for(kind, *one.who))
          waiting += one.run ? one.run->size() : 1;
    for (const auto& [key, one] : line.all_kinds())
      if (!one.aside && !one.units.empty() && is_for(kind, *one.units.begin()->second.who))
        waiting += one.count;
    const auto shards = std::ssize(state_.settings.shards->nodes);
    return static_cast<std::size_t>(std::clamp(2 * waiting / shards, least, most));
  }

  /// Whether the unit is put aside, as the records of nodes do not take what its pods bring.
  bool is_put_aside(const waiting_unit& unit, const plan& made) {
    if (!unit.who->gang)
      return false;
    const auto why = state_.mirror.why_not_in_records(*unit.who, made);
    if (why.empty())
      return false;
    const std::array workload{unit.who->workload};
    reprieve::put_aside(self_, workload, made.assignments.size(), true, why);
    takes_holds_ = false;
    wake(self_);
    return true;
  }

  void launch_batch() {
    batch_of_.clear();
    if (batch_.decision.id.empty())
      return;
    batch_.decision.at_once = state_.settings.owner->schema() >= schema_with_starts_at_once;
    batch_.decision.why.summary =
      fmt::format("{} of {} {} without preemption", counted(std::ssize(batch_.placed), "pod"),
                  counted(std::ssize(batch_.decision.workloads), "workload"),
                  batch_.placed.size() == 1 ? "fits" : "fit");
    auto settings = std::exchange(batch_, decision_settings{});
    if (const auto unit = std::exchange(alone_, std::nullopt))
      launch_alone(*unit, std::move(settings), {});
    else
      launch(self_, std::move(settings));
  }

  void begin(decision_settings& settings, std::string policy) {
    settings.decision.id = new_decision_id(state_);
    settings.decision.resource_group = state_.settings.resource_group;
    settings.decision.policy = std::move(policy);
    settings.decision.decided = now_;
  }

  /// Tells the queue shard what has changed since it was told last.
  void report_needs() {
    quota_report report{state_.settings.resource_group,
                        {},
                        state_.mirror.capacity(),
                        static_cast<std::int64_t>(state_.mirror.node_count()),
                        state_.epoch,
                        state_.queues};
    for (const auto& [queue, used] : state_.mirror.usage())
      report.queues[queue].used = used;
    for (const auto& [queue, asked] : state_.mirror.line().asked()) {
      report.queues[queue].pending = asked;
      report.queues[queue].blocked = asked;
      if (is_limited(state_.known->queues, queue))
        report.queues[queue].wishes = wishes_in(state_.mirror.line(), queue);
    }
    for (const auto& [queue, amounts] : state_.mirror.held_back())
      add_to(report.queues[queue].pending, amounts);
    add_needs_of_replicas(state_, report.queues);
    if (report == state_.told)
      return;
    state_.told = report;
    self_->send(state_.settings.queues, std::move(report));
  }

  self_pointer self_;
  coordinator_state& state_;
  time_point now_;
  std::uint64_t decisions_before_; ///< how many there were
  bool explains_;
  scheduling_cycle cycle_;
  decision_settings batch_;
  std::string batch_of_; ///< the workload that has it by itself; empty where anybody may share it
  std::optional<waiting_unit> alone_;                        ///< in the batch
  std::map<std::int32_t, std::vector<held_decision>> holds_; ///< by the priority they are below
  bool takes_holds_ = false;                                 ///< for the unit whose plan comes next
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
/// against it until then (docs/protocol.md#several-decisions-at-once): those whose victims' room it
/// counts on, those that leave nothing of a budget for it, and those that change the same counts.
std::set<std::string> to_be_told_before(const coordinator_state& state,
                                        const decision_settings& settings) {
  if (settings.recovered)
    return {};
  auto found = state.mirror.counts_on(settings.decision.id, settings.parts);
  found.merge(to_count_before(state, settings.decision));
  for (const auto& part : settings.budgets)
    if (part.over > 0)
      for (const auto& [id, one] : state.decisions)
        if (std::ranges::find(one.budgets, part.budget) != one.budgets.end())
          found.insert(id);
  // Its victims may have more pods than are known here, if that one starts after all.
  for (const auto& id : state.giving_up)
    if (const auto open = state.decisions.find(id); open != state.decisions.end())
      for (const auto& one : settings.decision.victims)
        if (std::ranges::find(open->second.workloads, one.portion.workload)
            != open->second.workloads.end())
          found.insert(id);
  std::erase_if(found, [&](const std::string& id) {
    const auto open = state.decisions.find(id);
    return open == state.decisions.end() || (open->second.told && !open->second.given_up);
  });
  return found;
}

/// The queues whose pods the decision stops, where somebody tells these.
std::set<std::string> queues_freed_by(const coordinator_state& state, const decision& what) {
  std::set<std::string> found;
  if (!what.counts.empty())
    return found;
  for (const auto& one : what.victims)
    if (const auto owner = state.mirror.find_workload(one.portion.workload))
      found.insert(owner->spec->queue);
  return found;
}

} // namespace

void launch(self_pointer self, decision_settings settings, std::set<std::string> after) {
  auto& state = self->state;
  const auto& ours = state.settings;
  settings.shards = ours.shards;
  settings.store = ours.store;
  settings.ground = ours.owner;
  settings.owner = self;
  settings.events = ours.events;
  settings.clock = ours.clock;
  const auto id = settings.decision.id;
  coordinator_state::in_flight begun;
  begun.phase = settings.decision.phase;
  begun.planned_at = state.changes;
  begun.asked = ours.clock.now(self);
  begun.workloads = settings.decision.workloads;
  begun.pods = settings.placed.size();
  begun.whole = settings.whole;
  for (const auto& part : settings.budgets)
    begun.budgets.push_back(part.budget);
  if (settings.recovered)
    settings.placed = shared_pods(std::exchange(settings.decision.assignments, {}));
  count_replicas(state, settings);
  settings.parts =
    parts_of(settings.placed, settings.decision.victims, settings.decision.force_deletes);
  begun.after = to_be_told_before(state, settings);
  begun.after.merge(after);
  settings.waits_for_others = !begun.after.empty();
  begun.queues_freed = queues_freed_by(state, settings.decision);
  state.mirror.open({id, settings.decision.workloads, settings.placed, settings.decision.victims},
                    settings.parts);
  begun.actor = self->spawn<caf::monitored>(run_decision, std::move(settings));
  state.running->emplace(id, begun.actor);
  for (const auto& other : begun.after) {
    auto& before = state.decisions.find(other)->second;
    (before.given_up ? before.awaited_by : before.followed_by).push_back(id);
  }
  state.decisions[id] = std::move(begun);
  look_at_votes_later(self);
}

void put_aside(self_pointer self, std::span<const std::string> workloads, std::size_t pods,
               bool whole, std::string_view why) {
  auto& state = self->state;
  const auto now = state.settings.clock.now(self);
  state.unwritten.failed(workloads, pods, whole, why, now);
  for (const auto& name : workloads)
    if (const auto aside = state.unwritten.aside(name, now)) {
      state.mirror.put_aside(name, true);
      try_again_at(self, aside->until);
      self->send(state.settings.events,
                 event{0, now, "Workload", name, "PutAside", aside->why, {}, {}});
    }
}

void give_up(self_pointer self, const std::string& id, std::string reason) {
  auto& state = self->state;
  const auto found = state.decisions.find(id);
  if (found == state.decisions.end() || std::exchange(found->second.given_up, true))
    return;
  await_no_more(state, id);
  state.giving_up.insert(found->first);
  self->send(found->second.actor, cancel_decision{std::move(reason)});
  state.mirror.give_up(id);
}

void serve_all(self_pointer self) {
  self->state.running_cycle = std::make_shared<live_cycle>(self);
  std::shared_ptr(self->state.running_cycle)->run();
}

queue_stage_input queues_of_group(coordinator_state& state) {
  queue_stage_input in;
  in.totals = state.mirror.usage();
  in.again = state.mirror.waiting_again();
  in.capacity = capacity_to_share(state.mirror.view_of_nodes());
  in.queues =
    part_by_grants(state.known->queues, state.grants ? &*state.grants : nullptr, in.totals);
  in.previous = state.queues;
  if (is_planted(planted_bug::early_refill))
    for (const auto& [name, used] : in.totals)
      if (const auto found = in.queues.find(name); found != in.queues.end())
        for (const auto& [resource, leaving] : used.leaving)
          if (auto& kept = found->second.guaranteed[resource]; leaving > 0)
            kept = std::max(kept, leaving + amount_of(used.staying, resource));
  if (const auto* group = find(state.known->groups, state.settings.resource_group))
    in.divisible.insert(group->divisible.begin(), group->divisible.end());
  return in;
}

std::string why_waits(self_pointer self, const std::string& workload) {
  auto& state = self->state;
  if (!state.known)
    return {};
  const auto now = state.settings.clock.now(self);
  if (const auto aside = state.unwritten.aside(workload, now))
    return fmt::format("{} is put aside and is tried again in {}: {}", workload,
                       format_duration(std::chrono::ceil<std::chrono::seconds>(aside->until - now)),
                       aside->why);
  const auto unit = state.mirror.line().last_of(workload);
  const bool is_aside = unit && state.mirror.line().parked(*unit) != nullptr;
  // Of those who are set aside, others had their turn since.
  const auto found = state.waiting_because.find(workload);
  if (found != state.waiting_because.end() && !found->second.empty() && !is_aside)
    return found->second;
  if (!unit)
    return {};
  if (const auto back = why_backed_off(*unit->record, *unit->who, now))
    return back->why;
  return live_cycle{self, true}.why_waits(*unit);
}

} // namespace reprieve
