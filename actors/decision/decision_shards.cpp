#include "actors/decision/decision_actions.hpp"
#include "actors/interfaces/gathering.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "state/records/keys.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace reprieve::decision_actions {

namespace {

constexpr auto agreed = decision_event::agreed;
constexpr auto unanswered = decision_event::unanswered;

/// For the answers of shards to one step. A shard that is gone is known to be at once; for votes
/// the coordinator looks at the clock, once for all decisions (`votes_due`); and what comes after
/// the commit has to be done however long it takes.
gathering of_shards(std::function<void(absl::Status)> done) {
  return gathering{std::move(done), caf::duration{caf::infinite}};
}

/// Sends each touched shard of a kind the message that `make` builds from its parts.
template <class Shards, class Parts, class F>
void ask_touched(decision_pointer self, gathering& all, const Shards& shards, const Parts& parts,
                 F make) {
  for (const auto& [number, part] : parts)
    all.ask(self, shards[number], make(part));
}

/// Asks the shards that may have something of the decision to take it back. Where all that is known
/// of it is that a shard has aborted it, others may be about to do so: each of them is asked, lest
/// that comes when the decision is over.
template <class Shards, class Parts>
void ask_to_withdraw(decision_pointer self, gathering& all, const Shards& shards,
                     const Parts& parts, const withdraw& order) {
  if (self->state.nodes.empty() && self->state.workloads.empty())
    for (const auto& shard : shards)
      all.ask(self, shard, order);
  else
    ask_touched(self, all, shards, parts, [&](const auto&) { return order; });
}

void take_portion(workload_part& from, const victim& one) {
  from.evicted.push_back(one.portion);
  for (const auto& p : one.pods)
    from.evicted_pods.push_back(p.uid);
}

void remember_epoch(decision_actor_state& state, const ownership& owner) {
  state.epochs.emplace(owner.key(), owner.epoch());
}

void apply_to_all(decision_pointer self, gathering& all, const trace_context& trace) {
  const auto& state = self->state;
  const auto& shards = *state.settings.shards;
  const bool at_once = decision_of(self).at_once;
  const bool recovered = state.settings.recovered;
  ask_touched(self, all, shards.nodes, state.nodes, [&](const auto& parts) {
    return apply_parts<node_parts>{id(self), parts, at_once, trace, recovered};
  });
  ask_touched(self, all, shards.workloads, state.workloads, [&](const auto& parts) {
    return apply_parts<workload_parts>{id(self), parts, false, trace};
  });
}

/// What the answers to the question for votes come to.
decision_event outcome_of_votes(decision_pointer self, const absl::Status& votes) {
  if (votes.ok() || is_planted(planted_bug::partial_vote))
    return agreed;
  const auto& decided = decision_of(self);
  const bool may_wait = decided.at_once && decided.counts.empty();
  return may_wait && absl::IsFailedPrecondition(votes) ? decision_event::room_taken
                                                       : decision_event::refused;
}

decision_event outcome_of_apply(const absl::Status& applied) {
  if (applied.ok())
    return agreed;
  // Its room is not there any more, or never will be in a record.
  return absl::IsFailedPrecondition(applied) || absl::IsInvalidArgument(applied)
           ? decision_event::refused
           : unanswered;
}

/// Of what has to be done however often it is asked for.
gathering until_done(decision_pointer self) {
  return of_shards(
    [self](const absl::Status& how) { happens(self, how.ok() ? agreed : unanswered); });
}

/// Which victims go all the same, and which stay after all.
withdraw order_to_withdraw(decision_pointer self) {
  withdraw order{id(self), {}, {}, self->state.step.context()};
  const auto& decided = decision_of(self);
  for (const auto& one : decided.victims)
    (decided.victims_told ? order.told : order.reprieved).push_back(one.portion);
  return order;
}

} // namespace

void split_into_parts(decision_pointer self) {
  auto& state = self->state;
  auto& settings = state.settings;
  const auto node_shards = static_cast<std::uint32_t>(settings.shards->nodes.size());
  for (auto& part : std::exchange(settings.parts, {})) {
    const auto number = shard_number(part.node, node_shards);
    state.nodes[number].push_back(std::move(part));
  }
  std::map<std::string, workload_part> by_workload;
  for (const auto& name : settings.decision.workloads) {
    const auto seen = settings.generations.find(name);
    auto& part = by_workload[name];
    part.workload = name;
    part.generation = seen == settings.generations.end() ? 0 : seen->second;
  }
  for (const auto& shared : settings.placed) {
    const auto& p = shared->what();
    by_workload[p.workload].placed.emplace_back(pod_slot{p.group, p.replica, p.index},
                                                p.incarnation);
  }
  for (const auto& one : settings.decision.victims) {
    if (is_forced(settings.decision, one))
      continue;
    auto& part = by_workload[one.portion.workload];
    part.workload = one.portion.workload;
    if (one.counted)
      part.loses_replicas = true;
    else
      take_portion(part, one);
  }
  const auto workload_shards = static_cast<std::uint32_t>(settings.shards->workloads.size());
  for (auto& [name, part] : by_workload)
    state.workloads[shard_number(name, workload_shards)].workloads.push_back(std::move(part));
  for (const auto& change : settings.decision.counts)
    state.workloads[shard_number(change.placement, workload_shards)].counts.push_back(change);
  for (const auto& part : settings.budgets)
    state.workloads[shard_number(part.budget, workload_shards)].budgets.push_back(part);
}

void release_all(decision_pointer self) {
  const auto& shards = *self->state.settings.shards;
  for (const auto& [number, parts] : self->state.nodes)
    self->send(shards.nodes[number], release_hold{id(self)});
  for (const auto& [number, parts] : self->state.workloads)
    self->send(shards.workloads[number], release_hold{id(self)});
}

void ask_votes(decision_pointer self) {
  auto& state = self->state;
  const auto trace = begin_step(self, "decision.prepare");
  const auto& settings = state.settings;
  const auto& group = settings.decision.resource_group;
  remember_epoch(state, *settings.ground);
  for (const auto& [number, parts] : state.nodes)
    remember_epoch(state, *settings.shards->node_owners[number]);
  for (const auto& [number, parts] : state.workloads)
    remember_epoch(state, *settings.shards->workload_owners[number]);
  auto all = of_shards(
    [self](const absl::Status& votes) { happens(self, outcome_of_votes(self, votes), votes); });
  ask_touched(self, all, settings.shards->nodes, state.nodes, [&](const auto& parts) {
    return prepare<node_parts>{id(self), group, parts, settings.decision.at_once, trace};
  });
  ask_touched(self, all, settings.shards->workloads, state.workloads, [&](const auto& parts) {
    return prepare<workload_parts>{id(self), group, parts, false, trace};
  });
  all.complete();
}

void apply(decision_pointer self) {
  const auto trace = begin_step(self, "decision.apply");
  self->state.step.set("victims", decision_of(self).victims.size());
  auto all = of_shards(
    [self](const absl::Status& applied) { happens(self, outcome_of_apply(applied), applied); });
  apply_to_all(self, all, trace);
  all.complete();
}

void await_room(decision_pointer self) {
  auto& state = self->state;
  begin_step(self, "decision.wait_for_room");
  state.no_room_yet.clear();
  for (const auto& [number, parts] : state.nodes) {
    state.no_room_yet.insert(shard_name(decision_of(self).resource_group, number));
    self->send(state.settings.shards->nodes[number],
               reprieve::await_room{id(self), self, decision_of(self).policy == "quota"});
  }
  if (state.no_room_yet.empty())
    happens(self, decision_event::room_free);
}

void start(decision_pointer self) {
  auto& state = self->state;
  const auto trace = state.step.context();
  auto all = until_done(self);
  if (decision_of(self).at_once) {
    apply_to_all(self, all, trace);
  } else {
    ask_touched(self, all, state.settings.shards->nodes, state.nodes, [&](const auto&) {
      return start_pods{id(self), trace};
    });
  }
  all.complete();
}

void withdraw_from_workloads(decision_pointer self) {
  auto& state = self->state;
  // Before any shard lets a victim go, so that the owner does not take it for leaving still.
  enter(self, decision_phase::aborted);
  begin_step(self, "decision.withdraw");
  auto workloads = until_done(self);
  ask_to_withdraw(self, workloads, state.settings.shards->workloads, state.workloads,
                  order_to_withdraw(self));
  workloads.complete();
}

void withdraw_from_nodes(decision_pointer self) {
  auto& state = self->state;
  auto nodes = until_done(self);
  ask_to_withdraw(self, nodes, state.settings.shards->nodes, state.nodes, order_to_withdraw(self));
  nodes.complete();
}

} // namespace reprieve::decision_actions
