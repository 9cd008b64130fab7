#include "actors/simulated/simulated_cluster.hpp"

#include "actors/interfaces/given_up_nodes.hpp"
#include "state/membership/epoch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace reprieve {

namespace {

using self_pointer = simulated_cluster_actor::stateful_pointer<simulated_cluster_state>;
using simulated_pod = simulated_cluster_state::simulated_pod;
using stage = simulated_journal::stage;

/// The reports that wait to be sent to the observer.
pod_reports& reports_to(simulated_cluster_state& state, const pod_observer_actor& observer) {
  const auto identity = [](const pod_observer_actor& one) {
    return caf::actor_cast<caf::actor_control_block*>(one);
  };
  const auto known = std::ranges::find(state.reports, identity(observer),
                                       [&](const auto& one) { return identity(one.first); });
  if (known != state.reports.end())
    return known->second;
  return state.reports.emplace_back(observer, pod_reports{}).second;
}

/// Tells the pod's observer where it stands with the next reports, unless it is between two stages.
void report(self_pointer self, const simulated_pod& p) {
  if (!p.observer)
    return;
  using what = pod_report::what;
  const auto& life = p.life;
  const auto send = [&](what happened) {
    reports_to(self->state, p.observer)
      .push_back({life.uid, life.node, happened, life.since, nullptr});
  };
  if (life.counted && !life.given_up && life.at != stage::stopped && life.at != stage::succeeded)
    if (auto placed = self->state.scheduler.pod_of(life))
      reports_to(self->state, p.observer)
        .push_back({life.uid, life.node, what::placed, life.since, std::move(placed)});
  switch (life.at) {
  case stage::starting:
    break;
  case stage::stopping:
    if (life.counted && life.told != no_time)
      reports_to(self->state, p.observer)
        .push_back({life.uid, life.node, what::terminating, life.told, nullptr});
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

void send_reports(self_pointer self) {
  for (auto& [observer, reports] : std::exchange(self->state.reports, {}))
    self->send(observer, std::move(reports));
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

/// One reminder is enough: it looks at all that is due by then, and sets the next.
void step_later(self_pointer self, duration least) {
  auto& state = self->state;
  if (state.due.empty())
    return;
  const auto now = state.settings.clock.now(self);
  const auto next = std::max(state.due.begin()->first, now + least);
  if (state.next_step != no_time && state.next_step <= next)
    return;
  state.next_step = next;
  self->delayed_send(self, next - now, simulation_step{});
}

void plan_step(self_pointer self, simulated_pod& p) {
  auto& state = self->state;
  if (p.due != no_time)
    state.due.erase({std::exchange(p.due, no_time), p.life.uid});
  if (const auto length = stage_length(state.settings, p.life)) {
    p.due = p.life.since + *length;
    state.due.emplace(p.due, p.life.uid);
    step_later(self, duration{0});
  }
}

/// What the scheduler has to know of a pod that was, or is, at a stage.
void tell_scheduler(simulated_scheduler& scheduler, const simulated_journal::entry& life) {
  switch (life.at) {
  case stage::starting:
  case stage::running:
    if (life.given_up)
      scheduler.leaves(life);
    else
      scheduler.came(life);
    break;
  case stage::stopping:
    scheduler.leaves(life);
    break;
  case stage::stopped:
  case stage::succeeded:
    scheduler.gone(life);
    break;
  }
}

void enter(self_pointer self, simulated_pod& p, stage next) {
  p.life.at = next;
  tell_scheduler(self->state.scheduler, p.life);
  p.life.since = self->state.settings.clock.now(self);
  self->state.journal->write(p.life);
  if (const auto& watched = self->state.settings.watched)
    watched(p.life);
  plan_step(self, p);
  report(self, p);
}

/// Orders of an older epoch come from somebody who lost its place; those of one that no store has
/// given come from nobody, and must not shut out those who follow.
bool is_stale(simulated_cluster_state& state, const std::string& node, revision epoch,
              time_point now) {
  if (is_beyond_all_epochs(epoch, now))
    return true;
  auto& newest = state.newest_epoch[node];
  if (epoch < newest) {
    if (state.settings.say)
      state.settings.say(fmt::format(
        "an order for node {} is refused: it is of epoch {}, and one of epoch {} was seen before. "
        "It comes from a replica that has lost its place, or of another cluster than the one that "
        "{} was written for; for a new cluster, start the machines with another journal",
        node, epoch, newest, state.settings.journal));
    return true;
  }
  newest = epoch;
  return false;
}

void be_annotated(const simulated_cluster_state& state, const pod& what,
                  simulated_journal::entry& life) {
  life.run_for = annotated(what, "simulation/run-for", duration{0});
  life.stop_takes = annotated(what, "simulation/stop-takes", state.settings.stop_takes);
  life.stuck_for = annotated(what, "simulation/stuck-for", duration{0});
}

void take_order(self_pointer self, start_order& order) {
  auto& state = self->state;
  const auto& what = order.what->what();
  if (is_stale(state, what.node, order.epoch, state.settings.clock.now(self)))
    return;
  auto [found, fresh] = state.pods.try_emplace(what.uid);
  auto& p = found->second;
  p.observer = std::move(order.report_to);
  if (!fresh && p.life.node == what.node) {
    report(self, p);
    return;
  }
  p.life = {}; // on another machine, as nobody could tell any more what ran on the first
  p.life.uid = what.uid;
  p.life.node = what.node;
  p.life.epoch = order.epoch;
  p.life.workload = what.workload;
  p.life.requests = what.requests;
  p.life.created = state.settings.clock.now(self);
  p.life.ordinal = what.index;
  p.life.counted = state.scheduler.is_counted(what.workload);
  p.life.grace = what.checkpoint_time + what.grace_period;
  be_annotated(state, what, p.life);
  enter(self, p, stage::starting);
}

/// From now on the pod runs here, as somebody has written down.
void adopt(self_pointer self, pod_question& asked) {
  auto& p = self->state.pods[asked.uid];
  p.observer = std::move(asked.report_to);
  p.life.uid = asked.uid;
  p.life.node = asked.node;
  p.life.epoch = asked.epoch;
  p.life.created = self->state.settings.clock.now(self);
  p.life.stop_takes = self->state.settings.stop_takes;
  enter(self, p, stage::running);
}

void take_order(self_pointer self, pod_question& asked) {
  auto& state = self->state;
  if (is_stale(state, asked.node, asked.epoch, state.settings.clock.now(self)))
    return;
  const auto found = state.pods.find(asked.uid);
  if (found == state.pods.end() && state.settings.adopts && asked.phase == pod_phase::running) {
    adopt(self, asked);
    return;
  }
  if (found == state.pods.end()) {
    reports_to(state, asked.report_to)
      .push_back({asked.uid, asked.node, pod_report::what::forgotten,
                  state.settings.clock.now(self), nullptr});
    return;
  }
  found->second.observer = std::move(asked.report_to);
  report(self, found->second);
}

void take_order(self_pointer self, stop_order& order) {
  auto& state = self->state;
  if (is_stale(state, order.node, order.epoch, state.settings.clock.now(self)))
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
  if (fresh && !state.settings.adopts) { // it does not run here, and is not to be started any more
    enter(self, p, stage::stopped);
    return;
  }
  p.life.stop_takes =
    order.checkpoint
    + std::max(std::min(p.life.stop_takes, order.grace + order.force), p.life.stuck_for);
  enter(self, p, stage::stopping);
  if (p.life.counted && !p.life.given_up)
    state.scheduler.ordered_away(p.life, state.settings.clock.now(self));
}

void step(self_pointer self, simulated_pod& p) {
  if (p.life.at == stage::starting)
    enter(self, p, stage::running);
  else if (p.life.at == stage::running)
    enter(self, p, stage::succeeded);
  else if (p.life.at == stage::stopping)
    enter(self, p, stage::stopped);
}

// -- the scheduler of its own ---------------------------------------------------------------------

/// Whether anybody counts on what runs on this machine.
void give_up(self_pointer self, simulated_pod& p, bool so) {
  auto& life = p.life;
  if (life.given_up == so || (life.at != stage::starting && life.at != stage::running))
    return;
  life.given_up = so;
  self->state.journal->write(life);
  if (so)
    self->state.scheduler.leaves(life);
  else
    self->state.scheduler.returns(life);
}

void take_order(self_pointer self, watch_nodes& order) {
  auto& state = self->state;
  auto& newest = state.newest_watch[order.shard];
  if (order.epoch < newest || is_beyond_all_epochs(order.epoch, state.settings.clock.now(self)))
    return; // also where it tells of no nodes
  newest = order.epoch;
  std::map<std::string_view, const node*> fresh;
  for (const auto& one : order.nodes)
    if (!is_stale(state, one.name, order.epoch, state.settings.clock.now(self))) {
      state.watchers[one.name] = order.report_to;
      fresh.emplace(one.name, &one);
    }
  state.scheduler.watch(order);
  // Those that have ended too: their end may not have been heard.
  for (auto& [uid, p] : state.pods)
    if (const auto on = fresh.find(p.life.node); on != fresh.end()) {
      give_up(self, p, is_tainted_as_given_up(*on->second));
      if (!p.life.counted)
        continue;
      p.observer = order.report_to;
      report(self, p);
    }
}

void take_order(self_pointer self, count_order& order) {
  auto& state = self->state;
  if (is_beyond_all_epochs(order.epoch, state.settings.clock.now(self))
      || !state.scheduler.count(order))
    return;
  for (const auto& uid : state.scheduler.replicas_of(order.what->what().workload)) {
    auto& p = state.pods.find(uid)->second;
    p.life.counted = true; // though it may have been started by an order
    report(self, p);
  }
}

void take_order(self_pointer self, delete_order& order) {
  auto& state = self->state;
  if (is_stale(state, order.node, order.epoch, state.settings.clock.now(self)))
    return;
  const auto found = state.pods.find(order.uid);
  if (found == state.pods.end()) {
    reports_to(state, order.report_to)
      .push_back({order.uid, order.node, pod_report::what::stopped, state.settings.clock.now(self),
                  nullptr});
    return;
  }
  auto& p = found->second;
  p.observer = std::move(order.report_to);
  if (p.life.at == stage::stopped || p.life.at == stage::succeeded) {
    report(self, p);
    return;
  }
  if (p.life.forced)
    return;
  p.life.forced = true;
  p.life.decision = order.decision;
  if (p.life.stuck_for == duration{0}) {
    enter(self, p, stage::stopped);
  } else {
    p.life.stop_takes = p.life.stuck_for;
    enter(self, p, stage::stopping);
  }
}

/// Has the scheduler do what it would by now.
void schedule(self_pointer self) {
  auto& state = self->state;
  if (!state.scheduler.knows_any())
    return;
  const auto now = state.settings.clock.now(self);
  auto made = state.scheduler.decide(now);
  for (const auto& uid : made.stopped) {
    auto& p = state.pods.find(uid)->second;
    p.life.told = now;
    enter(self, p, stage::stopping);
  }
  for (auto& life : made.placed) {
    auto& p = state.pods[life.uid];
    be_annotated(state, state.scheduler.pod_of(life)->what(), life);
    p.life = std::move(life);
    if (const auto watcher = state.watchers.find(p.life.node); watcher != state.watchers.end())
      p.observer = watcher->second;
    enter(self, p, stage::starting);
  }
  if (made.look_again != no_time
      && std::exchange(state.next_look, made.look_again) != made.look_again)
    self->delayed_send(self, made.look_again - now, simulation_step{});
}

/// Forgets what the machine ran. A connection that breaks with it is made anew by those who wait
/// for its reports.
void forget(self_pointer self, const forget_machine& which) {
  auto& state = self->state;
  const pod_report back{
    {}, which.node, pod_report::what::came_back, state.settings.clock.now(self), nullptr};
  for (auto one = state.pods.begin(); one != state.pods.end();) {
    auto& [uid, p] = *one;
    if (p.life.node != which.node || p.life.counted) {
      ++one;
      continue;
    }
    if (which.tells && p.observer)
      if (auto& told = reports_to(state, p.observer);
          told.empty() || told.back().happened != back.happened)
        told.push_back(back);
    if (p.due != no_time)
      state.due.erase({p.due, uid});
    if (state.settings.forgot)
      state.settings.forgot(uid);
    p.life.at = stage::stopped; // for its scheduler, which may count it
    tell_scheduler(state.scheduler, p.life);
    one = state.pods.erase(one);
  }
  state.newest_epoch.erase(which.node);
}

/// Does what is due. Those whose time comes within a millisecond share a reminder.
void step_all(self_pointer self) {
  auto& state = self->state;
  state.next_step = no_time;
  const auto now = state.settings.clock.now(self);
  while (!state.due.empty() && state.due.begin()->first <= now) {
    const auto [due, uid] = *state.due.begin();
    state.due.erase(state.due.begin());
    auto& p = state.pods.find(uid)->second;
    p.due = no_time;
    step(self, p);
  }
  step_later(self, std::chrono::milliseconds{1});
}

} // namespace

simulated_cluster_actor::behavior_type simulated_cluster(self_pointer self,
                                                         simulated_cluster_settings settings) {
  auto& state = self->state;
  state.settings = std::move(settings);
  for (auto& [uid, life] : simulated_journal::read(state.settings.journal)) {
    auto& newest = state.newest_epoch[life.node];
    if (!is_beyond_all_epochs(life.epoch, state.settings.clock.now(self)))
      newest = std::max(newest, life.epoch);
    auto& p = state.pods[uid];
    p.life = std::move(life);
    state.scheduler.came(p.life); // also one that has ended: nobody else is called what it was
    tell_scheduler(state.scheduler, p.life);
    plan_step(self, p);
  }
  state.journal = std::make_unique<simulated_journal>(state.settings.journal);
  return {
    [self](start_order& order) {
      take_order(self, order);
      send_reports(self);
    },
    [self](pod_question& asked) {
      take_order(self, asked);
      send_reports(self);
    },
    [self](stop_order& order) {
      take_order(self, order);
      schedule(self);
      send_reports(self);
    },
    [self](watch_nodes& order) {
      take_order(self, order);
      schedule(self);
      send_reports(self);
    },
    [self](count_order& order) {
      take_order(self, order);
      schedule(self);
      send_reports(self);
    },
    [self](const count_only& order) {
      auto& s = self->state;
      if (!is_beyond_all_epochs(order.epoch, s.settings.clock.now(self)))
        s.scheduler.count(order);
    },
    [self](delete_order& order) {
      take_order(self, order);
      schedule(self);
      send_reports(self);
    },
    [self](const forget_machine& which) {
      forget(self, which);
      send_reports(self);
    },
    [self](simulation_step) {
      step_all(self);
      schedule(self);
      send_reports(self);
    },
  };
}

} // namespace reprieve
