#include "actors/replica/replica_actors.hpp"
#include "state/records/keys.hpp"

#include <algorithm>

// What a replica knows of what others own.

namespace reprieve {

namespace {

using self_pointer = replica_pointer;

} // namespace

queue_shard_actor queues_of(const replica_state& state) {
  if (state.queues)
    return state.queues;
  return state.other_queues ? state.other_queues->handle : queue_shard_actor{};
}

/// The queue shard is another one by now.
void meet_queue_shard(self_pointer self, const queue_shard_actor& queues) {
  self->send(queues, follow_catalog{self});
  for (const auto& [name, one] : self->state.coordinators)
    self->send(one, meet_queues{queues});
}

namespace {

template <class Handle>
void keep_speaking(self_pointer self, const std::string& shard, const Handle& proxy) {
  self->monitor(proxy);
  self->state.speaking[proxy.address()] = shard;
}

void look_for_peers_soon(self_pointer self) {
  if (!std::exchange(self->state.looks_for_peers, true))
    self->send(self, look_for_peers{});
}

/// Who owns a shard may not serve it yet. Nobody counts on it until it has answered something.
template <class Handle>
void ask_for_sign(self_pointer self, std::map<std::string, replica_state::proxy<Handle>>& proxies,
                  const std::string& shard, const Handle& proxy) {
  self->request(proxy, caf::infinite, count_holds{})
    .then(
      [self, &proxies, shard, whom = proxy.address()](std::size_t) {
        const auto found = proxies.find(shard);
        if (found == proxies.end() || found->second.handle.address() != whom)
          return;
        found->second.answers = true;
        look_for_peers_soon(self);
      },
      // Whoever speaks for one that is not there ends, and another is asked for then.
      [self, whom = proxy.address()](const caf::error&) {
        self->send_exit(whom, caf::exit_reason::user_shutdown);
      });
}

/// Has somebody speak for the shard; `make` gives one, or none where there is no connection. False
/// where it is the one that did so before, or none.
template <class Handle, class F>
bool speak_for(self_pointer self, std::map<std::string, replica_state::proxy<Handle>>& proxies,
               const std::string& shard, const std::string& replica, F make) {
  if (const auto found = proxies.find(shard); found != proxies.end()) {
    if (found->second.replica == replica)
      return false;
    self->send_exit(found->second.handle, caf::exit_reason::user_shutdown);
    proxies.erase(found);
  }
  Handle made = make(replica, shard);
  if (!made)
    return false;
  keep_speaking(self, shard, made);
  proxies[shard] = {std::move(made), replica};
  return true;
}

/// Likewise for a shard of nodes or workloads.
template <class Handle, class F>
void speak_for_shard(self_pointer self,
                     std::map<std::string, replica_state::proxy<Handle>>& proxies,
                     const std::string& shard, const std::string& replica, F make) {
  if (speak_for(self, proxies, shard, replica, make))
    ask_for_sign(self, proxies, shard, proxies.at(shard).handle);
}

/// Ends those who speak for what the replica they speak of does not own any more.
template <class Handle>
void end_unowned(self_pointer self, std::map<std::string, replica_state::proxy<Handle>>& proxies) {
  const auto& members = self->state.known->members;
  std::erase_if(proxies, [&](const auto& one) {
    const auto owner = members.find(one.second.replica);
    if (owner != members.end() && owner->second.owned.contains(one.first))
      return false;
    self->send_exit(one.second.handle, caf::exit_reason::user_shutdown);
    return true;
  });
}

void speak_for_queues(self_pointer self, const std::string& replica) {
  auto& state = self->state;
  if (state.other_queues && state.other_queues->replica == replica)
    return;
  if (auto made = state.settings.others->queue_shard(replica)) {
    keep_speaking(self, std::string(queue_tree_shard), made);
    state.other_queues = {made, replica};
    meet_queue_shard(self, made);
  }
}

void share_events_with(self_pointer self, const std::string& replica) {
  auto& state = self->state;
  if (state.other_logs.contains(replica))
    return;
  if (auto made = state.settings.others->event_log(replica)) {
    keep_speaking(self, replica, made);
    state.other_logs[replica] = std::move(made);
    share_events logs;
    for (const auto& [name, log] : state.other_logs)
      logs.others.push_back(log);
    self->send(state.events, std::move(logs));
  }
}

} // namespace

void meet_peers(self_pointer self) {
  auto& state = self->state;
  auto* others = state.settings.others.get();
  if (others == nullptr || !state.known || !state.ground)
    return;
  others->know(*state.known, state.settings.name, state.ground, self);
  for (const auto& [replica, one] : state.known->members) {
    auto& ground = state.grounds[replica];
    if (!ground)
      ground = std::make_shared<ownership>(keys::owner(replica), one.epoch);
    else if (ground->epoch() != one.epoch)
      ground->end_change(one.epoch);
  }
  end_unowned(self, state.other_nodes);
  end_unowned(self, state.other_workloads);
  end_unowned(self, state.other_coordinators);
  if (state.other_queues
      && state.known->owner_of(queue_tree_shard) != state.other_queues->replica) {
    self->send_exit(state.other_queues->handle, caf::exit_reason::user_shutdown);
    state.other_queues.reset();
  }
  for (const auto& [replica, one] : state.known->members) {
    if (replica == state.settings.name || !state.connected.contains(replica))
      continue;
    share_events_with(self, replica);
    for (const auto& shard : one.owned) {
      if (shard.starts_with("n/"))
        speak_for_shard(self, state.other_nodes, shard, replica,
                        [&](const auto&... of) { return others->node_shard(of...); });
      else if (shard.starts_with("w/"))
        speak_for_shard(self, state.other_workloads, shard, replica,
                        [&](const auto&... of) { return others->workload_shard(of...); });
      else if (shard.starts_with("c/"))
        speak_for(self, state.other_coordinators, shard, replica,
                  [&](const auto&... of) { return others->coordinator(of...); });
      else
        speak_for_queues(self, replica);
    }
  }
}

void meet_peers_later(self_pointer self) {
  constexpr std::chrono::milliseconds pause{100};
  if (self->state.settings.others && !std::exchange(self->state.looks_for_peers, true))
    self->delayed_send(self, pause, look_for_peers{});
}

bool forget_proxy(self_pointer self, const caf::actor_addr& who) {
  auto& state = self->state;
  const auto found = state.speaking.extract(who);
  if (found.empty())
    return false;
  const auto is_it = [&](const auto& one) { return one.second.handle.address() == who; };
  std::erase_if(state.other_nodes, is_it);
  std::erase_if(state.other_workloads, is_it);
  std::erase_if(state.other_coordinators, is_it);
  if (state.other_queues && state.other_queues->handle.address() == who)
    state.other_queues.reset();
  std::erase_if(state.other_logs, [&](const auto& one) { return one.second.address() == who; });
  return true;
}

void forget_peers(self_pointer self) {
  auto& state = self->state;
  for (const auto& [who, shard] : state.speaking)
    self->send_exit(who, caf::exit_reason::user_shutdown);
  state.speaking.clear();
  state.other_nodes.clear();
  state.other_workloads.clear();
  state.other_coordinators.clear();
  state.other_queues.reset();
  state.other_logs.clear();
  state.connected.clear();
  if (state.settings.others)
    state.settings.others->know({}, state.settings.name, nullptr, self);
}

} // namespace reprieve
