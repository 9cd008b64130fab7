#include "actors/workload_shard/workload_writes.hpp"

#include "actors/workload_shard/workload_budgets.hpp"
#include "state/records/keys.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace reprieve {

namespace {

using self_pointer = workload_shard_pointer;

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

} // namespace

std::shared_ptr<workload_record> edit(const workload_shard_state& state, std::string_view name) {
  const auto newest = state.workloads.newest(name);
  return newest ? std::make_shared<workload_record>(*newest) : nullptr;
}

bool has_name(const workload_shard_state& state, object_kind kind, std::string_view name,
              bool has_record) {
  return has_record || state.aside.find(kind, name) != nullptr;
}

void write_changes(self_pointer self, shard_changes changes, status_answer answer,
                   write_terms terms) {
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

} // namespace reprieve
