#include "state/store/etcd_cpp/call_threads.hpp"

#include <utility>

namespace reprieve {

call_threads::call_threads(std::size_t number) {
  threads_.reserve(number);
  for (std::size_t i = 0; i < number; ++i)
    threads_.emplace_back([this] { run(); });
}

call_threads::~call_threads() {
  stop();
}

void call_threads::post(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_)
      return;
    posted_.push_back(std::move(call));
  }
  changed_.notify_one();
}

void call_threads::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_)
    if (thread.joinable())
      thread.join();
}

void call_threads::run() {
  for (std::unique_lock lock(mutex_);;) {
    changed_.wait(lock, [this] { return stopping_ || !posted_.empty(); });
    if (posted_.empty())
      return;
    auto next = std::move(posted_.front());
    posted_.pop_front();
    lock.unlock();
    next();
    next = nullptr; // what it holds may end here, too, without the lock
    lock.lock();
  }
}

} // namespace reprieve
