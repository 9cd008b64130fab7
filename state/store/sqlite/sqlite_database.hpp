#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace reprieve {

/// The row that a statement stands on.
class sqlite_row {
public:
  explicit sqlite_row(sqlite3_stmt* statement) : statement_(statement) {}

  std::int64_t integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }

  /// Valid until the next row.
  std::string_view blob(int column) const;

private:
  sqlite3_stmt* statement_;
};

/// An SQLite database that one thread uses, with one write transaction at a time.
class sqlite_database {
public:
  /// `most_bytes` limits the size of the file; 0 for none.
  static absl::StatusOr<sqlite_database> open(const std::string& path, std::int64_t most_bytes);

  absl::Status execute(const char* statements);

  /// Starts a transaction. After its first failure, this one included, nothing in it runs any more
  /// and everything answers with that failure, `commit` as well.
  void begin();

  /// Makes the transaction durable, or rolls it back: `kUnknown` when it may be there after a
  /// crash.
  absl::Status commit();

  void rollback();

  std::int64_t last_row() const {
    return sqlite3_last_insert_rowid(handle_.get());
  }

private:
  friend class sqlite_statement;

  struct close {
    void operator()(sqlite3* handle) const {
      sqlite3_close_v2(handle);
    }
  };

  explicit sqlite_database(sqlite3* handle) : handle_(handle) {}

  absl::Status set_up(std::int64_t most_bytes);

  /// The status of a call that ended with `code`; a transaction remembers the first failure.
  absl::Status ended(int code);
  absl::Status failure(int code) const;

  std::unique_ptr<sqlite3, close> handle_;
  absl::Status failed_; ///< of the open transaction
  bool in_transaction_ = false;
};

/// A statement that is compiled once and run many times. Strings are bound as blobs.
class sqlite_statement {
public:
  sqlite_statement() = default;

  static absl::StatusOr<sqlite_statement> prepare(sqlite_database& database, std::string_view text);

  /// Runs it for its effect.
  template <class... Arguments>
  absl::Status run(sqlite_database& database, const Arguments&... arguments) {
    return each(
      database, [](const sqlite_row&) { return true; }, arguments...);
  }

  /// Calls `row` with each row until it returns false.
  template <class Row, class... Arguments>
  absl::Status each(sqlite_database& database, Row&& row, const Arguments&... arguments) {
    int position = 0;
    (bind(++position, arguments), ...);
    return step(database, row);
  }

private:
  struct finalize {
    void operator()(sqlite3_stmt* statement) const {
      sqlite3_finalize(statement);
    }
  };

  explicit sqlite_statement(sqlite3_stmt* handle) : handle_(handle) {}

  void bind(int position, std::int64_t value);
  void bind(int position, std::string_view value);
  absl::Status step(sqlite_database& database, const std::function<bool(const sqlite_row&)>& row);

  std::unique_ptr<sqlite3_stmt, finalize> handle_;
};

} // namespace reprieve
