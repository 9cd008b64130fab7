#include "actors/queue_shard.hpp"

#include "observability/tracing.hpp"
#include "state/keys.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

using self_pointer = queue_shard_actor::stateful_pointer<queue_shard_state>;

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

operation write_of_object(std::string_view tree, const object& o) {
  auto key = key_of(tree, kind_of(o), name_of(o));
  if (const auto* tier = std::get_if<priority_class>(&o))
    return write_of(std::move(key), tier);
  if (const auto* group = std::get_if<resource_group>(&o))
    return write_of(std::move(key), group);
  return write_of(std::move(key), std::get_if<queue>(&o));
}

/// Makes the newest catalog durable by these writes, then visible, then answers.
caf::result<absl::Status> commit(self_pointer self, std::vector<operation> writes) {
  auto answer = self->make_response_promise<absl::Status>();
  auto next = std::make_shared<const catalog>(self->state.newest);
  write_then(self, std::move(writes), [self, next, answer]() mutable {
    self->state.known = next;
    for (const auto& follower : self->state.followers)
      self->send(follower, catalog_update{next});
    answer.deliver(absl::OkStatus());
  });
  return answer;
}

usage_by_queue total_usage(const queue_shard_state& state) {
  usage_by_queue total;
  for (const auto& [group, used] : state.usage)
    for (const auto& [queue, amounts] : used)
      add_to(total[queue], amounts);
  return total;
}

absl::Status vote(queue_shard_state& state, const prepare<queue_parts>& asked) {
  const auto known = state.usage.find(asked.resource_group);
  if (known == state.usage.end())
    return absl::UnavailableError(
      fmt::format("the usage of resource group {} is not known yet", asked.resource_group));
  const auto before = known->second;
  for (const auto& part : asked.parts) {
    auto& used = known->second[part.queue];
    used = part.used;
    for (const auto& [resource, amount] : part.wanted)
      used[resource] -= amount;
    auto within = within_limits(state.known->queues, total_usage(state), part.queue, part.wanted);
    if (!within.ok()) {
      known->second = before;
      return within;
    }
    used = part.used;
  }
  return absl::OkStatus();
}

} // namespace

queue_shard_actor::behavior_type queue_shard(self_pointer self, queue_shard_settings settings) {
  auto& state = self->state;
  state.tree = std::move(settings.tree);
  state.newest = std::move(settings.known);
  state.known = std::make_shared<const catalog>(state.newest);
  state.ledger = self->spawn<caf::linked>(ledger, std::move(settings.ledger));
  return {
    [self](const put_catalog& wanted) -> caf::result<absl::Status> {
      std::vector<operation> writes;
      for (const auto& one : wanted.objects) {
        writes.push_back(write_of_object(self->state.tree, one));
        put_in(self->state.newest, one);
      }
      return commit(self, std::move(writes));
    },
    [self](const remove_catalog& wanted) -> caf::result<absl::Status> {
      std::vector<operation> writes;
      for (const auto& name : wanted.names) {
        writes.emplace_back(erase{just(key_of(self->state.tree, wanted.kind, name))});
        remove_from(self->state.newest, wanted.kind, name);
      }
      return commit(self, std::move(writes));
    },
    [self](follow_catalog& wanted) {
      self->send(wanted.follower, catalog_update{self->state.known});
      self->state.followers.push_back(std::move(wanted.follower));
    },
    [self](queue_usage& seen) { self->state.usage[seen.resource_group] = std::move(seen.used); },
    [self](read_usage) { return total_usage(self->state); },
    [self](const prepare<queue_parts>& asked) -> caf::result<absl::Status> {
      auto traced = start_span("queue_shard.prepare", asked.trace);
      auto voted = vote(self->state, asked);
      traced.set("vote", voted.ok() ? "yes" : std::string(voted.message()));
      return voted;
    },
  };
}

} // namespace reprieve
