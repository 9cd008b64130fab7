#pragma once

#include "state/store/boot_clock.hpp"
#include "state/store/etcd/event_thread.hpp"
#include "state/store/forwarding_store.hpp"

#include <atomic>
#include <memory>
#include <utility>

namespace reprieve {

/// Gives the answers to reads and writes so much later than the store behind it, on a thread of its
/// own; nobody waits for another's answer.
class delaying_store final : public forwarding_store {
public:
  delaying_store(std::shared_ptr<store> behind, std::shared_ptr<event_thread> thread)
      : forwarding_store(std::move(behind)), thread_(std::move(thread)) {}

  /// From any thread; counts for calls to come.
  void delay_by(duration time) {
    delay_ = time;
  }

  void read(range_request request, store_callback<range_result> done) override {
    forwarding_store::read(std::move(request), later(std::move(done)));
  }
  void commit(transaction writes, store_callback<transaction_result> done) override {
    forwarding_store::commit(std::move(writes), later(std::move(done)));
  }

private:
  template <class T>
  store_callback<T> later(store_callback<T> done) {
    const duration delay = delay_;
    if (delay == duration::zero())
      return done;
    return [thread = thread_, delay, done = std::move(done)](absl::StatusOr<T> answer) {
      thread->post_at(boot_time() + delay, [done, answer = std::move(answer)] { done(answer); });
    };
  }

  std::shared_ptr<event_thread> thread_;
  std::atomic<duration> delay_ = duration::zero();
};

} // namespace reprieve
