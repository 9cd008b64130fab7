#include "state/store/etcd/etcd_options.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

/// A longer one could carry a transaction of the largest size over etcd's own limit.
constexpr std::size_t longest_prefix = 128;

} // namespace

absl::Status check(const etcd_tls& tls) {
  if (tls.certificate.empty() != tls.key.empty())
    return absl::InvalidArgumentError("a client certificate for etcd needs its key, and a key its "
                                      "certificate");
  return absl::OkStatus();
}

absl::Status check(const etcd_options& options) {
  if (options.endpoints.empty())
    return absl::InvalidArgumentError("etcd needs at least one endpoint, such as localhost:2379");
  for (const auto& endpoint : options.endpoints)
    if (endpoint.find("://") != std::string::npos || endpoint.find(':') == std::string::npos)
      return absl::InvalidArgumentError(
        fmt::format("the etcd endpoint '{}' must be host:port, such as localhost:2379", endpoint));
  if (options.prefix.size() > longest_prefix)
    return absl::InvalidArgumentError(fmt::format("the etcd prefix takes at most {} bytes, not {}",
                                                  longest_prefix, options.prefix.size()));
  if (options.call_timeout <= duration::zero())
    return absl::InvalidArgumentError("the timeout of etcd calls must be more than 0");
  if (options.user.empty() && !options.password.empty())
    return absl::InvalidArgumentError("a password for etcd needs its user");
  return options.tls ? check(*options.tls) : absl::OkStatus();
}

} // namespace reprieve
