#include "actors/replica_parts.hpp"

#include "state/keys.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = replica_pointer;

/// The group of a shard such as `n/default.3`, or of a coordinator such as `c/default`.
std::string group_of(std::string_view shard) {
  const auto name = shard.substr(2);
  return std::string(shard.starts_with("c/") ? name : name.substr(0, name.rfind('.')));
}

ledger_settings ledger_for(const replica_state& state, const std::string& shard,
                           const shard_contents& from) {
  ledger_settings settings;
  settings.shard = shard;
  settings.owner = state.ground;
  settings.store = state.store;
  if (from.sequence) {
    settings.sequence_revision = from.sequence->modified;
    if (const auto record = decode<sequence_record>(from.sequence->value); record.ok())
      settings.sequence = record->number;
  }
  return settings;
}

/// Keeps an eye on one that runs here.
template <class Handle>
Handle keep(self_pointer self, const std::string& shard, Handle started) {
  auto& state = self->state;
  self->monitor(started);
  state.running[started.address()] = shard;
  state.to_end->insert(caf::actor_cast<caf::strong_actor_ptr>(started));
  return started;
}

const resource_group* settings_of(const replica_state& state, const std::string& group) {
  return state.catalog_known ? find(state.catalog_known->groups, group) : nullptr;
}

/// All shards of a group, as far as they are there; true where all are.
bool find_shards(const replica_state& state, const std::string& group, group_shards& found) {
  if (!state.schema || !state.ground)
    return false;
  found.queues = state.queues;
  for (std::uint32_t k = 0; k < state.schema->workload_shards; ++k) {
    const auto shard = state.workloads.find("w/" + shard_name(group, k));
    if (shard == state.workloads.end())
      return false;
    found.workloads.push_back(shard->second);
    found.workload_owners.push_back(state.ground);
  }
  for (std::uint32_t k = 0; k < state.schema->node_shards; ++k) {
    const auto shard = state.nodes.find("n/" + shard_name(group, k));
    if (shard == state.nodes.end())
      return false;
    found.nodes.push_back(shard->second);
    found.node_owners.push_back(state.ground);
  }
  return true;
}

bool same_shards(const group_shards& a, const group_shards& b) {
  return a.nodes == b.nodes && a.workloads == b.workloads;
}

/// Shards of a group meet whenever one of them is another.
void introduce(self_pointer self, const group_shards& shards) {
  const std::vector<node_feed_actor> feeds{shards.nodes.begin(), shards.nodes.end()};
  for (const auto& shard : shards.workloads)
    self->send(shard, meet_nodes{feeds});
  for (const auto& shard : shards.nodes)
    self->send(shard, meet_workloads{shards.workloads});
}

void start_coordinator(self_pointer self, const std::string& shard, const group_shards& shards,
                       shard_contents& from) {
  auto& state = self->state;
  const auto& ours = state.settings;
  introduce(self, shards);
  state.coordinators[shard] = keep(
    self, shard,
    self->spawn(coordinator, coordinator_settings{group_of(shard), shards, state.store,
                                                  state.ground, state.events, ours.clock,
                                                  std::move(from.open), ours.most_domains_told}));
  state.built_with[shard] = shards;
}

void start_node_shard(self_pointer self, const std::string& shard, shard_contents& from) {
  auto& state = self->state;
  const auto& ours = state.settings;
  node_shard_settings settings;
  settings.shard = shard.substr(2);
  settings.records = std::move(from.nodes);
  settings.ledger = ledger_for(state, shard, from);
  settings.cluster = ours.cluster;
  settings.hold_time = ours.hold_time;
  settings.clock = ours.clock;
  settings.events = state.events;
  if (const auto* group = settings_of(state, group_of(shard))) {
    settings.force_delete_after = group->force_delete_after;
    settings.heartbeat_timeout = group->heartbeat_timeout;
  }
  state.nodes[shard] = keep(self, shard, self->spawn(node_shard, std::move(settings)));
}

} // namespace

bool is_owned(const replica_state& state, const std::string& shard) {
  return state.ground && state.known
         && state.known->members.at(state.settings.name).owned.contains(shard);
}

void load(self_pointer self, const std::string& shard) {
  auto& state = self->state;
  if (state.loading.insert(shard).second)
    self->spawn(load_shard, shard_loader_settings{shard, state.store, state.ground, self});
}

void start(self_pointer self, const std::string& shard, std::shared_ptr<shard_contents> from) {
  auto& state = self->state;
  const auto& ours = state.settings;
  switch (shard.front()) {
  case 'n':
    if (settings_of(state, group_of(shard)) != nullptr)
      start_node_shard(self, shard, *from);
    else
      state.loaded[shard] = std::move(from);
    break;
  case 'w':
    state.workloads[shard] = keep(
      self, shard,
      self->spawn(workload_shard, workload_shard_settings{
                                    shard.substr(2), std::move(from->workloads),
                                    std::move(from->budgets), std::move(from->placements),
                                    ledger_for(state, shard, *from), ours.hold_time, ours.clock}));
    break;
  case 'q':
    state.queues = keep(
      self, shard,
      self->spawn(queue_shard, queue_shard_settings{std::string(queue_tree), std::move(from->known),
                                                    std::move(from->quota),
                                                    ledger_for(state, shard, *from), ours.clock}));
    self->send(state.queues, follow_catalog{self});
    for (const auto& [name, one] : state.coordinators)
      self->send(one, meet_queues{state.queues});
    break;
  default:
    state.loaded[shard] = std::move(from);
    break;
  }
}

void start_waiting(self_pointer self) {
  auto& state = self->state;
  // Node shards come last by name, and coordinators need them.
  for (auto one = state.loaded.rbegin(); one != state.loaded.rend();) {
    const auto& [shard, from] = *one;
    const bool is_node_shard = shard.front() == 'n';
    group_shards shards;
    if (settings_of(state, group_of(shard)) == nullptr
        || (!is_node_shard && (!state.queues || !find_shards(state, group_of(shard), shards)))) {
      ++one;
      continue;
    }
    if (is_node_shard)
      start_node_shard(self, shard, *from);
    else
      start_coordinator(self, shard, shards, *from);
    one = std::make_reverse_iterator(state.loaded.erase(std::next(one).base()));
  }
}

bool stop(self_pointer self, const std::string& shard) {
  auto& state = self->state;
  state.loading.erase(shard);
  state.loaded.erase(shard);
  state.outdated.erase(shard);
  state.to_renew.erase(shard);
  const auto found =
    std::ranges::find(state.running, shard, [](const auto& one) { return one.second; });
  if (found == state.running.end())
    return false;
  self->send_exit(found->first, caf::exit_reason::user_shutdown);
  return true;
}

void end_all(self_pointer self) {
  auto& state = self->state;
  for (const auto& [who, shard] : state.running)
    self->send_exit(who, caf::exit_reason::kill);
  state.running.clear();
  state.to_end->clear();
  state.nodes.clear();
  state.workloads.clear();
  state.coordinators.clear();
  state.built_with.clear();
  state.queues = nullptr;
  state.loading.clear();
  state.loaded.clear();
  state.outdated.clear();
  state.to_renew.clear();
}

void end_outdated_coordinators(self_pointer self) {
  auto& state = self->state;
  for (const auto& [shard, handle] : state.coordinators) {
    group_shards shards;
    if (find_shards(state, group_of(shard), shards) && same_shards(shards, state.built_with[shard]))
      continue;
    if (state.outdated.insert(shard).second)
      self->send_exit(handle, caf::exit_reason::user_shutdown);
  }
}

void forget(replica_state& state, const caf::actor_addr& who) {
  const auto found = state.running.find(who);
  const auto shard = found->second;
  state.running.erase(found);
  std::erase_if(*state.to_end, [&](const auto& one) { return one->address() == who; });
  state.nodes.erase(shard);
  state.workloads.erase(shard);
  state.coordinators.erase(shard);
  state.built_with.erase(shard);
  if (shard == queue_tree_shard)
    state.queues = nullptr;
}

void publish_directory(self_pointer self) {
  auto& state = self->state;
  if (!state.schema || !state.queues || !state.catalog_known)
    return;
  auto next = std::make_shared<directory>();
  next->schema = *state.schema;
  next->queues = state.queues;
  next->events = state.events;
  next->store = state.store;
  for (const auto& [name, settings] : state.catalog_known->groups) {
    directory::group group;
    if (!find_shards(state, name, group.shards))
      continue;
    if (const auto found = state.coordinators.find(coordinator_of(name));
        found != state.coordinators.end())
      group.coordinator = found->second;
    next->groups.emplace(name, std::move(group));
  }
  if (state.serving && serve_alike(*state.serving, *next))
    return;
  state.serving = std::move(next);
  for (const auto& follower : state.followers)
    self->send(follower, directory_update{state.serving});
}

} // namespace reprieve
