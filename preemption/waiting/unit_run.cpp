#include "preemption/waiting/unit_run.hpp"

#include "preemption/waiting/pending.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

bool waits_as_run(const pod_group& group) {
  return !group.is_gang();
}

std::optional<std::size_t> gangs_wait_as_run(const workload& spec) {
  const auto first = std::ranges::find_if(spec.groups, &pod_group::is_gang);
  if (first == spec.groups.end() || first->replicas < 2
      || std::ranges::any_of(spec.groups, [&](const pod_group& one) {
           return one.is_gang() && one.replicas != first->replicas;
         }))
    return std::nullopt;
  return static_cast<std::size_t>(first - spec.groups.begin());
}

unit_run::unit_run(std::shared_ptr<const workload_record> record, std::size_t group, of whom,
                   at_first who)
    : record_(std::move(record)), group_(group), whom_(whom),
      numbers_(number{of_gangs() ? 1 : this->group().count} * this->group().replicas),
      waiting_(who == at_first::all_wait ? numbers_ : 0) {}

void unit_run::renew(std::shared_ptr<const workload_record> record) {
  record_ = std::move(record);
  made_first_ = made_ = {};
  ++changes_;
}

void unit_run::set(number one, bool waits) {
  if (waits)
    waiting_.insert(one);
  else
    waiting_.erase(one);
  for (auto* made : {&made_first_, &made_})
    if (!waits && one == made->which)
      *made = {};
  ++changes_;
}

pod_slot unit_run::slot_of(number one) const {
  const auto count = group().count;
  return {group().name, static_cast<std::int32_t>(one / count),
          static_cast<std::int32_t>(one % count)};
}

std::uint32_t unit_run::incarnation_at(number one) const {
  const auto* known = record_->slots.find(slot_of(one));
  return known == nullptr ? 0 : known->incarnation;
}

unit_run::number unit_run::number_of(const preemptor& who) const {
  const auto& p = who.groups.front().pods.front();
  return of_gangs() ? number{p.replica} : number{p.replica} * group().count + p.index;
}

bool unit_run::has(const pod& p) const {
  if (of_gangs()) {
    const auto at = reprieve::group_position(record_->spec, p.group);
    if (!at || !record_->spec->groups[*at].is_gang() || !waiting_.contains(p.replica))
      return false;
    const auto* known = record_->slots.find({p.group, p.replica, p.index});
    return p.uid
           == pod_uid(record_->spec->name, record_->status.uid, {p.group, p.replica, p.index},
                      known == nullptr ? 0 : known->incarnation);
  }
  if (p.group != group().name || p.index >= group().count)
    return false;
  const auto one = number{p.replica} * group().count + p.index;
  return waiting_.contains(one)
         && p.uid
              == pod_uid(record_->spec->name, record_->status.uid, slot_of(one),
                         incarnation_at(one));
}

service_place unit_run::place_at(number one) const {
  service_place place = place_of_work(*record_);
  place.priority = record_->status.by_group[group_].priority;
  if (of_gangs()) { // which go by the least of their priorities
    for (std::size_t g = group_ + 1; g < record_->spec->groups.size(); ++g)
      if (record_->spec->groups[g].is_gang())
        place.priority = std::min(place.priority, record_->status.by_group[g].priority);
    place.unit = reprieve::number_of({true, static_cast<std::size_t>(one), group_, 0});
    return place;
  }
  place.unit = reprieve::number_of({false, static_cast<std::size_t>(one / group().count), group_,
                                    static_cast<std::size_t>(one % group().count)});
  return place;
}

unit_run::number unit_run::first_replica_from(const unit_position& at) const {
  if (!at.gang)
    return numbers_;
  const bool is_before = group_ < at.group || (group_ == at.group && at.index > 0);
  return std::min(static_cast<number>(at.replica) + (is_before ? 1 : 0), numbers_);
}

/// The first number whose place is that position or behind it.
unit_run::number unit_run::first_number_from(const unit_position& at) const {
  if (of_gangs())
    return first_replica_from(at);
  if (at.gang)
    return 0;
  const auto replica = static_cast<number>(at.replica);
  if (replica >= group().replicas)
    return numbers_;
  const number of_replica = replica * group().count;
  if (group_ < at.group)
    return of_replica + group().count;
  return group_ > at.group
           ? of_replica
           : of_replica + std::min<number>(static_cast<number>(at.index), group().count);
}

std::optional<unit_run::number> unit_run::first_behind(const service_place& place) const {
  const auto begin = place_at(0);
  if (!differ_in_unit_only(begin, place))
    return place < begin ? waiting_.first_from(0) : std::nullopt;
  return waiting_.first_from(first_number_from(position_of(place.unit + 1)));
}

std::optional<unit_run::number> unit_run::last_before(const service_place& place) const {
  const auto begin = place_at(0);
  if (!differ_in_unit_only(begin, place))
    return begin < place ? waiting_.last_before(numbers_) : std::nullopt;
  return waiting_.last_before(first_number_from(position_of(place.unit)));
}

std::shared_ptr<const preemptor> unit_run::unit_at(number one) const {
  auto& made = one == waiting_.first_from(0) ? made_first_ : made_;
  if (made.which != one) {
    const auto slot = slot_of(one);
    made = {one, std::make_shared<const preemptor>(
                   of_gangs() ? unit_of_replica(*record_, static_cast<std::int32_t>(one))
                              : single_unit(*record_, {group_, slot.replica, slot.index,
                                                       incarnation_at(one)}))};
  }
  return made.unit;
}

} // namespace reprieve
