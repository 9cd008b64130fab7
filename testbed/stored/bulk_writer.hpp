#pragma once

#include "state/store/store.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

namespace reprieve {

/// Gathers writes into transactions as large as a store takes them, some of them under way at a
/// time.
class bulk_writer {
public:
  explicit bulk_writer(store& to) : to_(to) {}

  void write(std::string key, std::string value) {
    const auto size = key.size() + value.size();
    if (batch_.operations.size() == store_limits::operations || bytes_ + size > store_limits::bytes)
      flush();
    bytes_ += size;
    batch_.operations.emplace_back(put{std::move(key), std::move(value), 0});
  }

  /// Returns when all is written.
  void finish() {
    flush();
    wait_until_at_most(0);
  }

private:
  static constexpr std::size_t most_under_way = 16;

  void flush() {
    wait_until_at_most(most_under_way - 1);
    {
      const std::lock_guard lock(mutex_);
      ++under_way_;
    }
    to_.commit(std::exchange(batch_, {}), [this](const absl::StatusOr<transaction_result>& how) {
      if (!how.ok() || !how->succeeded) {
        fmt::print(stderr, "the store does not take what is made up: {}\n",
                   how.status().ToString());
        std::abort();
      }
      const std::lock_guard lock(mutex_);
      --under_way_;
      ended_.notify_one();
    });
    bytes_ = 0;
  }

  void wait_until_at_most(std::size_t count) {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return under_way_ <= count; });
  }

  store& to_;
  transaction batch_;
  std::size_t bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t under_way_ = 0;
};

} // namespace reprieve
