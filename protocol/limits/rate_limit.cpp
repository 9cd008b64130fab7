#include "protocol/limits/rate_limit.hpp"

#include <algorithm>

namespace reprieve {

static constexpr std::size_t most_clients = 10'000;

rate_limit::rate_limit(std::int64_t per_second, std::chrono::seconds saved_up) {
  if (per_second <= 0)
    return;
  interval_ = std::max(duration{std::chrono::seconds{1}} / per_second, duration{1});
  burst_ = std::max(duration{saved_up}, interval_);
}

duration rate_limit::take(const std::string& client, instant now) {
  if (interval_ == duration::zero())
    return duration::zero();
  const std::lock_guard lock(mutex_);
  auto& full = full_at(client, now);
  const auto ahead = full - now + interval_;
  if (ahead > burst_)
    return ahead - burst_;
  full += interval_;
  return duration::zero();
}

void rate_limit::spend(const std::string& client, instant now, std::int64_t amount) {
  if (interval_ == duration::zero())
    return;
  const std::lock_guard lock(mutex_);
  full_at(client, now) += amount * interval_;
}

rate_limit::instant& rate_limit::full_at(const std::string& client, instant now) {
  if (full_at_.size() >= most_clients && !full_at_.contains(client))
    forget_full(now);
  auto& full = full_at_.try_emplace(client, now).first->second;
  full = std::max(full, now);
  return full;
}

void rate_limit::forget_full(instant now) {
  std::erase_if(full_at_, [&](const auto& one) { return one.second <= now; });
  // More clients than can be told apart within the time of a burst: all start anew.
  if (full_at_.size() >= most_clients)
    full_at_.clear();
}

} // namespace reprieve
