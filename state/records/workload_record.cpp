#include "state/records/workload_record.hpp"

#include "state/records/recent_preemptions.hpp"
#include "state/records/record_limits.hpp"
#include "state/records/resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

/// How many places a replica of the group has, with those that it had when it was larger.
std::int32_t places_of(const workload_record& record, const std::string& group,
                       std::int32_t replica) {
  const auto position = group_position(record.spec, group);
  const auto wanted = position ? record.spec->groups[*position].count : 0;
  const auto* last =
    record.slots.last_before({group, replica, std::numeric_limits<std::int32_t>::max()});
  return last != nullptr && last->slot.group == group && last->slot.replica == replica
           ? std::max(wanted, last->slot.index + 1)
           : wanted;
}

/// Calls `each` with every slot of the portion.
template <class F>
void for_slots(const workload_record& record, const portion_id& portion, F each) {
  if (!portion.whole_replica()) {
    each(pod_slot{portion.group, portion.replica, portion.index});
    return;
  }
  const auto places = places_of(record, portion.group, portion.replica);
  for (std::int32_t i = 0; i < places; ++i)
    each(pod_slot{portion.group, portion.replica, i});
}

/// How far the guard on preemptions per hour looks back (docs/policies.md#guards).
bool is_past(const past_preemption& one, time_point now) {
  return now - one.at >= recent_preemption_window;
}

bool takes_some_of(const workload_record& record, std::string_view decision) {
  return std::any_of(record.slots.begin(), record.slots.end(),
                     [&](const slot_record& one) { return one.decision == decision; });
}

bool is_counted(const workload_status& status, std::string_view decision) {
  return std::ranges::find(status.preempted, decision, &past_preemption::decision)
         != status.preempted.end();
}

/// Counts the decision as one that preempted the workload, once however many portions it takes.
void count_preemption(workload_status& status, std::string_view decision, time_point now) {
  ++status.attempts;
  auto& known = status.preempted;
  std::erase_if(known, [&](const auto& one) { return is_past(one, now); });
  if (known.size() >= record_limits::preemptions_per_hour)
    known.erase(known.begin());
  known.push_back({std::string(decision), now});
}

void uncount_preemption(workload_status& status, std::string_view decision) {
  status.attempts = std::max(0, status.attempts - 1);
  std::erase_if(status.preempted, [&](const auto& one) { return one.decision == decision; });
}

} // namespace

workload_course course_of(const workload_record& record) {
  workload_course course{record.status};
  course.slots.assign(record.slots.begin(), record.slots.end());
  course.deleting = record.deleting;
  return course;
}

slot_record slot_at(const workload_record& record, const pod_slot& slot) {
  const auto* found = record.slots.find(slot);
  return found != nullptr ? *found : slot_record{slot, 0, slot_state::wanted, {}};
}

std::string pod_name(std::string_view workload, const pod_slot& slot) {
  return fmt::format("{}-{}-{}-{}", workload, slot.group, slot.replica, slot.index);
}

std::string pod_uid(std::string_view workload, std::string_view workload_uid, const pod_slot& slot,
                    std::uint32_t incarnation) {
  // Made for every pod that is looked for, so without a format to be read.
  constexpr std::size_t numbers = 3 * 11 + 5;
  std::string uid;
  uid.reserve(workload.size() + slot.group.size() + workload_uid.size() + numbers);
  const auto append = [&](char before, auto number) {
    uid += before;
    fmt::format_int text{number};
    uid.append(text.data(), text.size());
  };
  uid.append(workload).append(1, '-').append(slot.group);
  append('-', slot.replica);
  append('-', slot.index);
  uid.append(1, '.').append(workload_uid);
  append('.', incarnation);
  return uid;
}

bool takes_any_of(const workload_record& record, const portion_id& portion,
                  const std::set<std::string, std::less<>>& pods) {
  bool found = false;
  for_slots(record, portion, [&](const pod_slot& at) {
    found = found
            || pods.contains(
              pod_uid(record.spec->name, record.status.uid, at, slot_at(record, at).incarnation));
  });
  return found;
}

void put_spec(workload_record& record, workload next) {
  for (const auto& group : record.spec->groups) {
    const auto position = group_position(next, group.name);
    const auto count = position ? next.groups[*position].count : 0;
    const auto replicas = position ? next.groups[*position].replicas : 0;
    for (std::int32_t r = 0; r < group.replicas; ++r)
      if (group.count > 0 && (r >= replicas || count < group.count))
        record.slots.edit({group.name, r, group.count - 1});
  }
  record.spec = std::move(next);
}

/// How often what was there so many times before was preempted, with this time: it may have been
/// lost as well.
static std::int32_t attempts_of(const workload_record& record, std::uint32_t times) {
  return static_cast<std::int32_t>(
    std::min<std::int64_t>(record.status.attempts, std::int64_t{times} + 1));
}

void evict(workload_record& record, std::span<const portion_id> portions, std::string_view decision,
           time_point now) {
  bool counted = is_counted(record.status, decision);
  for (std::size_t i = 0; i < portions.size() && !counted; ++i)
    for_slots(record, portions[i], [&](const pod_slot& at) {
      const auto* known = record.slots.find(at);
      counted = counted || (known != nullptr && known->decision == decision);
    });
  auto resumes = no_time;
  for (const auto& portion : portions) {
    std::vector<pod_slot> going;
    std::uint32_t times = 0; // that some of it were there before
    for_slots(record, portion, [&](const pod_slot& at) {
      const auto* known = record.slots.find(at);
      if (known != nullptr && (known->decision == decision || known->state != slot_state::wanted))
        return;
      going.push_back(at);
      times = std::max(times, known == nullptr ? 0 : known->incarnation);
    });
    if (going.empty())
      continue;
    if (!std::exchange(counted, true))
      count_preemption(record.status, decision, now);
    const auto then = resume(record.spec, attempts_of(record, times), now);
    for (const auto& at : going) {
      auto& slot = record.slots.edit(at);
      slot.decision = decision;
      if (then.comes_back)
        ++slot.incarnation;
      else
        slot.state = slot_state::stopped;
    }
    if (then.comes_back)
      resumes = std::max(resumes, then.not_before);
  }
  if (resumes != no_time)
    record.status.resume_after = resumes;
}

bool would_come_back(const workload_record& record, const portion_id& portion, time_point now) {
  if (record.deleting)
    return false;
  const auto comes_back = [&](std::int32_t attempts) {
    return resume(record.spec, attempts, now).comes_back;
  };
  // Whatever its pods went through: it counts no more than its whole workload, and no less than
  // one.
  const auto most = record.status.attempts + 1;
  if (comes_back(most) || !comes_back(1))
    return comes_back(most);
  std::uint32_t times = 0;
  for_slots(record, portion,
            [&](const pod_slot& at) { times = std::max(times, slot_at(record, at).incarnation); });
  return comes_back(
    static_cast<std::int32_t>(std::min<std::int64_t>(most, std::int64_t{times} + 1)));
}

void lose_replicas(workload_record& record, std::string_view decision, time_point now) {
  if (!is_counted(record.status, decision))
    count_preemption(record.status, decision, now);
}

void reprieve_portions(workload_record& record, std::span<const portion_id> portions,
                       std::string_view decision) {
  bool taken_back = false;
  for (const auto& portion : portions)
    for_slots(record, portion, [&](const pod_slot& at) {
      const auto* found = record.slots.find(at);
      if (found == nullptr || found->decision != decision)
        return;
      auto& slot = record.slots.edit(at);
      if (slot.state == slot_state::stopped)
        slot.state = slot_state::wanted;
      else if (slot.state == slot_state::wanted && slot.incarnation > 0)
        --slot.incarnation;
      slot.decision.clear();
      taken_back = true;
    });
  if (taken_back && !takes_some_of(record, decision)) {
    uncount_preemption(record.status, decision);
    record.status.resume_after = no_time;
  }
}

std::int32_t recent_preemptions(const workload_status& status, time_point now) {
  return static_cast<std::int32_t>(
    std::ranges::count_if(status.preempted, [&](const auto& one) { return !is_past(one, now); }));
}

void end_slot(workload_record& record, const pod_slot& slot, std::uint32_t incarnation,
              slot_state how) {
  const auto known = slot_at(record, slot);
  const bool stands = known.incarnation == incarnation && known.state == slot_state::wanted;
  const bool goes =
    !known.decision.empty()
    && ((known.incarnation == incarnation && known.state == slot_state::stopped)
        || (known.incarnation == incarnation + 1 && known.state == slot_state::wanted));
  if (!stands && !goes)
    return;
  auto& at = record.slots.edit(slot);
  at.state = how;
  if (how == slot_state::wanted) {
    at.incarnation = incarnation + 1;
    at.decision.clear();
  }
}

namespace {

/// Whether the replica can't go on without these, of which so many are lost.
bool needs_all(const workload_record& record, const pod_group& group, std::int32_t replica,
               std::int32_t lost) {
  if (group.disruption == disruption_mode::pod_group)
    return true;
  if (!group.min_count)
    return false;
  std::int32_t wanted = 0;
  for (std::int32_t i = 0; i < group.count; ++i)
    if (slot_at(record, {group.name, replica, i}).state == slot_state::wanted)
      ++wanted;
  return wanted - lost < group.needed();
}

} // namespace

void lose_slots(workload_record& record, std::span<const std::pair<pod_slot, std::uint32_t>> lost,
                time_point now) {
  std::map<std::pair<std::string, std::int32_t>, std::vector<pod_slot>> by_replica;
  for (const auto& [slot, incarnation] : lost)
    if (const auto known = slot_at(record, slot);
        known.incarnation == incarnation && known.state == slot_state::wanted)
      by_replica[{slot.group, slot.replica}].push_back(slot);
  if (by_replica.empty())
    return;
  std::uint32_t times = 0;
  for (const auto& [slot, incarnation] : lost)
    times = std::max(times, incarnation);
  const auto then = resume(record.spec, attempts_of(record, times), now);
  for (auto& [replica, slots] : by_replica) {
    const auto group = std::ranges::find(record.spec->groups, replica.first, &pod_group::name);
    if (group != record.spec->groups.end()
        && needs_all(record, *group, replica.second, static_cast<std::int32_t>(slots.size()))) {
      slots.clear();
      for (std::int32_t i = 0; i < group->count; ++i)
        slots.push_back({group->name, replica.second, i});
    }
    for (const auto& at : slots) {
      if (slot_at(record, at).state != slot_state::wanted)
        continue;
      auto& slot = record.slots.edit(at);
      slot.decision.clear();
      if (then.comes_back)
        ++slot.incarnation;
      else
        slot.state = slot_state::stopped;
    }
  }
  if (then.comes_back)
    record.status.resume_after = std::max(record.status.resume_after, then.not_before);
}

std::vector<wanted_slot> wanted_slots(const workload_record& record) {
  return wanted_slots(record, [](const pod_group&) { return true; });
}

std::vector<wanted_slot> wanted_slots(const workload_record& record,
                                      const std::function<bool(const pod_group&)>& groups) {
  std::vector<wanted_slot> wanted;
  if (record.deleting)
    return wanted;
  for (std::size_t g = 0; g < record.spec->groups.size(); ++g) {
    const auto& group = record.spec->groups[g];
    if (!groups(group))
      continue;
    for (std::int32_t r = 0; r < group.replicas; ++r)
      for (std::int32_t i = 0; i < group.count; ++i) {
        const auto slot = slot_at(record, {group.name, r, i});
        if (slot.state == slot_state::wanted)
          wanted.push_back({g, r, i, slot.incarnation});
      }
  }
  return wanted;
}

bool wants(const workload_record& record, const pod& p) {
  return wants(record, {p.group, p.replica, p.index}, p.incarnation);
}

bool wants(const workload_record& record, const pod_slot& at, std::uint32_t incarnation) {
  const auto position = group_position(record.spec, at.group);
  if (record.deleting || !position)
    return false;
  const auto& group = record.spec->groups[*position];
  const auto slot = slot_at(record, at);
  return at.replica < group.replicas && at.index < group.count && slot.state == slot_state::wanted
         && slot.incarnation == incarnation;
}

void set_condition(workload_status& status, condition c) {
  for (auto& known : status.conditions)
    if (known.type == c.type) {
      if (known.status == c.status && known.reason == c.reason)
        c.since = known.since;
      known = std::move(c);
      return;
    }
  status.conditions.push_back(std::move(c));
}

void clear_condition(workload_status& status, std::string_view type) {
  std::erase_if(status.conditions, [&](const condition& c) { return c.type == type; });
}

void note_own_priorities(workload_record& record, time_point now) {
  constexpr std::string_view type = "PodsNotMatchingPriority";
  const auto& groups = record.spec->groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto said = groups[g].pods.priority;
    const auto counts = record.status.by_group[g].priority;
    if (!said || *said == counts)
      continue;
    const bool by_group = !groups[g].priority_class.empty() || groups[g].priority;
    set_condition(record.status,
                  {std::string(type), true, "TemplateSaysAnother",
                   fmt::format("pods of group {} say priority {}; the {}'s, {}, counts",
                               groups[g].name, *said, by_group ? "group" : "workload", counts),
                   now});
    return;
  }
  clear_condition(record.status, type);
}

} // namespace reprieve
