#include "protocol/stream_limit.hpp"

#include <fmt/format.h>

namespace reprieve {

stream_limit::stream_limit(std::int64_t most, std::int64_t most_per_client)
    : most_(most), most_per_client_(most_per_client) {}

absl::StatusOr<stream_limit::ticket> stream_limit::open(const std::string& client) {
  const std::lock_guard lock(open_->mutex);
  if (open_->all >= most_)
    return absl::ResourceExhaustedError(fmt::format(
      "{} streams are open, as many as this server takes; try again when one has ended, "
      "or raise --streams of reprieved",
      open_->all));
  const auto found = open_->by_client.find(client);
  if (found != open_->by_client.end() && found->second >= most_per_client_)
    return absl::ResourceExhaustedError(
      fmt::format("{} has {} streams open, as many as one client may; end one first, or raise "
                  "--streams-per-client of reprieved",
                  client, found->second));
  ++open_->all;
  ++open_->by_client[client];
  return ticket(nullptr, [counted = open_, client](void*) {
    const std::lock_guard ending(counted->mutex);
    --counted->all;
    if (--counted->by_client[client] == 0)
      counted->by_client.erase(client);
  });
}

} // namespace reprieve
