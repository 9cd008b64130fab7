#include "actors/node_shard/node_writes.hpp"

#include "actors/durability/record_room.hpp"
#include "actors/node_shard/node_holds.hpp"
#include "state/records/keys.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;
using record_pointer = record_table<node_record>::pointer;

void publish(self_pointer self, std::vector<record_pointer> changed,
             std::vector<std::string> removed, bool of_bundle) {
  auto& state = self->state;
  if (changed.empty() && removed.empty())
    return;
  const node_delta delta{state.shard,        ++state.deltas, std::move(changed),
                         std::move(removed), false,          of_bundle};
  for (const auto& follower : state.followers)
    self->send(follower, delta);
}

/// A node that was full takes pods again when something has left its record.
void open_if_smaller(const node_record& before, node_record& next) {
  if (next.status.most_pods && bytes_of_pods(next.pods) < bytes_of_pods(before.pods))
    next.status.most_pods.reset();
}

} // namespace

std::size_t bytes_of_pods(const pod_list& pods) {
  std::size_t bytes = 0;
  for (const auto& p : pods.shared())
    bytes += bytes_kept_for(*p);
  return bytes;
}

std::shared_ptr<node_record> edit(const node_shard_state& state, std::string_view name) {
  if (state.aside.find(object_kind::node, name) != nullptr)
    return nullptr;
  const auto newest = state.records.newest(name);
  return newest ? std::make_shared<node_record>(*newest) : nullptr;
}

void leave_out_unchanged(const node_shard_state& state, record_changes& changes) {
  std::erase_if(changes, [&](const auto& one) {
    return !one.second || *one.second == *state.records.newest(one.first);
  });
}

bool room_is_free(const node_shard_state& state, const std::string& decision) {
  const auto touched = state.touched.find(decision);
  return touched == state.touched.end()
         || std::all_of(touched->second.begin(), touched->second.end(), [&](const auto& name) {
              const auto record = state.records.newest(name);
              const auto granted = [&](std::string_view other) {
                return state.granted.contains(other);
              };
              return !record
                     || room_is_free(*record, decision, granted,
                                     held_by_others(state, name, decision, true));
            });
}

bool are_victims_gone(const node_shard_state& state, const std::string& decision) {
  const auto touched = state.touched.find(decision);
  return touched == state.touched.end()
         || std::ranges::none_of(touched->second, [&](const auto& name) {
              const auto record = state.records.newest(name);
              return record && std::ranges::any_of(record->pods, [&](const pod& p) {
                       return p.evicted_by == decision && takes_room(p.phase);
                     });
            });
}

void wait_for_room(self_pointer self, const await_room& asked) {
  auto& state = self->state;
  state.awaiting[asked.decision] = asked;
  if (const auto touched = state.touched.find(asked.decision); touched != state.touched.end())
    for (const auto& name : touched->second)
      state.awaited_on[name].insert(asked.decision);
  check_room(self, asked.decision);
}

void wait_no_more(node_shard_state& state, const std::string& decision) {
  state.awaiting.erase(decision);
  if (const auto touched = state.touched.find(decision); touched != state.touched.end())
    for (const auto& name : touched->second)
      if (const auto found = state.awaited_on.find(name); found != state.awaited_on.end()) {
        found->second.erase(decision);
        if (found->second.empty())
          state.awaited_on.erase(found);
      }
}

/// Whether the room that it waits for is that of pods which may be there still.
static bool waits_for_given_up(const node_shard_state& state, const std::string& decision) {
  const auto touched = state.touched.find(decision);
  return touched != state.touched.end()
         && std::ranges::any_of(touched->second, [&](const std::string& name) {
              const auto record = state.records.newest(name);
              return record && is_given_up(record->status);
            });
}

void check_room(self_pointer self, const std::string& decision) {
  auto& state = self->state;
  const auto waiting = state.awaiting.find(decision);
  if (waiting == state.awaiting.end() || waits_for_given_up(state, decision)
      || !room_is_free(state, decision)
      || (waiting->second.victims_gone && !are_victims_gone(state, decision)))
    return;
  state.granted.insert(decision);
  self->send(waiting->second.listener, room_free{decision, state.shard});
  wait_no_more(state, decision);
}

void check_room_on(self_pointer self, const std::vector<std::string>& nodes) {
  auto& state = self->state;
  std::set<std::string> waiting;
  for (const auto& name : nodes)
    if (const auto found = state.awaited_on.find(name); found != state.awaited_on.end())
      waiting.insert(found->second.begin(), found->second.end());
  for (const auto& decision : waiting)
    check_room(self, decision);
}

bool fits_one_batch(const node_shard_state& state, const record_changes& changes) {
  std::vector<ledger_entry> writes;
  for (const auto& [name, changed] : changes)
    writes.push_back(write_of(keys::node(state.shard, name), record_pointer{changed}));
  return fits_one_batch(state.ledger, writes);
}

void write_records(self_pointer self, record_changes changes, std::function<void()> then,
                   write_terms terms, std::function<void(const absl::Status&)> refused,
                   std::vector<ledger_entry> beside) {
  auto& state = self->state;
  auto writes = std::move(beside);
  std::vector<std::string> names;
  for (auto& [name, changed] : changes) {
    if (const auto before = state.records.newest(name); before && changed)
      open_if_smaller(*before, *changed);
    const record_pointer next = std::move(changed);
    writes.push_back(write_of(keys::node(state.shard, name), next));
    writes.back().changes_name = (next == nullptr) != (state.records.newest(name) == nullptr);
    state.records.stage(name, next);
    names.push_back(name);
  }
  const auto drop = [self, names, refused = std::move(refused)](const absl::Status& why) {
    // Who was refused a vote for the change waits until something is told of these.
    std::vector<record_pointer> as_before;
    for (const auto& name : names) {
      self->state.records.drop(name);
      if (auto record = self->state.records.durable(name))
        as_before.push_back(std::move(record));
    }
    publish(self, std::move(as_before), {}, false);
    if (refused)
      refused(why);
  };
  auto show = [self, names = std::move(names), then = std::move(then),
               of_bundle = !terms.lent_for.empty()] {
    std::vector<record_pointer> changed;
    std::vector<std::string> removed;
    for (const auto& name : names) {
      if (auto record = self->state.records.settle(name)) {
        self->state.view.put(record);
        changed.push_back(std::move(record));
      } else {
        self->state.view.remove(name);
        removed.push_back(name);
      }
    }
    publish(self, std::move(changed), std::move(removed), of_bundle);
    if (then)
      then();
    check_room_on(self, names);
  };
  write_then(self, std::move(writes), std::move(show), std::move(terms), drop);
}

void write_and_answer(self_pointer self, record_changes changes, status_answer answer,
                      std::function<void()> then) {
  write_records(
    self, std::move(changes),
    [answer, then = std::move(then)] {
      if (then)
        then();
      answer(absl::OkStatus());
    },
    {}, answer);
}

} // namespace reprieve
