#include "protocol/rate_limit.hpp"

#include <algorithm>

namespace reprieve {

static constexpr std::size_t most_clients = 10'000;

rate_limit::rate_limit(std::int64_t per_second) {
  if (per_second <= 0)
    return;
  interval_ = std::max(duration{std::chrono::seconds{1}} / per_second, duration{1});
  burst_ = std::max(duration{std::chrono::seconds{2}}, interval_);
}

duration rate_limit::take(const std::string& client, instant now) {
  if (interval_ == duration::zero())
    return duration::zero();
  const std::lock_guard lock(mutex_);
  if (full_at_.size() >= most_clients && !full_at_.contains(client))
    forget_full(now);
  auto& full_at = full_at_.try_emplace(client, now).first->second;
  full_at = std::max(full_at, now);
  const auto ahead = full_at - now + interval_;
  if (ahead > burst_)
    return ahead - burst_;
  full_at += interval_;
  return duration::zero();
}

void rate_limit::forget_full(instant now) {
  std::erase_if(full_at_, [&](const auto& one) { return one.second <= now; });
  // More clients than can be told apart within the time of a burst: all start anew.
  if (full_at_.size() >= most_clients)
    full_at_.clear();
}

} // namespace reprieve
