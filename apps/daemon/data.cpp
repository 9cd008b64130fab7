#include "apps/daemon/data.hpp"

#include "state/files/private_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace reprieve {

/// Tells of files that should be secret and are not.
static void warn_of_open_files(const daemon_options& options) {
  for (const auto& path :
       {options.data, options.api.callers, options.api.tls.key, options.peers.tls.key,
        options.storage.tls.key, options.storage.password_file})
    if (const auto open = openness_of(path); !open.empty())
      options.api.say("warning: " + open);
}

absl::Status prepare_data(const daemon_options& options) {
  std::error_code created;
  std::filesystem::create_directories(options.data, created);
  if (created)
    return absl::UnavailableError(
      fmt::format("can't make the data directory {}: {}; give another with --data", options.data,
                  created.message()));
  warn_of_open_files(options);
  return absl::OkStatus();
}

duration lease_time(const daemon_options& options) {
  return std::chrono::milliseconds{options.peers.lease_milliseconds};
}

absl::StatusOr<std::shared_ptr<store>> open_data(const daemon_options& options, file_watch& files) {
  auto storage = options.storage;
  storage.call_timeout = std::min(storage.call_timeout, lease_time(options));
  return open_store(storage, options.data, files, options.api.say);
}

} // namespace reprieve
