#include "protocol/backup/restore.hpp"

#include "protocol/backup/backup_format.hpp"
#include "protocol/records/records_reading.hpp"
#include "state/admission/queue_cycles.hpp"
#include "state/membership/epoch.hpp"
#include "state/membership/membership_rules.hpp"
#include "state/records/keys.hpp"
#include "state/text/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

/// Makes a call of the store and waits for its answer.
template <class T, class Call>
absl::StatusOr<T> answer_to(Call call) {
  auto answer = std::make_shared<std::promise<absl::StatusOr<T>>>();
  call([answer](absl::StatusOr<T> result) { answer->set_value(std::move(result)); });
  return answer->get_future().get();
}

absl::StatusOr<range_result> read(store& from, range_request wanted) {
  return answer_to<range_result>([&](auto done) { from.read(std::move(wanted), done); });
}

/// The schema in the file; what this program does not know yet is refused.
absl::StatusOr<schema_record> known_schema(const backup_record& record) {
  auto schema = decode<schema_record>(record.value);
  if (!schema.ok())
    return absl::DataLossError(fmt::format("the backup's record at {} can't be read: {}",
                                           record.key, std::string(schema.status().message())));
  if (schema->version > schema_version)
    return absl::FailedPreconditionError(
      fmt::format("the backup has schema version {}, this program knows versions up to {}; use a "
                  "newer one",
                  schema->version, schema_version));
  return schema;
}

/// Whether those can read the record who will: what they can't read they would set aside.
absl::Status check_record(const backup_record& one) {
  const auto read = check_stored(one.key, one.value);
  return read.ok() ? read
                   : absl::DataLossError(
                     fmt::format("the backup's record at {} can't be read: {}; nothing is "
                                 "restored from it",
                                 printable(one.key), std::string(read.message())));
}

/// The queues in a backup, which have to be a tree.
class queue_check {
public:
  void take(const backup_record& one) {
    if (!one.key.starts_with(begin_))
      return;
    if (auto found = read_record<queue>(one.key, one.value); found.ok())
      queues_[found->name] = *std::move(found);
  }

  absl::Status result() const {
    const auto cycles = cycles_in(queues_);
    return cycles.empty()
             ? absl::OkStatus()
             : absl::DataLossError(fmt::format("the backup has queues whose parents lead back to "
                                               "themselves: {}; nothing is restored from it",
                                               describe(cycles)));
  }

private:
  std::string begin_ = keys::queue(queue_tree, "");
  by_name<queue> queues_;
};

/// Calls `each` with all records but the schema, which is returned when all has been read and the
/// file was found to be as it was written.
template <class F>
absl::StatusOr<schema_record> read_records(backup_decoder& from, F each) {
  std::optional<schema_record> schema;
  for (;;) {
    auto next = from.next();
    if (!next.ok())
      return next.status();
    if (!*next)
      break;
    absl::Status taken;
    if ((*next)->key == keys::schema) {
      auto known = known_schema(**next);
      taken = known.status();
      if (known.ok())
        schema = *std::move(known);
    } else {
      taken = each(*std::move(*next));
    }
    if (!taken.ok())
      return taken;
  }
  if (!schema)
    return absl::DataLossError("the backup has no record at meta/schema; it is of no cluster");
  return *std::move(schema);
}

absl::Status check_empty(store& into) {
  const auto any = read(into, {with_prefix({}), 1, 0, true});
  if (!any.ok())
    return any.status();
  if (any->values.empty())
    return absl::OkStatus();
  const auto schema = read(into, {just(std::string(keys::schema)), 1, 0, false});
  if (!schema.ok())
    return schema.status();
  if (schema->values.empty())
    return half_restored(any->values.front().key);
  const auto known = decode<schema_record>(schema->values.front().value);
  return absl::FailedPreconditionError(
    fmt::format("the store holds a cluster already (id {}); a backup is restored into an empty "
                "store only: give another, or empty this one",
                known.ok() ? known->cluster : "not readable"));
}

/// Writes in steps, each of which happens once: it compares how many have happened, by the version
/// of a key that all of them write.
class restoration {
public:
  restoration(store& into, const restore_settings& settings)
      : into_(into), patience_(settings.patience),
        mark_(fmt::format("{:x}-{:x}", settings.now.time_since_epoch().count(),
                          std::random_device{}())) {}

  absl::Status add(backup_record record) {
    const auto bytes = record.key.size() + record.value.size();
    if (writes_.size() == most_records || (!writes_.empty() && bytes_ + bytes > most_bytes))
      if (auto written = flush(); !written.ok())
        return written;
    bytes_ += bytes;
    writes_.emplace_back(put{std::move(record.key), std::move(record.value), 0});
    return absl::OkStatus();
  }

  absl::Status finish(const schema_record& schema) {
    if (auto written = flush(); !written.ok())
      return written;
    const std::string key(keys::schema);
    auto value = encode(schema);
    return step({put{key, value, 0}, erase{just(std::string(keys::restoring))}},
                {.key = key, .value = value, .version = 1});
  }

private:
  /// With room for what each step writes and compares besides.
  static constexpr std::size_t most_records = store_limits::operations - 1;
  static constexpr std::size_t most_bytes = store_limits::bytes - 256;

  absl::Status flush() {
    const std::string key(keys::restoring);
    auto writes = std::exchange(writes_, {});
    writes.emplace_back(put{key, mark_, 0});
    bytes_ = 0;
    return step(std::move(writes), {.key = key, .value = mark_, .version = steps_ + 1});
  }

  /// Carries the writes out once; `sign` is there when that has happened.
  absl::Status step(std::vector<operation> writes, const key_value& sign) {
    const transaction next{{{std::string(keys::schema), compared::created, 0},
                            {std::string(keys::restoring), compared::version, steps_}},
                           std::move(writes)};
    const auto end = std::chrono::steady_clock::now() + patience_;
    for (;;) {
      const auto how = answer_to<transaction_result>([&](auto done) { into_.commit(next, done); });
      auto status = how.status();
      if (how.ok())
        status = how->succeeded ? absl::OkStatus() : look_for(sign);
      if (status.ok()) {
        ++steps_;
        return absl::OkStatus();
      }
      const bool again = absl::IsUnavailable(status) || absl::IsUnknown(status);
      if (!again || std::chrono::steady_clock::now() >= end)
        return left_alone(status);
      std::this_thread::sleep_for(pause);
    }
  }

  /// A step that can't be made any more has been made before, and its answer was lost; or else
  /// somebody is in the way.
  absl::Status look_for(const key_value& sign) {
    const auto found = read(into_, {just(sign.key), 1, 0, false});
    if (!found.ok())
      return found.status();
    if (!found->values.empty() && found->values.front().value == sign.value
        && found->values.front().version == sign.version)
      return absl::OkStatus();
    return absl::AbortedError("somebody else writes into the store");
  }

  static absl::Status left_alone(const absl::Status& why) {
    return {why.code(), fmt::format("{}; the store may have a part of the backup in it: empty it, "
                                    "then restore again",
                                    std::string(why.message()))};
  }

  static constexpr std::chrono::milliseconds pause{100};

  store& into_;
  std::chrono::milliseconds patience_;
  std::string mark_; ///< tells our steps from those of others
  std::int64_t steps_ = 0;
  std::vector<operation> writes_;
  std::size_t bytes_ = 0;
};

} // namespace

absl::StatusOr<checked_backup> check_backup(std::istream& from, time_point now) {
  backup_decoder decoder(from);
  auto about = decoder.begin();
  if (!about.ok())
    return about.status();
  queue_check queues;
  const auto schema = read_records(decoder, [&](const backup_record& one) {
    auto readable = check_record(one);
    if (readable.ok())
      queues.take(one);
    return readable;
  });
  if (!schema.ok())
    return schema.status();
  if (auto tree = queues.result(); !tree.ok())
    return tree;
  if (revision newest = 0; __builtin_add_overflow(schema->epoch_base, about->at, &newest)
                           || is_beyond_all_epochs(newest, now))
    return absl::InvalidArgumentError(fmt::format(
      "it would go on behind epoch {} + {}, to which no cluster can have come by the clock of this "
      "machine, and machines would take no orders; set the clock right, or take another backup",
      schema->epoch_base, about->at));
  return checked_backup{*std::move(about), decoder.count()};
}

absl::Status restore(std::istream& from, store& into, const restore_settings& settings) {
  if (auto empty = check_empty(into); !empty.ok())
    return empty;
  backup_decoder decoder(from);
  const auto about = decoder.begin();
  if (!about.ok())
    return about.status();
  restoration writes(into, settings);
  auto schema =
    read_records(decoder, [&](backup_record next) { return writes.add(std::move(next)); });
  if (!schema.ok())
    return schema.status();
  // What went on after the backup is forgotten here and remembered elsewhere, so that epochs must
  // go on behind all that can have been. No store makes a revision every microsecond.
  const auto microseconds =
    std::chrono::duration_cast<std::chrono::microseconds>(settings.now.time_since_epoch());
  schema->epoch_base = std::max<revision>(microseconds.count(), schema->epoch_base + about->at);
  return writes.finish(*schema);
}

} // namespace reprieve
