// Commands that look after the state of the scheduler itself: backup, snapshot and restore.

#include "apps/cli/commands.hpp"
#include "apps/cli/messages.hpp"
#include "protocol/backup/backup_file.hpp"
#include "protocol/backup/restore.hpp"
#include "state/files/private_file.hpp"
#include "state/quantities/quantity.hpp"
#include "state/store/etcd/etcd_store.hpp"
#include "state/store/sqlite/sqlite_store.hpp"

#include <CLI/CLI.hpp>
#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>

namespace reprieve::cli {

namespace {

/// Where a backup is restored to: the embedded store's directory, or else etcd.
struct restore_target {
  std::string data;
  std::string etcd; ///< endpoints with commas between them
  std::string prefix = "/reprieve/";
  tls_files tls;
  std::string user;
  std::string password_file;
};

/// A password is not given on the command line, where everybody can see it.
absl::StatusOr<std::string> read_password(const restore_target& target) {
  if (target.password_file.empty()) {
    const char* given = std::getenv("REPRIEVE_ETCD_PASSWORD");
    return std::string(given == nullptr || target.user.empty() ? "" : given);
  }
  const auto text = read_small_file(target.password_file);
  if (!text.ok())
    return text.status();
  return std::string(absl::StripTrailingAsciiWhitespace(*text));
}

absl::StatusOr<etcd_options> etcd_of(const restore_target& target) {
  etcd_options options;
  options.endpoints = absl::StrSplit(target.etcd, absl::ByAnyChar(", "), absl::SkipEmpty());
  options.prefix = target.prefix;
  if (!target.tls.empty()) {
    auto texts = read_tls(target.tls);
    if (!texts.ok())
      return texts.status();
    options.tls =
      etcd_tls{std::move(texts->authority), std::move(texts->certificate), std::move(texts->key)};
  }
  auto password = read_password(target);
  if (!password.ok())
    return password.status();
  options.user = target.user;
  options.password = *std::move(password);
  return options;
}

absl::StatusOr<std::unique_ptr<store>> open_store(const restore_target& target) {
  if (!target.data.empty()) {
    auto opened = sqlite_store::open(target.data);
    if (!opened.ok())
      return opened.status();
    return std::unique_ptr<store>(*std::move(opened));
  }
  auto options = etcd_of(target);
  if (!options.ok())
    return options.status();
  api_client::silence_transport();
  auto opened = etcd_store::open(*std::move(options));
  if (!opened.ok())
    return opened.status();
  return std::unique_ptr<store>(*std::move(opened));
}

void add_restore_options(CLI::App& app, restore_target& target) {
  auto* data = app.add_option("--data", target.data,
                              "directory for the embedded store; no reprieved may use it");
  auto* etcd =
    app.add_option("--etcd", target.etcd, "host:port of etcd's members, with commas between them");
  etcd->excludes(data);
  const auto add = [&](const char* name, std::string& value, const char* text) {
    return app.add_option(name, value, text)->needs(etcd);
  };
  add("--etcd-prefix", target.prefix, "before all keys in etcd")->capture_default_str();
  add("--etcd-ca", target.tls.authority,
      "encrypt, and check etcd by the certificates of this file");
  add("--etcd-cert", target.tls.certificate, "certificate to show to etcd");
  add("--etcd-key", target.tls.key, "key of the certificate");
  add("--etcd-user", target.user, "name that etcd knows us by");
  add("--etcd-password-file", target.password_file,
      "file with the password; else REPRIEVE_ETCD_PASSWORD has it");
}

/// Writes all that the server's store holds to the file.
int backup(api_client& server, const std::string& file) {
  auto into = backup_file::create(file);
  if (!into.ok())
    return fail(absl::IsInvalidArgument(into.status()) ? bad_input : failed, into.status());
  auto written = server.backup(**into);
  if (written.ok())
    written = (*into)->finish();
  if (!written.ok())
    return fail(failed, written);
  fmt::print("{}: cluster {} at revision {}, {} records, {} bytes\n", file,
             (*into)->about().cluster, (*into)->about().at, (*into)->count(), (*into)->bytes());
  return done;
}

/// Writes the live state to the file, as manifests that `decide` takes.
int snapshot(api_client& server, const std::string& file) {
  auto out = replacing_file::of(file);
  if (!out.ok())
    return fail(bad_input, out.status());
  std::size_t bytes = 0;
  auto written = server.snapshot([&](const std::string& next) {
    bytes += next.size();
    return out->write(next);
  });
  if (written.ok())
    written = out->move_in_place();
  if (!written.ok())
    return fail(failed, written);
  fmt::print("{}: the live state in {} bytes; reprieve decide --all -f {} decides on it\n", file,
             bytes, file);
  return done;
}

/// Puts what the file holds into an empty store, without any server.
int restore(const std::string& file, const restore_target& target) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return fail(bad_input,
                fmt::format("{} can't be read: {}", file, std::generic_category().message(errno)));
  restore_settings settings;
  settings.now = std::chrono::time_point_cast<duration>(std::chrono::system_clock::now());
  const auto found = check_backup(in, settings.now);
  if (!found.ok())
    return fail(failed, fmt::format("{}: {}", file, std::string(found.status().message())));
  auto into = open_store(target);
  if (!into.ok())
    return fail(absl::IsInvalidArgument(into.status()) ? bad_input : failed, into.status());
  in.clear();
  in.seekg(0);
  if (auto put_back = restore(in, **into, settings); !put_back.ok())
    return fail(failed, put_back);
  fmt::print("{}: {} records of cluster {}, as of {}, are restored to {}\n", file, found->count,
             found->about.cluster, format_time(found->about.taken),
             target.data.empty() ? "etcd at " + target.etcd : target.data);
  return done;
}

void add_backup_command(CLI::App& admin, command_line& line) {
  const auto file = std::make_shared<std::string>();
  auto& command =
    *admin.add_subcommand("backup", "write all that the server's store holds to a file");
  command.add_option("file", *file, "to write; replaced when the backup is whole")->required();
  line.set_call(command, [file](api_client& server, output) { return backup(server, *file); });
}

void add_snapshot_command(CLI::App& admin, command_line& line) {
  const auto file = std::make_shared<std::string>();
  auto& command = *admin.add_subcommand(
    "snapshot", "write the server's live state to a file, as manifests that decide takes");
  command.add_option("file", *file, "to write; replaced when the snapshot is whole")->required();
  line.set_call(command, [file](api_client& server, output) { return snapshot(server, *file); });
}

void add_restore_command(CLI::App& admin, command_line& line) {
  const auto file = std::make_shared<std::string>();
  const auto target = std::make_shared<restore_target>();
  auto& command =
    *admin.add_subcommand("restore", "put a backup into an empty store, while no reprieved runs");
  command.add_option("file", *file, "that admin backup wrote")->required();
  add_restore_options(command, *target);
  line.set_action(
    command, [file, target](output) { return restore(*file, *target); },
    [target] {
      if (target->data.empty() && target->etcd.empty())
        throw CLI::ValidationError("restore", "give --data DIRECTORY, or --etcd HOST:PORT");
    });
}

} // namespace

void add_admin_commands(CLI::App& program, command_line& line) {
  auto& admin = *program.add_subcommand("admin", "look after the state of the scheduler itself");
  admin.require_subcommand(1);
  add_backup_command(admin, line);
  add_snapshot_command(admin, line);
  add_restore_command(admin, line);
}

} // namespace reprieve::cli
