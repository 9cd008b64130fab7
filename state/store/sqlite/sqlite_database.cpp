#include "state/store/sqlite/sqlite_database.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace reprieve {

namespace {

constexpr std::int64_t page_bytes = 4096;

/// EXCLUSIVE keeps the index of the write-ahead log in memory: the directory lock lets nobody else
/// in. FULL syncs the log at every commit, so an acknowledged write survives a power cut.
constexpr const char* settings = "PRAGMA locking_mode = EXCLUSIVE;"
                                 "PRAGMA synchronous = FULL;"
                                 "PRAGMA journal_size_limit = 67108864;";

} // namespace

std::string_view sqlite_row::blob(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (!data)
    return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

absl::StatusOr<sqlite_database> sqlite_database::open(const std::string& path,
                                                      std::int64_t most_bytes) {
  // SQLITE_OPEN_NOFOLLOW would refuse a link on the way to the file as well.
  if (std::error_code failed; std::filesystem::is_symlink(path, failed))
    return absl::FailedPreconditionError(fmt::format(
      "'{}' is a symbolic link, which is not followed; put the database itself in its place",
      path));
  sqlite3* handle = nullptr;
  const int code =
    sqlite3_open_v2(path.c_str(), &handle,
                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  sqlite_database database(handle);
  if (code != SQLITE_OK)
    return absl::FailedPreconditionError(
      fmt::format("cannot open the database '{}': {}", path, sqlite3_errstr(code)));
  sqlite3_extended_result_codes(handle, 1);
  if (auto set = database.set_up(most_bytes); !set.ok())
    return absl::FailedPreconditionError(
      fmt::format("cannot use the database '{}': {}", path, std::string(set.message())));
  return database;
}

absl::Status sqlite_database::set_up(std::int64_t most_bytes) {
  const auto sizes = fmt::format("PRAGMA page_size = {}; PRAGMA max_page_count = {};", page_bytes,
                                 most_bytes / page_bytes); // 0 changes nothing
  if (auto set = execute(sizes.c_str()); !set.ok())
    return set;
  if (auto set = execute(settings); !set.ok())
    return set;
  auto log = sqlite_statement::prepare(*this, "PRAGMA journal_mode = WAL");
  if (!log.ok())
    return log.status();
  bool on = false;
  auto asked = log->each(*this, [&](const sqlite_row& row) { return on = row.blob(0) == "wal"; });
  if (asked.ok() && !on)
    return absl::FailedPreconditionError("its file system does not allow a write-ahead log");
  return asked;
}

absl::Status sqlite_database::execute(const char* statements) {
  if (!failed_.ok())
    return failed_;
  return ended(sqlite3_exec(handle_.get(), statements, nullptr, nullptr, nullptr));
}

void sqlite_database::begin() {
  in_transaction_ = true;
  execute("BEGIN IMMEDIATE").IgnoreError();
}

absl::Status sqlite_database::commit() {
  auto failed = failed_;
  if (failed.ok()) {
    const int code = sqlite3_exec(handle_.get(), "COMMIT", nullptr, nullptr, nullptr);
    if (code != SQLITE_OK)
      failed = failure(code);
    // The log may hold the whole transaction already when only its sync failed.
    if (absl::IsUnavailable(failed))
      failed = absl::UnknownError(failed.message());
  }
  rollback();
  return failed;
}

void sqlite_database::rollback() {
  in_transaction_ = false;
  failed_ = absl::OkStatus();
  if (!sqlite3_get_autocommit(handle_.get()))
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

absl::Status sqlite_database::ended(int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE)
    return absl::OkStatus();
  auto failed = failure(code);
  if (in_transaction_)
    failed_ = failed;
  return failed;
}

absl::Status sqlite_database::failure(int code) const {
  const auto text = fmt::format("{} ({})", sqlite3_errmsg(handle_.get()), sqlite3_errstr(code));
  if ((code & 0xff) == SQLITE_FULL)
    return absl::ResourceExhaustedError(
      fmt::format("no room for the database: {}; free some, or compact", text));
  return absl::UnavailableError(fmt::format("the database failed: {}", text));
}

absl::StatusOr<sqlite_statement> sqlite_statement::prepare(sqlite_database& database,
                                                           std::string_view text) {
  sqlite3_stmt* handle = nullptr;
  const int code =
    sqlite3_prepare_v3(database.handle_.get(), text.data(), static_cast<int>(text.size()),
                       SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (code != SQLITE_OK)
    return database.failure(code);
  return sqlite_statement(handle);
}

void sqlite_statement::bind(int position, std::int64_t value) {
  sqlite3_bind_int64(handle_.get(), position, value);
}

void sqlite_statement::bind(int position, std::string_view value) {
  // A null pointer would bind NULL instead of an empty blob.
  sqlite3_bind_blob64(handle_.get(), position, value.empty() ? "" : value.data(), value.size(),
                      SQLITE_STATIC);
}

absl::Status sqlite_statement::step(sqlite_database& database,
                                    const std::function<bool(const sqlite_row&)>& row) {
  if (!database.failed_.ok())
    return database.failed_;
  int code = SQLITE_ROW;
  while (code == SQLITE_ROW) {
    code = sqlite3_step(handle_.get());
    if (code == SQLITE_ROW && !row(sqlite_row(handle_.get())))
      break;
  }
  auto result = database.ended(code);
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
  return result;
}

} // namespace reprieve
