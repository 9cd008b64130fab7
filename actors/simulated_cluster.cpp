#include "actors/simulated_cluster.hpp"

#include "state/quantity.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = simulated_cluster_actor::stateful_pointer<simulated_cluster_state>;
using simulated_pod = simulated_cluster_state::simulated_pod;
using stage = simulated_journal::stage;

duration annotated(const pod& p, std::string_view key, duration otherwise) {
  const auto found = p.annotations.find(key);
  if (found == p.annotations.end())
    return otherwise;
  const auto parsed = parse_duration(found->second);
  return parsed.ok() ? *parsed : otherwise;
}

/// Tells the pod's observer where it stands, unless it is between two stages.
void report(self_pointer self, const simulated_pod& p) {
  if (!p.observer)
    return;
  using what = pod_report::what;
  const auto& life = p.life;
  const auto send = [&](what happened) {
    self->send(p.observer, pod_report{life.uid, life.node, happened, life.since});
  };
  switch (life.at) {
  case stage::starting:
  case stage::stopping:
    break;
  case stage::running:
    send(what::running);
    break;
  case stage::stopped:
    send(what::stopped);
    break;
  case stage::succeeded:
    send(what::succeeded);
    break;
  }
}

/// When the pod's stage ends by itself; nothing where it does not.
std::optional<duration> stage_length(const simulated_cluster_settings& settings,
                                     const simulated_journal::entry& life) {
  switch (life.at) {
  case stage::starting:
    return settings.start_takes;
  case stage::running:
    return life.run_for > duration{0} ? std::optional{life.run_for} : std::nullopt;
  case stage::stopping:
    return life.stop_takes;
  case stage::stopped:
  case stage::succeeded:
    break;
  }
  return std::nullopt;
}

void plan_step(self_pointer self, simulated_pod& p) {
  auto& settings = self->state.settings;
  const auto turn = ++p.turn;
  if (const auto length = stage_length(settings, p.life)) {
    const auto due = p.life.since + *length - settings.clock.now(self);
    self->delayed_send(self, std::max(due, duration{0}), simulation_step{p.life.uid, turn});
  }
}

void enter(self_pointer self, simulated_pod& p, stage next) {
  p.life.at = next;
  p.life.since = self->state.settings.clock.now(self);
  self->state.journal->write(p.life);
  if (const auto& watched = self->state.settings.watched)
    watched(p.life);
  plan_step(self, p);
  report(self, p);
}

/// Orders of an older epoch come from somebody who lost its place.
bool is_stale(simulated_cluster_state& state, revision epoch) {
  if (epoch < state.newest_epoch)
    return true;
  state.newest_epoch = epoch;
  return false;
}

void take_order(self_pointer self, start_order& order) {
  auto& state = self->state;
  if (is_stale(state, order.epoch))
    return;
  auto [found, fresh] = state.pods.try_emplace(order.what.uid);
  auto& p = found->second;
  p.observer = std::move(order.report_to);
  if (!fresh) {
    report(self, p);
    return;
  }
  p.life.uid = order.what.uid;
  p.life.node = order.what.node;
  p.life.epoch = order.epoch;
  p.life.run_for = annotated(order.what, "simulation/run-for", duration{0});
  p.life.stop_takes = annotated(order.what, "simulation/stop-takes", state.settings.stop_takes);
  p.life.stuck_for = annotated(order.what, "simulation/stuck-for", duration{0});
  enter(self, p, stage::starting);
}

void take_order(self_pointer self, stop_order& order) {
  auto& state = self->state;
  if (is_stale(state, order.epoch))
    return;
  auto [found, fresh] = state.pods.try_emplace(order.uid);
  auto& p = found->second;
  p.observer = std::move(order.report_to);
  if (!fresh && p.life.at != stage::starting && p.life.at != stage::running) {
    report(self, p);
    return;
  }
  p.life.uid = order.uid;
  p.life.node = order.node;
  p.life.epoch = order.epoch;
  p.life.decision = order.decision;
  p.life.stop_takes =
    order.checkpoint
    + std::max(std::min(p.life.stop_takes, order.grace + order.force), p.life.stuck_for);
  enter(self, p, stage::stopping);
}

void step(self_pointer self, const simulation_step& due) {
  const auto found = self->state.pods.find(due.uid);
  if (found == self->state.pods.end() || found->second.turn != due.turn)
    return;
  auto& p = found->second;
  if (p.life.at == stage::starting)
    enter(self, p, stage::running);
  else if (p.life.at == stage::running)
    enter(self, p, stage::succeeded);
  else if (p.life.at == stage::stopping)
    enter(self, p, stage::stopped);
}

} // namespace

simulated_cluster_actor::behavior_type simulated_cluster(self_pointer self,
                                                         simulated_cluster_settings settings) {
  auto& state = self->state;
  state.settings = std::move(settings);
  for (auto& [uid, life] : simulated_journal::read(state.settings.journal)) {
    state.newest_epoch = std::max(state.newest_epoch, life.epoch);
    auto& p = state.pods[uid];
    p.life = std::move(life);
    plan_step(self, p);
  }
  state.journal = std::make_unique<simulated_journal>(state.settings.journal);
  return {
    [self](start_order& order) { take_order(self, order); },
    [self](stop_order& order) { take_order(self, order); },
    [self](const simulation_step& due) { step(self, due); },
  };
}

} // namespace reprieve
