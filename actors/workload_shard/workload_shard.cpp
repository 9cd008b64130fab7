#include "actors/workload_shard/workload_shard.hpp"

#include "actors/interfaces/placement_changes.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "actors/workload_shard/workload_holds.hpp"
#include "observability/tracing.hpp"
#include "state/records/keys.hpp"
#include "state/records/pod_losses.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = workload_shard_pointer;

template <class Record>
using changes_of = std::map<std::string, std::shared_ptr<Record>, std::less<>>;

constexpr const char* changed_workload = "a workload that it places is being changed";

/// New forms of records by name; null erases.
struct shard_changes {
  changes_of<workload_record> workloads;
  changes_of<disruption_budget> budgets;
  changes_of<placement> placements;
};

/// A copy of the newest form, to be changed; null where there is no such workload.
std::shared_ptr<workload_record> edit(const workload_shard_state& state, std::string_view name) {
  const auto newest = state.workloads.newest(name);
  return newest ? std::make_shared<workload_record>(*newest) : nullptr;
}

/// Whether the name is taken: by a record, be it one that can't be read.
bool has_name(const workload_shard_state& state, object_kind kind, std::string_view name,
              bool has_record) {
  return has_record || state.aside.find(kind, name) != nullptr;
}

/// Stages the changes of one table; returns their names in order.
template <class Record, class Key>
std::vector<std::string> stage(const workload_shard_state& state, object_kind kind,
                               record_table<Record>& table, changes_of<Record>& changes, Key key,
                               std::vector<ledger_entry>& writes) {
  std::vector<std::string> names;
  for (auto& [name, changed] : changes) {
    const std::shared_ptr<const Record> next = std::move(changed);
    writes.push_back(write_of(key(state.shard, name), next));
    writes.back().changes_name =
      (next != nullptr) != has_name(state, kind, name, table.newest(name) != nullptr);
    table.stage(name, next);
    names.push_back(name);
  }
  return names;
}

/// The page that stands in the workload's own record; null where there is none.
const slot_page* own_page(const slot_list& slots) {
  const auto pages = slots.pages();
  return pages.empty() || pages.front()->number != 0 ? nullptr : pages.front().get();
}

/// What of the workload's slots stands in pages of their own, and has changed. A slot goes from one
/// page to another of a higher number, which is written first: where it stands in both, that is
/// right.
std::vector<ledger_entry> page_writes(std::string_view shard, std::string_view name,
                                      const slot_list& before, const slot_list& next) {
  static const slot_list none;
  std::map<std::uint32_t, slot_list::page_pointer, std::greater<>> changed;
  const auto& stored = before.is_stored_in_pages() ? before : none;
  for (const auto& page : slot_list::difference(stored, next).next)
    if (page->number != 0)
      changed.emplace(page->number, page);
  std::vector<ledger_entry> writes;
  for (const auto& [number, page] : changed)
    writes.push_back(
      {keys::slot_page(shard, name, number), [page = page] { return encode(*page); }, false});
  return writes;
}

/// What is written of a workload whose slots may stand in pages. Its own record comes last where it
/// gives slots away, and where it goes; else first, as it counts what is done to them.
std::vector<ledger_entry> writes_of(std::string_view shard, const std::string& name,
                                    const std::shared_ptr<const workload_record>& before,
                                    const std::shared_ptr<const workload_record>& next) {
  const slot_list none{};
  const auto& slots_before = before ? before->slots : none;
  const auto key = keys::workload(shard, name);
  std::vector<ledger_entry> writes;
  if (!next) {
    if (slots_before.is_stored_in_pages())
      for (const auto& page : slots_before.pages())
        if (page->number != 0)
          writes.push_back({keys::slot_page(shard, name, page->number), {}, false});
    writes.push_back({key, {}, false});
  } else if (!next->slots.is_stored_in_pages()) {
    writes.push_back(write_of(key, next));
  } else {
    const auto* own_before = own_page(slots_before);
    const auto* own = own_page(next->slots);
    const bool gives_away =
      !slots_before.is_stored_in_pages()
      || (own_before != nullptr && own != nullptr && own->slots.size() < own_before->slots.size());
    writes = page_writes(shard, name, slots_before, next->slots);
    writes.insert(gives_away ? writes.end() : writes.begin(),
                  {key, [next] { return encode_without_pages(*next); }, false});
  }
  for (auto& one : writes)
    one.changes_name = one.key == key && (next == nullptr) != (before == nullptr);
  return writes;
}

/// Stages the changes of workloads; returns their names in order.
std::vector<std::string> stage_workloads(workload_shard_state& state,
                                         changes_of<workload_record>& changes,
                                         std::vector<ledger_entry>& writes) {
  const bool in_pages = state.ledger.settings.owner->schema() >= schema_with_slot_pages;
  std::vector<std::string> names;
  for (auto& [name, changed] : changes) {
    if (changed && in_pages && changed->slots.pages().size() > 1)
      changed->slots.store_in_pages();
    const std::shared_ptr<const workload_record> next = std::move(changed);
    const auto* aside = state.aside.find(object_kind::workload, name);
    for (auto& one : writes_of(state.shard, name, state.workloads.newest(name), next)) {
      // It takes the place of one that can't be read, and has the name already.
      one.changes_name = one.changes_name && aside == nullptr;
      writes.push_back(std::move(one));
    }
    if (aside != nullptr)
      for (const auto& key : aside->beside)
        writes.push_back({key, {}, false});
    state.workloads.stage(name, next);
    names.push_back(name);
  }
  return names;
}

/// Settles what was staged; `changed` is called with each new form.
template <class Record, class F>
std::vector<std::string> settle(record_table<Record>& table, const std::vector<std::string>& names,
                                F changed) {
  std::vector<std::string> removed;
  for (const auto& name : names) {
    if (auto record = table.settle(name))
      changed(std::move(record));
    else
      removed.push_back(name);
  }
  return removed;
}

void publish(self_pointer self, workload_delta delta) {
  auto& state = self->state;
  delta.shard = state.shard;
  delta.number = ++state.deltas;
  for (const auto& follower : state.followers)
    self->send(follower, delta);
}

/// Counts for the budgets as they are now.
void know_budgets(self_pointer self, const std::vector<disruption_budget>& changed,
                  const std::vector<std::string>& removed) {
  for (const auto& budget : changed)
    self->state.counted.put(budget);
  for (const auto& name : removed)
    self->state.counted.remove(name);
  count_for_budgets(self);
}

/// Makes the changes durable, then visible, then answers.
void commit(self_pointer self, shard_changes changes, status_answer answer,
            write_terms terms = {}) {
  auto& state = self->state;
  std::vector<ledger_entry> writes;
  auto workloads = stage_workloads(state, changes.workloads, writes);
  auto budgets = stage(state, object_kind::disruption_budget, state.budgets, changes.budgets,
                       keys::budget, writes);
  auto placements = stage(state, object_kind::placement, state.placements, changes.placements,
                          keys::placement, writes);
  const auto refused = [self, answer, workloads, budgets, placements](const absl::Status& why) {
    auto& s = self->state;
    for (const auto& name : workloads)
      s.workloads.drop(name);
    for (const auto& name : budgets)
      s.budgets.drop(name);
    for (const auto& name : placements)
      s.placements.drop(name);
    // Who was refused a vote for the change waits until something is told of these.
    workload_delta as_before;
    for (const auto& name : workloads)
      if (auto record = s.workloads.durable(name))
        as_before.changed.push_back(std::move(record));
    if (!as_before.changed.empty())
      publish(self, std::move(as_before));
    answer(why);
  };
  const bool of_bundle = !terms.lent_for.empty();
  write_then(
    self, std::move(writes),
    [self, answer, workloads = std::move(workloads), budgets = std::move(budgets),
     placements = std::move(placements), of_bundle]() mutable {
      auto& s = self->state;
      // What is written can be read from now on.
      for (const auto& name : workloads)
        s.aside.remove(object_kind::workload, name);
      for (const auto& name : budgets)
        s.aside.remove(object_kind::disruption_budget, name);
      for (const auto& name : placements)
        s.aside.remove(object_kind::placement, name);
      workload_delta delta;
      delta.of_bundle = of_bundle;
      delta.removed = settle(s.workloads, workloads,
                             [&](auto record) { delta.changed.push_back(std::move(record)); });
      delta.removed_budgets =
        settle(s.budgets, budgets, [&](const auto& record) { delta.budgets.push_back(*record); });
      delta.removed_placements = settle(
        s.placements, placements, [&](const auto& record) { delta.placements.push_back(*record); });
      know_budgets(self, delta.budgets, delta.removed_budgets);
      if (!workloads.empty() || !budgets.empty() || !placements.empty())
        publish(self, std::move(delta));
      answer(absl::OkStatus());
    },
    std::move(terms), refused);
}

std::shared_ptr<workload_record> admitted_record(self_pointer self, const workload& spec,
                                                 const resolved_priorities& priorities) {
  auto& state = self->state;
  const auto now = state.clock.now(self);
  auto record = edit(state, spec.name);
  if (!record) {
    record = std::make_shared<workload_record>();
    record->status.uid = fmt::format("{}-{:x}-{:x}", state.shard, state.epoch, ++state.uids);
    record->status.submitted = now;
  }
  if (*record->spec != spec) {
    ++record->status.generation;
    put_spec(*record, spec);
  }
  record->status.resolved = priorities.whole;
  record->status.by_group = priorities.by_group;
  note_own_priorities(*record, now);
  return record;
}

void put_changed(const workload_shard_state& state, placement next, shard_changes& changes) {
  const auto known = state.placements.newest(next.name);
  if (known && *known == next)
    return;
  const auto name = next.name;
  changes.placements[name] = std::make_shared<placement>(std::move(next));
}

/// What a decision makes of the shard's placements.
void change_counts(const workload_shard_state& state, const std::vector<count_change>& counts,
                   shard_changes& changes) {
  for (const auto& one : counts)
    put_changed(state, after(state.placements.newest(one.placement).get(), one), changes);
}

void note(self_pointer self, const note_placements& noted, status_answer answer) {
  shard_changes changes;
  for (const auto& one : noted.placements)
    if (const auto known = self->state.placements.newest(one.name))
      put_changed(self->state, remembering(*known, one), changes);
  commit(self, std::move(changes), std::move(answer));
}

void forget(self_pointer self, const forget_workloads& ended, status_answer answer) {
  shard_changes changes;
  for (const auto& name : ended.names)
    if (const auto record = self->state.workloads.newest(name); record && record->deleting)
      changes.workloads[name] = nullptr;
  commit(self, std::move(changes), std::move(answer));
}

/// Records that these pods were lost, and remembers with which nodes.
void lose(workload_record& record, const std::vector<lost_pod>& pods, time_point now) {
  note_losses(record, pods, now);
  std::vector<std::pair<pod_slot, std::uint32_t>> slots;
  for (const auto& one : pods)
    slots.emplace_back(one.slot, one.incarnation);
  lose_slots(record, slots, now);
}

void end_slots(self_pointer self, const slots_ended& ended, status_answer answer) {
  shard_changes changes;
  std::map<std::string, std::vector<lost_pod>> lost;
  for (const auto& one : ended.ends) {
    auto& next = changes.workloads.try_emplace(one.workload, nullptr).first->second;
    if (!next)
      next = edit(self->state, one.workload);
    if (next && one.lost)
      lost[one.workload].push_back({one.slot, one.incarnation, one.node, one.forgotten});
    else if (next)
      end_slot(*next, one.slot, one.incarnation, one.how);
  }
  for (const auto& [name, pods] : lost)
    lose(*changes.workloads[name], pods, self->state.clock.now(self));
  std::erase_if(changes.workloads, [&](const auto& entry) {
    return !entry.second || *entry.second == *self->state.workloads.newest(entry.first);
  });
  commit(self, std::move(changes), std::move(answer));
}

/// Whether nothing was deleted since that the workloads name.
absl::Status check_that_all_is_there(const workload_shard_state& state,
                                     const put_workloads& wanted) {
  for (const auto& [what, since] : state.gone)
    if (since == workload_shard_state::goes_now
        || (wanted.known_at != 0 && wanted.known_at < since))
      for (const auto& one : wanted.objects)
        if (const auto* w = std::get_if<workload>(&one->what);
            w != nullptr && uses(*w, what.kind, what.name))
          return used_goes({object_kind::workload, w->name}, what);
  return absl::OkStatus();
}

/// Whether each object comes to what whoever applies it is told.
bool is_as_told(const workload_shard_state& state, const put_workloads& wanted) {
  for (std::size_t i = 0; i < wanted.objects.size(); ++i) {
    const auto& what = wanted.objects[i]->what;
    const auto fits = [&](const auto& before, const auto& next) {
      return is_as_told(wanted.told, i, before.get(), next);
    };
    if (const auto* spec = std::get_if<workload>(&what)) {
      const auto known = state.workloads.newest(spec->name);
      if (!is_as_told(wanted.told, i, known ? &*known->spec : nullptr, *spec))
        return false;
    } else if (const auto* budget = std::get_if<disruption_budget>(&what)) {
      if (!fits(state.budgets.newest(budget->name), *budget))
        return false;
    } else if (const auto* share = std::get_if<placement>(&what)) {
      if (!fits(state.placements.newest(share->name), *share))
        return false;
    }
  }
  return true;
}

void put_all(self_pointer self, const put_workloads& wanted, status_answer answer,
             std::string lent_for) {
  if (is_closed(self) && !wanted.objects.empty()) {
    const auto& first = wanted.objects.front()->what;
    answer(used_goes({kind_of(first), name_of(first)},
                     {object_kind::resource_group, group_of_shard(self->state.shard)}));
    return;
  }
  for (const auto& one : wanted.objects)
    if (const auto* aside = self->state.aside.find(kind_of(one->what), name_of(one->what))) {
      refuse(self, cannot_be_made(*aside), std::move(answer));
      return;
    }
  if (auto named = check_that_all_is_there(self->state, wanted); !named.ok()) {
    refuse(self, std::move(named), std::move(answer));
    return;
  }
  if (!is_as_told(self->state, wanted)) {
    refuse(self, came_in_between(), std::move(answer));
    return;
  }
  shard_changes changes;
  for (const auto& one : wanted.objects) {
    const auto& name = name_of(one->what);
    if (const auto* spec = std::get_if<workload>(&one->what)) {
      const auto known = self->state.workloads.newest(name);
      if (known && known->deleting) {
        refuse(self,
               absl::FailedPreconditionError(fmt::format(
                 "workload {} is being deleted; apply it again when it has gone", name)),
               std::move(answer));
        return;
      }
      auto next = admitted_record(self, *spec, one->priorities.value_or(resolved_priorities{}));
      if (!known || *next != *known)
        changes.workloads[name] = std::move(next);
    } else if (const auto* budget = std::get_if<disruption_budget>(&one->what)) {
      changes.budgets[name] = std::make_shared<disruption_budget>(*budget);
    } else if (const auto* share = std::get_if<placement>(&one->what)) {
      changes.placements[name] = std::make_shared<placement>(
        admitted_over(self->state.placements.newest(name).get(), *share));
    }
  }
  commit(self, std::move(changes), std::move(answer), {{}, std::move(lent_for)});
}

/// What can't be read goes as well: whoever asks for that was asked whether to do it by force.
template <class Record>
absl::Status erase_from(const workload_shard_state& state, const record_table<Record>& table,
                        const remove_workloads& wanted, changes_of<Record>& changes) {
  for (const auto& name : wanted.names) {
    if (!has_name(state, wanted.kind, name, table.newest(name) != nullptr))
      return absl::NotFoundError(fmt::format("there is no {} {}", to_string(wanted.kind), name));
    changes[name] = nullptr;
  }
  return absl::OkStatus();
}

absl::Status mark_as_deleting(const workload_shard_state& state, const remove_workloads& wanted,
                              changes_of<workload_record>& changes) {
  for (const auto& name : wanted.names) {
    auto next = edit(state, name);
    if (const auto aside = state.salvaged.find(name);
        !next && aside != state.salvaged.end()
        && state.aside.find(object_kind::workload, name) != nullptr)
      next = std::make_shared<workload_record>(*aside->second);
    if (!next)
      return absl::NotFoundError(fmt::format("there is no workload {}", name));
    next->deleting = true;
    changes[name] = std::move(next);
  }
  return absl::OkStatus();
}

void remove(self_pointer self, const remove_workloads& wanted, status_answer answer,
            std::string lent_for) {
  auto& state = self->state;
  shard_changes changes;
  absl::Status found;
  if (wanted.kind == object_kind::disruption_budget)
    found = erase_from(state, state.budgets, wanted, changes.budgets);
  else if (wanted.kind == object_kind::placement)
    found = erase_from(state, state.placements, wanted, changes.placements);
  else
    found = mark_as_deleting(state, wanted, changes.workloads);
  if (found.ok())
    commit(self, std::move(changes), std::move(answer), {{}, std::move(lent_for)});
  else
    refuse(self, std::move(found), std::move(answer));
}

/// One of all that is there, as people call it; empty where nothing is.
std::optional<object_reference> some_in(const workload_shard_state& state) {
  if (auto name = state.workloads.any(); !name.empty())
    return object_reference{object_kind::workload, std::move(name)};
  if (auto name = state.budgets.any(); !name.empty())
    return object_reference{object_kind::disruption_budget, std::move(name)};
  if (auto name = state.placements.any(); !name.empty())
    return object_reference{object_kind::placement, std::move(name)};
  if (!state.aside.empty()) {
    const auto& one = state.aside.begin()->second;
    return object_reference{one.kind, one.name};
  }
  return std::nullopt;
}

/// The first workload that names it, be it on its way.
std::optional<object_reference> user_of(const workload_shard_state& state,
                                        const object_reference& what) {
  for (const auto& name : state.workloads.names())
    if (const auto record = state.workloads.newest(name);
        record && uses(record->spec, what.kind, what.name))
      return object_reference{object_kind::workload, name};
  return std::nullopt;
}

/// Entries of the catalog go, if nobody names them: nor does anybody later who was let in before.
caf::result<lent_result> let_go(self_pointer self, const lend<close_shard>& wanted) {
  return lend_for(self, wanted, [self, wanted](status_answer answer) {
    auto& state = self->state;
    std::map<object_reference, revision> before;
    for (const auto& name : wanted.change.names) {
      const object_reference what{wanted.change.kind, name};
      if (const auto user = user_of(state, what)) {
        answer(in_use(what, *user));
        return;
      }
      before[what] = state.gone.contains(what) ? state.gone[what] : 0;
    }
    for (const auto& [what, since] : before)
      state.gone[what] = workload_shard_state::goes_now;
    const auto settle = [self, before](revision at) {
      for (const auto& [what, since] : before)
        if (at != 0 || since != 0)
          self->state.gone[what] = at != 0 ? at : since;
        else
          self->state.gone.erase(what);
    };
    write_then(
      self, {},
      [self, settle, answer] {
        settle(self->state.ledger.settings.sequence_revision);
        answer(absl::OkStatus());
      },
      {{}, wanted.bundle},
      [settle, answer](const absl::Status& why) {
        settle(0);
        answer(why);
      });
  });
}

/// Makes a change of these workloads when decisions that place them are given up, and nothing is
/// lent by then.
void change_unlent(self_pointer self, std::vector<std::string> workloads,
                   std::function<void()> change) {
  auto go_on = [self, workloads, change = std::move(change)] {
    if (self->state.ledger.lends == 0)
      change();
    else
      when_nothing_is_lent(self,
                           [self, workloads, change] { change_unlent(self, workloads, change); });
  };
  change_when_free(self, std::move(workloads), changed_workload, std::move(go_on));
}

void put_when_free(self_pointer self, put_workloads wanted, status_answer answer,
                   std::string lent_for = {}) {
  std::vector<std::string> workloads;
  for (const auto& one : wanted.objects)
    if (std::holds_alternative<workload>(one->what))
      workloads.push_back(name_of(one->what));
  change_unlent(self, std::move(workloads),
                [self, answer = std::move(answer), wanted = std::move(wanted),
                 lent_for = std::move(lent_for)] { put_all(self, wanted, answer, lent_for); });
}

void remove_when_free(self_pointer self, remove_workloads wanted, status_answer answer,
                      std::string lent_for = {}) {
  auto workloads = wanted.kind == object_kind::workload ? wanted.names : std::vector<std::string>{};
  change_unlent(self, std::move(workloads),
                [self, answer = std::move(answer), wanted = std::move(wanted),
                 lent_for = std::move(lent_for)] { remove(self, wanted, answer, lent_for); });
}

/// The decision's effect on each workload that is still there, done by `each`.
template <class F>
shard_changes change_evicted(const workload_shard_state& state,
                             const std::map<std::string, std::vector<portion_id>>& portions,
                             F each) {
  shard_changes changes;
  for (const auto& [name, evicted] : portions)
    if (auto next = edit(state, name)) {
      each(*next, evicted);
      if (*next != *state.workloads.newest(name))
        changes.workloads[name] = std::move(next);
    }
  return changes;
}

/// Those of the portions that stand as they were when the decision was made. Of others it took what
/// it names before, however often it is carried out.
std::vector<portion_id> still_there(const workload_shard_state& state, const workload_part& part) {
  const auto record = state.workloads.newest(part.workload);
  auto portions = part.evicted;
  const std::set<std::string, std::less<>> pods{part.evicted_pods.begin(), part.evicted_pods.end()};
  if (record && !pods.empty() && planted != planted_bug::any_incarnation)
    std::erase_if(portions,
                  [&](const portion_id& one) { return !takes_any_of(*record, one, pods); });
  return portions;
}

void lose_replicas(self_pointer self, const apply_parts<workload_parts>& committed,
                   shard_changes& changes) {
  for (const auto& part : committed.parts.workloads) {
    if (!part.loses_replicas)
      continue;
    auto& next = changes.workloads.try_emplace(part.workload, nullptr).first->second;
    if (!next)
      next = edit(self->state, part.workload);
    if (next)
      lose_replicas(*next, committed.decision, self->state.clock.now(self));
    if (!next || *next == *self->state.workloads.newest(part.workload))
      changes.workloads.erase(part.workload);
  }
}

/// Records who goes and who comes back by the decision.
void carry_out(self_pointer self, const apply_parts<workload_parts>& committed,
               status_answer answer) {
  auto traced = start_span("workload_shard.apply", committed.trace);
  if (!committed.parts.budgets.empty())
    self->state.evicting[committed.decision] = committed.parts.budgets;
  std::map<std::string, std::vector<portion_id>> evicted;
  for (const auto& part : committed.parts.workloads)
    if (auto portions = still_there(self->state, part); !portions.empty())
      evicted[part.workload] = std::move(portions);
  const auto now = self->state.clock.now(self);
  auto changes =
    change_evicted(self->state, evicted, [&](workload_record& record, const auto& portions) {
      evict(record, portions, committed.decision, now);
    });
  lose_replicas(self, committed, changes);
  // Somebody may have set other counts since they were set for this decision.
  const bool counts = !committed.parts.counts.empty();
  if (counts && !self->state.ledger.carried_out.contains(committed.decision))
    change_counts(self->state, committed.parts.counts, changes);
  // Something has to be written where an abort may be on its way, to keep it out.
  const auto held = self->state.holds.held.find(committed.decision);
  const bool writes = counts || (held != self->state.holds.held.end() && held->second.is_aborting);
  commit(self, std::move(changes), std::move(answer), writes ? committed.decision : std::string{});
  self->state.holds.erase(committed.decision);
}

/// Takes back what the decision did to victims that were not told.
void take_back_effects(self_pointer self, const withdraw& dropped, const status_answer& answer) {
  auto traced = start_span("workload_shard.withdraw", dropped.trace);
  self->state.evicting.erase(dropped.decision);
  self->state.holds.aborted_here.erase(dropped.decision);
  self->state.holds.erase(dropped.decision);
  std::map<std::string, std::vector<portion_id>> reprieved;
  std::vector<std::string> workloads;
  for (const auto& portion : dropped.reprieved) {
    auto& portions = reprieved[portion.workload];
    if (portions.empty())
      workloads.push_back(portion.workload);
    portions.push_back(portion);
  }
  // Somebody may be about to place pods instead of those who stay after all.
  change_unlent(self, std::move(workloads),
                [self, answer, decision = dropped.decision, reprieved = std::move(reprieved)] {
                  commit(self,
                         change_evicted(self->state, reprieved,
                                        [&](workload_record& record, const auto& portions) {
                                          reprieve_portions(record, portions, decision);
                                        }),
                         answer);
                });
}

} // namespace

workload_shard_actor::behavior_type workload_shard(self_pointer self,
                                                   workload_shard_settings settings) {
  auto& state = self->state;
  state.shard = std::move(settings.shard);
  state.workloads = record_table<workload_record>{std::move(settings.workloads)};
  state.budgets = record_table<disruption_budget>{std::move(settings.budgets)};
  state.placements = record_table<placement>{std::move(settings.placements)};
  state.aside = std::move(settings.aside);
  state.salvaged = std::move(settings.salvaged);
  state.epoch = settings.ledger.owner->lasting_epoch();
  state.holds =
    holds_of<workload_parts>(state.shard, settings.ledger, settings.hold_time, settings.clock);
  state.holds.gone = [self](const std::string&, const workload_parts&) { continue_changes(self); };
  state.ledger = ledger{std::move(settings.ledger)};
  state.clock = settings.clock;
  for (const auto& [name, budget] : state.budgets.durable())
    state.counted.put(*budget);
  self->set_down_handler(
    [self](const caf::down_msg& down) { drop_follower(self->state.followers, down); });
  return {
    [self](put_workloads& wanted) -> caf::result<absl::Status> {
      return answer_when_nothing_is_lent(self, [self, wanted = std::move(wanted)](auto answer) {
        put_when_free(self, wanted, answer);
      });
    },
    [self](remove_workloads& wanted) -> caf::result<absl::Status> {
      return answer_when_nothing_is_lent(self, [self, wanted = std::move(wanted)](auto answer) {
        remove_when_free(self, wanted, answer);
      });
    },
    [self](lend<put_workloads>& wanted) -> caf::result<lent_result> {
      return lend_for(self, wanted, [self, wanted](status_answer answer) {
        put_when_free(self, wanted.change, std::move(answer), wanted.bundle);
      });
    },
    [self](lend<remove_workloads>& wanted) -> caf::result<lent_result> {
      return lend_for(self, wanted, [self, wanted](status_answer answer) {
        remove_when_free(self, wanted.change, std::move(answer), wanted.bundle);
      });
    },
    [self](const lend<close_shard>& wanted) -> caf::result<lent_result> {
      return wanted.change.names.empty()
               ? close_for(self, wanted, [self] { return some_in(self->state); })
               : let_go(self, wanted);
    },
    [self](const lent_end& end) -> caf::result<absl::Status> { return end_lent(self, end); },
    [self](forget_workloads& ended) {
      return answer_when_nothing_is_lent(
        self, [self, ended = std::move(ended)](auto answer) { forget(self, ended, answer); });
    },
    [self](slots_ended& ended) {
      return answer_when_nothing_is_lent(
        self, [self, ended = std::move(ended)](auto answer) { end_slots(self, ended, answer); });
    },
    [self](follow_workloads& wanted) {
      auto& s = self->state;
      workload_delta everything;
      everything.shard = s.shard;
      everything.number = ++s.deltas;
      everything.everything = true;
      for (const auto& [name, record] : s.workloads.durable())
        everything.changed.push_back(record);
      for (const auto& [name, record] : s.budgets.durable())
        everything.budgets.push_back(*record);
      for (const auto& [name, record] : s.placements.durable())
        everything.placements.push_back(*record);
      everything.aside = s.aside.all();
      self->send(wanted.follower, std::move(everything));
      add_follower(self, s.followers, std::move(wanted.follower));
    },
    [self](const prepare<workload_parts>& asked) -> caf::result<absl::Status> {
      auto traced = start_span("workload_shard.prepare", asked.trace);
      auto voted = vote(self, asked);
      traced.set("vote", voted.ok() ? "yes" : std::string(voted.message()));
      return voted;
    },
    [self](const release_hold& dropped) {
      self->state.evicting.erase(dropped.decision);
      release(self, dropped.decision);
    },
    [self](apply_parts<workload_parts>& committed) {
      return answer_when_nothing_is_lent(self,
                                         [self, committed = std::move(committed)](auto answer) {
                                           carry_out(self, committed, std::move(answer));
                                         });
    },
    [self](withdraw& dropped) {
      return answer_when_nothing_is_lent(self, [self, dropped = std::move(dropped)](auto answer) {
        take_back_effects(self, dropped, std::move(answer));
      });
    },
    [self](note_placements& noted) {
      return answer_when_nothing_is_lent(
        self, [self, noted = std::move(noted)](auto answer) { note(self, noted, answer); });
    },
    [self](meet_nodes& there) {
      auto& s = self->state;
      if (s.nodes == there.shards)
        return;
      // Who was followed before sends everything again, as others may have begun anew.
      s.nodes = std::move(there.shards);
      s.counted.forget_nodes();
      s.counted_nodes.clear();
      s.follows_nodes = false;
      count_for_budgets(self);
    },
    [self](node_delta& delta) { count(self, delta); },
    [self](look_at_holds) { take_back_due_holds(self); },
    [self](const drop_votes& order) {
      drop_earlier_votes(self, order);
      // What it would have taken from budgets, nobody takes.
      std::erase_if(self->state.evicting, [&](const auto& one) {
        return epoch_of_decision(one.first) < order.before && !order.open.contains(one.first);
      });
    },
    [self](count_holds) { return self->state.holds.held.size(); },
    [self](confirm_ownership) { return confirm_shard(self); },
    [self](ledger_flush) { flush_ledger(self); },
    [self](ledger_retry due) { retry_ledger(self, due); },
  };
}

} // namespace reprieve
