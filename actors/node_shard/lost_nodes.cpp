#include "actors/node_shard/lost_nodes.hpp"

#include "actors/node_shard/node_watch.hpp"
#include "protocol/records/records.hpp"
#include "state/quantities/quantity.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;

/// Between two looks at pods that are given up and not gone yet.
constexpr std::chrono::milliseconds pause{500};

std::string counted(std::size_t count, std::string_view of) {
  return fmt::format("{} {}{}", count, of, count == 1 ? "" : "s");
}

/// Whether nobody has to be told of the pod: its workload learns from a decision that it goes, or
/// its cluster counts it.
bool is_known_to_go(const pod& p) {
  return p.placed_by == placed_by_cluster
         || (!p.evicted_by.empty() && p.evicted_by != not_wanted && p.stop_told != no_time);
}

/// Takes these pods out of the node's record and remembers that they may run there still.
void leave_behind(self_pointer self, const std::string& node,
                  const std::vector<std::string>& uids) {
  auto next = edit(self->state, node);
  if (!next)
    return;
  std::map<std::string, std::size_t> lost; // by workload
  for (const auto& uid : uids) {
    const pod* p = find_pod(*next, uid);
    if (p == nullptr)
      continue;
    ++lost[p->workload];
    erase_pod(*next, uid);
    next->status.left_behind.push_back(uid);
  }
  if (lost.empty())
    return;
  record_changes changes;
  changes[node] = std::move(next);
  write_records(self, std::move(changes), [self, node, lost = std::move(lost)] {
    auto& state = self->state;
    const auto now = state.clock.now(self);
    for (const auto& [workload, count] : lost)
      self->send(
        state.events,
        event{0,
              now,
              "Workload",
              workload,
              "PodsLost",
              fmt::format("{} lost with node {}",
                          count == 1 ? "a pod was" : counted(count, "pod") + " were", node),
              {},
              {}});
    const auto record = state.records.newest(node);
    if (record && !record->status.lost && !record->status.pods_lost)
      stop_left_behind(self, node); // it was heard meanwhile
    look_at_lost_nodes(self);
  });
}

/// The pods of a node that were given up: they are forgotten when their workloads know.
void tell_losses(self_pointer self, const std::string& node) {
  auto& state = self->state;
  const auto record = state.records.newest(node);
  if (!record || state.workloads.empty())
    return;
  struct of_shard {
    slots_ended told;
    std::vector<std::string> uids;
  };
  std::map<std::uint32_t, of_shard> by_shard;
  std::vector<std::string> at_once;
  for (const auto& p : record->pods) {
    if (p.phase == pod_phase::nominated) // it goes with its decision
      continue;
    if (is_known_to_go(p)) {
      at_once.push_back(p.uid);
      continue;
    }
    auto& [told, uids] =
      by_shard[shard_number(p.workload, static_cast<std::uint32_t>(state.workloads.size()))];
    told.ends.push_back({p.workload,
                         {p.group, p.replica, p.index},
                         p.incarnation,
                         slot_state::wanted,
                         p.evicted_by.empty(),
                         node});
    uids.push_back(p.uid);
  }
  if (!at_once.empty())
    when_nothing_is_lent(self, [self, node, at_once] { leave_behind(self, node, at_once); });
  for (auto& [number, one] : by_shard)
    self->request(state.workloads[number], caf::infinite, std::move(one.told))
      .then(
        [self, node, uids = std::move(one.uids)](absl::Status& recorded) {
          if (recorded.ok())
            when_nothing_is_lent(self, [self, node, uids] { leave_behind(self, node, uids); });
        },
        [](caf::error&) {}); // it is told again with the next look
}

void look_again(self_pointer self) {
  auto& state = self->state;
  const auto now = state.clock.now(self);
  auto next = state.removals.empty() ? time_point::max() : now + pause;
  for (const auto& name : state.away)
    if (const auto record = state.records.newest(name)) {
      const auto& status = record->status;
      if (status.pods_lost && !record->pods.empty())
        next = std::min(next, now + pause);
      else if (status.lost && !status.pods_lost && state.lost_node_timeout > duration{0})
        next = std::min(next, std::max(status.lost_since + state.lost_node_timeout, now + pause));
    }
  if (next == time_point::max()
      || (state.next_look_at_lost != no_time && state.next_look_at_lost <= next))
    return;
  state.next_look_at_lost = next;
  self->delayed_send(self, std::max(next - now, duration{0}), look_at_lost{next});
}

void look(self_pointer self) {
  auto& state = self->state;
  const auto now = state.clock.now(self);
  record_changes changes;
  std::vector<event> told;
  std::vector<std::string> given_up_now;
  std::vector<std::string> back;
  std::erase_if(state.away, [&](const std::string& name) {
    const auto record = state.records.newest(name);
    return !record || !(record->status.lost || record->status.pods_lost);
  });
  for (const auto& name : state.away) {
    const auto record = state.records.newest(name);
    const auto& status = record->status;
    if (status.pods_lost && !record->pods.empty()) {
      given_up_now.push_back(name);
      continue;
    }
    if (status.pods_lost && !status.lost && !state.removing.contains(name)) {
      // It was to be deleted, and is there still: its machine is as good as before.
      auto spared = std::make_shared<node_record>(*record);
      spared->status.pods_lost = false;
      changes[name] = std::move(spared);
      back.push_back(name);
    }
    if (status.pods_lost)
      continue;
    const bool due = state.ledger.settings.owner->schema() >= schema_with_lost_pods
                     && status.lost_since != no_time && state.lost_node_timeout > duration{0}
                     && status.lost_since + state.lost_node_timeout <= now;
    if (!due && status.lost_since != no_time)
      continue;
    auto changed = std::make_shared<node_record>(*record);
    if (due) {
      changed->status.pods_lost = true;
      given_up_now.push_back(name);
      told.push_back(event{
        0,
        now,
        "Node",
        name,
        "PodsLost",
        fmt::format("lost for {}: {} on it {} given up, and their workloads go on without them",
                    format_duration(state.lost_node_timeout), counted(record->pods.size(), "pod"),
                    record->pods.size() == 1 ? "is" : "are"),
        {},
        {}});
    } else {
      changed->status.lost_since = now; // by an earlier version, that did not say
    }
    changes[name] = std::move(changed);
  }
  auto then = [self, told = std::move(told), given_up_now = std::move(given_up_now),
               back = std::move(back)] {
    // The cluster's own scheduler knows before its pods leave their records, and with that before
    // fewer replicas are asked for: none that is well goes in their stead.
    if (!given_up_now.empty() || !back.empty())
      watch_own_nodes(self);
    for (const auto& name : back)
      stop_left_behind(self, name);
    for (const auto& one : told)
      self->send(self->state.events, one);
    for (const auto& name : given_up_now)
      tell_losses(self, name);
  };
  if (changes.empty())
    then();
  else
    write_records(self, std::move(changes), std::move(then));
  auto removals = std::exchange(state.removals, {});
  std::erase_if(removals, [](const std::function<bool()>& goes_on) { return goes_on(); });
  std::ranges::move(removals, std::back_inserter(state.removals));
  look_again(self);
}

} // namespace

void look_at_lost_nodes(self_pointer self) {
  when_nothing_is_lent(self, [self] { look(self); });
}

void look_at_lost_nodes(self_pointer self, const look_at_lost& due) {
  if (due.at != self->state.next_look_at_lost)
    return;
  self->state.next_look_at_lost = no_time;
  look_at_lost_nodes(self);
}

void stop_left_behind(self_pointer self, const std::string& node) {
  auto& state = self->state;
  const auto record = state.records.newest(node);
  const auto* deleted = find(state.left_behind, node);
  const auto& uids = record ? record->status.left_behind
                            : (deleted == nullptr ? std::vector<std::string>{} : deleted->uids);
  for (const auto& uid : uids)
    self->send(state.cluster,
               stop_order{uid, node, std::string(given_up), {}, {}, {}, epoch_of(state), self});
}

void forget_left_behind(self_pointer self, const std::string& node, const std::string& uid) {
  auto& state = self->state;
  const auto found = state.left_behind.find(node);
  if (found == state.left_behind.end() || std::erase(found->second.uids, uid) == 0)
    return;
  const bool none = found->second.uids.empty();
  auto tell = [self, node, none] {
    if (none)
      self->send(
        self->state.events,
        event{0,
              self->state.clock.now(self),
              "Node",
              node,
              "NodeClean",
              "what was left on the machine of this node, which was deleted, has been stopped",
              {},
              {}});
  };
  write_then(self,
             {write_of(keys::left_behind(state.shard, node), none ? nullptr : &found->second)},
             std::move(tell), {}, [](const absl::Status&) {});
  if (none)
    state.left_behind.erase(found);
}

} // namespace reprieve
