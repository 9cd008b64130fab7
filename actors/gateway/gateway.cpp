#include "actors/gateway/gateway.hpp"

#include "actors/gateway/gateway_admission.hpp"
#include "actors/gateway/gateway_apply.hpp"
#include "actors/gateway/gateway_backup.hpp"
#include "actors/gateway/gateway_catalog.hpp"
#include "actors/gateway/gateway_delete.hpp"
#include "actors/gateway/gateway_explanation.hpp"
#include "actors/gateway/gateway_get.hpp"
#include "actors/gateway/gateway_heartbeats.hpp"
#include "actors/gateway/gateway_routes.hpp"
#include "actors/gateway/gateway_snapshot.hpp"
#include "actors/gateway/gateway_writing.hpp"
#include "state/membership/membership_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

/// Follows the shards that are new in the directory.
void follow_new(self_pointer self, const std::shared_ptr<const directory>& next) {
  auto& state = self->state;
  if (!state.serving || state.serving->queues != next->queues)
    self->send(next->queues, follow_catalog{self});
  const auto is_new = [](const auto& known, const auto& shard) {
    return std::ranges::find(known, shard) == known.end();
  };
  std::set<std::string> unheard;
  for (const auto& [name, group] : next->groups) {
    const auto* before = group_named(state, name);
    const auto known = before == nullptr ? group_shards{} : before->shards;
    const auto follow = [&](const auto& shards, const auto& earlier, char kind, auto wanted) {
      for (std::uint32_t k = 0; k < shards.size(); ++k) {
        auto shard = fmt::format("{}/{}", kind, shard_name(name, k));
        if (is_new(earlier, shards[k]))
          self->send(shards[k], wanted);
        else if (!state.unheard.contains(shard))
          continue;
        unheard.insert(std::move(shard));
      }
    };
    follow(group.shards.nodes, known.nodes, 'n', follow_nodes{self});
    follow(group.shards.workloads, known.workloads, 'w', follow_workloads{self});
  }
  state.unheard = std::move(unheard);
  state.serving = next;
}

void use_directory(self_pointer self, const directory_update& update) {
  follow_new(self, update.serving);
  look_at_groups(self->state);
}

caf::result<event_list> pass_on(self_pointer self, read_events& wanted) {
  if (!self->state.serving)
    return event_list{};
  return self->delegate(self->state.serving->events, std::move(wanted));
}

caf::result<event_page> pass_on(self_pointer self, next_events wanted) {
  if (!self->state.serving)
    return event_page{};
  return self->delegate(self->state.serving->events, wanted);
}

} // namespace

private_gateway_actor::behavior_type limited_gateway(self_pointer self, gateway_limits limits) {
  self->state.limits = limits;
  return gateway(self);
}

private_gateway_actor::behavior_type gateway(self_pointer self) {
  self->state.started = self->clock().now();
  return {
    [self](apply_request& wanted) { return apply_all(self, wanted); },
    [self](const get_request& wanted) { return get(self, wanted); },
    [self](const describe_request& wanted) { return describe(self, wanted); },
    [self](const delete_request& wanted) { return delete_all(self, wanted); },
    [self](const explain_request& wanted) { return explain(self, wanted); },
    [self](heartbeat_request& alive) { return pass_on(self, alive); },
    [self](backup_page_request& wanted) { return read_backup(self, std::move(wanted)); },
    [self](snapshot_request) { return take_snapshot(self); },
    [self](read_events& wanted) { return pass_on(self, wanted); },
    [self](next_events wanted) { return pass_on(self, wanted); },
    [self](const directory_update& update) { use_directory(self, update); },
    [self](node_delta& delta) { apply_delta(self->state, delta); },
    [self](workload_delta& delta) { apply_delta(self->state, delta); },
    [self](catalog_update& update) { apply_catalog(self, update); },
    [](const to_do_later& later) { later.with(); },
  };
}

} // namespace reprieve
