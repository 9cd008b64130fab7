#include "tests/actors/properties/watched_replica.hpp"

#include "actors/coordinator/coordinator_snapshot.hpp"
#include "actors/simulated/simulated_cluster.hpp"

#include <caf/scheduled_actor.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace reprieve::tests {

namespace {

template <class Message>
bool is_next(caf::scheduled_actor& actor) {
  const auto* next = actor.peek_at_next_mailbox_element();
  return next != nullptr && next->content().match_elements<Message>();
}

template <class Pointer, class Handle>
Pointer behind(const Handle& handle) {
  return dynamic_cast<Pointer>(caf::actor_cast<caf::abstract_actor*>(handle));
}

} // namespace

watched_replica::watched_replica(std::uint32_t shards, std::uint64_t seed, watcher told)
    : luck_(seed), told_(std::move(told)), door_(std::make_shared<faulty_store>(store_)) {
  simulated_cluster_settings machines;
  machines.clock = world_.clock();
  machines_ = world_.system().spawn(simulated_cluster, machines);
  replica_settings as;
  as.name = "replica-0";
  as.node_shards = shards;
  as.workload_shards = shards;
  as.behind = door_;
  as.cluster = machines_;
  as.clock = world_.clock();
  replica_ = world_.system().spawn(replica, std::move(as));
  gateway_ = world_.system().spawn(gateway);
  world_.system().spawn([whom = replica_, this](caf::event_based_actor* self) {
    self->request(whom, caf::infinite, start_serving{}).then([this](const absl::Status& serves) {
      if (!serves.ok())
        trouble_ = serves.ToString();
    });
  });
  settle();
  caf::anon_send(replica_, follow_directory{gateway_});
  // Whoever follows the directory learns at once who serves what.
  auto follower = world_.system().spawn(
    [this](directory_follower_actor::pointer) -> directory_follower_actor::behavior_type {
      return {[this](const directory_update& known) { serving_ = known.serving; }};
    });
  caf::anon_send(replica_, follow_directory{follower});
  settle();
}

watched_replica::~watched_replica() {
  door_->cut();
  world_.kill(machines_);
  world_.kill(replica_);
  world_.kill(gateway_);
  world_.settle();
}

coordinator_pointer watched_replica::coordinator_of(const std::string& group) const {
  if (!serving_)
    return nullptr;
  const auto found = serving_->groups.find(group);
  return found == serving_->groups.end() || !found->second.coordinator
           ? nullptr
           : behind<coordinator_pointer>(found->second.coordinator);
}

/// What `admin snapshot` would say if all answered at this moment; null where somebody could not.
std::shared_ptr<const cluster_snapshot>
watched_replica::read_all(coordinator_pointer about_to_decide) const {
  auto whole = std::make_shared<cluster_snapshot>();
  whole->cluster = "watched";
  whole->known = about_to_decide->state.known;
  for (const auto& [name, settings] : whole->known->groups) {
    auto* one = coordinator_of(name);
    auto found = one == nullptr ? read_group_result(absl::UnavailableError("it is starting"))
                                : read_state(one);
    if (!found.ok())
      return nullptr;
    for (const auto& [share, placed] : one->state.mirror.placements())
      whole->placements.push_back(placed);
    whole->groups.push_back(*std::move(found));
  }
  whole->queues = behind<queue_shard_pointer>(serving_->queues)->state.statuses;
  std::ranges::sort(whole->placements, {}, &placement::name);
  whole->recount_placements();
  return whole;
}

/// Lets one of those go on whom a cycle waits for that has asked shards. False where there is none.
bool watched_replica::step_for_answers(coordinator_pointer self, cycle_seen& seen) {
  const auto& waiting = world_.waiting();
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    auto* actor = dynamic_cast<caf::scheduled_actor*>(waiting[i]);
    if (actor == nullptr)
      continue;
    const bool is_shard = std::string_view(actor->name()) == node_shard_state::name;
    if (!is_shard && actor != static_cast<caf::scheduled_actor*>(self))
      continue;
    if (!is_shard
        && (is_next<node_delta>(*actor) || is_next<workload_delta>(*actor)
            || is_next<catalog_update>(*actor) || is_next<quota_grants>(*actor)
            || is_next<lower_grants>(*actor) || is_next<decision_ended>(*actor)
            || is_next<decision_moved>(*actor)))
      seen.undisturbed = false;
    world_.step_at(i);
    return true;
  }
  return false;
}

/// Lets the decision see what it is to do, and nothing more.
void watched_replica::begin_decision(const decision_actor& whom) {
  auto* wanted = behind<decision_pointer>(whom);
  const auto& waiting = world_.waiting();
  for (std::size_t i = 0; i < waiting.size(); ++i)
    if (dynamic_cast<decision_pointer>(waiting[i]) == wanted) {
      world_.step_at(i);
      return;
    }
}

void watched_replica::watch_cycle(std::size_t position, coordinator_pointer self) {
  auto& state = self->state;
  const auto whole = read_all(self);
  const auto then = whole ? told_(self, whole) : after_cycle{};
  std::set<std::string> before;
  std::set<std::string> given_up;
  for (const auto& [id, one] : state.decisions) {
    before.insert(id);
    if (one.given_up)
      given_up.insert(id);
  }
  world_.step_at(position);
  cycle_seen seen;
  while (state.running_cycle && step_for_answers(self, seen)) {
  }
  // One that was put off until others are told to go has decided nothing.
  seen.undisturbed = seen.undisturbed && !state.running_cycle && !state.lets_others_go;
  if (!then)
    return;
  for (const auto& [id, one] : state.decisions) {
    if (before.contains(id)) {
      if (one.given_up && !given_up.contains(id))
        seen.given_up.push_back(id);
      continue;
    }
    begin_decision(one.actor);
    const auto& settings = behind<decision_pointer>(one.actor)->state.settings;
    auto& made = seen.decisions.emplace_back(settings.decision);
    for (const auto& p : settings.placed)
      made.assignments.push_back({p->what()});
  }
  for (const auto& [workload, why] : state.waiting_because)
    seen.waiting.emplace(workload, why);
  then(self, seen);
}

/// Lets any one of those who have a message handle it; false where there is none.
bool watched_replica::step() {
  const auto count = world_.waiting().size();
  if (count == 0)
    return false;
  const auto position = luck_.below(count);
  auto* self = dynamic_cast<coordinator_pointer>(world_.waiting()[position]);
  if (self != nullptr && is_next<run_cycle>(*self) && !self->state.running_cycle
      && may_run_cycle(self))
    watch_cycle(position, self);
  else
    world_.step_at(position);
  return true;
}

void watched_replica::settle() {
  while (step()) {
  }
}

/// From one timer to the next.
void watched_replica::pass(duration time) {
  settle();
  while (time > duration{0}) {
    const auto some = std::min(time, world_.until_next_timer());
    world_.pass(some);
    time -= some;
    settle();
  }
}

template <class Reply, class Message>
void watched_replica::ask(Message message) {
  auto answered = std::make_shared<bool>(false);
  world_.system().spawn(
    [this, answered, whom = gateway_, message = std::move(message)](caf::event_based_actor* self) {
      self->request(whom, caf::infinite, message)
        .then(
          [this, answered](Reply& reply) {
            *answered = true;
            if constexpr (std::is_same_v<Reply, absl::Status>) {
              if (!reply.ok())
                trouble_ += reply.ToString();
            } else if (!reply.ok()) {
              trouble_ += reply.status().ToString();
            }
          },
          [answered](caf::error&) { *answered = true; });
    });
  for (int i = 0; i < 5'000 && !*answered; ++i)
    pass(std::chrono::milliseconds{1});
  if (!*answered)
    trouble_ += "no answer";
}

void watched_replica::make(const site_change& change) {
  if (!change.put.empty())
    ask<apply_result>(apply_request{change.put, false});
  if (change.removed)
    ask<absl::Status>(delete_request{change.removed->first, {change.removed->second}});
  if (!change.heard.empty())
    ask<heartbeat_result>(heartbeat_request{change.heard, false});
  pass(change.then);
}

} // namespace reprieve::tests
