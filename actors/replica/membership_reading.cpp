#include "actors/replica/membership_parts.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// What the store says of who owns what.

namespace reprieve {

namespace {

using self_pointer = membership_pointer;

/// Watches are no more than a bell: whatever has changed, all is read at one revision.
std::unique_ptr<watch_handle> watch(self_pointer self, key_range range, revision from) {
  const private_membership_actor me = self;
  return self->state.settings.raw_store->watch(
    std::move(range), from,
    [me](const absl::StatusOr<watch_batch>& batch) { caf::anon_send(me, members_changed{batch}); });
}

/// Where nothing is watched yet.
void watch_from(self_pointer self, revision from) {
  auto& read = self->state.read;
  if (read.watched_members)
    return;
  read.watched_members = watch(self, with_prefix(std::string(keys::owners)), from);
  read.watched_table = watch(self, just(std::string(keys::shard_owners)), from);
  read.watched_schema = watch(self, just(std::string(keys::schema)), from);
}

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
    found.secret = std::move(record->secret);
    found.api = std::move(record->api);
    found.owned = std::move(record->owned);
    found.schema = record->schema;
  }
  return known;
}

void apply_meta(members_read& read, membership& known, const range_result& meta) {
  read.change_at = 0;
  read.table_at = 0;
  for (const auto& one : meta.values) {
    if (one.key == keys::ownership)
      read.change_at = one.modified;
    if (one.key == keys::schema)
      if (auto schema = decode<schema_record>(one.value); schema.ok()) {
        known.schema = schema->version;
        read.schema = *std::move(schema);
        read.schema_at = one.modified;
      }
    if (one.key == keys::shard_owners) {
      read.table_at = one.modified;
      if (auto table = decode<owners_record>(one.value); table.ok()) {
        known.wanted = std::move(table->owners);
        known.nodes = std::move(table->nodes);
      }
    }
  }
}

void apply_members(self_pointer self, const range_result& members, const range_result& meta) {
  auto& state = self->state;
  if (state.own.under_way) {
    state.read.reading = members_read::due; // what comes of it is read after it
    return;
  }
  const auto before = owned_now(state);
  auto known = to_membership(members);
  apply_meta(state.read, known, meta);
  if (known.schema > state.settings.schema) {
    lose(self, too_new(known.schema, state.settings.schema), true);
    return;
  }
  const auto me = known.members.find(state.settings.name);
  const bool ours = me != known.members.end() && me->second.lease == state.lease.id;
  const bool was_there = state.own.ownership != nullptr;
  if (was_there && !ours) {
    if (me == known.members.end())
      lose(self, "its lease has run out");
    else
      lose(self, fmt::format("another process joined as replica {}", state.settings.name), true);
    return;
  }
  auto& read = state.read;
  const bool news = known.members != read.known.members || known.schema != read.known.schema;
  // What was owned is what this replica has started; the record may have come further.
  std::set<std::string> owned;
  if (ours)
    owned = std::exchange(me->second.owned, before);
  const auto epoch = ours ? me->second.epoch : revision{0};
  read.known = std::move(known);
  read.since_lease = true;
  state.is_writing = false;
  const auto& ownership = state.own.ownership;
  if (was_there)
    ownership->use_schema(read.known.schema);
  if (ours && (!was_there || ownership->epoch() != epoch || ownership->is_changing())) {
    apply_own_record(self, epoch, std::move(owned));
    return;
  }
  if (news && was_there)
    self->send(state.settings.owner,
               ownership_update{std::make_shared<const membership>(read.known), ownership, {}, {}});
  take_next_step(self);
}

/// What was to be read could not be: it is not forgotten.
void read_later(self_pointer self) {
  self->state.read.reading = members_read::due;
  schedule_next_look(self);
}

/// Whether this replica has written something since the store was read: a read that was under way
/// meanwhile tells how things were before.
bool is_outdated(const members_read& known, const range_result& found) {
  return found.current < std::max({known.change_at, known.table_at, known.schema_at});
}

void read_meta(self_pointer self, range_result members) {
  self
    ->request(self->state.settings.store, caf::infinite,
              range_request{with_prefix("meta/"), 0, members.current, false})
    .then(
      [self, members = std::move(members), term = self->state.lease.term](range_answer& meta) {
        auto& state = self->state;
        const auto reading = std::exchange(state.read.reading, members_read::idle);
        const bool again =
          reading == members_read::under_way_and_outdated || term != state.lease.term;
        if (state.lease.phase != member_lease::held)
          return;
        if (!meta.ok())
          read_later(self);
        else if (again || is_outdated(state.read, members))
          read_members(self);
        else
          apply_members(self, members, *meta);
      },
      [self](caf::error&) { read_later(self); });
}

} // namespace

bool is_news(const membership_state& state, const watch_batch& batch) {
  return !std::ranges::all_of(batch.changes, [&](const change& one) {
    return one.kind == change::type::put
           && ((one.value.key == record_key(state) && one.value.lease == state.lease.id)
               || (one.value.key == keys::shard_owners && one.value.modified == state.read.table_at)
               || (one.value.key == keys::schema && one.value.modified == state.read.schema_at));
  });
}

void read_members(self_pointer self) {
  auto& state = self->state;
  if (state.read.is_under_way()) {
    state.read.reading = members_read::under_way_and_outdated;
    return;
  }
  state.read.reading = members_read::under_way;
  self
    ->request(state.settings.store, caf::infinite,
              range_request{with_prefix(std::string(keys::owners)), 0, 0, false})
    .then(
      [self, term = state.lease.term](range_answer& answer) {
        const auto& lease = self->state.lease;
        if (!answer.ok() || term != lease.term || lease.phase != member_lease::held) {
          read_later(self);
          return;
        }
        watch_from(self, answer->current + 1);
        read_meta(self, *std::move(answer));
      },
      [self](caf::error&) { read_later(self); });
}

} // namespace reprieve
