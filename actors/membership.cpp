#include "actors/membership.hpp"

#include "state/boot_clock.hpp"
#include "state/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace reprieve {

namespace {

using self_pointer = membership_actor::stateful_pointer<membership_state>;

constexpr std::chrono::milliseconds retry_delay{200};

void look_later(self_pointer self) {
  self->delayed_send(self, retry_delay, look_at_members{});
}

std::string record_key(const membership_state& state) {
  return keys::owner(state.settings.name);
}

void read_members(self_pointer self);

// -- the lease ------------------------------------------------------------------------------------

void ask_for_lease(self_pointer self) {
  auto& state = self->state;
  const auto term = ++state.term;
  state.asking = true;
  const membership_actor me = self;
  state.settings.behind->grant(
    state.settings.lease_time,
    [me, term](absl::StatusOr<lease_id> lease) {
      caf::anon_send(me, lease_granted{term, std::move(lease)});
    },
    [me, term] { caf::anon_send(me, lease_ended{term}); });
}

/// Watches are no more than a bell: whatever has changed, all is read at one revision.
std::unique_ptr<watch_handle> watch(self_pointer self, key_range range, revision from) {
  const membership_actor me = self;
  return self->state.settings.behind->watch(
    std::move(range), from,
    [me](const absl::StatusOr<watch_batch>& batch) { caf::anon_send(me, members_changed{batch}); });
}

/// The place is gone, and all that was owned by it. A new one is taken with a new lease, unless it
/// is gone for good.
void lose(self_pointer self, std::string why, bool for_good = false) {
  auto& state = self->state;
  const bool had = state.ground != nullptr;
  state.lease = 0;
  state.ground = nullptr;
  state.known = {};
  state.groups.reset();
  state.told_to_stop.clear();
  state.stopped.clear();
  state.writing = false;
  state.record_under_way.reset();
  state.record_sent = false;
  if (had || for_good)
    self->send(state.settings.owner, ownership_lost{std::move(why), for_good});
  if (state.leaving && state.left.pending())
    state.left.deliver(absl::OkStatus());
  if (!state.leaving && !for_good)
    ask_for_lease(self);
}

// -- what it owns ---------------------------------------------------------------------------------

std::set<std::string> owned_now(const membership_state& state) {
  const auto me = state.known.members.find(state.settings.name);
  return me == state.known.members.end() || state.ground == nullptr ? std::set<std::string>{}
                                                                    : me->second.owned;
}

/// What the store has by now is known: starts what is new and goes on.
void take_in_record(self_pointer self, revision at, std::set<std::string> owned);

/// Sends the write of the record until its fate is known: whatever comes of earlier copies, at most
/// one of them counts.
void send_record(self_pointer self) {
  auto& state = self->state;
  if (std::exchange(state.record_sent, true))
    return;
  self->request(state.settings.door, caf::infinite, *state.record_under_way)
    .then(
      [self, term = state.term](transaction_answer& answer) {
        auto& s = self->state;
        if (term != s.term)
          return;
        s.record_sent = false;
        if (!answer.ok()) {
          look_later(self);
          return;
        }
        s.record_under_way.reset();
        if (answer->succeeded) {
          s.changes = answer->current;
          take_in_record(self, answer->current, std::exchange(s.owned_by_it, {}));
        } else {
          // An earlier copy arrived, or somebody else was first: what the store has tells.
          read_members(self);
        }
      },
      [self](caf::error&) {
        self->state.record_sent = false;
        look_later(self);
      });
}

/// Writes the record with what is owned from now on.
void write_record(self_pointer self, std::set<std::string> owned) {
  auto& state = self->state;
  const auto& settings = state.settings;
  // A process of the same name that is not there any more has left its record: it is replaced.
  const auto found = state.known.members.find(settings.name);
  const auto before = found == state.known.members.end() ? revision{0} : found->second.epoch;
  const owner_record record{settings.name, settings.address, settings.api, state.started,
                            owned,         settings.schema};
  const std::string counter(keys::ownership);
  state.record_under_way = transaction{
    {{record_key(state), compared::modified, before}, {counter, compared::modified, state.changes}},
    {put{record_key(state), encode(record), state.lease}, put{counter, settings.name, 0}}};
  state.owned_by_it = std::move(owned);
  state.writing = true;
  if (state.ground != nullptr)
    state.ground->begin_change();
  send_record(self);
}

void take_in_record(self_pointer self, revision at, std::set<std::string> owned) {
  auto& state = self->state;
  const auto before = owned_now(state);
  // Where the write did not come about, the epoch is what it was.
  const bool renewed = state.ground == nullptr || state.ground->epoch() != at;
  if (state.ground == nullptr)
    state.ground = std::make_shared<ownership>(
      record_key(state), at,
      [behind = state.settings.behind, lease = state.lease] {
        return boot_time() < behind->lasts_until(lease);
      },
      state.epoch_base, state.known.schema);
  else
    state.ground->end_change(at);
  state.writing = false;
  state.renew = state.renew && !renewed;
  auto& me = state.known.members[state.settings.name];
  me.address = state.settings.address;
  me.api = state.settings.api;
  me.schema = state.settings.schema;
  me.epoch = at;
  me.lease = state.lease;
  me.joined = me.joined == 0 ? at : me.joined;
  me.owned = owned;
  ownership_update update{std::make_shared<const membership>(state.known), state.ground, {}, {}};
  std::ranges::set_difference(owned, before, std::inserter(update.taken, update.taken.end()));
  for (const auto& shard : before)
    if (!owned.contains(shard)) {
      state.told_to_stop.erase(shard);
      state.stopped.erase(shard);
    }
  self->send(state.settings.owner, std::move(update));
  self->send(self, look_at_members{});
}

bool keeps_tree(const membership_state& state) {
  return owned_now(state).contains(std::string(queue_tree_shard));
}

/// Has the records written in the newest version that every replica knows; who owns the queue tree
/// does so for all. Nobody joins meanwhile who might not know it.
void raise_schema(self_pointer self) {
  auto& state = self->state;
  auto raised = state.schema;
  raised.version = schema_to_use(state.known);
  const std::string key(keys::schema);
  const std::string counter(keys::ownership);
  state.writing = true;
  self
    ->request(state.settings.door, caf::infinite,
              transaction{{state.ground->held(),
                           {key, compared::modified, state.schema_at},
                           {counter, compared::modified, state.changes}},
                          {put{key, encode(raised), 0}, put{counter, state.settings.name, 0}}})
    // Whatever came of it, the store tells.
    .then([self](transaction_answer&) { read_members(self); },
          [self](caf::error&) { read_members(self); });
}

/// Who owns the queue tree keeps the table of who should own what.
void keep_table(self_pointer self) {
  auto& state = self->state;
  if (!state.groups || !keeps_tree(state))
    return;
  auto wanted = place_shards(*state.groups, able_members(state.known), state.known.wanted,
                             state.settings.nodes_per_replica);
  std::map<std::string, std::int64_t> nodes;
  for (const auto& group : *state.groups)
    nodes[group.name] = group.nodes;
  if (wanted == state.known.wanted && nodes == state.known.nodes)
    return;
  const std::string key(keys::shard_owners);
  state.writing = true;
  self
    ->request(state.settings.door, caf::infinite,
              transaction{{state.ground->held(), {key, compared::modified, state.table}},
                          {put{key, encode(owners_record{wanted, nodes}), 0}}})
    .then(
      [self, wanted, nodes, term = state.term](transaction_answer& answer) {
        auto& s = self->state;
        if (term != s.term)
          return;
        s.writing = false;
        if (answer.ok() && answer->succeeded) {
          s.table = answer->current;
          s.known.wanted = wanted;
          s.known.nodes = nodes;
          self->send(self, look_at_members{});
        } else {
          read_members(self);
        }
      },
      [self](caf::error&) { read_members(self); });
}

/// Does what is due next, if nothing is under way.
void go_on(self_pointer self) {
  auto& state = self->state;
  if (state.lease == 0 || state.writing || state.reading)
    return;
  if (state.ground == nullptr) {
    // What is free is taken along; of those that are there, this one comes last.
    auto joined = state.known;
    joined.members[state.settings.name] = {};
    joined.members[state.settings.name].joined = std::numeric_limits<revision>::max();
    if (!state.leaving)
      write_record(self, next_steps(joined, state.settings.name, false).take);
    return;
  }
  const auto steps = next_steps(state.known, state.settings.name, state.leaving);
  std::set<std::string> to_stop;
  for (const auto& shard : steps.stop)
    if (state.told_to_stop.insert(shard).second)
      to_stop.insert(shard);
  if (!to_stop.empty())
    self->send(
      state.settings.owner,
      ownership_update{
        std::make_shared<const membership>(state.known), state.ground, {}, std::move(to_stop)});
  auto owned = owned_now(state);
  if (state.leaving && state.stopped == owned) {
    // With the lease the record goes, and others need not wait.
    state.writing = true;
    const membership_actor me = self;
    state.settings.behind->revoke(
      state.lease, [me, term = state.term](const auto&) { caf::anon_send(me, lease_ended{term}); });
    return;
  }
  bool changed = state.renew;
  for (const auto& shard : state.stopped)
    changed = owned.erase(shard) > 0 || changed;
  for (const auto& shard : steps.take)
    changed = owned.insert(shard).second || changed;
  if (changed)
    write_record(self, std::move(owned));
  else if (keeps_tree(state) && schema_to_use(state.known) > state.known.schema)
    raise_schema(self);
  else
    keep_table(self);
}

// -- what the store says --------------------------------------------------------------------------

membership to_membership(const range_result& members) {
  membership known;
  for (const auto& one : members.values) {
    auto record = decode<owner_record>(one.value);
    auto& found = known.members[std::string(keys::last_part(one.key))];
    found.joined = one.created;
    found.epoch = one.modified;
    found.lease = one.lease;
    found.readable = record.ok();
    if (!record.ok())
      continue;
    found.address = std::move(record->address);
    found.api = std::move(record->api);
    found.owned = std::move(record->owned);
    found.schema = record->schema;
  }
  return known;
}

void take_in_meta(membership_state& state, membership& known, const range_result& meta) {
  state.changes = 0;
  state.table = 0;
  for (const auto& one : meta.values) {
    if (one.key == keys::ownership)
      state.changes = one.modified;
    if (one.key == keys::schema)
      if (auto schema = decode<schema_record>(one.value); schema.ok()) {
        known.schema = schema->version;
        state.schema = *std::move(schema);
        state.schema_at = one.modified;
      }
    if (one.key == keys::shard_owners) {
      state.table = one.modified;
      if (auto table = decode<owners_record>(one.value); table.ok()) {
        known.wanted = std::move(table->owners);
        known.nodes = std::move(table->nodes);
      }
    }
  }
}

void take_in_members(self_pointer self, const range_result& members, const range_result& meta) {
  auto& state = self->state;
  if (state.record_under_way) {
    state.read_again = true; // what comes of it is read after it
    return;
  }
  const auto before = owned_now(state);
  auto known = to_membership(members);
  take_in_meta(state, known, meta);
  if (known.schema > state.settings.schema) {
    lose(self, too_new(known.schema, state.settings.schema), true);
    return;
  }
  const auto me = known.members.find(state.settings.name);
  const bool ours = me != known.members.end() && me->second.lease == state.lease;
  const bool was_there = state.ground != nullptr;
  if (was_there && !ours) {
    if (me == known.members.end())
      lose(self, "its lease has run out");
    else
      lose(self, fmt::format("another process joined as replica {}", state.settings.name), true);
    return;
  }
  const bool news = known.members != state.known.members || known.schema != state.known.schema;
  // What was owned is what this replica has started; the record may have come further.
  std::set<std::string> owned;
  if (ours)
    owned = std::exchange(me->second.owned, before);
  const auto epoch = ours ? me->second.epoch : revision{0};
  state.known = std::move(known);
  state.writing = false;
  if (was_there)
    state.ground->use_schema(state.known.schema);
  if (ours && (!was_there || state.ground->epoch() != epoch || state.ground->is_changing())) {
    take_in_record(self, epoch, std::move(owned));
    return;
  }
  if (news && was_there)
    self->send(
      state.settings.owner,
      ownership_update{std::make_shared<const membership>(state.known), state.ground, {}, {}});
  go_on(self);
}

/// Whether somebody else changed something: what this replica wrote it knows from its own answers.
bool is_news(const membership_state& state, const watch_batch& batch) {
  return !std::ranges::all_of(batch.changes, [&](const change& one) {
    return one.kind == change::type::put
           && ((one.value.key == record_key(state) && one.value.lease == state.lease)
               || (one.value.key == keys::shard_owners && one.value.modified == state.table)
               || (one.value.key == keys::schema && one.value.modified == state.schema_at));
  });
}

/// What was to be read could not be: it is not forgotten.
void read_later(self_pointer self) {
  self->state.read_again = true;
  look_later(self);
}

void read_meta(self_pointer self, range_result members) {
  self
    ->request(self->state.settings.door, caf::infinite,
              range_request{with_prefix("meta/"), 0, members.current, false})
    .then(
      [self, members = std::move(members), term = self->state.term](range_answer& meta) {
        auto& state = self->state;
        state.reading = false;
        const bool again = std::exchange(state.read_again, false) || term != state.term;
        if (state.lease == 0)
          return;
        if (!meta.ok())
          read_later(self);
        else if (again)
          read_members(self);
        else
          take_in_members(self, members, *meta);
      },
      [self](caf::error&) {
        self->state.reading = false;
        read_later(self);
      });
}

/// Reads all there is to know, at one revision.
void read_members(self_pointer self) {
  auto& state = self->state;
  if (std::exchange(state.reading, true)) {
    state.read_again = true;
    return;
  }
  state.read_again = false;
  self
    ->request(state.settings.door, caf::infinite,
              range_request{with_prefix(std::string(keys::owners)), 0, 0, false})
    .then(
      [self, term = state.term](range_answer& answer) {
        auto& s = self->state;
        if (!answer.ok() || term != s.term || s.lease == 0) {
          s.reading = false;
          read_later(self);
          return;
        }
        if (!s.watched_members) {
          s.watched_members =
            watch(self, with_prefix(std::string(keys::owners)), answer->current + 1);
          s.watched_table = watch(self, just(std::string(keys::shard_owners)), answer->current + 1);
          s.watched_schema = watch(self, just(std::string(keys::schema)), answer->current + 1);
        }
        read_meta(self, *std::move(answer));
      },
      [self](caf::error&) {
        self->state.reading = false;
        read_later(self);
      });
}

} // namespace

membership_actor::behavior_type keep_membership(self_pointer self, membership_settings settings) {
  self->state.settings = std::move(settings);
  return {
    [self](join_members wanted) {
      self->state.epoch_base = wanted.epoch_base;
      self->state.started = self->state.settings.clock.now(self);
      ask_for_lease(self);
    },
    [self](const shards_stopped& ended) {
      const auto owned = owned_now(self->state);
      for (const auto& shard : ended.shards)
        if (owned.contains(shard))
          self->state.stopped.insert(shard);
      go_on(self);
    },
    [self](renew_epoch) {
      self->state.renew = true;
      go_on(self);
    },
    [self](group_sizes& sizes) {
      self->state.groups = std::move(sizes.groups);
      go_on(self);
    },
    [self](leave_members) -> caf::result<absl::Status> {
      auto& state = self->state;
      if (state.ground == nullptr)
        return absl::OkStatus();
      state.leaving = true;
      state.left = promise_from<absl::Status>(self);
      go_on(self);
      return state.left;
    },
    [self](lease_granted& granted) {
      auto& state = self->state;
      if (granted.term != state.term)
        return; // it runs out by itself
      state.asking = false;
      if (!granted.lease.ok()) {
        look_later(self);
        return;
      }
      state.lease = *granted.lease;
      read_members(self);
    },
    [self](lease_ended ended) {
      if (ended.term == self->state.term)
        lose(self, "its lease has run out");
    },
    [self](const members_changed& news) {
      auto& state = self->state;
      // What was missed is read with all the rest; watches begin anew from there.
      if (!news.batch.ok()) {
        state.watched_members.reset();
        state.watched_table.reset();
        state.watched_schema.reset();
      }
      if (state.lease != 0 && (!news.batch.ok() || is_news(state, *news.batch)))
        read_members(self);
    },
    [self](look_at_members) {
      auto& state = self->state;
      if (state.lease == 0 && !state.asking && !state.leaving)
        ask_for_lease(self);
      else if (state.record_under_way)
        send_record(self);
      else if (state.lease != 0
               && (state.writing || state.read_again || state.known.members.empty()))
        read_members(self);
      else
        go_on(self);
    },
  };
}

} // namespace reprieve
