#include "preemption/waiting/workload_standing.hpp"

#include "preemption/waiting/wait_reason.hpp"
#include "state/model/queue_limits.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace reprieve {

namespace {

void add(resources& to, std::string_view name, std::int64_t amount) {
  if (amount == 0)
    return;
  auto at = to.find(name);
  if (at == to.end())
    at = to.emplace(std::string(name), 0).first;
  if ((at->second += amount) == 0)
    to.erase(at);
}

/// Adds what the pod takes, or takes it away; what comes to nothing is not there.
void add_taken(resources& to, const pod& p, int sign) {
  for (const auto& [name, amount] : p.requests)
    add(to, name, sign * amount);
  add(to, resource::pods, sign);
}

pod_slot slot_of(const pod& p) {
  return {p.group, p.replica, p.index};
}

/// Whether pods and slots that are the same count for the same by either record.
bool counts_alike(const workload_record& a, const workload_record& b) {
  return (&a.spec.shared() == &b.spec.shared() || *a.spec == *b.spec) && a.deleting == b.deleting
         && a.status.uid == b.status.uid;
}

/// Whether the pod is to stay where it is, or to come there.
bool stays(const pod& p) {
  return takes_room(p.phase) && !is_leaving(p.phase) && p.evicted_by.empty()
         && p.stop_told == no_time;
}

/// Whether the pod is the same at the same place, however far it has come.
bool is_same(const pod& a, const pod& b) {
  return a.node == b.node && a.group == b.group && a.replica == b.replica && a.index == b.index
         && a.incarnation == b.incarnation && a.disruption == b.disruption
         && a.placed_by == b.placed_by && a.requests == b.requests;
}

} // namespace

const pod* workload_standing::find(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second.shown->what();
}

// -- what pods count for --------------------------------------------------------------------------

/// What the cluster has placed is wanted as long as it is told how many there shall be.
bool workload_standing::is_unwanted(const pod& p) const {
  if (left_to_cluster_)
    return false;
  return !record_ || p.placed_by == placed_by_cluster || !wants(*record_, p);
}

workload_standing::role workload_standing::role_of(const pod& p) const {
  role as;
  as.restless = restlessness_of(record_.get(), p);
  if (!takes_room(p.phase))
    return as;
  const bool unwanted = is_unwanted(p);
  as.takes_room = true;
  // All that a workload does not want any more goes at once, whoever of them is told first.
  as.leaves = is_leaving(p.phase) || !p.evicted_by.empty() || unwanted;
  as.unwanted_for_good = record_ && unwanted && !wants_place_of(*record_, p);
  as.to_be_told =
    unwanted && p.evicted_by.empty() && p.phase != pod_phase::nominated && p.stop_told == no_time;
  return as;
}

/// Counts the pod in, or out as it was counted in.
void workload_standing::count(const counted_pod& one, int sign, const standing_ground& on) {
  const auto& p = one.shown->what();
  if (one.as.restless.any())
    restless_.edit([&](auto& all) { all.count(p, one.as.restless, sign); });
  if (!one.as.takes_room)
    return;
  if (record_)
    add_taken(one.as.leaves && on.counts_leaving() ? used_.leaving : used_.staying, p, sign);
  const bool was_told = one.as.leaves && p.stop_told != no_time;
  if (!was_told && !one.as.unwanted_for_good && !one.as.to_be_told)
    return;
  going_.edit([&](going_pods& all) {
    if (was_told)
      if (const auto at = all.told.try_emplace(p.stop_told, 0).first; (at->second += sign) == 0)
        all.told.erase(at);
    if (one.as.unwanted_for_good)
      add_taken(all.unwanted_for_good, p, sign);
    for (auto* some : {&all.unwanted, &all.new_unwanted})
      if (one.as.to_be_told && sign > 0)
        some->insert_or_assign(p.uid, p.node);
      else if (one.as.to_be_told)
        some->erase(p.uid);
  });
}

std::vector<victim_pod> workload_standing::take_new_unwanted() {
  std::vector<victim_pod> found;
  if (has_new_unwanted())
    going_.edit([&](going_pods& all) {
      for (const auto& [uid, node] : std::exchange(all.new_unwanted, {}))
        found.push_back({uid, node});
    });
  return found;
}

void workload_standing::look_at_unwanted_again() {
  if (has_unwanted())
    going_.edit([](going_pods& all) { all.new_unwanted = all.unwanted; });
}

/// Whether the record says another pod of its place than this one.
bool workload_standing::is_irregular(const pod& p) const {
  const auto slot = slot_of(p);
  return record_
         && p.uid
              != pod_uid(record_->spec->name, record_->status.uid, slot,
                         slot_at(*record_, slot).incarnation);
}

void workload_standing::count_in(counted_pod& one, const standing_ground& on) {
  const auto& p = one.shown->what();
  one.as = role_of(p);
  count(one, 1, on);
  one.irregular = is_irregular(p);
  if (one.irregular)
    irregular_.edit([&](auto& all) { all.emplace(slot_of(p), p.uid); });
}

void workload_standing::count_out(const counted_pod& one, const standing_ground& on) {
  const auto& p = one.shown->what();
  count(one, -1, on);
  if (!one.irregular)
    return;
  irregular_.edit([&](auto& all) {
    const auto [first, last] = all.equal_range(slot_of(p));
    for (auto at = first; at != last; ++at)
      if (at->second == p.uid) {
        all.erase(at);
        return;
      }
  });
}

void workload_standing::put_pod(const pod_list::pointer& p, const standing_ground& on) {
  const auto& now = p->what();
  const bool was_doomed = restless_->is_doomed(now.group, now.replica);
  std::optional<pod_slot> before;
  if (auto known = pods_.extract(now.uid)) {
    auto& one = known.mapped();
    const auto was = one.shown; // which has the name by which it is known
    // One that is wanted and comes further counts as it did, but for a gang that waits for it.
    const bool alike = !one.as.leaves && !one.as.restless.unsettled && stays(was->what())
                       && stays(now) && now.phase != pod_phase::nominated
                       && is_same(was->what(), now);
    if (!alike)
      count_out(one, on);
    one.shown = p;
    known.key() = now.uid;
    if (!alike)
      count_in(one, on);
    pods_.insert(std::move(known));
    if (alike)
      return;
    before = slot_of(was->what());
  } else {
    count_in(pods_.emplace(now.uid, counted_pod{p, {}, false}).first->second, on);
  }
  look_around(now, was_doomed, on);
  if (before && *before != slot_of(now))
    look_at(*before, on);
}

void workload_standing::remove_pod(std::string_view uid, const standing_ground& on) {
  const auto known = pods_.extract(uid);
  if (!known)
    return;
  const auto& p = known.mapped().shown->what();
  const bool was_doomed = restless_->is_doomed(p.group, p.replica);
  count_out(known.mapped(), on);
  look_around(p, was_doomed, on);
}

// -- what the record says -------------------------------------------------------------------------

void workload_standing::put_record(std::shared_ptr<const workload_record> record,
                                   bool left_to_cluster, const standing_ground& on) {
  const auto before = std::exchange(record_, std::move(record));
  const bool alike =
    before && record_ && left_to_cluster == left_to_cluster_ && counts_alike(*before, *record_);
  left_to_cluster_ = left_to_cluster;
  if (!alike) {
    count_all(on);
    return;
  }
  for (const auto& of : waiting_)
    for (auto* run : {of.fresh.get(), of.back.get()})
      if (run != nullptr)
        run->renew(record_);
  if (before->status.by_group != record_->status.by_group) // by which units are served
    for (const auto& [replica, units] : *listed_)
      outdated_.edit([&](auto& all) { all.insert(replica); });
  for (const auto& slot : slot_list::changed_slots(before->slots, record_->slots)) {
    const bool was_doomed = restless_->is_doomed(slot.group, slot.replica);
    for (const auto& uid : uids_at(slot, *before))
      if (const auto found = pods_.find(uid); found != pods_.end()) {
        count_out(found->second, on);
        count_in(found->second, on);
      }
    look_at(slot, on);
    if (was_doomed != restless_->is_doomed(slot.group, slot.replica))
      look_at_replica(slot.group, slot.replica, on);
  }
}

bool workload_standing::may_list() const {
  return record_ && !record_->deleting && !left_to_cluster_;
}

/// The pods that may stand at the place by either record.
std::set<std::string> workload_standing::uids_at(const pod_slot& slot,
                                                 const workload_record& before) const {
  std::set<std::string> uids;
  const auto& name = record_->spec->name;
  const auto& uid = record_->status.uid;
  uids.insert(pod_uid(name, uid, slot, slot_at(before, slot).incarnation));
  uids.insert(pod_uid(name, uid, slot, slot_at(*record_, slot).incarnation));
  const auto [first, last] = irregular_->equal_range(slot);
  for (auto at = first; at != last; ++at)
    uids.insert(at->second);
  return uids;
}

/// Counts everything from the beginning.
void workload_standing::count_all(const standing_ground& on) {
  used_ = {};
  going_.clear();
  restless_.clear();
  irregular_.clear();
  for (auto& [uid, one] : pods_)
    count_in(one, on);
  look_at_all_slots(on);
}

// -- what is lacking ------------------------------------------------------------------------------

void workload_standing::look_at_all_slots(const standing_ground& on) {
  waiting_.clear();
  listed_.clear();
  outdated_.clear();
  if (!may_list())
    return;
  const auto& groups = record_->spec->groups;
  const auto of_gangs = gangs_wait_as_run(record_->spec);
  waiting_.resize(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (waits_as_run(groups[g]) || g == of_gangs)
      waiting_[g].fresh = std::make_shared<unit_run>(record_, g, unit_run::of::new_ones,
                                                     unit_run::at_first::all_wait);
    else if (!of_gangs)
      outdated_.edit([&](auto& all) {
        for (std::int32_t replica = 0; replica < groups[g].replicas; ++replica)
          all.insert(replica);
      });
  }
  // All of them wait, but for those of which something is known.
  for (const auto& known : record_->slots)
    look_at(known.slot, on);
  for (const auto& [uid, one] : pods_) {
    const auto& p = one.shown->what();
    if (restless_->is_doomed(p.group, p.replica))
      look_at_replica(p.group, p.replica, on);
    else
      look_at(slot_of(p), on);
  }
  on.each_going(record_->spec->name, [&](const portion_id& one) { look_at(one, on); });
  for (auto& of : waiting_)
    if (of.fresh && of.fresh->size() == 0) // of no pods at all
      of.fresh.reset();
}

/// Finds out whether a pod lacks at the place, and whether it may be asked for.
void workload_standing::look_at(const pod_slot& slot, const standing_ground& on) {
  const auto group = record_ ? group_position(record_->spec, slot.group) : std::nullopt;
  if (!group || *group >= waiting_.size())
    return;
  const auto& of = record_->spec->groups[*group];
  if (of.is_gang()) {
    if (slot.replica >= 0 && slot.replica < of.replicas)
      outdated_.edit([&](auto& all) { all.insert(slot.replica); });
    return;
  }
  if (slot.replica < 0 || slot.index < 0 || slot.replica >= of.replicas || slot.index >= of.count)
    return;
  const auto known = slot_at(*record_, slot);
  const auto stands = [&](const std::string& uid) { return pods_.contains(uid) || on.goes(uid); };
  const bool lacks =
    known.state == slot_state::wanted && !restless_->is_doomed(slot.group, slot.replica)
    && !stands(pod_uid(record_->spec->name, record_->status.uid, slot, known.incarnation));
  const bool taken = lacks && restless_->is_taken(slot);
  const auto number = unit_run::number{slot.replica} * of.count + slot.index;
  const bool waits = lacks && !taken;
  auto& all = waiting_[*group];
  set_waiting(all.fresh, *group, unit_run::of::new_ones, number, waits && known.incarnation == 0);
  set_waiting(all.back, *group, unit_run::of::those_who_come_back, number,
              waits && known.incarnation > 0);
  if (taken)
    all.held_back.insert(number);
  else
    all.held_back.erase(number);
}

void workload_standing::set_waiting(std::shared_ptr<unit_run>& run, std::size_t group,
                                    unit_run::of whom, unit_run::number one, bool waits) {
  if (!run && waits)
    run = std::make_shared<unit_run>(record_, group, whom, unit_run::at_first::nobody_waits);
  if (!run)
    return;
  run->set(one, waits);
  if (run->size() == 0)
    run.reset();
}

void workload_standing::look_at_replica(const std::string& group, std::int32_t replica,
                                        const standing_ground& on) {
  const auto position = record_ ? group_position(record_->spec, group) : std::nullopt;
  if (position)
    for (std::int32_t i = 0; i < record_->spec->groups[*position].count; ++i)
      look_at(pod_slot{group, replica, i}, on);
}

void workload_standing::look_at(const portion_id& portion, const standing_ground& on) {
  if (portion.whole_replica())
    look_at_replica(portion.group, portion.replica, on);
  else
    look_at(pod_slot{portion.group, portion.replica, portion.index}, on);
}

/// The pod came, changed or went.
void workload_standing::look_around(const pod& p, bool was_doomed, const standing_ground& on) {
  if (was_doomed != restless_->is_doomed(p.group, p.replica))
    look_at_replica(p.group, p.replica, on);
  else
    look_at(slot_of(p), on);
}

/// What a replica of the gangs lacks, as if those were not there.
std::vector<preemptor>
workload_standing::lacking_of(std::int32_t replica,
                              const std::set<std::string, std::less<>>& without,
                              const standing_ground& on) const {
  const auto stands = [&](const pod& p) {
    return pods_.contains(p.uid) && !without.contains(p.uid);
  };
  return lacking_units_of_replica(
    *record_, replica, [&](const pod& p) { return stands(p) || on.goes(p.uid); },
    [&](const pod& p) { return stands(p) ? on.node_of(*find(p.uid)) : nullptr; });
}

std::vector<preemptor>
workload_standing::listed_without(const std::set<std::string, std::less<>>& uids,
                                  const standing_ground& on) const {
  if (!may_list())
    return {};
  std::set<std::int32_t> replicas;
  auto restless = *restless_;
  for (const auto& uid : uids)
    if (const auto found = pods_.find(uid); found != pods_.end()) {
      const auto& p = found->second.shown->what();
      restless.count(p, found->second.as.restless, -1);
      replicas.insert(p.replica);
    }
  std::vector<preemptor> units;
  for (const auto replica : replicas)
    std::ranges::move(lacking_of(replica, uids, on), std::back_inserter(units));
  restless.take_out_held_back(units);
  return units;
}

/// Whether the units are all pods of the replica together, as they wait in a run.
bool workload_standing::lacks_all_of(std::int32_t replica,
                                     const std::vector<preemptor>& units) const {
  return units.size() == 1 && units.front().gang
         && std::ranges::all_of(record_->spec->groups, [&](const pod_group& one) {
              if (!one.is_gang() || replica >= one.replicas)
                return true;
              const auto& asked = units.front().groups;
              const auto its = std::ranges::find(asked, one.name, &wanted_group::name);
              return its != asked.end() && std::ssize(its->pods) == one.count;
            });
}

void workload_standing::find_listed(std::int32_t replica, const standing_ground& on) {
  listed_units found;
  auto units = lacking_of(replica, {}, on);
  found.held_back = restless_->take_out_held_back(units);
  if (const auto run = gangs_wait_as_run(record_->spec)) {
    auto& all = waiting_[*run];
    const bool waits = lacks_all_of(replica, units);
    const bool comes_back = waits && was_there_before(units.front());
    set_waiting(all.fresh, *run, unit_run::of::new_ones, replica, waits && !comes_back);
    set_waiting(all.back, *run, unit_run::of::those_who_come_back, replica, comes_back);
    if (waits)
      units.clear();
  }
  for (auto& unit : units)
    found.units.push_back(std::make_shared<const preemptor>(std::move(unit)));
  listed_.edit([&](auto& all) {
    if (found.empty())
      all.erase(replica);
    else
      all.insert_or_assign(replica, std::move(found));
  });
}

void workload_standing::find_listed(const standing_ground& on) {
  const auto outdated = *outdated_;
  outdated_.clear();
  if (may_list())
    for (const auto replica : outdated)
      find_listed(replica, on);
}

std::vector<std::shared_ptr<const preemptor>> workload_standing::listed() const {
  std::vector<std::shared_ptr<const preemptor>> found;
  for (const auto& [replica, listed] : *listed_)
    found.insert(found.end(), listed.units.begin(), listed.units.end());
  return found;
}

std::vector<std::shared_ptr<const unit_run>> workload_standing::runs() const {
  std::vector<std::shared_ptr<const unit_run>> found;
  for (const auto& of : waiting_)
    for (const auto& run : {of.fresh, of.back})
      if (run)
        found.push_back(run);
  return found;
}

resources workload_standing::held_back() const {
  resources all;
  for (const auto& [replica, listed] : *listed_)
    add_to(all, listed.held_back);
  for (std::size_t g = 0; g < waiting_.size(); ++g)
    if (const auto pods = waiting_[g].held_back.size(); pods > 0)
      add_to(all, demand_of(record_->spec->groups[g], pods));
  return all;
}

bool workload_standing::lacks(const preemptor& who) const {
  const auto& first = who.groups.front().pods.front();
  const auto has = [&](const std::shared_ptr<unit_run>& run) { return run && run->has(first); };
  const auto listed = listed_->find(first.replica);
  return (listed != listed_->end()
          && std::ranges::any_of(
            listed->second.units,
            [&](const auto& unit) { return unit->groups.front().pods.front().uid == first.uid; }))
         || std::ranges::any_of(
           waiting_, [&](const waiting_group& of) { return has(of.fresh) || has(of.back); });
}

} // namespace reprieve
