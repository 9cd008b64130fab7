#pragma once

#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "state/store/forwarding_store.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace reprieve {

/// Notes when calls of the store behind it begin and end, and when the decisions that it writes
/// were made.
class round_noting_store final : public forwarding_store {
public:
  /// `now` is the clock of those who decide.
  round_noting_store(std::shared_ptr<store> behind, std::function<time_point()> now)
      : forwarding_store(std::move(behind)), now_(std::move(now)) {}

  void read(range_request request, store_callback<range_result> done) override {
    forwarding_store::read(std::move(request), noted(std::move(done)));
  }

  void commit(transaction writes, store_callback<transaction_result> done) override {
    for (const auto& one : writes.operations)
      if (const auto* head = std::get_if<put>(&one);
          head != nullptr && head->key.starts_with(keys::open_decisions))
        if (const auto record = decode<decision_head>(head->value); record.ok())
          note_decision(record->summary.decided);
    forwarding_store::commit(std::move(writes), noted(std::move(done)));
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
    decided_ = no_time;
  }

  /// How many calls, one after the other, went between the decision and `end`: the most of them of
  /// which each began when the one before had ended, whoever made them. -1 where nothing was
  /// decided.
  int rounds_until(time_point end) const {
    const std::lock_guard lock(mutex_);
    if (decided_ == no_time)
      return -1;
    auto calls = calls_;
    std::ranges::sort(calls, {}, &call::ended);
    int rounds = 0;
    auto free_from = decided_;
    for (const auto& one : calls)
      if (one.began >= free_from && one.ended <= end) {
        ++rounds;
        free_from = one.ended;
      }
    return rounds;
  }

private:
  struct call {
    time_point began;
    time_point ended;
  };

  void note_decision(time_point decided) {
    const std::lock_guard lock(mutex_);
    if (decided_ == no_time)
      decided_ = decided;
  }

  template <class T>
  store_callback<T> noted(store_callback<T> done) {
    return [this, began = now_(), done = std::move(done)](absl::StatusOr<T> answer) {
      {
        const std::lock_guard lock(mutex_);
        calls_.push_back({began, now_()});
      }
      done(std::move(answer));
    };
  }

  std::function<time_point()> now_;
  mutable std::mutex mutex_;
  std::vector<call> calls_;
  time_point decided_ = no_time;
};

} // namespace reprieve
