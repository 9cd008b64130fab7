#include "protocol/turns.hpp"

#include <utility>

namespace reprieve {

void turns::line::add(const std::string& client, starter start) {
  const std::lock_guard lock(mutex_);
  auto& own = clients_[client];
  own.waiting.push_back(std::move(start));
  if (own.started + own.waiting.size() <= most_per_client_)
    in_turn_.push_back(client);
}

void turns::line::go_on() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(going_on_, true))
      return;
  }
  std::string client;
  while (auto start = next(client))
    start(ticket(nullptr, [self = shared_from_this(), client](void*) {
      self->give_back(client);
      self->go_on();
    }));
}

turns::starter turns::line::next(std::string& client) {
  const std::lock_guard lock(mutex_);
  if (started_ >= most_ || in_turn_.empty()) {
    going_on_ = false;
    return {};
  }
  client = std::move(in_turn_.front());
  in_turn_.pop_front();
  auto& own = clients_.at(client);
  auto start = std::move(own.waiting.front());
  own.waiting.pop_front();
  ++own.started;
  ++started_;
  return start;
}

void turns::line::give_back(const std::string& client) {
  const std::lock_guard lock(mutex_);
  auto& own = clients_.at(client);
  --own.started;
  --started_;
  // As many of a client stand in the line as it may start; one more comes forward.
  if (own.waiting.size() + own.started >= most_per_client_)
    in_turn_.push_back(client);
  else if (own.started == 0 && own.waiting.empty())
    clients_.erase(client);
}

} // namespace reprieve
