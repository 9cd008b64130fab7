#include "preemption/waiting_line.hpp"

#include "preemption/required_node.hpp"
#include "preemption/turn.hpp"
#include "state/resume.hpp"

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

const std::string& first_uid(const waiting_unit& unit) {
  return unit.who->groups.front().pods.front().uid;
}

time_point due_of(const waiting_unit& unit) {
  return unit.record ? unit.record->status.resume_after : no_time;
}

} // namespace

bool service_place::operator<(const service_place& other) const {
  if (priority != other.priority)
    return priority > other.priority;
  if (workload_priority != other.workload_priority)
    return workload_priority > other.workload_priority;
  return std::tie(submitted, workload, unit)
         < std::tie(other.submitted, other.workload, other.unit);
}

service_place place_of(const waiting_unit& unit, std::size_t position) {
  service_place place;
  place.priority = unit.who->priority;
  place.workload = unit.who->workload;
  place.unit = position;
  if (unit.record) {
    // By its first pod, so that a unit keeps its place when others of the workload have theirs.
    const auto& first = unit.who->groups.front();
    const auto group = group_position(unit.record->spec, first.name).value_or(0);
    constexpr auto bits = 20U; // more than a workload may have pods
    place.unit = (((std::size_t{unit.who->gang ? 0U : 1U} << bits)
                   + static_cast<std::size_t>(first.pods.front().replica))
                  << 2 * bits)
                 + (group << bits) + static_cast<std::size_t>(first.pods.front().index);
    place.workload_priority = unit.record->status.resolved.priority;
    place.submitted = unit.record->status.submitted;
  } else {
    // Those without a record come after all others of their priority.
    place.workload_priority = std::numeric_limits<std::int32_t>::min();
  }
  return place;
}

service_place place_of_work(const workload_record& record) {
  service_place place;
  place.priority = place.workload_priority = record.status.resolved.priority;
  place.submitted = record.status.submitted;
  place.workload = record.spec->name;
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
  return !record.deleting && resume(*record.spec, record.status, now).comes_back;
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

void waiting_line::count(const entry& one, std::int64_t sign) {
  if (!one.unit.record)
    return;
  auto& sum = asked_[std::string(one.unit.queue())];
  for (const auto& [resource, amount] : one.wanted)
    if (auto& total = sum[resource]; (total += sign * amount) == 0)
      sum.erase(resource);
  if (sum.empty())
    asked_.erase(asked_.find(one.unit.queue()));
}

void waiting_line::add(const entry& one) {
  if (one.asleep) {
    places_asleep_[std::string(one.unit.queue())].insert(one.place);
    return;
  }
  if (one.kind.empty())
    fresh_[std::string(one.unit.queue())].emplace(one.place, one.unit);
  else
    kinds_[one.kind].units.emplace(one.place, one.unit);
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
    kinds_.find(one.kind)->second.units.erase(one.place);
    return;
  }
  const auto line = fresh_.find(one.unit.queue());
  line->second.erase(one.place);
  if (line->second.empty())
    fresh_.erase(line);
}

void waiting_line::put(const std::string& workload, std::vector<waiting_unit> units) {
  const auto before = exchange(workload, std::move(units));
  for (const auto& [uid, kind] : before)
    if (const auto of = kinds_.find(kind); of != kinds_.end() && of->second.units.empty())
      kinds_.erase(of);
}

/// The kinds of those that were there and had one, by first uid.
std::map<std::string, std::string, std::less<>>
waiting_line::exchange(const std::string& workload, std::vector<waiting_unit> units) {
  const auto known = by_workload_.find(workload);
  std::map<std::string, std::string, std::less<>> kinds;
  if (known != by_workload_.end()) {
    for (const auto& one : known->second) {
      if (!one.kind.empty())
        kinds.emplace(first_uid(one.unit), one.kind);
      count(one, -1);
      remove(one);
      --size_;
    }
    if (!known->second.empty())
      asleep_.erase({due_of(known->second.front().unit), workload});
    if (units.empty())
      by_workload_.erase(known);
  }
  if (units.empty())
    return kinds;
  auto& entries = by_workload_[workload];
  entries.clear();
  const auto due = due_of(units.front());
  const bool asleep = due > now_;
  if (asleep)
    asleep_.emplace(due, workload);
  for (std::size_t i = 0; i < units.size(); ++i) {
    auto place = place_of(units[i], i);
    auto wanted = demand_of(*units[i].who);
    auto& one = entries.emplace_back(
      entry{std::move(place), std::move(units[i]), {}, std::move(wanted), asleep});
    // Who is the same as before stays among its kind: it may be the next of it.
    if (const auto before = kinds.find(first_uid(one.unit)); before != kinds.end() && !asleep)
      if (auto kind = kind_of(one.unit); kind && *kind == before->second)
        one.kind = *std::move(kind);
    count(one, 1);
    add(one);
    ++size_;
  }
  return kinds;
}

void waiting_line::wake_sleepers(time_point now) {
  now_ = std::max(now_, now);
  while (!asleep_.empty() && asleep_.begin()->first <= now_) {
    const auto workload = asleep_.begin()->second;
    asleep_.erase(asleep_.begin());
    for (auto& one : by_workload_.find(workload)->second) {
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
    for (const auto& one : by_workload_.find(workload)->second)
      if (one.unit.queue() == queue)
        found.push_back({one.place, wanted_by(*one.unit.who), due, false});
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

waiting_line::entry* waiting_line::find(const waiting_unit& unit) {
  const auto known = by_workload_.find(unit.who->workload);
  if (known == by_workload_.end())
    return nullptr;
  const auto found = std::ranges::find_if(
    known->second, [&](const entry& one) { return first_uid(one.unit) == first_uid(unit); });
  return found == known->second.end() ? nullptr : &*found;
}

void waiting_line::park(const waiting_unit& unit, parked_reason why) {
  auto* one = find(unit);
  if (one == nullptr || one->asleep)
    return;
  if (one->kind.empty()) {
    auto key = kind_of(unit);
    if (!key)
      return;
    remove(*one);
    one->kind = *std::move(key);
    add(*one);
  }
  auto& kind = kinds_.find(one->kind)->second;
  if (kind.queue.empty() && kind.wanted.empty()) {
    kind.queue = unit.queue();
    kind.wanted = one->wanted;
  }
  kind.aside = std::move(why);
}

bool waiting_line::joins_parked(const waiting_unit& unit) {
  if (kinds_.empty())
    return false;
  auto* one = find(unit);
  if (one == nullptr || one->asleep)
    return false;
  if (!one->kind.empty())
    return kinds_.find(one->kind)->second.aside.has_value();
  const auto key = kind_of(unit);
  const auto known = key ? kinds_.find(*key) : kinds_.end();
  if (known == kinds_.end() || !known->second.aside)
    return false;
  remove(*one);
  one->kind = *key;
  add(*one);
  return true;
}

const parked_reason* waiting_line::parked(const waiting_unit& unit) const {
  const auto known = by_workload_.find(unit.who->workload);
  if (known == by_workload_.end())
    return nullptr;
  for (const auto& one : known->second)
    if (first_uid(one.unit) == first_uid(unit) && !one.kind.empty()) {
      const auto& aside = kinds_.find(one.kind)->second.aside;
      return aside ? &*aside : nullptr;
    }
  return nullptr;
}

const waiting_unit* waiting_line::find_like(const preemptor& who) const {
  const auto known = by_workload_.find(who.workload);
  if (known == by_workload_.end())
    return nullptr;
  const auto& uid = who.groups.front().pods.front().uid;
  const auto found = std::ranges::find_if(
    known->second, [&](const entry& one) { return first_uid(one.unit) == uid; });
  return found == known->second.end() ? nullptr : &found->unit;
}

const waiting_unit* waiting_line::last_of(std::string_view workload) const {
  const auto known = by_workload_.find(workload);
  if (known == by_workload_.end() || known->second.empty())
    return nullptr;
  return &std::max_element(known->second.begin(), known->second.end(),
                           [](const entry& a, const entry& b) { return a.place < b.place; })
            ->unit;
}

std::vector<waiting_unit> waiting_line::in_order() const {
  units_by_place ordered;
  for (const auto& [workload, entries] : by_workload_)
    for (const auto& one : entries)
      ordered.emplace(one.place, one.unit);
  std::vector<waiting_unit> found;
  for (auto& [place, unit] : ordered)
    found.push_back(std::move(unit));
  return found;
}

std::optional<std::pair<service_place, waiting_unit>>
waiting_line::next_of(const kind& of, const service_place& behind) {
  const auto next = of.units.upper_bound(behind);
  if (next == of.units.end())
    return std::nullopt;
  return std::pair{next->first, next->second};
}

} // namespace reprieve
