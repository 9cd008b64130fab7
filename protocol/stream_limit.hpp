#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace reprieve {

/// How many streams may be open, in all and for each client.
class stream_limit {
public:
  /// Counts as open until it is destroyed; may outlive the limit.
  using ticket = std::shared_ptr<void>;

  stream_limit(std::int64_t most, std::int64_t most_per_client);

  absl::StatusOr<ticket> open(const std::string& client);

private:
  struct counts {
    std::mutex mutex;
    std::int64_t all = 0;
    std::map<std::string, std::int64_t> by_client;
  };

  std::int64_t most_;
  std::int64_t most_per_client_;
  std::shared_ptr<counts> open_ = std::make_shared<counts>();
};

} // namespace reprieve
