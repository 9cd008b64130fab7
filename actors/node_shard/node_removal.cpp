#include "actors/node_shard/node_removal.hpp"

#include "actors/durability/store_reading.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "actors/node_shard/lost_nodes.hpp"
#include "actors/node_shard/node_watch.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;

/// A removal under way. Until it is over, nobody is promised room on its nodes.
struct removal {
  self_pointer self;
  std::vector<std::string> names;
  status_answer answer;
  std::string lent_for;         ///< the bundle that others write with it
  time_point give_up = no_time; ///< when pods are on the nodes still that were to be given up

  void end(const absl::Status& how) {
    auto& removing = self->state.removing;
    for (const auto& name : names)
      removing.erase(removing.find(name));
    answer(how);
  }
};
using removal_pointer = std::shared_ptr<removal>;

absl::Status can_go(const node_shard_state& state, const std::string& name) {
  const auto record = state.records.newest(name);
  if (!record)
    return absl::NotFoundError(fmt::format("there is no node {}", name));
  if (!record->pods.empty())
    return absl::FailedPreconditionError(
      fmt::format("node {} holds {} pods, {} among them; make it unschedulable and wait until "
                  "they have gone, or delete it by force if its machine is lost",
                  name, record->pods.size(), record->pods.front().name));
  return absl::OkStatus();
}

absl::Status can_go(const node_shard_state& state, const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (auto possible = can_go(state, name); !possible.ok())
      return possible;
  return absl::OkStatus();
}

void take_away(const removal_pointer& now) {
  auto& state = now->self->state;
  if (auto possible = can_go(state, now->names); !possible.ok()) {
    now->end(possible);
    return;
  }
  record_changes changes;
  std::vector<ledger_entry> beside;
  by_name<left_pods> left_behind;
  for (const auto& name : now->names) {
    const auto& left = state.records.newest(name)->status.left_behind;
    if (!left.empty()) {
      const auto& kept = left_behind[name] = left_pods{left};
      beside.push_back(write_of(keys::left_behind(state.shard, name), &kept));
    }
    changes[name] = nullptr;
  }
  write_records(
    now->self, std::move(changes),
    [now, left_behind] {
      auto& s = now->self->state;
      for (const auto& [name, left] : left_behind)
        s.left_behind.insert_or_assign(name, left);
      for (const auto& name : now->names) {
        s.heard.forget(name);
        s.away.erase(name);
      }
      watch_own_nodes(now->self);
      for (const auto& name : now->names)
        stop_left_behind(now->self, name); // its machine may be there after all
      now->end(absl::OkStatus());
    },
    {{}, now->lent_for}, [now](const absl::Status& why) { now->end(why); }, std::move(beside));
}

/// Whether the decision may still put something on the shard's nodes of which the shard knows
/// nothing, as it began after the vote.
bool is_unheard_of(const node_shard_state& state, const decision& what) {
  return group_of_shard(state.shard) == what.resource_group && what.phase != decision_phase::aborted
         && !state.holds.held.contains(what.id) && !state.touched.contains(what.id)
         && !state.ledger.carried_out.contains(what.id);
}

/// The open decision that places something on one of the nodes, with the node's name.
void go_unless_named(const removal_pointer& now, std::map<std::string, decision> open,
                     const key_values& bodies) {
  for (const auto& one : bodies) {
    const auto id = one.key.substr(keys::decision_bodies.size(),
                                   one.key.rfind('/') - keys::decision_bodies.size());
    if (auto added = add_body(open[id], one.value); !added.ok()) {
      now->end(added);
      return;
    }
  }
  for (const auto& [id, what] : open)
    for (const auto& one : what.assignments)
      if (std::ranges::find(now->names, one.placed.node) != now->names.end()) {
        now->end(absl::UnavailableError(fmt::format(
          "decision {} is about to put pods on node {}; try again in a moment, and make it "
          "unschedulable before",
          id, one.placed.node)));
        return;
      }
  when_nothing_is_lent(now->self, [now] { take_away(now); });
}

/// No vote is in the way; a decision that was committed before the shard began may be.
void look_for_decisions(const removal_pointer& now) {
  const auto store = now->self->state.ledger.settings.store;
  read_all(now->self, store, {std::string(keys::open_decisions)},
           [now, store](absl::StatusOr<key_values> heads) {
             if (!heads.ok()) {
               now->end(heads.status());
               return;
             }
             std::map<std::string, decision> open;
             std::vector<std::string> bodies;
             for (const auto& one : *heads)
               if (auto head = decode<decision_head>(one.value);
                   head.ok() && is_unheard_of(now->self->state, head->summary)) {
                 bodies.push_back(fmt::format("{}{}/", keys::decision_bodies, head->summary.id));
                 auto id = head->summary.id;
                 open.emplace(std::move(id), std::move(head->summary));
               }
             read_all(now->self, store, std::move(bodies),
                      [now, open = std::move(open)](absl::StatusOr<key_values> found) {
                        if (found.ok())
                          go_unless_named(now, open, *found);
                        else
                          now->end(found.status());
                      });
           });
}

void go_when_free(const removal_pointer& now) {
  if (is_planted(planted_bug::deletes_held_nodes))
    take_away(now);
  else
    change_when_free(now->self, now->names, "a node that it needs is being deleted",
                     [now] { look_for_decisions(now); });
}

/// The records of its nodes that have pods, with these given up.
record_changes give_up_pods(const removal_pointer& now) {
  auto& state = now->self->state;
  record_changes changes;
  for (const auto& name : now->names)
    if (auto next = edit(state, name); next && !next->pods.empty()) {
      next->status.pods_lost = true;
      state.away.insert(name);
      changes[name] = std::move(next);
    }
  leave_out_unchanged(state, changes);
  return changes;
}

/// Whether the removal need not wait any more for pods that are given up. Some may have come since
/// by a decision that was committed before.
bool go_when_empty(const removal_pointer& now) {
  const auto& state = now->self->state;
  if (can_go(state, now->names).ok()) {
    go_when_free(now);
    return true;
  }
  if (state.clock.now(now->self) < now->give_up) {
    if (auto changes = give_up_pods(now); !changes.empty())
      write_records(now->self, std::move(changes), [now] { look_at_lost_nodes(now->self); });
    return false;
  }
  now->end(absl::UnavailableError(
    "its pods are given up, and some are not out of the way yet; try again in a moment"));
  return true;
}

/// Its pods are given up for lost, whatever its machine says; then it goes.
void remove_with_pods(const removal_pointer& now) {
  constexpr std::chrono::seconds longest{10};
  now->give_up = now->self->state.clock.now(now->self) + longest;
  write_records(now->self, give_up_pods(now), [now] {
    now->self->state.removals.emplace_back([now] { return go_when_empty(now); });
    look_at_lost_nodes(now->self);
  });
}

/// Those of the nodes that can't be read.
std::vector<set_aside> those_aside(const node_shard_state& state, const remove_nodes& wanted) {
  std::vector<set_aside> found;
  for (const auto& name : wanted.names)
    if (const auto* aside = state.aside.find(object_kind::node, name))
      found.push_back(*aside);
  return found;
}

/// Takes nodes that can't be read for what can be told of them, by order of who runs the cluster:
/// from then on they are as good as others. Of one that was gone before, nothing is left.
void remove_aside(self_pointer self, const std::vector<set_aside>& aside, remove_nodes wanted,
                  const status_answer& answer) {
  std::vector<ledger_entry> writes;
  for (const auto& one : aside) {
    auto keys = one.beside;
    keys.push_back(one.key);
    for (const auto& key : keys)
      if (key != keys::node(self->state.shard, one.name))
        writes.push_back({key, {}, false});
  }
  auto proceed = [self, aside, wanted = std::move(wanted), answer]() mutable {
    auto& state = self->state;
    std::vector<std::string> gone;
    for (const auto& one : aside) {
      state.aside.remove(object_kind::node, one.name);
      if (!state.records.newest(one.name))
        gone.push_back(one.name);
    }
    std::erase_if(wanted.names,
                  [&](const auto& name) { return std::ranges::find(gone, name) != gone.end(); });
    const node_delta told{state.shard, ++state.deltas, {}, std::move(gone), false, false};
    for (const auto& follower : state.followers)
      self->send(follower, told);
    if (wanted.names.empty())
      answer(absl::OkStatus());
    else
      remove(self, wanted, answer);
  };
  if (writes.empty())
    proceed();
  else
    write_then(self, std::move(writes), proceed, {},
               [answer](const absl::Status& why) { answer(why); });
}

} // namespace

void remove(self_pointer self, const remove_nodes& wanted, status_answer answer,
            std::string lent_for) {
  auto& state = self->state;
  if (wanted.force && state.ledger.settings.owner->schema() < schema_with_lost_pods) {
    answer(absl::UnavailableError("replicas of an earlier version are there, who do not know of "
                                  "pods that are given up; exchange them first"));
    return;
  }
  if (const auto aside = those_aside(state, wanted); !aside.empty()) {
    if (wanted.force)
      remove_aside(self, aside, wanted, answer);
    else
      answer(cannot_be_read(aside.front()));
    return;
  }
  for (const auto& name : wanted.names)
    if (auto possible = can_go(state, name);
        !possible.ok() && !(wanted.force && absl::IsFailedPrecondition(possible))) {
      answer(possible);
      return;
    }
  auto now =
    std::make_shared<removal>(removal{self, wanted.names, std::move(answer), std::move(lent_for)});
  state.removing.insert(wanted.names.begin(), wanted.names.end());
  if (wanted.force)
    remove_with_pods(now);
  else
    go_when_free(now);
}

} // namespace reprieve
