// How the keys are laid out in tables, and the statements that the keys run.

#include "state/store/sqlite/sqlite_keys.hpp"

#include <fmt/format.h>

#include <utility>

namespace reprieve {

namespace {

constexpr std::int64_t schema_version = 1;

/// One row: the layout of all other tables, and the store's counters.
constexpr const char* numbers_table = "CREATE TABLE IF NOT EXISTS numbers ("
                                      "  only INTEGER PRIMARY KEY CHECK (only = 0),"
                                      "  schema INTEGER NOT NULL,"
                                      "  current INTEGER NOT NULL,"
                                      "  oldest INTEGER NOT NULL,"
                                      "  last_lease INTEGER NOT NULL);";

/// Every write of a key is a row of `versions`, and `live` points to each key's newest, so that
/// values are written once and a read touches nothing but its range. `superseded` lists the rows
/// that compaction may delete, by the revision from which on nobody sees them.
constexpr const char* tables = "CREATE TABLE IF NOT EXISTS versions ("
                               "  id INTEGER PRIMARY KEY,"
                               "  key BLOB NOT NULL,"
                               "  created INTEGER NOT NULL,"
                               "  modified INTEGER NOT NULL,"
                               "  version INTEGER NOT NULL,"
                               "  lease INTEGER NOT NULL,"
                               "  value BLOB NOT NULL);"
                               "CREATE UNIQUE INDEX IF NOT EXISTS versions_by_key"
                               "  ON versions (key, modified DESC);"
                               "CREATE INDEX IF NOT EXISTS versions_by_revision"
                               "  ON versions (modified);"
                               "CREATE TABLE IF NOT EXISTS live ("
                               "  key BLOB NOT NULL PRIMARY KEY,"
                               "  id INTEGER NOT NULL) WITHOUT ROWID;"
                               "CREATE TABLE IF NOT EXISTS superseded ("
                               "  modified INTEGER NOT NULL,"
                               "  id INTEGER NOT NULL,"
                               "  PRIMARY KEY (modified, id)) WITHOUT ROWID;"
                               "CREATE TABLE IF NOT EXISTS leases ("
                               "  id INTEGER PRIMARY KEY,"
                               "  time_to_live INTEGER NOT NULL);"
                               "CREATE TABLE IF NOT EXISTS attached ("
                               "  lease INTEGER NOT NULL,"
                               "  key BLOB NOT NULL,"
                               "  PRIMARY KEY (lease, key)) WITHOUT ROWID;";

} // namespace

absl::StatusOr<std::unique_ptr<sqlite_keys>> sqlite_keys::open(const std::string& path,
                                                               limits most) {
  auto database = sqlite_database::open(path, most.file_bytes);
  if (!database.ok())
    return database.status();
  std::unique_ptr<sqlite_keys> keys(new sqlite_keys(*std::move(database), most));
  for (const auto step : {&sqlite_keys::create_tables, &sqlite_keys::prepare,
                          &sqlite_keys::load_numbers, &sqlite_keys::end_left_leases})
    if (auto done = (keys.get()->*step)(); !done.ok())
      return absl::Status(done.code(), fmt::format("cannot use the database '{}': {}", path,
                                                   std::string(done.message())));
  return keys;
}

absl::Status sqlite_keys::create_tables() {
  database_.begin();
  database_.execute(numbers_table).IgnoreError();
  database_
    .execute(
      fmt::format("INSERT OR IGNORE INTO numbers VALUES (0, {}, 1, 1, 0)", schema_version).c_str())
    .IgnoreError();
  std::int64_t schema = schema_version;
  if (auto look = sqlite_statement::prepare(database_, "SELECT schema FROM numbers"); look.ok())
    look
      ->each(database_,
             [&](const sqlite_row& row) {
               schema = row.integer(0);
               return true;
             })
      .IgnoreError();
  if (schema != schema_version) {
    database_.rollback();
    return absl::FailedPreconditionError(fmt::format(
      "it has layout {}, and this version of Reprieve reads layout {}", schema, schema_version));
  }
  database_.execute(tables).IgnoreError();
  return database_.commit(); // answers with the first failure of all of these
}

absl::Status sqlite_keys::prepare() {
  const std::pair<sqlite_statement*, std::string_view> statements[] = {
    {&find_, "SELECT versions.id, created, modified, version, lease"
             " FROM live CROSS JOIN versions USING (id) WHERE live.key = ?1"},
    {&scan_, "SELECT live.key, CASE WHEN ?2 THEN x'' ELSE value END,"
             " created, modified, version, lease"
             " FROM live CROSS JOIN versions USING (id) WHERE live.key >= ?1 ORDER BY live.key"},
    {&scan_at_, "SELECT key, CASE WHEN ?2 THEN x'' ELSE value END,"
                " created, modified, version, lease"
                " FROM versions INDEXED BY versions_by_key"
                " WHERE key >= ?1 AND modified <= ?3 ORDER BY key, modified DESC"},
    {&replay_, "SELECT key, value, created, modified, version, lease"
               " FROM versions INDEXED BY versions_by_revision"
               " WHERE modified >= ?1 ORDER BY modified, id"},
    {&insert_version_, "INSERT INTO versions (key, value, created, modified, version, lease)"
                       " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
    {&set_live_, "INSERT INTO live VALUES (?1, ?2)"
                 " ON CONFLICT (key) DO UPDATE SET id = excluded.id"},
    {&erase_live_, "DELETE FROM live WHERE key = ?1"},
    {&supersede_, "INSERT INTO superseded VALUES (?1, ?2)"},
    {&find_superseded_, "SELECT modified, id FROM superseded WHERE modified < ?1"
                        " ORDER BY modified LIMIT ?2"},
    {&erase_superseded_, "DELETE FROM superseded WHERE modified = ?1 AND id = ?2"},
    {&erase_version_, "DELETE FROM versions WHERE id = ?1"},
    {&find_lease_, "SELECT 1 FROM leases WHERE id = ?1"},
    {&insert_lease_, "INSERT INTO leases VALUES (?1, ?2)"},
    {&erase_lease_, "DELETE FROM leases WHERE id = ?1"},
    {&attach_, "INSERT OR IGNORE INTO attached VALUES (?1, ?2)"},
    {&detach_, "DELETE FROM attached WHERE lease = ?1 AND key = ?2"},
    {&attached_, "SELECT key FROM attached WHERE lease = ?1 ORDER BY key"},
    {&save_numbers_, "UPDATE numbers SET current = ?1, oldest = ?2, last_lease = ?3"},
  };
  for (const auto& [statement, text] : statements) {
    auto prepared = sqlite_statement::prepare(database_, text);
    if (!prepared.ok())
      return prepared.status();
    *statement = *std::move(prepared);
  }
  return absl::OkStatus();
}

absl::Status sqlite_keys::load_numbers() {
  auto load =
    sqlite_statement::prepare(database_, "SELECT current, oldest, last_lease FROM numbers");
  if (!load.ok())
    return load.status();
  auto loaded = load->each(database_, [&](const sqlite_row& row) {
    numbers_ = {row.integer(0), row.integer(1), row.integer(2)};
    return true;
  });
  committed_ = numbers_;
  return loaded;
}

absl::Status sqlite_keys::end_left_leases() {
  auto list = sqlite_statement::prepare(database_, "SELECT id FROM leases ORDER BY id");
  if (!list.ok())
    return list.status();
  std::vector<lease_id> left;
  auto listed = list->each(database_, [&](const sqlite_row& row) {
    left.push_back(row.integer(0));
    return true;
  });
  if (!listed.ok() || left.empty())
    return listed;
  begin();
  for (const auto lease : left)
    end_lease(lease).status().IgnoreError();
  return commit().status(); // answers with the first failure of all of these
}

} // namespace reprieve
