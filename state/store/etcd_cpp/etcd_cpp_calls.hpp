#pragma once

#include "state/store/boot_clock.hpp"
#include "state/store/etcd/event_thread.hpp"
#include "state/store/etcd_cpp/call_threads.hpp"
#include "state/store/etcd_cpp/etcd_cpp_members.hpp"
#include "state/store/store.hpp"

#include <atomic>
#include <cstdint>
#include <map>

namespace reprieve {

/// Makes the library's calls, which block, on a fixed number of threads. Used on the event thread,
/// where the answers come, too.
class etcd_cpp_calls {
public:
  etcd_cpp_calls(std::shared_ptr<event_thread> thread, etcd_cpp_members& members,
                 duration call_timeout)
      : thread_(std::move(thread)), members_(members), call_timeout_(call_timeout),
        threads_(calls_at_once) {}

  /// Makes the call on one of the threads, and there `understand`s how it ended. Answers in any
  /// case when its time is over; a call that no thread was free for by then is not made at all.
  template <class T>
  void call(std::function<etcd::Response(etcd::SyncClient&)> make,
            std::function<absl::StatusOr<T>(const etcd_cpp_answer&)> understand,
            store_callback<T> done);

  /// Answers all that is under way, and makes no more.
  void stop() {
    stopped_ = true;
    while (!under_way_.empty())
      give_up(under_way_.begin()->first, {grpc::StatusCode::CANCELLED, "the store is closing"});
  }

  /// Returns when the library has given up, too. Not to be called on the event thread.
  void wait() {
    threads_.stop();
  }

private:
  static constexpr std::size_t calls_at_once = 4;

  enum class stage { waiting, begun, given_up };

  struct pending_call {
    std::shared_ptr<std::atomic<stage>> at;
    std::function<void(const etcd_end&)> answer;
  };

  void give_up(std::uint64_t number, const grpc::Status& why) {
    const auto found = under_way_.find(number);
    if (found == under_way_.end())
      return;
    const auto call = found->second; // which goes when it is answered
    const bool sent = call.at->exchange(stage::given_up) == stage::begun;
    call.answer({why, sent});
  }

  const std::shared_ptr<event_thread> thread_;
  etcd_cpp_members& members_;
  const duration call_timeout_;
  std::map<std::uint64_t, pending_call> under_way_;
  std::uint64_t last_call_ = 0;
  bool stopped_ = false;
  call_threads threads_;
};

template <class T>
void etcd_cpp_calls::call(std::function<etcd::Response(etcd::SyncClient&)> make,
                          std::function<absl::StatusOr<T>(const etcd_cpp_answer&)> understand,
                          store_callback<T> done) {
  if (stopped_) {
    done(absl::UnavailableError("the store is closing"));
    return;
  }
  const auto number = ++last_call_;
  const auto at = std::make_shared<std::atomic<stage>>(stage::waiting);
  const auto answer = [this, number, done = std::move(done)](absl::StatusOr<T> result) {
    if (under_way_.erase(number) > 0)
      done(std::move(result));
  };
  under_way_[number] = {
    at, [answer, understand](const etcd_end& end) { answer(understand(etcd_cpp_answer{end})); }};
  threads_.post([this, at, answer, make = std::move(make), understand] {
    if (auto expected = stage::waiting; !at->compare_exchange_strong(expected, stage::begun))
      return;
    thread_->post(
      [answer, result = understand(members_.call(make))]() mutable { answer(std::move(result)); });
  });
  thread_->post_at(boot_time() + call_timeout_, [this, number] {
    give_up(number, {grpc::StatusCode::DEADLINE_EXCEEDED, "no answer in time"});
  });
}

} // namespace reprieve
