#include "actors/workload_shard/workload_specs.hpp"

#include "actors/interfaces/placement_changes.hpp"
#include "actors/workload_shard/workload_closing.hpp"
#include "actors/workload_shard/workload_holds.hpp"
#include "actors/workload_shard/workload_writes.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

using self_pointer = workload_shard_pointer;

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
  write_changes(self, std::move(changes), std::move(answer), {{}, std::move(lent_for)});
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
    write_changes(self, std::move(changes), std::move(answer), {{}, std::move(lent_for)});
  else
    refuse(self, std::move(found), std::move(answer));
}

} // namespace

void put_when_free(self_pointer self, put_workloads wanted, status_answer answer,
                   std::string lent_for) {
  std::vector<std::string> workloads;
  for (const auto& one : wanted.objects)
    if (std::holds_alternative<workload>(one->what))
      workloads.push_back(name_of(one->what));
  change_unlent(self, std::move(workloads),
                [self, answer = std::move(answer), wanted = std::move(wanted),
                 lent_for = std::move(lent_for)] { put_all(self, wanted, answer, lent_for); });
}

void remove_when_free(self_pointer self, remove_workloads wanted, status_answer answer,
                      std::string lent_for) {
  auto workloads = wanted.kind == object_kind::workload ? wanted.names : std::vector<std::string>{};
  change_unlent(self, std::move(workloads),
                [self, answer = std::move(answer), wanted = std::move(wanted),
                 lent_for = std::move(lent_for)] { remove(self, wanted, answer, lent_for); });
}

} // namespace reprieve
