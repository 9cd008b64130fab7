#pragma once

#include "protocol/limits/fair_share.hpp"

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace reprieve {

/// How much of something there may be at a time, in all and of each client: open streams, bytes
/// that nobody has read yet. The last of it is for clients that have little, see `fair_share`.
class client_limit {
public:
  /// Counts until it is destroyed; may outlive the limit.
  using ticket = std::shared_ptr<void>;

  struct settings {
    std::string_view what;       ///< such as `streams open`
    std::string_view what_to_do; ///< about one's own, such as `end one first`
    std::string_view option;     ///< of the daemon, for all; empty where there is none
    std::int64_t most = 0;
    std::int64_t most_per_client = 0;
  };

  explicit client_limit(const settings& with) : with_(with) {}

  absl::StatusOr<ticket> open(const std::string& client, std::int64_t amount = 1);

private:
  struct counts {
    std::mutex mutex;
    std::int64_t all = 0;
    std::map<std::string, std::int64_t> by_client;
  };

  /// Where to raise it.
  std::string hint(std::string_view suffix) const;

  fair_share share() const {
    return {with_.most, with_.most_per_client};
  }

  settings with_;
  std::shared_ptr<counts> open_ = std::make_shared<counts>();
};

} // namespace reprieve
