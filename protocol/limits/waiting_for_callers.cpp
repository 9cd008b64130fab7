#include "protocol/limits/waiting_for_callers.hpp"

#include <utility>

namespace reprieve {

namespace {

constexpr std::chrono::milliseconds between_looks{500};

} // namespace

waiting_for_callers::waiting_for_callers() : thread_([this] { run(); }) {}

waiting_for_callers::~waiting_for_callers() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void waiting_for_callers::add(std::weak_ptr<waiting_call> call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
}

void waiting_for_callers::run() {
  std::vector<std::weak_ptr<waiting_call>> seen;
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, between_looks, [this] { return ended_; })) {
    seen.insert(seen.end(), calls_.begin(), calls_.end());
    calls_.clear();
    lock.unlock();
    const auto now = waiting_call::instant::clock::now();
    std::erase_if(seen, [now](const auto& one) {
      const auto call = one.lock();
      if (call)
        call->look_at_the_time(now);
      return !call;
    });
    lock.lock();
  }
}

} // namespace reprieve
