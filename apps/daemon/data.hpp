#pragma once

#include "apps/daemon/daemon_options.hpp"
#include "protocol/access/file_watch.hpp"
#include "state/store/store.hpp"

#include <absl/status/statusor.h>

#include <chrono>
#include <memory>

namespace reprieve {

/// Makes the data directory where it is not there, and tells of files that should be secret and are
/// not.
absl::Status prepare_data(const daemon_options& options);

/// After which a replica that is silent counts as lost.
duration lease_time(const daemon_options& options);

/// Opens the store, of which no call takes longer than a lease. `files` follows its certificates.
absl::StatusOr<std::shared_ptr<store>> open_data(const daemon_options& options, file_watch& files);

} // namespace reprieve
