#pragma once

#include "protocol/access/caller_file.hpp"

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace reprieve {

/// What a call brings along to tell who makes it.
struct credentials_shown {
  std::string authorization; ///< such as `Bearer …`; empty where there is none
  std::string certificate;   ///< of the client, in PEM form and verified; empty where there is none
};

/// By what callers may be known. Without any of it, everybody may do everything.
struct known_by {
  const caller_file* callers = nullptr;
  bool certificates = false;
};

/// Who calls, or `kUnauthenticated` with a sentence that says what to show. A certificate tells its
/// role as its organisation, `reprieve:admin` and the like, and a submitter's queues as its units.
absl::StatusOr<caller> identify(const credentials_shown& shown, const known_by& known,
                                time_point now);

/// For counting and recording those who did not say who they are: the host of gRPC's name for the
/// other end, without the port.
std::string host_of_peer(std::string_view peer);

} // namespace reprieve
