#include "protocol/limits/caller_turns.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

void turns::line::add(const std::string& client, starter start) {
  const std::lock_guard lock(mutex_);
  auto& known = *clients_.try_emplace(client).first;
  auto& own = known.second;
  own.waiting.push_back(std::move(start));
  if (own.started + own.waiting.size() <= most_per_client_)
    in_turn_.push_back(&known);
}

void turns::line::start_next() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(going_on_, true))
      return;
  }
  std::string client;
  while (auto start = next(client))
    start(ticket(nullptr, [self = shared_from_this(), client](void*) {
      self->give_back(client);
      self->start_next();
    }));
}

bool turns::line::may_start(const known_client* one) const {
  return share_.allows(static_cast<std::int64_t>(one->second.started + 1),
                       static_cast<std::int64_t>(started_ + 1));
}

turns::starter turns::line::next(std::string& client) {
  const std::lock_guard lock(mutex_);
  const auto found =
    static_cast<std::int64_t>(started_) >= share_.most
      ? in_turn_.end()
      : std::ranges::find_if(in_turn_, [this](const auto* one) { return may_start(one); });
  if (found == in_turn_.end()) {
    going_on_ = false;
    return {};
  }
  auto& [name, own] = **found;
  in_turn_.erase(found);
  client = name;
  auto start = std::move(own.waiting.front());
  own.waiting.pop_front();
  ++own.started;
  ++started_;
  return start;
}

void turns::line::give_back(const std::string& client) {
  const std::lock_guard lock(mutex_);
  auto& known = *clients_.find(client);
  auto& own = known.second;
  --own.started;
  --started_;
  // As many of a client stand in the line as it may start; one more comes forward.
  if (own.waiting.size() + own.started >= most_per_client_)
    in_turn_.push_back(&known);
  else if (own.started == 0 && own.waiting.empty())
    clients_.erase(client);
}

} // namespace reprieve
