#include "actors/queue_shard.hpp"

#include "actors/queue_stage_runner.hpp"
#include "state/admission.hpp"
#include "state/keys.hpp"

namespace reprieve {

namespace {

using self_pointer = queue_shard_pointer;

std::string key_of(std::string_view tree, object_kind kind, std::string_view name) {
  switch (kind) {
  case object_kind::priority_class:
    return keys::priority_class(tree, name);
  case object_kind::resource_group:
    return keys::resource_group(tree, name);
  default:
    return keys::queue(tree, name);
  }
}

ledger_entry write_of_object(std::string_view tree, const object& o) {
  auto key = key_of(tree, kind_of(o), name_of(o));
  if (const auto* tier = std::get_if<priority_class>(&o))
    return write_of(std::move(key), tier);
  if (const auto* group = std::get_if<resource_group>(&o))
    return write_of(std::move(key), group);
  return write_of(std::move(key), std::get_if<queue>(&o));
}

/// Brings these back to what they are in the durable catalog.
void take_back(catalog& newest, const catalog& known,
               const std::vector<object_reference>& changed) {
  const auto restore = [&](const auto& entries, const object_reference& one) {
    if (const auto* before = find(entries, one.name))
      put_in(newest, object{*before});
    else
      remove_from(newest, one.kind, one.name);
  };
  for (const auto& one : changed)
    if (one.kind == object_kind::priority_class)
      restore(known.classes, one);
    else if (one.kind == object_kind::resource_group)
      restore(known.groups, one);
    else
      restore(known.queues, one);
}

/// Makes the newest catalog durable by these writes of `changed`, then visible, then answers.
caf::result<absl::Status> commit(self_pointer self, std::vector<ledger_entry> writes,
                                 std::vector<object_reference> changed) {
  auto answer = promise_from<absl::Status>(self);
  auto next = std::make_shared<const catalog>(self->state.newest);
  write_then(
    self, std::move(writes),
    [self, next, answer]() mutable {
      self->state.known = next;
      for (const auto& follower : self->state.followers)
        self->send(follower, catalog_update{next});
      stage_is_due(self);
      answer.deliver(absl::OkStatus());
    },
    {},
    [self, answer, changed = std::move(changed)](const absl::Status& why) {
      take_back(self->state.newest, *self->state.known, changed);
      answer.deliver(why);
    });
  return answer;
}

/// Whether a coordinator of a later epoch has spoken for the group.
bool is_outdated(queue_shard_state::participant& group, revision epoch) {
  if (epoch < group.epoch)
    return true;
  group.epoch = epoch;
  return false;
}

/// As the stage found the queues last; before it has run for the first time, as they were left.
by_name<queue_status> statuses_now(const queue_shard_state& state) {
  auto found = state.statuses;
  for (const auto& [name, record] : state.quota)
    found.try_emplace(name, queue_status{{}, record.allocated, {}, record.preempting});
  return found;
}

void tell_sizes(self_pointer self) {
  if (!self->state.counter)
    return;
  groups_counted counted;
  for (const auto& [name, group] : self->state.groups)
    if (group.has_told)
      counted.nodes[name] = group.told.nodes;
  self->send(self->state.counter, std::move(counted));
}

} // namespace

queue_shard_actor::behavior_type queue_shard(self_pointer self, queue_shard_settings settings) {
  auto& state = self->state;
  state.tree = std::move(settings.tree);
  state.newest = std::move(settings.known);
  state.known = std::make_shared<const catalog>(state.newest);
  state.quota = std::move(settings.quota);
  state.newest_quota = state.quota;
  state.ledger = ledger{std::move(settings.ledger)};
  state.clock = settings.clock;
  state.counter = std::move(settings.counter);
  self->set_down_handler(
    [self](const caf::down_msg& down) { drop_follower(self->state.followers, down); });
  return {
    [self](const put_catalog& wanted) -> caf::result<absl::Status> {
      std::vector<ledger_entry> writes;
      std::vector<object_reference> changed;
      for (const auto& one : wanted.objects) {
        writes.push_back(write_of_object(self->state.tree, one));
        changed.push_back({kind_of(one), name_of(one)});
        put_in(self->state.newest, one);
      }
      return commit(self, std::move(writes), std::move(changed));
    },
    [self](const remove_catalog& wanted) -> caf::result<absl::Status> {
      std::vector<ledger_entry> writes;
      std::vector<object_reference> changed;
      for (const auto& name : wanted.names) {
        writes.push_back({key_of(self->state.tree, wanted.kind, name), {}});
        changed.push_back({wanted.kind, name});
        remove_from(self->state.newest, wanted.kind, name);
      }
      return commit(self, std::move(writes), std::move(changed));
    },
    [self](follow_catalog& wanted) {
      self->send(wanted.follower, catalog_update{self->state.known});
      add_follower(self, self->state.followers, std::move(wanted.follower));
    },
    [self](follow_quota& wanted) {
      auto& group = self->state.groups[wanted.resource_group];
      if (is_outdated(group, wanted.epoch))
        return;
      group.holder = std::move(wanted.holder);
      ++group.holders;
      group.lowering = false;
      tell_grants(self, wanted.resource_group);
    },
    [self](quota_report& told) {
      auto& group = self->state.groups[told.resource_group];
      if (is_outdated(group, told.epoch) || (group.has_told && group.told == told))
        return;
      const bool other_size = group.told.nodes != told.nodes;
      group.told = std::move(told);
      group.has_told = true;
      if (other_size)
        tell_sizes(self);
      stage_is_due(self);
    },
    [self](read_queues) { return statuses_now(self->state); },
    [self](run_stage) { start_stage(self); },
    [self](confirm_ownership) { return confirm(self->state.ledger); },
    [self](ledger_flush) { flush_ledger(self); },
    [self](ledger_retry due) { retry_ledger(self, due); },
  };
}

} // namespace reprieve
