#include "state/store/sqlite/sqlite_keys.hpp"

#include "state/store/store_errors.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace reprieve {

namespace {

/// A watch that starts in the past is given portions of about this many changes.
constexpr std::size_t replay_portion = 1'000;

/// A commit deletes this many compacted rows, and twice as many as it makes.
constexpr std::int64_t garbage_portion = 256;

/// The columns of a version, in the order in which every query selects them.
enum column { key, value, created, modified, version, lease };

key_value value_of(const sqlite_row& row) {
  return {.key = std::string(row.blob(column::key)),
          .value = std::string(row.blob(column::value)),
          .created = row.integer(column::created),
          .modified = row.integer(column::modified),
          .version = row.integer(column::version),
          .lease = row.integer(column::lease)};
}

/// The erase of a key is a version of it, too, with number 0.
change change_of(const sqlite_row& row) {
  auto value = value_of(row);
  const auto kind = value.version == 0 ? change::type::erase : change::type::put;
  return {kind, std::move(value)};
}

/// Adds to `result` unless the limit is reached; false when nothing can follow.
bool add(range_result& result, const range_request& request, const sqlite_row& row) {
  result.more = request.limit != 0 && std::ssize(result.values) == request.limit;
  if (!result.more)
    result.values.push_back(value_of(row));
  return !result.more && !request.range.end.empty();
}

} // namespace

absl::StatusOr<range_result> sqlite_keys::read(const range_request& request) {
  if (auto checked = check_limits(request); !checked.ok())
    return checked;
  if (auto checked = check_read_revision(request.at, oldest(), current()); !checked.ok())
    return checked;
  return request.at == 0 || request.at == current() ? read_newest(request) : read_at(request);
}

absl::StatusOr<range_result> sqlite_keys::read_newest(const range_request& request) {
  range_result result;
  result.current = current();
  auto scanned = scan_.each(
    database_,
    [&](const sqlite_row& row) {
      return before_end(request.range, row.blob(column::key)) && add(result, request, row);
    },
    request.range.begin, request.keys_only);
  if (!scanned.ok())
    return scanned;
  return result;
}

absl::StatusOr<range_result> sqlite_keys::read_at(const range_request& request) {
  range_result result;
  result.current = current();
  std::string last; // the key whose newest version by then was seen
  auto scanned = scan_at_.each(
    database_,
    [&](const sqlite_row& row) {
      const auto key = row.blob(column::key);
      if (!before_end(request.range, key))
        return false;
      if (key == last)
        return true;
      last = key;
      return row.integer(column::version) == 0 || add(result, request, row);
    },
    request.range.begin, request.keys_only, request.at);
  if (!scanned.ok())
    return scanned;
  return result;
}

absl::Status sqlite_keys::replay(revision from,
                                 std::function<void(std::span<const change>, revision)> each) {
  std::vector<change> portion;
  auto scanned = replay_.each(
    database_,
    [&](const sqlite_row& row) {
      if (portion.size() >= replay_portion
          && row.integer(column::modified) != portion.back().value.modified) {
        each(portion, portion.back().value.modified);
        portion.clear();
      }
      portion.push_back(change_of(row));
      return true;
    },
    from);
  if (scanned.ok() && !portion.empty())
    each(portion, portion.back().value.modified);
  return scanned;
}

void sqlite_keys::begin() {
  database_.begin();
}

absl::StatusOr<transaction_result> sqlite_keys::apply(const transaction& writes) {
  if (auto checked = check_limits(writes); !checked.ok())
    return checked;
  for (const auto& wanted : writes.comparisons) {
    const auto found = find(wanted.key);
    if (!found.ok())
      return found.status();
    if (!holds(wanted, *found ? (*found)->value : key_value{}))
      return transaction_result{.succeeded = false, .current = current()};
  }
  for (const auto& one : writes.operations) {
    const auto* written = std::get_if<put>(&one);
    if (!written || written->lease == 0)
      continue;
    const auto there = has_lease(written->lease);
    if (!there.ok())
      return there.status();
    if (!*there)
      return lease_gone(written->lease);
  }
  const revision at = current() + 1;
  for (const auto& one : writes.operations) {
    const auto* written = std::get_if<put>(&one);
    if (auto done = written ? write(*written, at) : remove(std::get<erase>(one).range, at);
        !done.ok())
      return done;
  }
  finish_revision(at);
  return transaction_result{.succeeded = true, .current = current()};
}

absl::StatusOr<lease_id> sqlite_keys::add_lease(duration time_to_live) {
  if (time_to_live <= duration::zero())
    return absl::InvalidArgumentError("the time to live of a lease must be more than 0");
  ++numbers_.last_lease;
  if (auto added = insert_lease_.run(database_, numbers_.last_lease, time_to_live.count());
      !added.ok())
    return added;
  return numbers_.last_lease;
}

absl::StatusOr<revision> sqlite_keys::end_lease(lease_id lease) {
  const auto there = has_lease(lease);
  if (!there.ok())
    return there.status();
  if (!*there)
    return lease_gone(lease);
  std::vector<std::string> keys;
  auto listed = attached_.each(
    database_,
    [&](const sqlite_row& row) {
      keys.emplace_back(row.blob(0));
      return true;
    },
    lease);
  if (!listed.ok())
    return listed;
  const revision at = current() + 1;
  for (const auto& key : keys)
    if (auto removed = remove_key(key, at); !removed.ok())
      return removed;
  if (auto erased = erase_lease_.run(database_, lease); !erased.ok())
    return erased;
  finish_revision(at);
  return current();
}

absl::StatusOr<revision> sqlite_keys::compact(revision before) {
  if (auto checked = check_compaction(before, oldest(), current()); !checked.ok())
    return checked;
  numbers_.oldest = before;
  garbage_ = true;
  return current();
}

absl::StatusOr<std::vector<change>> sqlite_keys::commit() {
  if (current() - oldest() >= limits_.history) {
    numbers_.oldest = current() - limits_.history + 1;
    garbage_ = true;
  }
  // Failures of these are failures of the transaction, and its commit answers with them.
  if (garbage_)
    forget_some().IgnoreError();
  save_numbers_.run(database_, numbers_.current, numbers_.oldest, numbers_.last_lease)
    .IgnoreError();
  auto changes = std::exchange(changes_, {});
  if (auto committed = database_.commit(); !committed.ok()) {
    numbers_ = committed_;
    garbage_ = false; // tried again after the next commit that works
    return committed;
  }
  committed_ = numbers_;
  return changes;
}

absl::StatusOr<std::optional<sqlite_keys::found_key>> sqlite_keys::find(std::string_view key) {
  std::optional<found_key> found;
  auto looked = find_.each(
    database_,
    [&](const sqlite_row& row) {
      found.emplace();
      found->row = row.integer(0);
      found->value.created = row.integer(1);
      found->value.modified = row.integer(2);
      found->value.version = row.integer(3);
      found->value.lease = row.integer(4);
      return true;
    },
    key);
  if (!looked.ok())
    return looked;
  return found;
}

absl::StatusOr<bool> sqlite_keys::has_lease(lease_id lease) {
  bool there = false;
  auto looked = find_lease_.each(
    database_, [&](const sqlite_row&) { return there = true; }, lease);
  if (!looked.ok())
    return looked;
  return there;
}

absl::Status sqlite_keys::write(const put& written, revision at) {
  const auto old = find(written.key);
  if (!old.ok())
    return old.status();
  key_value now{.key = written.key,
                .value = written.value,
                .created = *old ? (*old)->value.created : at,
                .modified = at,
                .version = *old ? (*old)->value.version + 1 : 1,
                .lease = written.lease};
  if (auto inserted = insert_version_.run(database_, now.key, now.value, now.created, now.modified,
                                          now.version, now.lease);
      !inserted.ok())
    return inserted;
  if (auto set = set_live_.run(database_, now.key, database_.last_row()); !set.ok())
    return set;
  if (*old) {
    if (auto superseded = supersede_.run(database_, at, (*old)->row); !superseded.ok())
      return superseded;
    const auto lease = (*old)->value.lease;
    if (lease != 0 && lease != now.lease)
      if (auto detached = detach_.run(database_, lease, now.key); !detached.ok())
        return detached;
  }
  if (now.lease != 0)
    if (auto attached = attach_.run(database_, now.lease, now.key); !attached.ok())
      return attached;
  changes_.push_back({change::type::put, std::move(now)});
  return absl::OkStatus();
}

absl::Status sqlite_keys::remove(const key_range& range, revision at) {
  if (range.end.empty())
    return remove_key(range.begin, at);
  const auto listed = read_newest({.range = range, .keys_only = true});
  if (!listed.ok())
    return listed.status();
  for (const auto& found : listed->values)
    if (auto removed = remove_key(found.key, at); !removed.ok())
      return removed;
  return absl::OkStatus();
}

absl::Status sqlite_keys::remove_key(const std::string& key, revision at) {
  const auto old = find(key);
  if (!old.ok() || !*old)
    return old.status();
  change gone{change::type::erase, {}};
  gone.value.key = key;
  gone.value.modified = at;
  if (auto inserted = insert_version_.run(database_, key, std::string_view{}, 0, at, 0, 0);
      !inserted.ok())
    return inserted;
  for (const auto row : {(*old)->row, database_.last_row()})
    if (auto superseded = supersede_.run(database_, at, row); !superseded.ok())
      return superseded;
  if (auto erased = erase_live_.run(database_, key); !erased.ok())
    return erased;
  if (const auto lease = (*old)->value.lease; lease != 0)
    if (auto detached = detach_.run(database_, lease, key); !detached.ok())
      return detached;
  changes_.push_back(std::move(gone));
  return absl::OkStatus();
}

/// The revision counts only when something changed at it.
void sqlite_keys::finish_revision(revision at) {
  if (!changes_.empty() && changes_.back().value.modified == at)
    numbers_.current = at;
}

absl::Status sqlite_keys::forget_some() {
  struct superseded {
    revision at;
    std::int64_t row;
  };
  const auto portion = garbage_portion + 2 * std::ssize(changes_);
  std::vector<superseded> rows;
  auto listed = find_superseded_.each(
    database_,
    [&](const sqlite_row& row) {
      rows.push_back({row.integer(0), row.integer(1)});
      return true;
    },
    numbers_.oldest, portion);
  if (!listed.ok())
    return listed;
  for (const auto& one : rows) {
    if (auto erased = erase_version_.run(database_, one.row); !erased.ok())
      return erased;
    if (auto erased = erase_superseded_.run(database_, one.at, one.row); !erased.ok())
      return erased;
  }
  garbage_ = std::ssize(rows) == portion;
  return absl::OkStatus();
}

} // namespace reprieve
