#pragma once

#include "state/store/store.hpp"

#include <chrono>
#include <cstddef>

namespace reprieve {

/// How puts of 256 bytes are made.
struct put_pattern {
  std::size_t in_flight = 1; ///< transactions at a time
  std::size_t keys = 1;      ///< of each transaction
};

inline constexpr put_pattern serial_puts{1, 1};
inline constexpr put_pattern puts_in_flight{64, 1};
inline constexpr put_pattern put_batches{1, 128};

/// Makes puts for so long, each to a key of its own, and returns how many keys a second were
/// written; what the product does with the same store is compared with that.
absl::StatusOr<double> plain_puts(store& to, const put_pattern& how,
                                  std::chrono::milliseconds for_so_long);

/// Waits until the store takes puts, as an etcd that was started just now has to choose its leader.
absl::Status wait_until_it_serves(store& etcd);

} // namespace reprieve
