#include "actors/replica/replica_actors.hpp"

#include "actors/durability/archive_keeper.hpp"
#include "state/records/keys.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = replica_pointer;

ledger_settings ledger_for(const replica_state& state, const std::string& shard,
                           const shard_contents& from) {
  ledger_settings settings;
  settings.shard = shard;
  settings.owner = state.ground;
  settings.store = state.store;
  settings.limits = state.settings.batches;
  if (from.sequence) {
    settings.sequence_revision = from.sequence->modified;
    if (auto record = decode<sequence_record>(from.sequence->value); record.ok()) {
      settings.sequence = record->number;
      settings.carried_out = std::move(record->carried_out);
    }
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

/// Adds the shard's handle and whose it is, wherever it runs; false where nobody has it.
template <class Handle, class Here, class There>
bool add_shard(const replica_state& state, const std::string& shard, const Here& here,
               const There& there, std::vector<Handle>& handles,
               std::vector<ownership_pointer>& owners) {
  if (const auto found = here.find(shard); found != here.end()) {
    handles.push_back(found->second);
    owners.push_back(state.ground);
    return true;
  }
  const auto found = there.find(shard);
  if (found == there.end() || !found->second.answers)
    return false;
  handles.push_back(found->second.handle);
  owners.push_back(state.grounds.at(found->second.replica));
  return true;
}

/// All shards of a group, as far as they are there; true where all are.
bool find_shards(const replica_state& state, const std::string& group, group_shards& found) {
  if (!state.schema || !state.ground)
    return false;
  for (std::uint32_t k = 0; k < state.schema->workload_shards; ++k)
    if (!add_shard(state, "w/" + shard_name(group, k), state.workloads, state.other_workloads,
                   found.workloads, found.workload_owners))
      return false;
  for (std::uint32_t k = 0; k < state.schema->node_shards; ++k)
    if (!add_shard(state, "n/" + shard_name(group, k), state.nodes, state.other_nodes, found.nodes,
                   found.node_owners))
      return false;
  return true;
}

bool same_shards(const group_shards& a, const group_shards& b) {
  return a.nodes == b.nodes && a.workloads == b.workloads;
}

void start_coordinator(self_pointer self, const std::string& shard, const group_shards& shards,
                       shard_contents& from) {
  auto& state = self->state;
  const auto& ours = state.settings;
  state.coordinators[shard] = keep(
    self, shard,
    self->spawn(coordinator,
                coordinator_settings{group_of(shard), std::make_shared<const group_shards>(shards),
                                     queues_of(state), state.store, state.ground, state.events,
                                     ours.clock, std::move(from.open), std::move(from.barred),
                                     ours.most_domains_told, ours.cluster}));
  state.built_with[shard] = shards;
}

void start_node_shard(self_pointer self, const std::string& shard, shard_contents& from) {
  auto& state = self->state;
  const auto& ours = state.settings;
  node_shard_settings settings;
  settings.shard = shard.substr(2);
  settings.records = std::move(from.nodes);
  settings.left_behind = std::move(from.left_behind);
  settings.aside = objects_aside{std::move(from.aside)};
  settings.ledger = ledger_for(state, shard, from);
  settings.cluster = ours.cluster;
  settings.hold_time = ours.hold_time;
  settings.clock = ours.clock;
  settings.events = state.events;
  if (const auto* group = settings_of(state, group_of(shard))) {
    settings.force_delete_after = group->force_delete_after;
    settings.heartbeat_timeout = group->heartbeat_timeout;
    settings.lost_node_timeout = group->lost_node_timeout;
  }
  state.nodes[shard] = keep(self, shard, self->spawn(node_shard, std::move(settings)));
}

} // namespace

std::string group_of(std::string_view shard) {
  const auto name = shard.substr(2);
  return std::string(shard.starts_with("c/") ? name : name.substr(0, name.rfind('.')));
}

bool is_owned(const replica_state& state, const std::string& shard) {
  return state.ground && state.known
         && state.known->members.at(state.settings.name).owned.contains(shard);
}

void load(self_pointer self, const std::string& shard) {
  auto& state = self->state;
  if (state.loading.insert(shard).second)
    self->spawn(load_shard,
                shard_loader_settings{shard, state.store, state.ground, self, state.ground->held(),
                                      state.settings.clock.now(self)});
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
      self->spawn(workload_shard,
                  workload_shard_settings{
                    shard.substr(2), std::move(from->workloads), std::move(from->budgets),
                    std::move(from->placements), ledger_for(state, shard, *from), ours.hold_time,
                    ours.clock, objects_aside{std::move(from->aside)}, std::move(from->salvaged)}));
    break;
  case 'q':
    state.queues =
      keep(self, shard,
           self->spawn(queue_shard,
                       queue_shard_settings{std::string(queue_tree), std::move(from->known),
                                            std::move(from->unfinished), std::move(from->quota),
                                            ledger_for(state, shard, *from), ours.clock, self,
                                            objects_aside{std::move(from->aside)}}));
    meet_queue_shard(self, state.queues);
    self->spawn(archive_keeper,
                archive_keeper_settings{state.store, state.ground, ours.archive, ours.clock,
                                        caf::actor_cast<caf::strong_actor_ptr>(state.queues)});
    break;
  default:
    state.loaded[shard] = std::move(from);
    break;
  }
}

void start_waiting(self_pointer self) {
  auto& state = self->state;
  const auto start_those = [&](const char* kind, auto ready, auto start_one) {
    for (auto one = state.loaded.lower_bound(kind);
         one != state.loaded.end() && one->first.starts_with(kind);) {
      const auto& [shard, from] = *one;
      group_shards shards;
      if (settings_of(state, group_of(shard)) == nullptr || !ready(shard, shards)) {
        ++one;
        continue;
      }
      start_one(shard, shards, *from);
      one = state.loaded.erase(one);
    }
  };
  start_those(
    "n/", [](const auto&, const auto&) { return true; },
    [&](const std::string& shard, const auto&, shard_contents& from) {
      start_node_shard(self, shard, from);
    });
  // Before anybody has them do something.
  introduce_all(self);
  start_those(
    "c/",
    [&](const std::string& shard, group_shards& shards) {
      return queues_of(state) && find_shards(state, group_of(shard), shards);
    },
    [&](const std::string& shard, const group_shards& shards, shard_contents& from) {
      start_coordinator(self, shard, shards, from);
    });
}

bool stop(self_pointer self, const std::string& shard) {
  auto& state = self->state;
  state.loading.erase(shard);
  state.unreadable.erase(shard);
  state.loaded.erase(shard);
  state.outdated.erase(shard);
  state.to_renew.erase(shard);
  const auto found =
    std::ranges::find(state.running, shard, [](const auto& one) { return one.second; });
  if (found == state.running.end())
    return false;
  state.stopping.insert(shard);
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
  state.introduced.clear();
  state.loading.clear();
  state.unreadable.clear();
  state.loaded.clear();
  state.stopping.clear();
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

void introduce_all(self_pointer self) {
  auto& state = self->state;
  std::set<std::string> groups;
  for (const auto& [shard, handle] : state.nodes)
    groups.insert(group_of(shard));
  for (const auto& [shard, handle] : state.workloads)
    groups.insert(group_of(shard));
  for (const auto& group : groups) {
    group_shards shards;
    if (!find_shards(state, group, shards))
      continue;
    auto& before = state.introduced[group];
    if (same_shards(before, shards))
      continue;
    before = shards;
    const std::vector<node_feed_actor> feeds{shards.nodes.begin(), shards.nodes.end()};
    for (const auto& shard : shards.workloads)
      self->send(shard, meet_nodes{feeds});
    for (const auto& shard : shards.nodes)
      self->send(shard, meet_workloads{shards.workloads});
  }
}

namespace {

/// What others can reach here.
void serve_peers(self_pointer self) {
  auto& state = self->state;
  if (!state.settings.others)
    return;
  auto here = std::make_shared<local_shards>();
  here->nodes.insert(state.nodes.begin(), state.nodes.end());
  here->workloads.insert(state.workloads.begin(), state.workloads.end());
  here->coordinators.insert(state.coordinators.begin(), state.coordinators.end());
  here->queues = state.queues;
  here->events = state.events;
  state.settings.others->serve(std::move(here));
}

coordinator_actor coordinator_for(const replica_state& state, const std::string& group) {
  const auto shard = coordinator_of(group);
  if (const auto here = state.coordinators.find(shard); here != state.coordinators.end())
    return here->second;
  const auto there = state.other_coordinators.find(shard);
  return there == state.other_coordinators.end() ? coordinator_actor{} : there->second.handle;
}

} // namespace

void publish_directory(self_pointer self) {
  auto& state = self->state;
  serve_peers(self);
  const auto queues = queues_of(state);
  if (!state.schema || !queues || !state.catalog_known)
    return;
  auto next = std::make_shared<directory>();
  next->schema = *state.schema;
  if (state.ground)
    next->replica = fmt::format("{}@{:x}", state.settings.name, state.ground->lasting_epoch());
  else if (state.serving)
    next->replica = state.serving->replica;
  next->alone = !state.settings.others;
  next->queues = queues;
  next->events = state.events;
  next->store = state.store;
  for (const auto& [name, settings] : state.catalog_known->groups) {
    directory::group group;
    if (!find_shards(state, name, group.shards))
      continue;
    group.coordinator = coordinator_for(state, name);
    next->groups.emplace(name, std::move(group));
  }
  if (state.serving && serve_alike(*state.serving, *next))
    return;
  state.serving = std::move(next);
  for (const auto& follower : state.followers)
    self->send(follower, directory_update{state.serving});
}

} // namespace reprieve
