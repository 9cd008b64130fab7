#include "protocol/limits/client_limit.hpp"

#include <fmt/format.h>

namespace reprieve {

std::string client_limit::hint(std::string_view suffix) const {
  return with_.option.empty() ? std::string{}
                              : fmt::format(", or raise {}{} of reprieved", with_.option, suffix);
}

absl::StatusOr<client_limit::ticket> client_limit::open(const std::string& client,
                                                        std::int64_t amount) {
  if (amount == 0)
    return ticket{};
  const std::lock_guard lock(open_->mutex);
  if (open_->all + amount > with_.most)
    return absl::ResourceExhaustedError(
      fmt::format("there are {} {}, and this server takes {}; try again when there are fewer{}",
                  open_->all, with_.what, with_.most, hint({})));
  const auto found = open_->by_client.find(client);
  const auto own = found == open_->by_client.end() ? 0 : found->second;
  if (own + amount > with_.most_per_client)
    return absl::ResourceExhaustedError(
      fmt::format("{} has {} {}, and one client may have {}; {}{}", client, own, with_.what,
                  with_.most_per_client, with_.what_to_do, hint("-per-client")));
  if (!share().allows(own + amount, open_->all + amount))
    return absl::ResourceExhaustedError(fmt::format(
      "there are {} {}, and the last quarter of the {} that this server takes is for "
      "clients with no more than {}; {}{}",
      open_->all, with_.what, with_.most, share().little(), with_.what_to_do, hint({})));
  open_->all += amount;
  open_->by_client[client] += amount;
  return ticket(nullptr, [counted = open_, client, amount](void*) {
    const std::lock_guard ending(counted->mutex);
    counted->all -= amount;
    const auto of_client = counted->by_client.find(client);
    of_client->second -= amount;
    if (of_client->second == 0)
      counted->by_client.erase(of_client);
  });
}

} // namespace reprieve
