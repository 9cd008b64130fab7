#pragma once

#include "state/store/forwarding_store.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace reprieve {

/// Counts what is written to the store behind it.
class counting_store final : public forwarding_store {
public:
  using forwarding_store::forwarding_store;

  std::uint64_t transactions() const {
    return transactions_;
  }
  /// Keys and values.
  std::uint64_t bytes() const {
    return bytes_;
  }

  void commit(transaction writes, store_callback<transaction_result> done) override {
    std::uint64_t bytes = 0;
    for (const auto& one : writes.operations)
      if (const auto* written = std::get_if<put>(&one))
        bytes += written->key.size() + written->value.size();
    bytes_ += bytes;
    ++transactions_;
    forwarding_store::commit(std::move(writes), std::move(done));
  }

private:
  std::atomic<std::uint64_t> transactions_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
};

} // namespace reprieve
