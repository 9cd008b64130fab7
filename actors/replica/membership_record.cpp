#include "actors/replica/membership_parts.hpp"
#include "state/records/keys.hpp"
#include "state/store/boot_clock.hpp"

#include <algorithm>
#include <limits>
#include <utility>

// What a replica owns, and the records by which it does.

namespace reprieve {

namespace {

using self_pointer = membership_pointer;

/// Writes the record with what is owned from now on.
void write_record(self_pointer self, std::set<std::string> owned) {
  auto& state = self->state;
  const auto& settings = state.settings;
  // A process of the same name that is not there any more has left its record: it is replaced.
  const auto& known = state.read.known;
  const auto found = known.members.find(settings.name);
  const auto before = found == known.members.end() ? revision{0} : found->second.epoch;
  const owner_record record{settings.name, settings.address, settings.api,   state.started,
                            owned,         settings.schema,  settings.secret};
  const std::string counter(keys::ownership);
  state.own.under_way = transaction{
    {{record_key(state), compared::modified, before},
     {counter, compared::modified, state.read.change_at}},
    {put{record_key(state), encode(record), state.lease.id}, put{counter, settings.name, 0}}};
  state.own.owned_by_it = std::move(owned);
  state.is_writing = true;
  if (state.own.ownership != nullptr)
    state.own.ownership->begin_change();
  send_record(self);
}

bool keeps_tree(const membership_state& state) {
  return owned_now(state).contains(std::string(queue_tree_shard));
}

/// Has the records written in the newest version that every replica knows; who owns the queue tree
/// does so for all. Nobody joins meanwhile who might not know it.
void raise_schema(self_pointer self) {
  auto& state = self->state;
  auto raised = state.read.schema;
  raised.version = schema_to_use(state.read.known);
  const std::string key(keys::schema);
  const std::string counter(keys::ownership);
  state.is_writing = true;
  self
    ->request(state.settings.store, caf::infinite,
              transaction{{state.own.ownership->held(),
                           {key, compared::modified, state.read.schema_at},
                           {counter, compared::modified, state.read.change_at}},
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
  const auto& known = state.read.known;
  auto wanted = place_shards(*state.groups, able_members(known), known.wanted,
                             state.settings.nodes_per_replica);
  std::map<std::string, std::int64_t> nodes;
  for (const auto& group : *state.groups)
    nodes[group.name] = group.nodes;
  if (wanted == known.wanted && nodes == known.nodes)
    return;
  const std::string key(keys::shard_owners);
  state.is_writing = true;
  self
    ->request(
      state.settings.store, caf::infinite,
      transaction{{state.own.ownership->held(), {key, compared::modified, state.read.table_at}},
                  {put{key, encode(owners_record{wanted, nodes}), 0}}})
    .then(
      [self, wanted, nodes, term = state.lease.term](transaction_answer& answer) {
        auto& s = self->state;
        if (term != s.lease.term)
          return;
        s.is_writing = false;
        if (answer.ok() && answer->succeeded) {
          s.read.table_at = answer->current;
          s.read.known.wanted = wanted;
          s.read.known.nodes = nodes;
          self->send(self, look_at_members{});
        } else {
          read_members(self);
        }
      },
      [self](caf::error&) { read_members(self); });
}

} // namespace

std::set<std::string> owned_now(const membership_state& state) {
  const auto& members = state.read.known.members;
  const auto me = members.find(state.settings.name);
  return me == members.end() || state.own.ownership == nullptr ? std::set<std::string>{}
                                                               : me->second.owned;
}

void send_record(self_pointer self) {
  auto& state = self->state;
  if (std::exchange(state.own.is_sent, true))
    return;
  self->request(state.settings.store, caf::infinite, *state.own.under_way)
    .then(
      [self, term = state.lease.term](transaction_answer& answer) {
        auto& s = self->state;
        if (term != s.lease.term)
          return;
        s.own.is_sent = false;
        if (!answer.ok()) {
          schedule_next_look(self);
          return;
        }
        s.own.under_way.reset();
        if (answer->succeeded) {
          s.read.change_at = answer->current;
          apply_own_record(self, answer->current, std::exchange(s.own.owned_by_it, {}));
        } else {
          // An earlier copy arrived, or somebody else was first: what the store has tells.
          read_members(self);
        }
      },
      [self](caf::error&) {
        self->state.own.is_sent = false;
        schedule_next_look(self);
      });
}

void apply_own_record(self_pointer self, revision at, std::set<std::string> owned) {
  auto& state = self->state;
  const auto before = owned_now(state);
  // Where the write did not come about, the epoch is what it was.
  auto& own = state.own;
  const bool renewed = own.ownership == nullptr || own.ownership->epoch() != at;
  if (own.ownership == nullptr)
    own.ownership = std::make_shared<ownership>(
      record_key(state), at,
      [leases = state.settings.raw_store, lease = state.lease.id] {
        return boot_time() < leases->lasts_until(lease);
      },
      state.epoch_base, state.read.known.schema);
  else
    own.ownership->end_change(at);
  state.is_writing = false;
  own.needs_epoch = own.needs_epoch && !renewed;
  auto& me = state.read.known.members[state.settings.name];
  me.address = state.settings.address;
  me.secret = state.settings.secret;
  me.api = state.settings.api;
  me.schema = state.settings.schema;
  me.epoch = at;
  me.lease = state.lease.id;
  me.joined = me.joined == 0 ? at : me.joined;
  me.owned = owned;
  ownership_update update{
    std::make_shared<const membership>(state.read.known), own.ownership, {}, {}};
  std::ranges::set_difference(owned, before, std::inserter(update.taken, update.taken.end()));
  for (const auto& shard : before)
    if (!owned.contains(shard)) {
      state.stopping.told.erase(shard);
      state.stopping.ended.erase(shard);
    }
  self->send(state.settings.owner, std::move(update));
  self->send(self, look_at_members{});
}

void take_next_step(self_pointer self) {
  auto& state = self->state;
  const auto& known = state.read.known;
  if (state.lease.phase != member_lease::held || state.is_writing || state.read.is_under_way()
      || !state.read.since_lease)
    return;
  if (state.own.ownership == nullptr) {
    // What is free is taken along; of those that are there, this one comes last.
    auto joined = known;
    joined.members[state.settings.name] = {};
    joined.members[state.settings.name].joined = std::numeric_limits<revision>::max();
    if (!state.leaving)
      write_record(self, next_steps(joined, state.settings.name, false).take);
    return;
  }
  const auto steps = next_steps(known, state.settings.name, state.leaving.has_value());
  std::set<std::string> to_stop;
  for (const auto& shard : steps.stop)
    if (state.stopping.told.insert(shard).second)
      to_stop.insert(shard);
  if (!to_stop.empty())
    self->send(state.settings.owner, ownership_update{std::make_shared<const membership>(known),
                                                      state.own.ownership,
                                                      {},
                                                      std::move(to_stop)});
  auto owned = owned_now(state);
  if (state.leaving && state.stopping.ended == owned) {
    // With the lease the record goes, and others need not wait.
    state.is_writing = true;
    const private_membership_actor me = self;
    state.settings.raw_store->revoke(state.lease.id, [me, term = state.lease.term](const auto&) {
      caf::anon_send(me, lease_ended{term});
    });
    return;
  }
  bool changed = state.own.needs_epoch;
  for (const auto& shard : state.stopping.ended)
    changed = owned.erase(shard) > 0 || changed;
  for (const auto& shard : steps.take)
    changed = owned.insert(shard).second || changed;
  if (changed)
    write_record(self, std::move(owned));
  else if (keeps_tree(state) && schema_to_use(known) > known.schema)
    raise_schema(self);
  else
    keep_table(self);
}

} // namespace reprieve
