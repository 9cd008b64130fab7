#pragma once

#include "state/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What a batch takes at most, with its sequence key.
struct batch_limits {
  std::size_t operations = store_limits::operations;
  std::size_t bytes = store_limits::bytes;
};

/// Of what a transaction takes in bytes; the rest is for what its records grow by until it goes
/// out.
std::size_t most_bytes(const batch_limits& limits);

/// A part of what a shard has promised to write. What is too large for one transaction is promised
/// in such chunks first, each below a key of its own; what commits it is the shard's sequence key,
/// which says how many of them count. From then on the shard makes the writes chunk by chunk, or
/// whoever loads it next does. Names are taken with the promise, as others would take them.
struct promised_chunk {
  std::string key;
  std::string bytes; ///< the writes, as they stand below the key
  std::vector<operation> writes;
  revision written = 0; ///< the key; 0 where it is not yet
};

std::vector<promised_chunk> split_into_chunks(std::string_view shard, std::int64_t batch,
                                              std::vector<operation> writes,
                                              const batch_limits& limits);

/// As the store has it.
absl::StatusOr<promised_chunk> read_chunk(const key_value& from);

// What becomes of a chunk, each in one transaction.
transaction promise_of(const promised_chunk& chunk);
transaction make_good(const promised_chunk& chunk);
transaction take_back(const promised_chunk& chunk);

} // namespace reprieve
