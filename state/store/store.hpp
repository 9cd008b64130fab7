#pragma once

#include "state/quantities/time.hpp"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reprieve {

/// The contract that every store keeps: revisioned keys, range reads, transactions with
/// comparisons, watches that resume, leases.
///
/// Calls return at once; the answer comes through the callback, exactly once, on a thread of the
/// store. A callback must not block, and must not destroy the store; it may call it. Errors:
///  - `kUnavailable`: the call was not carried out; it may be tried again.
///  - `kUnknown`: a write whose answer was lost. It may have happened, or may still happen.
///  - `kOutOfRange`: the revision asked for was compacted away, or is not there yet.
///  - `kInvalidArgument`: the call broke a limit of the contract; trying again won't help.
///  - `kNotFound`: the lease of a put, or the one to revoke, is gone; nothing was written.
///  - `kResourceExhausted`: no room; reads go on, writes are refused until there is.
namespace store_limits {
inline constexpr std::size_t operations = 128;
inline constexpr std::size_t comparisons = 128;
inline constexpr std::size_t bytes = 1'500'000;
} // namespace store_limits

using revision = std::int64_t;
using lease_id = std::int64_t; ///< 0 means no lease

/// One key at one revision. `modified` is the revision of its newest write.
struct key_value {
  std::string key;
  std::string value;
  revision created = 0;
  revision modified = 0;
  std::int64_t version = 0; ///< writes since it was created
  lease_id lease = 0;

  bool operator==(const key_value&) const = default;
};

/// The end of a range that goes on to the last key: one zero byte, before which no key sorts.
inline constexpr std::string_view no_end{"\0", 1};

/// Keys from `begin` up to but not including `end`; one key where `end` is empty.
struct key_range {
  std::string begin;
  std::string end;
};

/// Whether `key` sorts before the end of `range`.
bool before_end(const key_range& range, std::string_view key);

inline bool contains(const key_range& range, std::string_view key) {
  return key >= range.begin && before_end(range, key);
}

/// All keys that start with `prefix`; every key where it is empty.
key_range with_prefix(std::string prefix);

/// The one key `key`.
inline key_range just(std::string key) {
  return {std::move(key), {}};
}

struct range_request {
  key_range range;
  std::int64_t limit = 0; ///< 0 for all
  revision at = 0;        ///< 0 for the newest
  bool keys_only = false;
};

/// Keys in byte order.
struct range_result {
  std::vector<key_value> values;
  bool more = false;    ///< the limit cut the answer off
  revision current = 0; ///< of the store when it answered
};

enum class compared { created, modified, version };

/// True when the key's number equals `to`; an absent key has 0 in all three.
struct comparison {
  std::string key;
  compared field = compared::modified;
  std::int64_t to = 0;
};

/// Whether `wanted` holds for the key as found; what is absent is a default `key_value`.
bool holds(const comparison& wanted, const key_value& found);

struct put {
  std::string key;
  std::string value;
  lease_id lease = 0;
};

struct erase {
  key_range range;
};

using operation = std::variant<put, erase>;

/// All operations happen, at one revision, when every comparison holds; else none does. No key is
/// touched twice. Where nothing changes (no operations, or erases that find no key) there is no new
/// revision either.
struct transaction {
  std::vector<comparison> comparisons;
  std::vector<operation> operations;
};

struct transaction_result {
  bool succeeded = false; ///< false when a comparison did not hold
  revision current = 0;   ///< of this write when it succeeded and changed something
};

struct change {
  enum class type { put, erase } kind = type::put;
  key_value value; ///< of an erase: key and the erasing revision in `modified`
};

/// Changes in order of revision; all changes of one revision come in one batch.
struct watch_batch {
  std::vector<change> changes;
  revision current = 0; ///< resume at current + 1
};

template <class T>
using store_callback = std::function<void(absl::StatusOr<T>)>;

/// Ends the watch when it goes away; after the destructor returns no callback runs any more.
class watch_handle {
public:
  virtual ~watch_handle() = default;
};

class store {
public:
  virtual ~store() = default;

  virtual void read(range_request request, store_callback<range_result> done) = 0;

  virtual void commit(transaction writes, store_callback<transaction_result> done) = 0;

  /// Calls `each` with every change in `range` from revision `from` on until the handle goes. With
  /// 0 it starts at some moment after the call; to miss nothing, read first and watch from
  /// `current + 1`. An error is final: `kOutOfRange` when `from` is compacted, and the caller lists
  /// anew. A lost connection is not an error: the watch resumes by itself.
  [[nodiscard]] virtual std::unique_ptr<watch_handle> watch(key_range range, revision from,
                                                            store_callback<watch_batch> each) = 0;

  /// A lease that the store itself keeps alive until it is revoked or this process is gone for
  /// longer than `time_to_live`, which a store may lengthen; keys put under it go with it. `lost`
  /// is called once when it could not be kept: at the latest when it may have expired, counted from
  /// before the last renewal was sent.
  virtual void grant(duration time_to_live, store_callback<lease_id> done,
                     std::function<void()> lost) = 0;

  virtual void revoke(lease_id lease, store_callback<revision> done) = 0;

  /// Until when the lease surely lasts, in boot time; from any thread. What was true of its holder
  /// before is true up to then.
  virtual duration lasts_until(lease_id lease) const {
    (void)lease;
    return duration::max();
  }

  /// Forgets what happened before `before`: a watch from an earlier revision and a read at one
  /// before `before - 1` are `kOutOfRange`, and so is compacting what is compacted already.
  /// Answers with the current revision.
  virtual void compact(revision before, store_callback<revision> done) = 0;
};

/// Refuses what breaks a limit of the contract, and says which.
absl::Status check_limits(const key_range& range);
absl::Status check_limits(const range_request& request);
absl::Status check_limits(const transaction& writes);

} // namespace reprieve
