#include "preemption/snapshot/snapshot_cycle.hpp"

#include "preemption/cycle/quota.hpp"
#include "preemption/engine.hpp"
#include "preemption/policies/required_node/required_node.hpp"
#include "preemption/snapshot/lifecycle_snapshot.hpp"
#include "preemption/waiting/ever_runs.hpp"
#include "preemption/waiting/groundless.hpp"
#include "preemption/waiting/pending.hpp"
#include "preemption/waiting/wait_reason.hpp"
#include "state/model/queue_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace reprieve {

namespace {

bool gives_up(const turn_taken& turn, const held_decision& held) {
  return std::ranges::find(turn.gives_up, held.id, &given_up::decision) != turn.gives_up.end();
}

plan not_tried(const preemptor& who, const wait_reason& why) {
  plan none;
  none.look_again = why.until;
  none.why.summary =
    fmt::format("{} (priority {}) is not tried now: {}", who.workload, who.priority, why.why);
  return none;
}

const std::string& first_uid(const preemptor& who) {
  return who.groups.front().pods.front().uid;
}

/// What the decision would have done is not done, as far as that is possible.
void undo(const std::string& decision, std::vector<pod>& pods) {
  std::erase_if(
    pods, [&](const pod& p) { return p.phase == pod_phase::nominated && p.placed_by == decision; });
  for (auto& p : pods)
    if (p.evicted_by == decision && p.stop_told == no_time && !is_leaving(p.phase))
      p.evicted_by.clear();
}

std::string_view group_of(const snapshot& taken, const pod& p) {
  const auto* record = find(taken.workloads(), p.workload);
  return record == nullptr ? std::string_view(default_group)
                           : std::string_view(record->spec->resource_group);
}

/// Whether the pod goes: it was told, or nobody wants it any more.
bool leaves(const workload_record* owner, const pod& p) {
  const bool is_unwanted = owner != nullptr && p.placed_by != placed_by_cluster
                           && !is_counted(owner->spec) && !wants(*owner, p);
  return is_leaving(p.phase) || !p.evicted_by.empty() || is_unwanted;
}

void mark_victims(const std::vector<victim>& victims, const std::string& by,
                  std::vector<pod>& pods) {
  std::set<std::string_view> going;
  for (const auto& one : victims)
    for (const auto& p : one.pods)
      going.insert(p.uid);
  for (auto& p : pods)
    if (going.contains(p.uid))
      p.evicted_by = by;
}

} // namespace

/// The unsplit view of one group: nobody has to be asked for anything.
class snapshot_port final : public cycle_port {
public:
  snapshot_port(snapshot_cycle& cycle, const plan_settings& settings)
      : cycle_(cycle), settings_(settings), view_(cycle.taken_.view_of(settings.group.name)) {
    // What was decided before shows.
    std::map<std::string_view, const pod*> before;
    for (const auto& p : cycle_.taken_.pods())
      before.emplace(p.uid, &p);
    for (const auto& p : cycle_.pods_) {
      const auto was = before.find(p.uid);
      if (was == before.end() || *was->second != p) {
        view_.put_pod(p);
        changed_.insert(p.workload);
      }
      if (was != before.end())
        before.erase(was);
    }
    for (const auto& [uid, gone] : before) {
      view_.remove_pod(uid);
      changed_.insert(gone->workload);
    }
    for (const auto& who : cycle_.taken_.pending(settings.group.name))
      if (!cycle_.taken_.is_left_to_cluster(who.workload))
        expected_[who.workload].push_back(who);
    for (const auto& name : changed_)
      expect_what_lacks(name);
    view_.settle();
    for (const auto& held : cycle_.taken_.holds(settings.group.name))
      held_before_.insert(held.id);
  }

  const std::string& group() const {
    return settings_.group.name;
  }

  void wait_for(const preemptor& who) {
    auto& units = units_[who.workload];
    units.push_back({cycle_.record_of(who.workload), std::make_shared<const preemptor>(who)});
    line_.put(who.workload, units);
  }

  cluster_view& nodes() override {
    return view();
  }
  cluster_view& view() override {
    view_.settle();
    return view_;
  }
  std::vector<queue_pod> pods_in(const std::vector<std::string>& queues) override {
    std::vector<queue_pod> found;
    for (const auto& p : cycle_.pods_)
      if (const auto queue = queue_in_group(p);
          takes_room(p.phase) && std::ranges::find(queues, queue) != queues.end()) {
        auto& one = found.emplace_back(queue_pod_of(p, std::string(queue), settings_.group.name));
        one.chosen = one.chosen || leaves(find(cycle_.taken_.workloads(), p.workload), p);
      }
    std::ranges::sort(found, {}, &queue_pod::uid);
    return found;
  }
  std::string_view queue_of(std::string_view workload) override {
    const auto* record = find(cycle_.taken_.workloads(), workload);
    return record == nullptr ? std::string_view{} : std::string_view(record->spec->queue);
  }
  bool is_gang(std::string_view workload, std::string_view group) override {
    const auto* record = find(cycle_.taken_.workloads(), workload);
    return record != nullptr && reprieve::is_gang(record->spec, group);
  }
  std::span<const held_decision> holds_below(std::int32_t priority) override {
    holds_ = holds_among(cycle_.pods_);
    std::erase_if(holds_, [&](const held_decision& held) {
      return !held_before_.contains(held.id)
             || std::ranges::none_of(held.nominated,
                                     [&](const pod& p) { return p.priority < priority; });
    });
    return holds_;
  }
  live_hints* answers_for(const preemptor&) override {
    return nullptr;
  }
  bool ask_shards(const preemptor&, const plan_settings&) override {
    return false;
  }
  bool may_ask_shards(const preemptor&, const plan_settings&) override {
    return false;
  }
  std::size_t most_domains_told() const override {
    return std::numeric_limits<std::size_t>::max();
  }
  /// In a snapshot that is not of a server, a node counts as reserved since the workload was
  /// submitted: the coordinator reserves it as soon as it sees the pod.
  time_point reserved_since(const preemptor& who) override {
    if (const auto* known = cycle_.taken_.reservation_for(settings_.group.name, first_uid(who)))
      return known->since;
    if (cycle_.taken_.is_of_server(settings_.group.name))
      return no_time;
    const auto* record = find(cycle_.taken_.workloads(), who.workload);
    return record == nullptr ? no_time : record->status.submitted;
  }

  waiting_line& line() override {
    return line_;
  }
  bool still_lacks(const preemptor& who) override {
    const auto* record = find(cycle_.taken_.workloads(), who.workload);
    if (record == nullptr)
      return std::ranges::none_of(cycle_.pods_, [&](const pod& p) {
        return p.uid == first_uid(who) && p.phase != pod_phase::pending;
      });
    return std::ranges::any_of(cycle_.lacking(*record), [&](const preemptor& unit) {
      return first_uid(unit) == first_uid(who);
    });
  }
  queue_stage_input queue_input() override {
    auto in = queues_in(cycle_.taken_, settings_.group, cycle_.pods_, view());
    by_name<resources> wanted;
    for (const auto& [workload, units] : units_)
      for (const auto& unit : units)
        add_to(wanted[workload], demand_of(*unit.who));
    if (const auto counted = cycle_.replicas_.find(settings_.group.name);
        counted != cycle_.replicas_.end())
      add_demand(in, counted->second.needs);
    std::set<std::string_view> restless;
    for (const auto& p : cycle_.pods_)
      if (is_here(p) && takes_room(p.phase)
          && (p.phase == pod_phase::nominated
              || leaves(find(cycle_.taken_.workloads(), p.workload), p)))
        restless.insert(p.workload);
    for (const auto workload : restless)
      if (const auto* record = find(cycle_.taken_.workloads(), workload)) {
        resources later;
        cycle_.lacking(*record, &later);
        add_to(in.pending[record->spec->queue], later);
        add_to(wanted[std::string(workload)], later);
      }
    add_waiting_again(in, cycle_.taken_, settings_.group.name, cycle_.pods_, wanted);
    return in;
  }
  std::vector<returning_work> returning(std::string_view queue, time_point until) override {
    auto found = line_.asleep_in(queue, until);
    by_name<returning_work> leaving;
    for (const auto& p : cycle_.pods_)
      if (is_here(p) && takes_room(p.phase) && queue_of(p.workload) == queue
          && leaves(find(cycle_.taken_.workloads(), p.workload), p)) {
        auto& one = leaving[p.workload];
        add_taken(one.takes, p);
        one.due = std::max(one.due, p.stop_told);
      }
    for (auto& [workload, one] : leaving) {
      const auto& record = *find(cycle_.taken_.workloads(), workload);
      if (!comes_back(record, settings_.now))
        continue;
      one.place = place_of_work(record);
      one.leaves = true;
      found.push_back(std::move(one));
    }
    return found;
  }
  bool may_return_before(std::string_view, const service_place&) override {
    return true;
  }
  changes take_changes() override {
    return {}; // nothing is set aside
  }
  std::uint64_t decisions_made() override {
    return 0;
  }
  std::uint64_t decisions_over() override {
    return 0;
  }
  std::uint64_t nodes_seen() override {
    return 1;
  }
  bool sets_aside() override {
    return false; // so that everybody is told why
  }
  time_point next_release() override {
    return no_time;
  }
  std::vector<awaited_room> awaiting(const service_place& behind) override {
    std::vector<awaited_room> found;
    for (const auto& held : holds_among(cycle_.pods_))
      if (held_before_.contains(held.id) && waits_for_room(view(), held))
        if (auto unit = unit_of(held))
          if (auto place = place_of(*unit, 0); behind < place)
            found.push_back({std::move(place), held.id, *std::move(unit)});
    return found;
  }
  std::optional<waiting_unit> take_back_nomination(const awaited_room& one,
                                                   std::string reason) override {
    gives_up_ = {{one.decision, std::move(reason)}};
    give_up_all(gives_up_);
    return one.unit;
  }

  void place(const waiting_unit& unit, plan made) override {
    take(unit, std::move(made));
  }
  void preempt(const waiting_unit& unit, plan made) override {
    take(unit, std::move(made));
  }
  void take_holds(const waiting_unit&, const std::vector<given_up>& holds) override {
    gives_up_ = holds;
  }
  void take_back_nominations(const std::vector<given_up>& which) override {
    cycle_.groundless_.insert(cycle_.groundless_.end(), which.begin(), which.end());
    give_up_all(which);
  }
  void take_back(const queue_outcome& from) override {
    const auto id = cycle_.next_id();
    mark_victims(from.victims, id, cycle_.pods_);
    for (const auto& p : cycle_.pods_)
      if (p.evicted_by == id)
        view_.put_pod(p);
    cycle_.taken_back_.push_back({id, settings_.group.name, from});
    for (const auto& one : from.victims)
      expect_what_lacks(one.portion.workload);
  }
  void reserve(const preemptor& who, const plan& made) override {
    if (auto held = hold_of_reservation(who, made))
      view_.put_pod(*held);
  }
  void waits(const waiting_unit& unit, plan made) override {
    take(unit, std::move(made));
  }
  void look_again(time_point) override {}

private:
  void give_up_all(const std::vector<given_up>& which) {
    std::set<std::string> concerned;
    for (const auto& held : holds_among(cycle_.pods_))
      if (std::ranges::find(which, held.id, &given_up::decision) != which.end()) {
        give_up(held, view_);
        undo(held.id, cycle_.pods_);
        for (const auto& p : held.nominated)
          concerned.insert(p.workload);
      }
    view_.settle();
    for (const auto& name : concerned)
      expect_what_lacks(name);
  }
  bool is_here(const pod& p) const {
    return group_of(cycle_.taken_, p) == settings_.group.name;
  }
  /// What would wait if the decision were given up, where that is the decision's pods and no more.
  std::optional<waiting_unit> unit_of(const held_decision& held) const {
    const auto record = cycle_.record_of(held.nominated.front().workload);
    if (!record)
      return std::nullopt;
    std::vector<const pod*> others;
    for (const auto& p : cycle_.pods_)
      if (p.workload == record->spec->name
          && (p.phase != pod_phase::nominated || p.placed_by != held.id))
        others.push_back(&p);
    for (auto& unit : cycle_.taken_.lacking_with(*record, others))
      if (moves_with(unit, held))
        return waiting_unit{record, std::make_shared<const preemptor>(std::move(unit))};
    return std::nullopt;
  }
  /// Budgets expect the pods that a workload lacks as things are now, and no others.
  void expect_what_lacks(const std::string& workload) {
    const auto* record = find(cycle_.taken_.workloads(), workload);
    if (record == nullptr || cycle_.taken_.is_left_to_cluster(workload))
      return;
    auto& known = expected_[workload];
    const auto expect = [&](std::int64_t sign) {
      for (const auto& unit : known)
        for (const auto& group : unit.groups)
          view_.expect(group.pods.front().labels, sign * std::ssize(group.pods));
    };
    expect(-1);
    known = cycle_.lacking(*record);
    expect(1);
  }
  std::string_view queue_in_group(const pod& p) {
    return is_here(p) ? queue_of(p.workload) : std::string_view{};
  }

  void take(const waiting_unit& unit, plan made) {
    turn_taken turn{cycle_.next_id(), settings_.group.name, *unit.who, std::move(made),
                    std::exchange(gives_up_, {})};
    std::set<std::string> concerned;
    for (const auto& held : holds_among(cycle_.pods_))
      if (gives_up(turn, held))
        for (const auto& p : held.nominated)
          concerned.insert(p.workload);
    carry_out(turn, cycle_.pods_, view_);
    if (unit.record && !turn.made.assignments.empty()) {
      concerned.insert(unit.who->workload);
      for (const auto& one : turn.made.assignments) // is counted below
        view_.expect(one.placed.labels, 1);
    }
    for (const auto& one : turn.made.victims)
      concerned.insert(one.portion.workload);
    for (const auto& name : concerned)
      expect_what_lacks(name);
    cycle_.turns_.push_back(std::move(turn));
  }

  snapshot_cycle& cycle_;
  const plan_settings& settings_;
  cluster_view view_;
  waiting_line line_{waiting_line::order::one_by_one};
  std::set<std::string, std::less<>> held_before_; ///< decisions that stood when the cycle began
  std::map<std::string, std::vector<waiting_unit>> units_; ///< by workload
  std::set<std::string> changed_;                          ///< workloads, before the cycle
  std::map<std::string, std::vector<preemptor>> expected_; ///< by budgets, by workload
  std::vector<held_decision> holds_;                       ///< as they were asked for last
  std::vector<given_up> gives_up_;                         ///< for the unit whose plan comes next
};

snapshot_cycle::snapshot_cycle(const snapshot& taken) : taken_(taken), pods_(taken.pods()) {}

std::shared_ptr<const workload_record> snapshot_cycle::record_of(std::string_view workload) const {
  const auto* record = find(taken_.workloads(), workload);
  // The snapshot outlives the cycle.
  return record == nullptr
           ? nullptr
           : std::shared_ptr<const workload_record>(std::shared_ptr<void>{}, record);
}

std::vector<preemptor> snapshot_cycle::lacking(const workload_record& record,
                                               resources* held_back) const {
  std::vector<const pod*> its_pods;
  for (const auto& p : pods_)
    if (p.workload == record.spec->name)
      its_pods.push_back(&p);
  return taken_.lacking_with(record, its_pods, held_back);
}

std::string snapshot_cycle::next_id() const {
  return fmt::format("plan-{}", turns_.size() + taken_back_.size() + 1);
}

/// With what the snapshot knows of the groups that pods were made from.
static plan_settings with_origins_of(const snapshot& taken, plan_settings settings) {
  settings.origins.find = [&taken,
                           now = settings.now](const portion_id& of) -> std::optional<pod_origin> {
    const auto* record = find(taken.workloads(), of.workload);
    return record == nullptr ? std::nullopt : origin_in(*record, of, now);
  };
  return settings;
}

void snapshot_cycle::run(const plan_settings& given,
                         const std::function<bool(std::string_view workload)>& left_out) {
  const auto settings = with_origins_of(taken_, given);
  const bool counts = settings.group.policy == group_policy::lifecycle;
  if (counts)
    count_replicas(settings);
  const auto stays_out = [&](std::string_view workload) {
    const auto* record = counts ? find(taken_.workloads(), workload) : nullptr;
    return (record != nullptr && is_counted(record->spec)) || (left_out && left_out(workload));
  };
  const auto moved = drop_groundless(settings);
  snapshot_port port{*this, settings};
  for (const auto& who : taken_.pending(settings.group.name))
    if (!moved.contains(who.workload) && !stays_out(who.workload))
      port.wait_for(who);
  for (const auto& name : moved)
    if (const auto record = record_of(name); record && !stays_out(name))
      for (const auto& who : lacking(*record))
        port.wait_for(who);
  tell_sleepers(settings, stays_out);
  scheduling_cycle cycle{port, settings};
  cycle.run();
  queues_[settings.group.name] = cycle.queues();
  front_ = cycle.front();
}

/// Nothing is decided while what was decided before is under way; what is asked for counts.
void snapshot_cycle::count_replicas(const plan_settings& settings) {
  const auto& group = settings.group.name;
  auto& outcome = replicas_[group];
  outcome =
    run_lifecycle_cycle(taken_.view_of(group), lifecycle_cycle_of(taken_, group, settings.now));
  if (!taken_.status_of(group).counting)
    return;
  outcome.steps.clear();
  outcome.remembered.clear();
}

/// Decisions that have lost their ground are given up, as far as nobody was bound by them, and
/// their workloads wait again (docs/policies.md#delayed-actuation). Nobody counts on the room of
/// pods that do not go; as these are there to stay, more of their gangs may come. The workloads of
/// both are returned.
std::set<std::string> snapshot_cycle::drop_groundless(const plan_settings& settings) {
  const auto& group = settings.group.name;
  const auto view = taken_.view_of(group);
  std::map<std::string_view, std::vector<victim_pod>> going; // by decision
  for (const auto& one : taken_.status_of(group).decisions)
    going[one.id] = one.victims;
  std::set<std::string> moved;
  std::set<std::string, std::less<>> stuck;
  for (auto& p : pods_) {
    if (!taken_.is_of_server(group) && !p.evicted_by.empty())
      going[p.evicted_by].push_back({p.uid, p.node});
    if (view.find_node(p.node) == no_row
        || !will_not_go(p, settings.group.force_delete_after, settings.now))
      continue;
    stuck.insert(p.uid);
    make_immovable(p);
    if (find(taken_.workloads(), p.workload) != nullptr && group_of(taken_, p) == group)
      moved.insert(p.workload);
  }
  const decision_ground ground{
    .owner = [&](std::string_view name) { return find(taken_.workloads(), name); },
    .takes_pods =
      [&](std::string_view name) {
        const auto n = view.find_node(name);
        return n != no_row && view.usable(n);
      },
    .does_not_go = [&](std::string_view uid) { return stuck.contains(uid); }};
  for (const auto& held : taken_.holds(group)) {
    std::vector<const pod*> placed;
    for (const auto& p : held.nominated)
      if (taken_.is_of_server(group) || ground.owner(p.workload) != nullptr)
        placed.push_back(&p);
    auto why = why_groundless(placed, going[held.id], ground);
    if (why.empty())
      continue;
    groundless_.push_back({held.id, std::move(why)});
    for (const auto& p : held.nominated)
      moved.insert(p.workload);
    undo(held.id, pods_);
  }
  return moved;
}

void snapshot_cycle::tell_sleepers(const plan_settings& settings,
                                   const std::function<bool(std::string_view)>& left_out) {
  for (const auto& who : taken_.pending(settings.group.name)) {
    const auto record = record_of(who.workload);
    if (!record || (left_out && left_out(who.workload)))
      continue;
    if (const auto back = why_backed_off(*record, who, settings.now))
      turns_.push_back({next_id(), settings.group.name, who, not_tried(who, *back), {}});
  }
}

void snapshot_cycle::serve(std::vector<preemptor> waiting, const plan_settings& given,
                           front_of_line line) {
  const auto settings = with_origins_of(taken_, given);
  snapshot_port port{*this, settings};
  for (const auto& who : taken_.pending(settings.group.name))
    port.wait_for(who);
  keep_reservations(waiting, port);
  std::vector<waiting_unit> units;
  for (auto& who : waiting) {
    auto record = record_of(who.workload);
    if (const auto back = record ? why_backed_off(*record, who, settings.now) : std::nullopt) {
      turns_.push_back({next_id(), settings.group.name, who, not_tried(who, *back), {}});
      continue;
    }
    units.push_back({std::move(record), std::make_shared<const preemptor>(std::move(who))});
  }
  scheduling_cycle cycle{port, settings};
  cycle.serve_only(units, std::move(line));
}

void snapshot_cycle::keep_reservations(std::span<const preemptor> served,
                                       snapshot_port& port) const {
  const auto& group = port.group();
  for (const auto& who : taken_.pending(group)) {
    const auto* known =
      is_bound_to_a_node(who) ? taken_.reservation_for(group, first_uid(who)) : nullptr;
    if (known == nullptr || std::ranges::any_of(served, [&](const preemptor& one) {
          return one.priority > who.priority || first_uid(one) == first_uid(who);
        }))
      continue;
    plan kept;
    kept.reserve = reservation{known->node, known->since};
    port.reserve(who, kept);
  }
}

front_of_line snapshot_cycle::line_in(const plan_settings& settings) const {
  snapshot_cycle whole{taken_};
  whole.run(settings);
  return whole.front_;
}

cluster_view snapshot_cycle::whole_view() const {
  auto view = taken_.whole_view();
  auto pods = taken_.pods();
  for (const auto& one : taken_back_) {
    mark_victims(one.from.victims, one.id, pods);
    for (const auto& p : pods)
      if (p.evicted_by == one.id)
        view.put_pod(p);
  }
  for (const auto& turn : turns_)
    carry_out(turn, pods, view);
  view.settle();
  return view;
}

queue_stage_input queues_in(const snapshot& taken, const resource_group& group,
                            std::span<const pod> pods, const cluster_view& view) {
  queue_stage_input in;
  in.capacity = capacity_to_share(view);
  in.previous = taken.queues_in(group.name);
  in.divisible.insert(group.divisible.begin(), group.divisible.end());
  by_name<resources> elsewhere;
  for (const auto& p : pods) {
    if (!takes_room(p.phase))
      continue;
    const auto* record = find(taken.workloads(), p.workload);
    const auto queue = record == nullptr ? std::string{} : record->spec->queue;
    const bool goes = leaves(record, p);
    if (group_of(taken, p) != group.name) {
      if (!queue.empty() && !goes)
        add_taken(elsewhere[queue], p);
      continue;
    }
    auto& totals = in.totals[queue];
    add_taken(goes ? totals.leaving : totals.staying, p);
  }
  const auto* granted = taken.grants(group.name);
  in.queues = granted == nullptr && !taken.is_of_server(group.name)
                ? part_of_group(taken.known().queues, elsewhere)
                : part_by_grants(taken.known().queues, granted, in.totals);
  return in;
}

void add_waiting_again(queue_stage_input& in, const snapshot& taken, std::string_view group,
                       std::span<const pod> pods, const by_name<resources>& wanted) {
  by_name<resources> leaving;
  for (const auto& p : pods) {
    if (group_of(taken, p) != group || !takes_room(p.phase))
      continue;
    const auto* record = find(taken.workloads(), p.workload);
    if (record != nullptr && p.placed_by != placed_by_cluster && !is_counted(record->spec)
        && !wants_place_of(*record, p))
      add_taken(in.again[record->spec->queue], p);
    else if (leaves(record, p))
      add_taken(leaving[p.workload], p);
  }
  for (const auto& [workload, uses] : leaving)
    if (const auto waits = wanted.find(workload); waits != wanted.end()) {
      const auto* record = find(taken.workloads(), workload);
      add_to(in.again[record == nullptr ? std::string{} : record->spec->queue],
             waits_again(uses, waits->second));
    }
}

void carry_out(const turn_taken& turn, std::vector<pod>& pods, cluster_view& view) {
  if (!turn.gives_up.empty())
    for (const auto& held : holds_among(pods))
      if (gives_up(turn, held)) {
        give_up(held, view);
        undo(held.id, pods);
      }
  if (auto held = hold_of_reservation(turn.who, turn.made)) {
    held->placed_by = turn.id;
    view.put_pod(*held);
  }
  carry_out(turn.made, turn.id, pods, view);
  for (const auto& one : turn.made.assignments) {
    auto placed = one.placed;
    placed.placed_by = turn.id;
    std::erase_if(pods, [&](const pod& p) { return p.uid == placed.uid; });
    pods.push_back(std::move(placed));
  }
  mark_victims(turn.made.victims, turn.id, pods);
}

} // namespace reprieve
