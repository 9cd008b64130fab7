#include "preemption/waiting/pending.hpp"

#include "preemption/waiting/wait_reason.hpp"
#include "state/model/queue_limits.hpp"

#include <algorithm>
#include <map>

namespace reprieve {

namespace {

wanted_group group_of(const pod_group& group, std::vector<pod> pods, std::int32_t needed) {
  wanted_group wanted;
  wanted.name = group.name;
  wanted.pods = std::move(pods);
  wanted.needed = needed;
  wanted.node_selector = group.pods.node_selector;
  wanted.tolerations = group.pods.tolerations;
  wanted.topology_keys = group.topology_keys;
  wanted.required_node = group.required_node;
  return wanted;
}

/// Binds the group to the domain of a node.
void keep_to_domain_of(const node& n, wanted_group& wanted) {
  for (const auto& key : wanted.topology_keys)
    if (const auto label = n.labels.find(key); label != n.labels.end())
      wanted.node_selector[key] = label->second;
}

/// Where no group of it has an own priority, all its pods have that of the unit or more.
bool has_weaker_groups(const workload_record& record, std::int32_t priority) {
  return std::ranges::any_of(record.status.by_group, [&](const resolved_priority& one) {
    return one.preemption_priority < priority;
  });
}

preemptor unit_of(const workload_record& record, const resolved_priority& with, bool gang) {
  preemptor unit;
  unit.workload = record.spec->name;
  unit.priority = with.priority;
  unit.may_preempt = with.may_preempt;
  unit.gang = gang;
  unit.may_have_weaker_kin = has_weaker_groups(record, with.priority);
  return unit;
}

} // namespace

preemptor single_unit(const workload_record& record, const wanted_slot& at) {
  auto unit = unit_of(record, record.status.by_group[at.group], false);
  unit.groups.push_back(group_of(
    record.spec->groups[at.group],
    {pod_at(record.spec, record.status, at.group, at.replica, at.index, at.incarnation)}, 1));
  return unit;
}

preemptor unit_of_replica(const workload_record& record, std::int32_t replica) {
  return lacking_units_of_replica(record, replica, [](const pod&) { return false; }, {}).front();
}

namespace {

/// The places of one replica of all gangs at which a pod is wanted.
std::vector<wanted_slot> wanted_slots_of(const workload_record& record, std::int32_t replica) {
  std::vector<wanted_slot> wanted;
  const auto& groups = record.spec->groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto& group = groups[g];
    if (!group.is_gang() || replica >= group.replicas || record.deleting)
      continue;
    for (std::int32_t i = 0; i < group.count; ++i)
      if (const auto slot = slot_at(record, {group.name, replica, i});
          slot.state == slot_state::wanted)
        wanted.push_back({g, replica, i, slot.incarnation});
  }
  return wanted;
}

std::vector<preemptor> lacking_at(const workload_record& record,
                                  const std::vector<wanted_slot>& slots,
                                  const std::function<bool(const pod&)>& stands,
                                  const std::function<const node*(const pod&)>& node_of) {
  struct replica_need {
    std::vector<pod> lacking;
    std::int32_t standing = 0;
  };
  const auto& spec = record.spec;
  std::map<std::pair<std::int32_t, std::size_t>, replica_need> needs; // by replica, then group
  std::map<std::int32_t, const node*> homes;                          // of gangs, by replica
  for (const auto& slot : slots) {
    auto& need = needs[{slot.replica, slot.group}];
    auto wanted =
      pod_at(spec, record.status, slot.group, slot.replica, slot.index, slot.incarnation);
    if (!stands(wanted)) {
      need.lacking.push_back(std::move(wanted));
      continue;
    }
    ++need.standing;
    if (node_of && spec->groups[slot.group].is_gang())
      homes.try_emplace(slot.replica, node_of(wanted));
  }
  std::vector<preemptor> units;
  std::map<std::int32_t, preemptor> gangs; // by replica
  for (auto& [where, need] : needs) {
    const auto& [replica, position] = where;
    const auto& group = spec->groups[position];
    const auto& priority = record.status.by_group[position];
    if (need.lacking.empty())
      continue;
    const auto home = group.is_gang() ? homes.find(replica) : homes.end();
    const auto ask_for = [&](std::vector<pod> pods, std::int32_t needed) {
      auto wanted = group_of(group, std::move(pods), needed);
      if (home != homes.end() && home->second != nullptr)
        keep_to_domain_of(*home->second, wanted);
      return wanted;
    };
    if (group.is_gang() && need.standing < *group.min_count) {
      auto [gang, fresh] = gangs.try_emplace(replica, unit_of(record, priority, true));
      // Groups of one gang go together, so the least of their priorities speaks for all.
      gang->second.priority = std::min(gang->second.priority, priority.priority);
      gang->second.may_preempt = gang->second.may_preempt && priority.may_preempt;
      // Members that have run to their end are not waited for.
      const auto needed =
        std::min(*group.min_count - need.standing, static_cast<std::int32_t>(need.lacking.size()));
      gang->second.groups.push_back(ask_for(std::move(need.lacking), needed));
      continue;
    }
    for (auto& alone : need.lacking) {
      auto unit = unit_of(record, priority, false);
      unit.groups.push_back(ask_for({std::move(alone)}, 1));
      units.push_back(std::move(unit));
    }
  }
  std::vector<preemptor> ordered;
  for (auto& [replica, gang] : gangs)
    ordered.push_back(std::move(gang));
  std::move(units.begin(), units.end(), std::back_inserter(ordered));
  return ordered;
}

} // namespace

std::vector<preemptor> lacking_units(const workload_record& record,
                                     const std::function<bool(const pod&)>& stands,
                                     const std::function<const node*(const pod&)>& node_of) {
  return lacking_at(record, wanted_slots(record), stands, node_of);
}

std::vector<preemptor>
lacking_units_of_replica(const workload_record& record, std::int32_t replica,
                         const std::function<bool(const pod&)>& stands,
                         const std::function<const node*(const pod&)>& node_of) {
  return lacking_at(record, wanted_slots_of(record, replica), stands, node_of);
}

bool wants_place_of(const workload_record& record, const pod& p) {
  const pod_slot at{p.group, p.replica, p.index};
  return wants(record, at, slot_at(record, at).incarnation);
}

/// Whether two pods in one place would do the same work at the same time. What serves others may
/// have the next there before the last has gone.
static bool runs_once(workload_kind kind) {
  return kind != workload_kind::deployment && kind != workload_kind::inference;
}

restlessness restlessness_of(const workload_record* owner, const pod& p) {
  restlessness how;
  if (owner == nullptr)
    return how;
  const auto group = group_position(owner->spec, p.group);
  how.unsettled =
    group && owner->spec->groups[*group].is_gang()
    && (is_leaving(p.phase) || !p.evicted_by.empty() || p.phase == pod_phase::nominated);
  const bool wanted = wants(*owner, p);
  // What the replica lacks will not be wanted any more, or not as it is now.
  how.doomed = p.disruption == disruption_mode::pod_group && !p.evicted_by.empty() && wanted;
  how.taken = runs_once(owner->spec->kind) && takes_room(p.phase) && !wanted;
  return how;
}

void restless_replicas::count(const pod& p, const restlessness& how, int sign) {
  const auto add = [sign](auto& to, auto key) {
    if (const auto at = to.try_emplace(std::move(key), 0).first; (at->second += sign) == 0)
      to.erase(at);
  };
  if (how.unsettled)
    add(unsettled_, replica{p.group, p.replica});
  if (how.doomed)
    add(doomed_, replica{p.group, p.replica});
  if (how.taken)
    add(taken_, pod_slot{p.group, p.replica, p.index});
}

resources restless_replicas::take_out_held_back(std::vector<preemptor>& units) const {
  resources later;
  std::erase_if(units, [&](const preemptor& unit) {
    if (is_doomed(unit))
      return true;
    if (!is_unsettled(unit) && !is_still_there(unit))
      return false;
    add_to(later, demand_of(unit));
    return true;
  });
  return later;
}

bool restless_replicas::is_doomed(const preemptor& unit) const {
  return std::ranges::any_of(unit.groups, [&](const wanted_group& one) {
    return is_doomed(one.name, one.pods.front().replica);
  });
}

bool restless_replicas::is_unsettled(const preemptor& unit) const {
  const auto& more = unit.groups.front().pods.front();
  return !unit.gang && unsettled_.contains(replica_view{more.group, more.replica});
}

bool restless_replicas::is_still_there(const preemptor& unit) const {
  return !taken_.empty() && std::ranges::any_of(unit.groups, [&](const wanted_group& group) {
    return std::ranges::any_of(group.pods, [&](const pod& p) {
      return is_taken({p.group, p.replica, p.index});
    });
  });
}

bool served_before(const workload_record& a, const workload_record& b) {
  if (a.status.resolved.priority != b.status.resolved.priority)
    return a.status.resolved.priority > b.status.resolved.priority;
  if (a.status.submitted != b.status.submitted)
    return a.status.submitted < b.status.submitted;
  return a.spec->name < b.spec->name;
}

} // namespace reprieve
