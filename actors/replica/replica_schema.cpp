#include "actors/replica/replica_schema.hpp"

#include "actors/durability/store_reading.hpp"
#include "state/records/keys.hpp"
#include "state/store/backup.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace reprieve {

namespace {

using self_pointer = replica_pointer;

/// A store that does not answer when the replica starts may do so in a moment.
void fail_or_try_again(self_pointer self, const absl::Status& why) {
  constexpr int most_tries = 50;
  if (absl::IsUnavailable(why) && ++self->state.tries < most_tries)
    self->delayed_send(self, store_retry_delay, look_at_schema{});
  else
    fail(self, why);
}

void join(self_pointer self) {
  self->send(self->state.members, join_members{self->state.schema->epoch_base});
  if (!self->state.history.is_kept_for_ever())
    self->send(self, compact_store{});
}

/// Writes what is fixed when a cluster is created.
void create_cluster(self_pointer self) {
  auto& state = self->state;
  const std::string key(keys::schema);
  schema_record fresh;
  fresh.version = state.settings.schema;
  fresh.created = state.settings.clock.now(self);
  fresh.cluster = fmt::format("{:x}", fresh.created.time_since_epoch().count());
  fresh.node_shards = state.settings.node_shards;
  fresh.workload_shards = state.settings.workload_shards;
  self
    ->request(state.store, caf::infinite,
              transaction{{{key, compared::modified, 0},
                           {std::string(keys::restoring), compared::modified, 0}},
                          {put{key, encode(fresh), 0}}})
    .then(
      [self, fresh](transaction_answer& answer) {
        if (answer.ok() && answer->succeeded) {
          self->state.schema = fresh;
          join(self);
        } else if (answer.ok() || absl::IsUnknown(answer.status())) {
          check_schema(self); // somebody else was first, or a look tells
        } else {
          fail_or_try_again(self, answer.status());
        }
      },
      [self](caf::error& error) { fail(self, to_status(error)); });
}

/// Creates a cluster in an empty store. Records without a schema are half of a backup: its schema
/// is restored last.
void create_in_empty_store(self_pointer self) {
  const auto ask = [self](range_request wanted, auto done) {
    self->request(self->state.store, caf::infinite, std::move(wanted))
      .then([self, done](range_answer& answer) {
        if (answer.ok())
          done(*answer);
        else
          fail_or_try_again(self, answer.status());
      });
  };
  ask({with_prefix({}), 1, 0, true}, [self, ask](const range_result& any) {
    if (any.values.empty()) {
      create_cluster(self);
      return;
    }
    // Another replica may have created the cluster just now.
    ask({just(std::string(keys::schema)), 1, any.current, true},
        [self, found = any.values.front().key](const range_result& schema) {
          if (schema.values.empty())
            fail(self, half_restored(found));
          else
            check_schema(self);
        });
  });
}

} // namespace

void fail(self_pointer self, const absl::Status& why) {
  if (!self->state.started && self->state.ready.pending())
    self->state.ready.deliver(why);
  else if (self->state.settings.lost)
    self->state.settings.lost(std::string(why.message()));
  self->quit(caf::exit_reason::user_shutdown);
}

void check_schema(self_pointer self) {
  const std::string key(keys::schema);
  read_all(self, self->state.store, {key}, [self, key](absl::StatusOr<key_values> found) {
    auto& state = self->state;
    if (!found.ok()) {
      fail_or_try_again(self, found.status());
      return;
    }
    if (!found->empty()) {
      const auto schema = decode<schema_record>(found->front().value);
      if (!schema.ok()) {
        fail(self, absl::DataLossError(fmt::format(
                     "the store's record at {} can't be read, and nobody can serve the store "
                     "without it: {}; put it right, or restore a backup into an empty store",
                     key, std::string(schema.status().message()))));
      } else if (schema->version > state.settings.schema) {
        fail(self, absl::FailedPreconditionError(too_new(schema->version, state.settings.schema)));
      } else {
        state.schema = *schema;
        join(self);
      }
      return;
    }
    create_in_empty_store(self);
  });
}

} // namespace reprieve
