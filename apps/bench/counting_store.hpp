#pragma once

#include "state/store.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace reprieve {

/// Counts what is written to the store behind it.
class counting_store final : public store {
public:
  explicit counting_store(std::shared_ptr<store> behind) : behind_(std::move(behind)) {}

  std::uint64_t transactions() const {
    return transactions_;
  }
  /// Keys and values.
  std::uint64_t bytes() const {
    return bytes_;
  }

  void read(range_request request, store_callback<range_result> done) override {
    behind_->read(std::move(request), std::move(done));
  }
  void commit(transaction writes, store_callback<transaction_result> done) override {
    std::uint64_t bytes = 0;
    for (const auto& one : writes.operations)
      if (const auto* written = std::get_if<put>(&one))
        bytes += written->key.size() + written->value.size();
    bytes_ += bytes;
    ++transactions_;
    behind_->commit(std::move(writes), std::move(done));
  }
  std::unique_ptr<watch_handle> watch(key_range range, revision from,
                                      store_callback<watch_batch> each) override {
    return behind_->watch(std::move(range), from, std::move(each));
  }
  void grant(duration time_to_live, store_callback<lease_id> done,
             std::function<void()> lost) override {
    behind_->grant(time_to_live, std::move(done), std::move(lost));
  }
  void revoke(lease_id lease, store_callback<revision> done) override {
    behind_->revoke(lease, std::move(done));
  }
  void compact(revision before, store_callback<revision> done) override {
    behind_->compact(before, std::move(done));
  }

private:
  std::shared_ptr<store> behind_;
  std::atomic<std::uint64_t> transactions_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
};

} // namespace reprieve
