#include "actors/coordinator/group_mirror.hpp"

#include "preemption/waiting/pending.hpp"

#include <algorithm>

namespace reprieve {

namespace {

/// Whether `follow` makes the same of pods by either record.
bool cost_the_same(const workload_record& a, const workload_record& b) {
  return a.status.by_group == b.status.by_group
         && a.spec->checkpoint.last == b.spec->checkpoint.last
         && a.spec->minimum_runtime == b.spec->minimum_runtime;
}

/// Whether decisions for a node stand on the same ground by either record.
bool takes_pods_alike(const std::shared_ptr<const node_record>& a,
                      const std::shared_ptr<const node_record>& b) {
  return (a && takes_pods(*a)) == (b && takes_pods(*b));
}

} // namespace

group_mirror::named_node& group_mirror::node_named(std::string_view name) {
  const auto found = nodes_.find(name);
  return found != nodes_.end() ? *found : *nodes_.try_emplace(std::string(name)).first;
}

group_mirror::named_workload& group_mirror::workload_named(std::string_view name) {
  const auto found = workloads_.find(name);
  return found != workloads_.end() ? *found : *workloads_.try_emplace(std::string(name)).first;
}

void group_mirror::mark(named_node& one) {
  if (!std::exchange(one.second.stale, true))
    stale_nodes_.push_back(&one);
}

void group_mirror::mark(named_workload& one) {
  if (!std::exchange(one.second.stale, true))
    stale_workloads_.push_back(&one);
}

void group_mirror::put(std::shared_ptr<const node_record> record) {
  auto& known = node_named(record->spec->name);
  mark(known);
  if (!takes_pods_alike(known.second.record, record))
    for (const auto& [id, part] : known.second.promised)
      unjudged_.insert(id);
  known.second.record = std::move(record);
}

void group_mirror::remove_node(const std::string& name) {
  auto& known = node_named(name);
  mark(known);
  for (const auto& [id, part] : known.second.promised)
    unjudged_.insert(id);
  known.second.record = nullptr;
}

void group_mirror::put_record(named_workload& one, std::shared_ptr<const workload_record> record) {
  mark(one);
  const bool left = is_left_to_cluster(record.get());
  one.second.stands.put_record(std::move(record), left, *this);
}

/// The decisions that place pods of the workload may have lost their ground by its next record.
/// Where slots alone are others, those have that place pods there.
void group_mirror::judge_those_who_place(const workload_entry& of, const workload_record* next) {
  if (of.placed_by.empty())
    return;
  const auto* now = of.stands.record().get();
  if (now == nullptr || next == nullptr || &now->spec.shared() != &next->spec.shared()
      || now->status.uid != next->status.uid || now->deleting != next->deleting) {
    unjudged_.insert(of.placed_by.begin(), of.placed_by.end());
    return;
  }
  for (const auto& slot : slot_list::changed_slots(now->slots, next->slots)) {
    const auto* placed = of.stands.find(
      pod_uid(now->spec->name, now->status.uid, slot, slot_at(*now, slot).incarnation));
    if (placed != nullptr && open_.contains(placed->placed_by))
      unjudged_.insert(placed->placed_by);
  }
}

void group_mirror::mark_nodes_of(const workload_entry& of) {
  of.stands.each_pod([&](const pod& p) {
    auto& on = node_named(p.node);
    on.second.costs_changed = true;
    mark(on);
  });
}

void group_mirror::put(std::shared_ptr<const workload_record> record) {
  auto& known = workload_named(record->spec->name);
  judge_those_who_place(known.second, record.get());
  const auto& before = known.second.stands.record();
  if (!before || !cost_the_same(*before, *record))
    mark_nodes_of(known.second);
  put_record(known, std::move(record));
}

void group_mirror::remove_workload(const std::string& name) {
  auto& known = workload_named(name);
  judge_those_who_place(known.second, nullptr);
  put_record(known, nullptr);
}

void group_mirror::put(const disruption_budget& budget) {
  view_.put_budget(budget);
}

void group_mirror::remove_budget(const std::string& name) {
  view_.remove_budget(name);
}

void group_mirror::promise(const std::string& id, const pod_list::pointer& placed) {
  auto& on = node_named(placed->what().node);
  on.second.promised[id].part.placed.put(placed);
  if (on.second.stale || !on.second.in_view) {
    mark(on);
    return;
  }
  // The node is up to date: what comes is all that changes.
  auto& taken_in = on.second.taken_in;
  auto& shown = on.second.shown;
  if (taken_in.shares_all_with(shown)) {
    shown = {};
    taken_in.put(placed);
    shown = taken_in;
  } else {
    taken_in.put(placed);
    shown.put(placed);
  }
  ahead_.insert(&on);
  show(on, nullptr, placed);
}

/// Others take the portion than before, or nobody.
void group_mirror::look_at(const portion_id& portion) {
  auto& of = workload_named(portion.workload);
  of.second.stands.look_at(portion, *this);
  mark(of);
}

void group_mirror::open(promised_decision d, std::span<const node_part> parts) {
  std::erase_if(d.victims, &victim::expected); // nobody knows who goes
  for (const auto& part : parts) {
    if (part.placed.empty() && part.victims.empty())
      continue;
    auto& on = node_named(part.node);
    auto& promised = on.second.promised[d.id];
    // What was promised one by one is there.
    if (!part.victims.empty() || !promised.part.placed.shares_all_with(part.placed))
      mark(on);
    promised = {part, {}, false};
  }
  kept_decision kept;
  kept.owners.reserve(d.placed.size());
  for (const auto& p : d.placed) {
    auto& owner = workload_named(p->what().workload);
    owner.second.placed_by.insert(d.id);
    kept.owners.push_back(&owner);
  }
  for (const auto& one : d.victims) {
    for (const auto& p : one.pods)
      going_.insert_or_assign(p.uid, one.portion);
    look_at(one.portion);
  }
  unjudged_.insert(d.id);
  static_cast<promised_decision&>(kept) = std::move(d);
  auto id = kept.id;
  open_.insert_or_assign(std::move(id), std::move(kept));
}

void group_mirror::set_given_up(kept_decision& d, bool so) {
  d.given_up = so;
  if (so)
    given_up_.insert(d.id);
  else
    given_up_.erase(d.id);
  const auto set_on = [&](const std::string& node) {
    auto& on = node_named(node);
    if (const auto part = on.second.promised.find(d.id); part != on.second.promised.end())
      part->second.given_up = so;
    mark(on);
  };
  for (const auto& p : d.placed)
    set_on(p->what().node);
  for (const auto& one : d.victims)
    for (const auto& p : one.pods)
      set_on(p.node);
}

void group_mirror::give_up(const std::string& id) {
  if (const auto found = open_.find(id); found != open_.end())
    set_given_up(found->second, true);
}

void group_mirror::spare_victims(const std::string& id) {
  const auto found = open_.find(id);
  if (found == open_.end())
    return;
  for (const auto& one : found->second.victims)
    for (const auto& p : one.pods) {
      auto& on = node_named(p.node);
      if (const auto part = on.second.promised.find(id); part != on.second.promised.end())
        part->second.part.victims.clear();
      mark(on);
    }
}

void group_mirror::close(const std::string& id) {
  const auto found = open_.find(id);
  if (found == open_.end())
    return;
  const auto close_on = [&](const std::string& node) {
    auto& on = node_named(node);
    const auto promised = on.second.promised.find(id);
    if (promised == on.second.promised.end())
      return;
    // What the record shows stays as it is.
    if (promised->second.given_up || !on.second.record
        || !shows(*on.second.record, promised->second.part, id))
      mark(on);
    on.second.promised.erase(promised);
  };
  for (const auto& p : found->second.placed)
    close_on(p->what().node);
  for (auto* owner : found->second.owners)
    if (owner->second.placed_by.erase(id) > 0 && !owner->second.stands.record())
      mark(*owner); // so that nothing is kept of one that is not there any more
  for (const auto& one : found->second.victims) {
    for (const auto& p : one.pods) {
      close_on(p.node);
      going_.erase(p.uid);
    }
    look_at(one.portion);
  }
  unjudged_.erase(id);
  given_up_.erase(id);
  starting_.erase(id);
  open_.erase(found);
}

} // namespace reprieve
