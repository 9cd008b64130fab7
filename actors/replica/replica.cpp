#include "actors/replica/replica.hpp"

#include "actors/replica/replica_actors.hpp"
#include "actors/replica/replica_events.hpp"
#include "actors/replica/replica_schema.hpp"
#include "state/records/keys.hpp"

#include <algorithm>
#include <ranges>

namespace reprieve {

namespace {

using self_pointer = replica_pointer;

/// Has the store forget what happened before the time that its history is kept for. Who owns the
/// queue tree does so for all; a compaction that fails is made up for by the next.
void compact_history(self_pointer self) {
  auto& state = self->state;
  if (!state.ground || !state.queues) {
    state.history.forget();
    return;
  }
  self
    ->request(state.store, answer_time, range_request{just(std::string(keys::schema)), 1, 0, true})
    .then(
      [self](range_answer& answer) {
        auto& s = self->state;
        if (!answer.ok() || !s.queues)
          return;
        if (const auto before = s.history.saw(s.settings.clock.now(self), answer->current))
          s.settings.behind->compact(*before, [](const absl::StatusOr<revision>&) {});
      },
      [](caf::error&) {});
}

/// Whether the shard can't run, as it can't be read, or another of its group which it waits for.
bool is_held_up(const replica_state& state, const std::string& shard) {
  return std::ranges::any_of(
    state.unreadable, [&](const std::string& other) { return group_of(other) == group_of(shard); });
}

/// Everything that this replica should own by now runs, as far as it can.
void ready_when_serving(self_pointer self) {
  auto& state = self->state;
  const auto waits = [&](const std::string& shard) { return !is_held_up(state, shard); };
  if (state.started || !state.known || !state.ground
      || std::ranges::any_of(state.loaded | std::views::keys, waits)
      || std::ranges::any_of(state.loading, waits))
    return;
  const auto& owned = state.known->members.at(state.settings.name).owned;
  const auto wanted = std::ranges::count_if(
    state.known->wanted, [&](const auto& one) { return one.second == state.settings.name; });
  const auto tree = owned.contains(std::string(queue_tree_shard)) ? 1 : 0;
  if (std::ssize(owned) < wanted + tree
      || std::ssize(state.running) < std::ranges::count_if(owned, waits))
    return;
  // Who owns the queue tree has to place the groups first.
  if (tree == 1 && (!state.catalog_known || state.known->wanted.empty()))
    return;
  state.started = true;
  state.ready.deliver(absl::OkStatus());
}

/// Sizes are taken in steps of a quarter or so, lest groups move for a node more or less.
std::int64_t size_to_place_by(const replica_state& state, const std::string& group) {
  const auto* nodes = find(state.nodes_of_groups, group);
  if (nodes == nullptr) {
    // Its coordinator has not told yet: it is what it was.
    if (!state.known)
      return 0;
    const auto before = state.known->nodes.find(group);
    return before == state.known->nodes.end() ? 0 : before->second;
  }
  if (*nodes <= 0)
    return 0;
  std::int64_t step = 1;
  while (step * 5 / 4 + 1 <= *nodes)
    step = step * 5 / 4 + 1;
  return step;
}

/// Who owns the queue tree says which groups there are to be placed.
void tell_group_sizes(self_pointer self) {
  auto& state = self->state;
  if (!state.queues || !state.catalog_known)
    return;
  group_sizes sizes;
  for (const auto& [name, group] : state.catalog_known->groups)
    sizes.groups.push_back({name, state.schema->node_shards, state.schema->workload_shards,
                            size_to_place_by(state, name)});
  self->send(state.members, std::move(sizes));
}

void start_what_is_due(self_pointer self) {
  start_waiting(self);
  publish_directory(self);
  ready_when_serving(self);
}

/// Asks for a new epoch: now, or, where that was done just before, after a pause. What made the
/// last one outdated may not be over, such as a shard that another replica owns and does not serve
/// yet.
void renew(self_pointer self) {
  constexpr std::chrono::seconds just_before{1};
  constexpr std::chrono::milliseconds pause{200};
  auto& state = self->state;
  const auto now = state.settings.clock.now(self);
  const auto last = std::exchange(state.renewed, now);
  if (last != no_time && now - last < just_before)
    self->delayed_send(state.members, pause, renew_epoch{});
  else
    self->send(state.members, renew_epoch{});
}

/// Reads what the shard starts from, if it has waited long enough since it ended.
void load_when_due(self_pointer self, const std::string& shard) {
  auto& state = self->state;
  const auto wait = state.restarts.left(shard, state.settings.clock.now(self));
  if (wait == duration{0})
    load(self, shard);
  else if (state.loading.insert(shard).second)
    self->delayed_send(self, wait, load_again{shard, state.ground});
}

/// One of those that run here has ended: asked to, or because it can't write any more.
void has_ended(self_pointer self, const caf::down_msg& down) {
  auto& state = self->state;
  if (forget_proxy(self, down.source)) {
    meet_peers_later(self);
    end_outdated_coordinators(self);
    publish_directory(self);
    return;
  }
  const auto found = state.running.find(down.source);
  if (found == state.running.end())
    return;
  const auto shard = found->second;
  forget(state, down.source);
  const bool given_up = state.stopping.erase(shard) > 0;
  if (state.outdated.erase(shard) > 0 && !given_up && state.ground) {
    state.to_renew[shard] = state.ground->epoch();
    renew(self);
  } else if (state.ground) {
    if (!given_up)
      tell_of_end(self, shard, down.reason);
    // Given up or not, its record says so next; what should run here is taken again then.
    self->send(state.members, shards_stopped{{shard}});
  }
  end_outdated_coordinators(self);
  publish_directory(self);
}

void apply_ownership(self_pointer self, const ownership_update& update) {
  auto& state = self->state;
  state.known = update.known;
  state.ground = update.ownership;
  state.schema->version = state.known->schema;
  for (const auto& shard : update.taken)
    load_when_due(self, shard);
  for (auto one = state.to_renew.begin(); one != state.to_renew.end();)
    if (const auto& [shard, ended] = *one; state.ground->epoch() > ended) {
      load(self, shard);
      one = state.to_renew.erase(one);
    } else {
      ++one;
    }
  std::set<std::string> gone;
  for (const auto& shard : update.to_stop)
    if (!stop(self, shard))
      gone.insert(shard);
  if (!gone.empty())
    self->send(state.members, shards_stopped{std::move(gone)});
  meet_peers(self);
  end_outdated_coordinators(self);
  start_what_is_due(self);
}

caf::result<absl::Status> begin_serving(self_pointer self) {
  self->state.ready = promise_from<absl::Status>(self);
  check_schema(self);
  return self->state.ready;
}

void lose_ownership(self_pointer self, const ownership_lost& lost) {
  auto& state = self->state;
  state.ground = nullptr;
  state.known = nullptr;
  end_all(self);
  forget_peers(self);
  publish_directory(self);
  if (lost.for_good)
    fail(self, absl::AbortedError(lost.why));
}

void take_loaded(self_pointer self, shard_loaded& done) {
  auto& state = self->state;
  if (done.owner != state.ground || !state.loading.contains(done.shard))
    return;
  if (absl::IsUnavailable(done.contents.status())) {
    self->delayed_send(self, store_retry_delay, load_again{done.shard, done.owner});
    return;
  }
  if (!done.contents.ok()) {
    if (done.shard == queue_tree_shard && !state.started)
      fail(self, done.contents.status()); // nothing can be served without it
    else
      tell_unreadable(self, done.shard, done.contents.status());
    ready_when_serving(self);
    return;
  }
  state.loading.erase(done.shard);
  state.unreadable.erase(done.shard);
  tell_aside(self, **done.contents);
  if (is_owned(state, done.shard))
    start(self, done.shard, *std::move(done.contents));
  tell_group_sizes(self);
  start_what_is_due(self);
}

void know_catalog(self_pointer self, catalog_update& update) {
  self->state.catalog_known = std::move(update.known);
  tell_group_sizes(self);
  start_what_is_due(self);
}

void know_sizes(self_pointer self, groups_counted& counted) {
  self->state.nodes_of_groups = std::move(counted.nodes);
  tell_group_sizes(self);
}

void tell_directory(self_pointer self, follow_directory& wanted) {
  if (self->state.serving)
    self->send(wanted.follower, directory_update{self->state.serving});
  self->state.followers.push_back(std::move(wanted.follower));
}

/// Others are there by now, or speak for others.
void meet_who_is_there(self_pointer self) {
  meet_peers(self);
  end_outdated_coordinators(self);
  start_what_is_due(self);
}

void meet_connected(self_pointer self, const peer_connected& there) {
  self->state.connected[there.replica] = there.connection;
  meet_who_is_there(self);
}

void lose_connection(self_pointer self, const peer_lost& there) {
  auto& connected = self->state.connected;
  if (const auto found = connected.find(there.replica);
      found != connected.end() && found->second == there.connection)
    connected.erase(found);
  meet_peers_later(self);
}

void look_for_others(self_pointer self) {
  self->state.looks_for_peers = false;
  meet_who_is_there(self);
}

void load_when_asked_again(self_pointer self, const load_again& due) {
  if (due.owner == self->state.ground && self->state.loading.erase(due.shard) > 0)
    load(self, due.shard);
}

void compact_regularly(self_pointer self) {
  compact_history(self);
  self->delayed_send(self, self->state.history.interval(), compact_store{});
}

/// The actors that it can't do without.
void spawn_own(self_pointer self) {
  auto& state = self->state;
  const auto& ours = state.settings;
  state.history = store_history{ours.keep_history};
  state.store = self->spawn<caf::linked>(serve_store, ours.behind);
  state.events = self->spawn<caf::linked>(event_log);
  state.members = self->spawn<caf::linked>(
    keep_membership,
    membership_settings{ours.name, ours.address, ours.api, ours.lease_time, ours.nodes_per_replica,
                        ours.schema, ours.behind, state.store, self, ours.clock, ours.secret});
}

void end_together(self_pointer self) {
  // Asked to, or because one of those linked to it has failed.
  self->set_exit_handler([self](const caf::exit_msg& end) { self->quit(end.reason); });
  self->set_down_handler([self](const caf::down_msg& down) { has_ended(self, down); });
  self->attach_functor(
    [running = self->state.to_end, lost = self->state.settings.lost](const caf::error& why) {
      for (const auto& one : *running)
        caf::anon_send_exit(one, caf::exit_reason::kill);
      if (lost && why != caf::exit_reason::user_shutdown)
        lost("an actor that the replica can't do without has ended");
    });
}

} // namespace

private_replica_actor::behavior_type replica(self_pointer self, replica_settings settings) {
  self->state.settings = std::move(settings);
  spawn_own(self);
  end_together(self);
  return {
    [self](start_serving) { return begin_serving(self); },
    [self](look_at_schema) { check_schema(self); },
    [self](stop_serving) -> caf::result<absl::Status> {
      return self->delegate(self->state.members, leave_members{});
    },
    [self](const ownership_update& update) { apply_ownership(self, update); },
    [self](const ownership_lost& lost) { lose_ownership(self, lost); },
    [self](shard_loaded& done) { take_loaded(self, done); },
    [self](catalog_update& update) { know_catalog(self, update); },
    [self](groups_counted& counted) { know_sizes(self, counted); },
    [self](follow_directory& wanted) { tell_directory(self, wanted); },
    [self](const peer_connected& there) { meet_connected(self, there); },
    [self](const peer_lost& there) { lose_connection(self, there); },
    [self](look_for_peers) { look_for_others(self); },
    [self](const load_again& due) { load_when_asked_again(self, due); },
    [self](compact_store) { compact_regularly(self); },
  };
}

} // namespace reprieve
