#pragma once

#include "state/quantities/time.hpp"

#include <absl/status/status.h>

#include <optional>
#include <string>
#include <vector>

namespace reprieve {

/// Encryption towards etcd; all three are PEM text.
struct etcd_tls {
  std::string certificate_authority{}; ///< empty: those that the system trusts
  std::string certificate{};           ///< ours, where etcd asks for one; empty for none
  std::string key{};                   ///< of our certificate
};

struct etcd_options {
  std::vector<std::string> endpoints{}; ///< `host:port` of each member
  std::string prefix = "/reprieve/";    ///< before every key; the rest of etcd is left alone
  duration call_timeout = std::chrono::seconds(5);
  std::optional<etcd_tls> tls{};
  std::string user{}; ///< empty where etcd asks for none
  std::string password{};
};

absl::Status check(const etcd_tls& tls);
absl::Status check(const etcd_options& options);

} // namespace reprieve
