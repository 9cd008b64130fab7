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
  const auto found = state.known.members.find(settings.name);
  const auto before = found == state.known.members.end() ? revision{0} : found->second.epoch;
  const owner_record record{settings.name, settings.address, settings.api,   state.started,
                            owned,         settings.schema,  settings.secret};
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
    ->request(state.settings.store_link, caf::infinite,
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
    ->request(state.settings.store_link, caf::infinite,
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

} // namespace

std::set<std::string> owned_now(const membership_state& state) {
  const auto me = state.known.members.find(state.settings.name);
  return me == state.known.members.end() || state.ground == nullptr ? std::set<std::string>{}
                                                                    : me->second.owned;
}

void send_record(self_pointer self) {
  auto& state = self->state;
  if (std::exchange(state.record_sent, true))
    return;
  self->request(state.settings.store_link, caf::infinite, *state.record_under_way)
    .then(
      [self, term = state.term](transaction_answer& answer) {
        auto& s = self->state;
        if (term != s.term)
          return;
        s.record_sent = false;
        if (!answer.ok()) {
          schedule_next_look(self);
          return;
        }
        s.record_under_way.reset();
        if (answer->succeeded) {
          s.changes = answer->current;
          apply_own_record(self, answer->current, std::exchange(s.owned_by_it, {}));
        } else {
          // An earlier copy arrived, or somebody else was first: what the store has tells.
          read_members(self);
        }
      },
      [self](caf::error&) {
        self->state.record_sent = false;
        schedule_next_look(self);
      });
}

void apply_own_record(self_pointer self, revision at, std::set<std::string> owned) {
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
  me.secret = state.settings.secret;
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

void take_next_step(self_pointer self) {
  auto& state = self->state;
  if (state.lease == 0 || state.writing || state.reading || !state.has_read)
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
    const private_membership_actor me = self;
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

} // namespace reprieve
