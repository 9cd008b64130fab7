#include "tests/actors/properties/reference_cycle.hpp"

#include "preemption/cycle/judgement.hpp"
#include "preemption/engine.hpp"
#include "preemption/waiting/pending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace reprieve::tests {

namespace {

bool leaves(const pod& p) {
  return is_leaving(p.phase) || !p.evicted_by.empty();
}

const std::string& first_uid(const preemptor& who) {
  return who.groups.front().pods.front().uid;
}

} // namespace

/// A pod costs what its workload says by now, and one that does not go although it was told long
/// ago is there to stay, without being one that budgets count on.
pod reference_cycle::as_shown(const pod& p, const workload_record& owner, time_point now) const {
  auto shown = p;
  follow(shown, owner.spec, owner.status);
  const auto limit =
    p.stop_told + p.checkpoint_time + p.grace_period + 2 * of_.settings.force_delete_after;
  if (p.stop_told != no_time && limit <= now) {
    shown.phase = pod_phase::surplus;
    shown.evicted_by.clear();
    shown.daemon = true;
  }
  return shown;
}

void reference_cycle::begin(time_point now) {
  view_ = cluster_view{};
  standing_.clear();
  expected_.clear();
  for (const auto& one : of_.workloads)
    workloads_[one.spec->name] = &one;
  for (const auto& one : of_.nodes) {
    nodes_[one.spec->name] = &*one.spec;
    view_.put_node(one.spec);
    for (const auto& p : one.pods) {
      auto shown = as_shown(p, *workloads_.at(p.workload), now);
      view_.put_pod(shown);
      standing_[p.workload][p.uid] = {std::move(shown), &*one.spec};
    }
  }
  for (const auto& one : of_.budgets)
    view_.put_budget(one);
  for (const auto& one : of_.workloads)
    expect_what_lacks(one);
  view_.settle();
}

/// More of a gang that has its minimum comes only when all of it that is there is there to stay.
std::vector<preemptor> reference_cycle::lacking(const workload_record& record) const {
  static const std::map<std::string, standing_pod> none;
  const auto found = standing_.find(record.spec->name);
  const auto& pods = found == standing_.end() ? none : found->second;
  auto units = lacking_units(
    record, [&](const pod& p) { return pods.contains(p.uid); },
    [&](const pod& p) { return pods.at(p.uid).on; });
  // Nobody joins a replica that goes as a whole.
  std::erase_if(units, [&](const preemptor& unit) {
    return std::ranges::any_of(unit.groups, [&](const wanted_group& group) {
      return std::ranges::any_of(pods, [&](const auto& one) {
        const pod& p = one.second.shown;
        return p.disruption == disruption_mode::pod_group && !p.evicted_by.empty()
               && p.group == group.name && p.replica == group.pods.front().replica
               && wants(record, p);
      });
    });
  });
  std::erase_if(units, [&](const preemptor& unit) {
    const auto& more = unit.groups.front().pods.front();
    const auto& group = record.spec->groups[*group_position(record.spec, more.group)];
    return !unit.gang && group.is_gang() && std::ranges::any_of(pods, [&](const auto& one) {
      const pod& p = one.second.shown;
      return p.group == more.group && p.replica == more.replica
             && (leaves(p) || p.phase == pod_phase::nominated);
    });
  });
  return units;
}

void reference_cycle::expect_what_lacks(const workload_record& record) {
  auto& known = expected_[record.spec->name];
  const auto expect = [&](std::int64_t sign) {
    for (const auto& unit : known)
      for (const auto& group : unit.groups)
        view_.expect(group.pods.front().labels, sign * std::ssize(group.pods));
  };
  expect(-1);
  known = lacking(record);
  expect(1);
}

std::vector<preemptor> reference_cycle::in_order_of_service() const {
  std::vector<const workload_record*> order;
  for (const auto& one : of_.workloads)
    order.push_back(&one);
  std::ranges::sort(order, [](const auto* a, const auto* b) { return served_before(*a, *b); });
  std::vector<preemptor> units;
  for (const auto* one : order)
    std::ranges::move(lacking(*one), std::back_inserter(units));
  std::ranges::stable_sort(units, std::greater{}, &preemptor::priority);
  return units;
}

bool reference_cycle::still_lacks(const preemptor& who) const {
  return std::ranges::any_of(lacking(*workloads_.at(who.workload)), [&](const preemptor& unit) {
    return first_uid(unit) == first_uid(who);
  });
}

void reference_cycle::carry_out(const plan& made, std::size_t turn) {
  const auto id = fmt::format("turn-{}", turn);
  for (const auto& [placed] : made.assignments) {
    auto held = placed;
    held.placed_by = id;
    view_.put_pod(held);
    standing_[held.workload][held.uid] = {held, nodes_.at(held.node)};
  }
  for (const auto& gone : made.victims)
    for (const auto& one : gone.pods) {
      auto& p = standing_.at(gone.portion.workload).at(one.uid).shown;
      p.evicted_by = id;
      view_.put_pod(p);
    }
  for (const auto& [placed] : made.assignments)
    expect_what_lacks(*workloads_.at(placed.workload));
  for (const auto& gone : made.victims)
    expect_what_lacks(*workloads_.at(gone.portion.workload));
  view_.settle();
}

static std::size_t pods_of(const preemptor& who) {
  std::size_t pods = 0;
  for (const auto& group : who.groups)
    pods += group.pods.size();
  return pods;
}

std::vector<expected_turn> reference_cycle::run(time_point now, std::size_t most_domains_told) {
  begin(now);
  plan_settings settings;
  settings.group = of_.settings;
  settings.now = now;
  settings.origins.find = [this, now](const portion_id& of) -> std::optional<pod_origin> {
    const auto known = workloads_.find(of.workload);
    return known == workloads_.end() ? std::nullopt : origin_in(*known->second, of, now);
  };
  if (settings.group.limits.preemptions_per_workload_per_hour)
    for (const auto& one : of_.workloads)
      if (const auto times = recent_preemptions(one.status, now); times > 0)
        settings.recent_preemptions[one.spec->name] = times;
  std::vector<expected_turn> turns;
  for (auto& who : in_order_of_service()) {
    if (!still_lacks(who))
      continue;
    settings.explained = depth_for(view_, who, most_domains_told);
    auto made = decide(view_, who, settings);
    auto planned = std::make_shared<const preemptor>(who);
    if (const auto all = with_all_needed(who); who.gang && !made.victims.empty())
      if (auto whole = decide(view_, *all, settings);
          whole.assignments.size() > made.assignments.size()
          && whole.assignments.size() == pods_of(who)) {
        made = std::move(whole);
        planned = all;
      }
    if (settings.explained == depth::summary && !made.victims.empty())
      explain(view_, *planned, settings, made);
    carry_out(made, turns.size());
    turns.push_back({std::move(who), std::move(made)});
  }
  // Why somebody waits is said when somebody asks, as things are then.
  for (auto& [who, made] : turns)
    if (made.assignments.empty()) {
      settings.explained = depth_for(view_, who, most_domains_told);
      const auto then = decide(view_, who, settings);
      made.why.summary = then.assignments.empty() ? then.why.summary : std::string{};
    }
  return turns;
}

} // namespace reprieve::tests
