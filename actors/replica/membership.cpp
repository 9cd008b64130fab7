#include "actors/replica/membership.hpp"

#include "actors/replica/membership_parts.hpp"
#include "state/records/keys.hpp"

#include <utility>

namespace reprieve {

namespace {

using self_pointer = membership_pointer;

void ask_for_lease(self_pointer self) {
  auto& state = self->state;
  const auto term = ++state.lease.term;
  state.lease.phase = member_lease::asked;
  const private_membership_actor me = self;
  state.settings.raw_store->grant(
    state.settings.lease_time,
    [me, term](absl::StatusOr<lease_id> lease) {
      caf::anon_send(me, lease_granted{term, std::move(lease)});
    },
    [me, term] { caf::anon_send(me, lease_ended{term}); });
}

} // namespace

void schedule_next_look(self_pointer self) {
  constexpr std::chrono::milliseconds retry_delay{200};
  self->delayed_send(self, retry_delay, look_at_members{});
}

std::string record_key(const membership_state& state) {
  return keys::owner(state.settings.name);
}

void lose(self_pointer self, std::string why, bool for_good) {
  auto& state = self->state;
  const bool had = state.own.ownership != nullptr;
  state.lease.id = 0;
  if (state.lease.phase == member_lease::held)
    state.lease.phase = member_lease::none;
  state.own.ownership = nullptr;
  state.own.under_way.reset();
  state.own.is_sent = false;
  state.read.known = {};
  state.read.since_lease = false;
  state.groups.reset();
  state.stopping = {};
  state.is_writing = false;
  if (had || for_good)
    self->send(state.settings.owner, ownership_lost{std::move(why), for_good});
  if (state.leaving && state.leaving->pending())
    state.leaving->deliver(absl::OkStatus());
  if (!state.leaving && !for_good)
    ask_for_lease(self);
}

namespace {

void join(self_pointer self, join_members wanted) {
  self->state.epoch_base = wanted.epoch_base;
  self->state.started = self->state.settings.clock.now(self);
  ask_for_lease(self);
}

void note_stopped(self_pointer self, const shards_stopped& ended) {
  const auto owned = owned_now(self->state);
  for (const auto& shard : ended.shards)
    if (owned.contains(shard))
      self->state.stopping.ended.insert(shard);
  take_next_step(self);
}

void want_other_epoch(self_pointer self) {
  self->state.own.needs_epoch = true;
  take_next_step(self);
}

void know_sizes(self_pointer self, group_sizes& sizes) {
  self->state.groups = std::move(sizes.groups);
  take_next_step(self);
}

caf::result<absl::Status> leave(self_pointer self) {
  auto& state = self->state;
  if (state.own.ownership == nullptr)
    return absl::OkStatus();
  state.leaving = promise_from<absl::Status>(self);
  take_next_step(self);
  return *state.leaving;
}

void take_lease(self_pointer self, const lease_granted& granted) {
  auto& state = self->state;
  if (granted.term != state.lease.term)
    return; // it runs out by itself
  if (!granted.lease.ok()) {
    state.lease.phase = member_lease::none;
    schedule_next_look(self);
    return;
  }
  state.lease.phase = member_lease::held;
  state.lease.id = *granted.lease;
  read_members(self);
}

void lose_lease(self_pointer self, lease_ended ended) {
  if (ended.term == self->state.lease.term)
    lose(self, "its lease has run out");
}

void hear_of_members(self_pointer self, const members_changed& news) {
  auto& state = self->state;
  // What was missed is read with all the rest; watches begin anew from there.
  if (!news.batch.ok()) {
    state.read.watched_members.reset();
    state.read.watched_table.reset();
    state.read.watched_schema.reset();
  }
  if (state.lease.phase == member_lease::held && (!news.batch.ok() || is_news(state, *news.batch)))
    read_members(self);
}

/// Whether all is known that may have changed.
bool is_read(const members_read& read) {
  return read.since_lease && read.reading != members_read::due
         && read.reading != members_read::under_way_and_outdated;
}

/// Goes on with what is under way.
void look_again(self_pointer self) {
  auto& state = self->state;
  if (state.lease.phase == member_lease::none && !state.leaving)
    ask_for_lease(self);
  else if (state.own.under_way)
    send_record(self);
  else if (state.lease.phase == member_lease::held && (state.is_writing || !is_read(state.read)))
    read_members(self);
  else
    take_next_step(self);
}

} // namespace

private_membership_actor::behavior_type keep_membership(self_pointer self,
                                                        membership_settings settings) {
  self->state.settings = std::move(settings);
  return {
    [self](join_members wanted) { join(self, wanted); },
    [self](const shards_stopped& ended) { note_stopped(self, ended); },
    [self](renew_epoch) { want_other_epoch(self); },
    [self](group_sizes& sizes) { know_sizes(self, sizes); },
    [self](leave_members) { return leave(self); },
    [self](const lease_granted& granted) { take_lease(self, granted); },
    [self](lease_ended ended) { lose_lease(self, ended); },
    [self](const members_changed& news) { hear_of_members(self, news); },
    [self](look_at_members) { look_again(self); },
  };
}

} // namespace reprieve
