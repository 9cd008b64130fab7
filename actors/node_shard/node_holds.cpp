#include "actors/node_shard/node_holds.hpp"

#include "actors/durability/record_room.hpp"
#include "actors/node_shard/node_watch.hpp"
#include "actors/node_shard/node_writes.hpp"
#include "state/records/record_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

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

/// What of a node's record is taken while a decision is asked for.
struct record_use {
  std::size_t all = 0;     ///< bytes, with everybody who is there
  std::size_t staying = 0; ///< bytes, without those who leave and the decision's victims
  std::int64_t pods = 0;   ///< who takes room, without the decision's victims
  std::int64_t stay = 0;   ///< of those, without those who leave
  std::int64_t go = 0;     ///< the victims
};

record_use use_of(const node_record& record, std::span<const node_part* const> held,
                  const node_part& wanted) {
  record_use use;
  for (const auto& shared : record.pods.shared()) {
    const auto& p = shared->what();
    if (wanted.placed.find(p.uid) != nullptr)
      continue; // it asks for that itself
    const auto bytes = bytes_kept_for(*shared);
    const bool goes = std::ranges::find(wanted.victims, p.uid) != wanted.victims.end();
    use.all += bytes;
    use.staying += goes || is_leaving(p.phase) ? 0 : bytes;
    use.pods += takes_room(p.phase) && !goes ? 1 : 0;
    use.stay += takes_room(p.phase) && !goes && !is_leaving(p.phase) ? 1 : 0;
    use.go += goes ? 1 : 0;
  }
  for (const auto* part : held) {
    const auto bytes = bytes_of_pods(part->placed);
    use.all += bytes;
    use.staying += bytes;
    use.pods += std::ssize(part->placed.shared());
    use.stay += std::ssize(part->placed.shared());
  }
  return use;
}

std::size_t largest_of(const pod_list& pods) {
  std::size_t largest = 1;
  for (const auto& p : pods.shared())
    largest = std::max(largest, bytes_kept_for(*p));
  return largest;
}

/// How many pods of that size a record takes that has so many bytes in use, of so many.
std::int64_t how_many_fit(std::size_t size, std::size_t used, std::size_t most) {
  return used >= most ? 0 : static_cast<std::int64_t>((most - used) / size);
}

/// Shows those who plan how many pods the node takes, until something leaves its record.
void limit_pods(node_shard_pointer self, const std::string& name, std::int64_t most) {
  auto next = edit(self->state, name);
  if (!next || (next->status.most_pods && *next->status.most_pods <= most))
    return;
  next->status.most_pods = static_cast<std::int32_t>(most);
  const auto now = self->state.clock.now(self);
  event told{0,
             now,
             "Node",
             name,
             "NodeFull",
             fmt::format("its record takes {} pods at present, as they bring much with them; give "
                         "pods fewer or shorter labels and annotations",
                         most),
             {},
             {}};
  write_records(self, {{name, std::move(next)}}, [self, told = std::move(told)] {
    watch_own_nodes(self);
    self->send(self->state.events, told);
  });
}

/// Whether the node's record takes what the decision places, beside all who may still be there.
absl::Status fits_record(node_shard_pointer self, const node_record& record,
                         std::span<const node_part* const> held, const node_part& wanted) {
  if (wanted.placed.empty())
    return absl::OkStatus();
  const auto more = bytes_of_pods(wanted.placed);
  const auto use = use_of(record, held, wanted);
  const auto pods = std::ssize(wanted.placed.shared());
  // A pod for a pod is no more of them, and may be a little larger: those to whom others owe their
  // place would find none else.
  const bool replaces = pods <= use.go;
  const auto limit =
    record_limits::staying_pods_bytes + (replaces ? record_limits::staying_pods_bytes / 8 : 0);
  // What others were planned to bring before the node was full would be more than it has places
  // for.
  if (const auto most = record.status.most_pods; most && !replaces && use.stay + pods > *most)
    return absl::FailedPreconditionError(
      fmt::format("the record of node {} takes {} pods at present", wanted.node, *most));
  if (use.staying + more <= limit && use.all + more <= record_limits::all_pods_bytes)
    return absl::OkStatus();
  const auto size = largest_of(wanted.placed);
  const auto fit = std::min(how_many_fit(size, use.staying, record_limits::staying_pods_bytes),
                            how_many_fit(size, use.all, record_limits::all_pods_bytes));
  // One that was admitted before there were limits closes no node to the others.
  constexpr auto largest_admitted = 3 * record_limits::template_bytes;
  if (size <= largest_admitted)
    when_nothing_is_lent(
      self, [self, name = wanted.node, most = use.pods + fit] { limit_pods(self, name, most); });
  return absl::FailedPreconditionError(
    fmt::format("the record of node {} has room for {} of {} pods that bring {} bytes", wanted.node,
                fit, wanted.placed.size(), more));
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
  if (is_planted(planted_bug::tears_gangs)) {
    auto of_others = record;
    for (const auto& p : record.pods)
      if (p.placed_by == decision) {
        auto other = p;
        other.uid += "'";
        of_others.pods.erase(p.uid);
        of_others.pods.put(std::move(other));
      }
    return has_room_now(of_others, held_by_others(state, part.node, decision, true), part,
                        [&](std::string_view other) { return state.granted.contains(other); });
  }
  return has_room_now(record, held_by_others(state, part.node, decision, true), part,
                      [&](std::string_view other) { return state.granted.contains(other); });
}

absl::Status vote(node_shard_pointer self, const prepare<node_parts>& asked) {
  auto& state = self->state;
  if (auto allowed = may_vote(state.holds, asked.decision); !allowed.ok())
    return allowed;
  absl::Status fits;
  for (const auto& part : asked.parts) {
    const auto record = sure_form(state, part.node);
    if (!record)
      return absl::FailedPreconditionError(fmt::format("node {} is gone", part.node));
    if (state.aside.find(object_kind::node, part.node) != nullptr)
      return absl::FailedPreconditionError(
        fmt::format("the record of node {} can't be read", part.node));
    if (state.removing.contains(part.node))
      return absl::FailedPreconditionError(fmt::format("node {} is being deleted", part.node));
    const auto held = held_by_others(state, part.node, asked.decision);
    if (auto possible = can_promise(*record, held, part); !possible.ok())
      return possible;
    if (asked.at_once)
      if (auto free = has_room_now(state, *record, part, asked.decision); !free.ok())
        return free;
    // All of them are looked at, so that the next plan knows of all that are full.
    fits.Update(fits_record(self, *record, held, part));
  }
  if (!fits.ok())
    return fits;
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
