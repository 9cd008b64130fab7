#pragma once

#include "state/store/sqlite/sqlite_database.hpp"
#include "state/store/store.hpp"

#include <optional>
#include <span>

namespace reprieve {

/// Revisioned keys, their history and their leases in SQLite tables. One thread uses it. Writes
/// happen between `begin` and `commit`; reads outside of that see what is committed.
class sqlite_keys {
public:
  struct limits {
    std::int64_t file_bytes = 0; ///< 0 for none
    revision history = 0;        ///< this many revisions are kept, if not compacted before
  };

  /// Ends the leases that an earlier process left, and erases their keys.
  static absl::StatusOr<std::unique_ptr<sqlite_keys>> open(const std::string& path, limits most);

  revision current() const {
    return numbers_.current;
  }

  /// History starts here.
  revision oldest() const {
    return numbers_.oldest;
  }

  absl::StatusOr<range_result> read(const range_request& request);

  /// Calls `each` with all changes from revision `from` on, in portions that end with a whole
  /// revision, which is given as well.
  absl::Status replay(revision from, std::function<void(std::span<const change>, revision)> each);

  void begin();
  absl::StatusOr<transaction_result> apply(const transaction& writes);
  absl::StatusOr<lease_id> add_lease(duration time_to_live);
  absl::StatusOr<revision> end_lease(lease_id lease);
  absl::StatusOr<revision> compact(revision before);

  /// Makes everything since `begin` durable and answers with its changes, or undoes it all.
  absl::StatusOr<std::vector<change>> commit();

  /// Compacted rows wait to be deleted; each commit deletes some.
  bool has_garbage() const {
    return garbage_;
  }

private:
  struct numbers {
    revision current = 1;
    revision oldest = 1;
    lease_id last_lease = 0;
  };

  /// The newest version of a key and the row it is in.
  struct found_key {
    std::int64_t row = 0;
    key_value value; ///< without key and value
  };

  sqlite_keys(sqlite_database database, limits most)
      : database_(std::move(database)), limits_(most) {}

  absl::Status prepare();
  absl::Status create_tables();
  absl::Status load_numbers();
  absl::Status end_left_leases();

  absl::StatusOr<range_result> read_newest(const range_request& request);
  absl::StatusOr<range_result> read_at(const range_request& request);
  absl::StatusOr<std::optional<found_key>> find(std::string_view key);
  absl::StatusOr<bool> has_lease(lease_id lease);
  absl::Status write(const put& written, revision at);
  absl::Status remove(const key_range& range, revision at);
  absl::Status remove_key(const std::string& key, revision at);
  void finish_revision(revision at);
  absl::Status forget_some();

  sqlite_database database_;
  limits limits_;
  numbers numbers_;
  numbers committed_;
  std::vector<change> changes_; ///< of the open transaction
  bool garbage_ = true;

  sqlite_statement find_;
  sqlite_statement scan_;
  sqlite_statement scan_at_;
  sqlite_statement replay_;
  sqlite_statement insert_version_;
  sqlite_statement set_live_;
  sqlite_statement erase_live_;
  sqlite_statement supersede_;
  sqlite_statement find_superseded_;
  sqlite_statement erase_superseded_;
  sqlite_statement erase_version_;
  sqlite_statement find_lease_;
  sqlite_statement insert_lease_;
  sqlite_statement erase_lease_;
  sqlite_statement attach_;
  sqlite_statement detach_;
  sqlite_statement attached_;
  sqlite_statement save_numbers_;
};

} // namespace reprieve
