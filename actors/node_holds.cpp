#include "actors/node_holds.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

using record_pointer = record_table<node_record>::pointer;

/// The newest form of the record, but with everybody there whose leaving is not durable yet: should
/// that be lost, they stay. Null where there is no such node.
record_pointer sure_form(const node_shard_state& state, const std::string& name) {
  auto newest = state.records.newest(name);
  const auto durable = state.records.durable(name);
  if (!newest || !durable || newest == durable)
    return newest;
  auto sure = std::make_shared<node_record>(*newest);
  for (const auto& p : durable->pods) {
    if (!takes_room(p.phase) || is_leaving(p.phase))
      continue;
    const pod* now = find_pod(*newest, p.uid);
    if (now != nullptr && !is_leaving(now->phase))
      continue;
    auto stays = p;
    if (now != nullptr)
      stays.evicted_by = now->evicted_by; // whose decision has either it or what comes in its stead
    put_pod(*sure, std::move(stays));
  }
  return sure;
}

} // namespace

std::vector<const node_part*> held_by_others(const node_shard_state& state, const std::string& node,
                                             std::string_view decision, bool only_at_once) {
  std::vector<const node_part*> held;
  const auto holders = state.holds.held_on.find(node);
  if (holders == state.holds.held_on.end())
    return held;
  for (const auto& other : holders->second) {
    const auto& hold = state.holds.held.find(other)->second;
    if (other == decision || (only_at_once && !hold.at_once))
      continue;
    for (const auto& part : hold.parts)
      if (part.node == node)
        held.push_back(&part);
  }
  return held;
}

std::vector<std::string> nodes_of(const node_parts& parts) {
  std::vector<std::string> nodes;
  for (const auto& part : parts)
    nodes.push_back(part.node);
  return nodes;
}

absl::Status has_room_now(const node_shard_state& state, const node_record& record,
                          const node_part& part, std::string_view decision) {
  return has_room_now(record, held_by_others(state, part.node, decision, true), part,
                      [&](std::string_view other) { return state.granted.contains(other); });
}

absl::Status vote(node_shard_pointer self, const prepare<node_parts>& asked) {
  auto& state = self->state;
  if (auto allowed = may_vote(state.holds, asked.decision); !allowed.ok())
    return allowed;
  for (const auto& part : asked.parts) {
    const auto record = sure_form(state, part.node);
    if (!record)
      return absl::FailedPreconditionError(fmt::format("node {} is gone", part.node));
    if (state.removing.contains(part.node))
      return absl::FailedPreconditionError(fmt::format("node {} is being deleted", part.node));
    const auto held = held_by_others(state, part.node, asked.decision);
    if (auto possible = can_promise(*record, held, part); !possible.ok())
      return possible;
    if (asked.at_once)
      if (auto free = has_room_now(state, *record, part, asked.decision); !free.ok())
        return free;
  }
  state.holds.erase(asked.decision);
  keep_hold(self, asked, nodes_of(asked.parts));
  return absl::OkStatus();
}

void index_decisions(node_shard_state& state) {
  for (const auto& [name, record] : state.records.durable())
    for (const auto& p : record->pods) {
      if (p.phase == pod_phase::nominated)
        state.touched[p.placed_by].insert(name);
      if (!p.evicted_by.empty())
        state.touched[p.evicted_by].insert(name);
    }
}

} // namespace reprieve
