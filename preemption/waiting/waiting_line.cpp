#include "preemption/waiting/waiting_line.hpp"

#include "preemption/policies/required_node/required_node.hpp"
#include "preemption/waiting/wait_reason.hpp"
#include "state/quantities/resource_sums.hpp"
#include "state/records/resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

namespace reprieve {

namespace {

void append(std::string& key, std::string_view text) {
  key += text;
  key += '\x1f';
}

void append(std::string& key, std::int64_t number) {
  fmt::format_to(std::back_inserter(key), "{}\x1f", number);
}

void append(std::string& key, const string_map& pairs) {
  for (const auto& [name, value] : pairs) {
    append(key, name);
    append(key, value);
  }
  key += '\x1e';
}

void append(std::string& key, const wanted_group& group) {
  append(key, group.needed);
  append(key, std::ssize(group.pods));
  for (const auto& [resource, amount] : group.pods.front().requests) {
    append(key, resource);
    append(key, amount);
  }
  key += '\x1e';
  append(key, group.node_selector);
  for (const auto& one : group.tolerations) {
    append(key, one.key);
    append(key, one.any_value ? std::int64_t{1} : std::int64_t{0});
    append(key, one.value);
    append(key, one.effect ? static_cast<std::int64_t>(*one.effect) : -1);
  }
  key += '\x1e';
  for (const auto& one : group.topology_keys)
    append(key, one);
  append(key, group.required_node);
  key += '\x1d';
}

const std::string& first_uid(const preemptor& who) {
  return who.groups.front().pods.front().uid;
}

resources times(std::int64_t count, const resources& of_one) {
  resources all;
  add_times(all, of_one, count);
  return all;
}

time_point due_of(const waiting_unit& unit) {
  return unit.record ? due_of(*unit.record, *unit.who) : no_time;
}

/// The next unit of the run behind that place.
std::optional<placed_unit> next_in(const waiting_unit& of, const service_place& behind) {
  const auto next = of.run->first_behind(behind);
  if (!next)
    return std::nullopt;
  return placed_unit{of.run->place_at(*next), {of.record, of.run->unit_at(*next), of.run}};
}

} // namespace

service_place place_of(const waiting_unit& unit, std::size_t position) {
  service_place place;
  if (unit.record) {
    const auto& first = unit.who->groups.front();
    place = place_of_work(*unit.record);
    place.unit = number_of({unit.who->gang, static_cast<std::size_t>(first.pods.front().replica),
                            group_position(unit.record->spec, first.name).value_or(0),
                            static_cast<std::size_t>(first.pods.front().index)});
  } else {
    // Those without a record come after all others of their priority.
    place.workload_priority = std::numeric_limits<std::int32_t>::min();
    place.unit = position;
  }
  place.priority = unit.who->priority;
  place.workload = unit.who->workload;
  return place;
}

resources waits_again(const resources& leaving, const resources& wanted) {
  resources both;
  for (const auto& [resource, amount] : leaving)
    if (const auto least = std::min(amount, amount_of(wanted, resource)); least > 0)
      both[resource] = least;
  return both;
}

bool comes_back(const workload_record& record, time_point now) {
  const auto& spec = *record.spec;
  // Of several portions each has its own number of attempts; some come back.
  const bool is_one = pod_count(spec) == 1
                      || (spec.groups.size() == 1 && spec.groups.front().replicas == 1
                          && spec.groups.front().disruption == disruption_mode::pod_group);
  return !record.deleting && resume(spec, is_one ? record.status.attempts : 0, now).comes_back;
}

std::optional<std::string> kind_of(const waiting_unit& unit) {
  const auto& who = *unit.who;
  if (who.may_have_weaker_kin || is_bound_to_a_node(who) || !unit.record)
    return std::nullopt;
  std::string key;
  append(key, unit.queue());
  append(key, who.priority);
  append(key, (who.may_preempt ? 1 : 0) + (who.gang ? 2 : 0));
  for (const auto& group : who.groups)
    append(key, group);
  return key;
}

bool waiting_line::entry::is_of(const waiting_unit& other) const {
  return unit.record == other.record && unit.who == other.who && unit.run == other.run
         && (!unit.run || unit.run->changes() == changes);
}

void waiting_line::count(const entry& one, std::int64_t sign) {
  if (one.unit.record)
    asked_.add(one.unit.queue(), one.wanted, sign * one.count);
  const auto known = by_queue_.try_emplace(std::string(one.unit.queue())).first;
  if ((known->second += sign * one.count) == 0)
    by_queue_.erase(known);
}

void waiting_line::add(const entry& one) {
  if (one.asleep) {
    places_asleep_[std::string(one.unit.queue())].insert(one.place);
    return;
  }
  if (one.kind.empty()) {
    fresh_[std::string(one.unit.queue())].emplace(one.place, one.unit);
    return;
  }
  const auto [known, fresh] = kinds_.try_emplace(one.kind);
  auto& kind = known->second;
  if (fresh) {
    kind.queue = one.unit.queue();
    kind.wanted = one.wanted;
  }
  kind.units.emplace(one.place, one.unit);
  kind.last.reset();
  kind.count += one.count;
  if (one.unit.run)
    kind.runs.insert(one.place);
}

void waiting_line::remove(const entry& one) {
  if (one.asleep) {
    const auto places = places_asleep_.find(one.unit.queue());
    places->second.erase(one.place);
    if (places->second.empty())
      places_asleep_.erase(places);
    return;
  }
  if (!one.kind.empty()) {
    auto& kind = kinds_.find(one.kind)->second;
    kind.units.erase(one.place);
    kind.last.reset();
    kind.count -= one.count;
    kind.runs.erase(one.place);
    return;
  }
  const auto line = fresh_.find(one.unit.queue());
  line->second.erase(one.place);
  if (line->second.empty())
    fresh_.erase(line);
}

void waiting_line::put(const std::string& workload, std::vector<waiting_unit> units) {
  for (const auto& kind : exchange(workload, std::move(units)))
    if (const auto of = kinds_.find(kind); of != kinds_.end() && of->second.units.empty())
      kinds_.erase(of);
}

/// The kinds of those that are there no more and had one. When a pod of one group gets its place,
/// the units of the others are as they were: only those between the first and the last that changed
/// are looked at closer.
std::set<std::string> waiting_line::exchange(const std::string& workload,
                                             std::vector<waiting_unit> units) {
  auto& [entries, by_uid] = by_workload_[workload];
  const auto both = std::min(entries.size(), units.size());
  const bool shifts = entries.size() != units.size();
  std::size_t front = 0;
  while (front < both && entries[front].is_of(units[front]))
    ++front;
  std::size_t back = 0;
  for (; back < both - front; ++back) {
    const auto& after = units[units.size() - 1 - back];
    const bool stays = entries[entries.size() - 1 - back].is_of(after);
    if (!stays || (shifts && !after.record)) // whose place is its position
      break;
  }

  std::set<std::string> kinds;
  for (auto i = front; i < entries.size() - back; ++i) {
    const auto& one = entries[i];
    if (!one.kind.empty())
      kinds.insert(one.kind);
    count(one, -1);
    remove(one);
    if (one.asleep)
      asleep_.erase({one.due, workload});
    if (!one.unit.run)
      by_uid.erase(by_uid.find(first_uid(*one.unit.who)));
    size_ -= static_cast<std::size_t>(one.count);
  }
  std::vector<entry> come;
  for (auto i = front; i < units.size() - back; ++i) {
    const auto due = due_of(units[i]);
    auto place = place_of(units[i], i);
    auto wanted = demand_of(*units[i].who);
    const auto pods = units[i].run ? units[i].run->size() : 1;
    const auto changes = units[i].run ? units[i].run->changes() : 0;
    auto kind =
      order_ == order::by_kind ? kind_of(units[i]).value_or(std::string{}) : std::string{};
    auto& one = come.emplace_back(entry{std::move(place), std::move(units[i]), std::move(kind),
                                        std::move(wanted), pods, due, due > now_, changes});
    count(one, 1);
    add(one);
    size_ += static_cast<std::size_t>(one.count);
  }
  const auto at = entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(front),
                                entries.end() - static_cast<std::ptrdiff_t>(back));
  const auto changed_up_to = shifts ? units.size() : units.size() - back;
  entries.insert(at, std::make_move_iterator(come.begin()), std::make_move_iterator(come.end()));
  for (auto i = front; i < changed_up_to; ++i)
    if (!entries[i].unit.run)
      by_uid.insert_or_assign(first_uid(*entries[i].unit.who), i);
  for (const auto& one : entries)
    if (one.asleep)
      asleep_.emplace(one.due, workload);
  if (entries.empty())
    by_workload_.erase(by_workload_.find(workload));
  return kinds;
}

void waiting_line::wake_sleepers(time_point now) {
  now_ = std::max(now_, now);
  while (!asleep_.empty() && asleep_.begin()->first <= now_) {
    const auto workload = asleep_.begin()->second;
    asleep_.erase(asleep_.begin());
    for (auto& one : by_workload_.find(workload)->second.entries)
      if (one.asleep && one.due <= now_) {
        remove(one);
        one.asleep = false;
        add(one);
      }
  }
}

std::vector<returning_work> waiting_line::asleep_in(std::string_view queue,
                                                    time_point until) const {
  std::vector<returning_work> found;
  for (const auto& [due, workload] : asleep_) {
    if (due > until)
      break;
    for (const auto& one : by_workload_.find(workload)->second.entries)
      if (one.asleep && one.due == due && one.unit.queue() == queue)
        found.push_back({one.place, times(one.count, wanted_by(*one.unit.who)), due, false});
  }
  return found;
}

bool waiting_line::is_any_asleep_before(std::string_view queue, const service_place& place) const {
  const auto places = places_asleep_.find(queue);
  return places != places_asleep_.end() && *places->second.begin() < place;
}

time_point waiting_line::next_due() const {
  return asleep_.empty() ? no_time : asleep_.begin()->first;
}

const waiting_line::entry* waiting_line::find(const preemptor& who) const {
  const auto known = by_workload_.find(who.workload);
  if (known == by_workload_.end())
    return nullptr;
  const auto& [entries, by_uid] = known->second;
  if (const auto at = by_uid.find(first_uid(who)); at != by_uid.end())
    return &entries[at->second];
  if (by_uid.size() == entries.size())
    return nullptr;
  const auto& first = who.groups.front().pods.front();
  const auto found = std::ranges::find_if(
    entries, [&](const entry& one) { return one.unit.run && one.unit.run->has(first); });
  return found == entries.end() ? nullptr : &*found;
}

void waiting_line::park(const waiting_unit& unit, parked_reason why) {
  const auto* one = find(*unit.who);
  if (one != nullptr && !one->asleep && !one->kind.empty())
    kinds_.find(one->kind)->second.aside = std::move(why);
}

const parked_reason* waiting_line::parked(const waiting_unit& unit) const {
  const auto* one = find(*unit.who);
  if (one == nullptr || one->asleep || one->kind.empty())
    return nullptr;
  const auto& aside = kinds_.find(one->kind)->second.aside;
  return aside ? &*aside : nullptr;
}

std::optional<waiting_unit> waiting_line::find_like(const preemptor& who) const {
  const auto* one = find(who);
  if (one == nullptr)
    return std::nullopt;
  const auto& run = one->unit.run;
  return run ? waiting_unit{one->unit.record, run->unit_at(run->number_of(who))} : one->unit;
}

std::optional<waiting_unit> waiting_line::last_of(std::string_view workload) const {
  const auto known = by_workload_.find(workload);
  if (known == by_workload_.end())
    return std::nullopt;
  const entry* last = nullptr;
  service_place place;
  for (const auto& one : known->second.entries) {
    const auto& run = one.unit.run;
    const auto at = run ? run->place_at(run->last()) : one.place;
    if (last != nullptr && (one.asleep != last->asleep ? one.asleep : at < place))
      continue;
    last = &one;
    place = at;
  }
  if (last == nullptr || !last->unit.run)
    return last == nullptr ? std::nullopt : std::optional{last->unit};
  const auto& run = *last->unit.run;
  return waiting_unit{last->unit.record, run.unit_at(run.last())};
}

std::int64_t waiting_line::size_of(std::string_view queue) const {
  const auto known = by_queue_.find(queue);
  return known == by_queue_.end() ? 0 : known->second;
}

std::vector<waiting_unit> waiting_line::in_order() const {
  units_by_place ordered;
  for (const auto& [workload, units] : by_workload_)
    for (const auto& one : units.entries)
      for (std::optional<placed_unit> next{{one.place, one.unit}}; next;
           next = one.unit.run ? next_in(one.unit, next->first) : std::nullopt)
        ordered.emplace(next->first, waiting_unit{next->second.record, next->second.who});
  std::vector<waiting_unit> found;
  for (auto& [place, unit] : ordered)
    found.push_back(std::move(unit));
  return found;
}

std::optional<placed_unit> waiting_line::next_of_run(const waiting_unit& of,
                                                     const service_place& behind) const {
  const auto known = by_workload_.find(of.who->workload);
  if (known == by_workload_.end())
    return std::nullopt;
  const auto& group = of.who->groups.front().name;
  const bool comes_back = was_there_before(*of.who);
  for (const auto& one : known->second.entries)
    if (one.unit.run && !one.asleep && one.unit.run->group().name == group
        && one.unit.run->comes_back() == comes_back)
      return next_in(one.unit, behind);
  return std::nullopt;
}

std::optional<placed_unit> waiting_line::next_of(const kind& of, const service_place& behind) {
  std::optional<placed_unit> found;
  if (const auto next = of.units.upper_bound(behind); next != of.units.end())
    found.emplace(next->first, next->second);
  // Runs of the same workload may begin before it and go on behind it.
  for (auto run = of.runs.upper_bound(behind); run != of.runs.begin();) {
    if (!differ_in_unit_only(*--run, behind))
      break;
    auto next = next_in(of.units.find(*run)->second, behind);
    if (next && (!found || next->first < found->first))
      found = std::move(next);
  }
  return found;
}

const service_place* waiting_line::last_of(const kind& of) {
  if (!of.last && !of.units.empty())
    of.last = last_before(of, behind_all);
  return of.last ? &*of.last : nullptr;
}

std::optional<service_place> waiting_line::last_before(const kind& of,
                                                       const service_place& before) {
  if (of.last && *of.last < before)
    return of.last;
  const auto behind = of.units.lower_bound(before);
  if (behind == of.units.begin())
    return std::nullopt;
  auto last = std::prev(behind)->first;
  const auto of_workload = last;
  for (auto run = of.runs.lower_bound(before); run != of.runs.begin();) {
    if (!differ_in_unit_only(*--run, of_workload))
      break;
    const auto& units = *of.units.find(*run)->second.run;
    if (const auto one = units.last_before(before))
      last = std::max(last, units.place_at(*one));
  }
  return last;
}

} // namespace reprieve
