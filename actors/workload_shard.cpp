#include "actors/workload_shard.hpp"

#include "observability/tracing.hpp"
#include "state/keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = workload_shard_actor::stateful_pointer<workload_shard_state>;

template <class Record>
using changes_of = std::map<std::string, std::shared_ptr<Record>, std::less<>>;

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

/// Stages the changes of one table; returns their names in order.
template <class Record, class Key>
std::vector<std::string> stage(record_table<Record>& table, changes_of<Record>& changes,
                               std::string_view shard, Key key, std::vector<operation>& writes) {
  std::vector<std::string> names;
  for (auto& [name, next] : changes) {
    writes.push_back(write_of(key(shard, name), next.get()));
    table.stage(name, std::move(next));
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

/// Makes the changes durable, then visible, then answers.
caf::result<absl::Status> commit(self_pointer self, shard_changes changes) {
  auto& state = self->state;
  std::vector<operation> writes;
  auto workloads = stage(state.workloads, changes.workloads, state.shard, keys::workload, writes);
  auto budgets = stage(state.budgets, changes.budgets, state.shard, keys::budget, writes);
  auto placements =
    stage(state.placements, changes.placements, state.shard, keys::placement, writes);
  auto answer = self->make_response_promise<absl::Status>();
  write_then(self, std::move(writes),
             [self, answer, workloads = std::move(workloads), budgets = std::move(budgets),
              placements = std::move(placements)]() mutable {
               auto& s = self->state;
               workload_delta delta;
               delta.removed = settle(s.workloads, workloads, [&](auto record) {
                 delta.changed.push_back(std::move(record));
               });
               delta.removed_budgets = settle(
                 s.budgets, budgets, [&](const auto& record) { delta.budgets.push_back(*record); });
               delta.removed_placements = settle(s.placements, placements, [&](const auto& record) {
                 delta.placements.push_back(*record);
               });
               if (!workloads.empty() || !budgets.empty() || !placements.empty())
                 publish(self, std::move(delta));
               answer.deliver(absl::OkStatus());
             });
  return answer;
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
  if (record->spec != spec)
    ++record->status.generation;
  record->spec = spec;
  record->status.resolved = priorities.whole;
  record->status.by_group = priorities.by_group;
  note_own_priorities(*record, now);
  return record;
}

caf::result<absl::Status> put_all(self_pointer self, const put_workloads& wanted) {
  shard_changes changes;
  for (const auto& one : wanted.objects) {
    const auto& name = name_of(one.what);
    if (const auto* spec = std::get_if<workload>(&one.what)) {
      const auto known = self->state.workloads.newest(name);
      if (known && known->deleting)
        return absl::FailedPreconditionError(
          fmt::format("workload {} is being deleted; apply it again when it has gone", name));
      auto next = admitted_record(self, *spec, one.priorities.value_or(resolved_priorities{}));
      if (!known || *next != *known)
        changes.workloads[name] = std::move(next);
    } else if (const auto* budget = std::get_if<disruption_budget>(&one.what)) {
      changes.budgets[name] = std::make_shared<disruption_budget>(*budget);
    } else if (const auto* share = std::get_if<placement>(&one.what)) {
      changes.placements[name] = std::make_shared<placement>(*share);
    }
  }
  return commit(self, std::move(changes));
}

template <class Record>
absl::Status erase_from(const record_table<Record>& table, const remove_workloads& wanted,
                        changes_of<Record>& changes) {
  for (const auto& name : wanted.names) {
    if (!table.newest(name))
      return absl::NotFoundError(fmt::format("there is no {} {}", to_string(wanted.kind), name));
    changes[name] = nullptr;
  }
  return absl::OkStatus();
}

caf::result<absl::Status> remove(self_pointer self, const remove_workloads& wanted) {
  auto& state = self->state;
  shard_changes changes;
  absl::Status found = absl::OkStatus();
  if (wanted.kind == object_kind::disruption_budget)
    found = erase_from(state.budgets, wanted, changes.budgets);
  else if (wanted.kind == object_kind::placement)
    found = erase_from(state.placements, wanted, changes.placements);
  else
    for (const auto& name : wanted.names) {
      auto next = edit(state, name);
      if (!next)
        return absl::NotFoundError(fmt::format("there is no workload {}", name));
      next->deleting = true;
      changes.workloads[name] = std::move(next);
    }
  if (!found.ok())
    return found;
  return commit(self, std::move(changes));
}

absl::Status vote(const workload_shard_state& state, const prepare<workload_part>& asked) {
  for (const auto& part : asked.parts) {
    const auto record = state.workloads.newest(part.workload);
    if (!record)
      return absl::FailedPreconditionError(fmt::format("workload {} is gone", part.workload));
    if (part.generation != 0 && (record->deleting || record->status.generation != part.generation))
      return absl::FailedPreconditionError(
        fmt::format("workload {} has changed since the plan was made", part.workload));
  }
  return absl::OkStatus();
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

} // namespace

workload_shard_actor::behavior_type workload_shard(self_pointer self,
                                                   workload_shard_settings settings) {
  auto& state = self->state;
  state.shard = std::move(settings.shard);
  state.workloads = record_table<workload_record>{std::move(settings.workloads)};
  state.budgets = record_table<disruption_budget>{std::move(settings.budgets)};
  state.placements = record_table<placement>{std::move(settings.placements)};
  state.epoch = settings.ledger.epoch;
  state.ledger = self->spawn<caf::linked>(ledger, std::move(settings.ledger));
  state.clock = settings.clock;
  return {
    [self](const put_workloads& wanted) -> caf::result<absl::Status> {
      return put_all(self, wanted);
    },
    [self](const remove_workloads& wanted) -> caf::result<absl::Status> {
      return remove(self, wanted);
    },
    [self](const forget_workload& ended) -> caf::result<absl::Status> {
      shard_changes changes;
      const auto record = self->state.workloads.newest(ended.name);
      if (record && record->deleting)
        changes.workloads[ended.name] = nullptr;
      return commit(self, std::move(changes));
    },
    [self](const slot_ended& ended) -> caf::result<absl::Status> {
      shard_changes changes;
      if (auto next = edit(self->state, ended.workload)) {
        end_slot(*next, ended.slot, ended.incarnation, ended.how);
        if (*next != *self->state.workloads.newest(ended.workload))
          changes.workloads[ended.workload] = std::move(next);
      }
      return commit(self, std::move(changes));
    },
    [self](follow_workloads& wanted) {
      auto& s = self->state;
      workload_delta everything;
      everything.shard = s.shard;
      everything.number = ++s.deltas;
      for (const auto& [name, record] : s.workloads.durable())
        everything.changed.push_back(record);
      for (const auto& [name, record] : s.budgets.durable())
        everything.budgets.push_back(*record);
      for (const auto& [name, record] : s.placements.durable())
        everything.placements.push_back(*record);
      self->send(wanted.follower, std::move(everything));
      s.followers.push_back(std::move(wanted.follower));
    },
    [self](const prepare<workload_part>& asked) -> caf::result<absl::Status> {
      auto traced = start_span("workload_shard.prepare", asked.trace);
      auto voted = vote(self->state, asked);
      traced.set("vote", voted.ok() ? "yes" : std::string(voted.message()));
      return voted;
    },
    [self](const apply_part<workload_part>& committed) -> caf::result<absl::Status> {
      auto traced = start_span("workload_shard.apply", committed.trace);
      std::map<std::string, std::vector<portion_id>> evicted;
      for (const auto& part : committed.parts)
        evicted[part.workload] = part.evicted;
      const auto now = self->state.clock.now(self);
      return commit(self, change_evicted(self->state, evicted,
                                         [&](workload_record& record, const auto& portions) {
                                           evict(record, portions, committed.decision, now);
                                         }));
    },
    [self](const withdraw& dropped) -> caf::result<absl::Status> {
      auto traced = start_span("workload_shard.withdraw", dropped.trace);
      std::map<std::string, std::vector<portion_id>> reprieved;
      for (const auto& portion : dropped.reprieved)
        reprieved[portion.workload].push_back(portion);
      return commit(self, change_evicted(self->state, reprieved,
                                         [&](workload_record& record, const auto& portions) {
                                           reprieve_portions(record, portions, dropped.decision);
                                         }));
    },
  };
}

} // namespace reprieve
