#pragma once

#include "state/containers/heap_size.hpp"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

namespace reprieve {

inline constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();

inline std::uint64_t hash_of(std::string_view text) {
  return std::hash<std::string_view>{}(text);
}

inline std::uint64_t hash_of(std::u16string_view text) {
  return std::hash<std::u16string_view>{}(text);
}

/// `hash` with one more number in it; every bit of both counts for every bit of the result.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e37'79b9'7f4a'7c15U;
  hash = (hash ^ (hash >> 32U)) * 0xd6e8'feb8'6659'fd93U;
  return hash ^ (hash >> 32U);
}

/// Finds rows by a key that is stored elsewhere, in five bytes a slot: open addressing, with a byte
/// of the hash beside each row so that a probe seldom looks at the wrong key. The caller says how a
/// key compares and what a row hashes to. There is no order to go through the rows in.
class row_index {
public:
  /// The row of this hash for which `same(row)` holds, or `no_row`.
  template <class Same>
  std::uint32_t find(std::uint64_t hash, const Same& same) const {
    if (rows_.empty())
      return no_row;
    for (auto slot = home(hash); tags_[slot] != free_slot; slot = after(slot))
      if (tags_[slot] == tag(hash) && same(rows_[slot]))
        return rows_[slot];
    return no_row;
  }

  /// Adds a row whose key is not there. `hash_of(row)` is asked when the index grows.
  template <class HashOf>
  void insert(std::uint64_t hash, std::uint32_t row, const HashOf& hash_of) {
    if ((size_ + 1) * 5 > rows_.size() * 4)
      grow(hash_of);
    place(hash, row);
    ++size_;
  }

  /// Takes away a row that is there, and moves those up that it kept from their slots.
  template <class HashOf>
  void erase(std::uint64_t hash, std::uint32_t row, const HashOf& hash_of) {
    auto hole = slot_of(hash, row);
    for (auto slot = after(hole); tags_[slot] != free_slot; slot = after(slot)) {
      const auto wish = home(hash_of(rows_[slot]));
      if (distance(wish, slot) < distance(hole, slot))
        continue;
      rows_[hole] = rows_[slot];
      tags_[hole] = tags_[slot];
      hole = slot;
    }
    tags_[hole] = free_slot;
    --size_;
  }

  /// Lets `row` stand where `former` of the same hash did.
  void replace(std::uint64_t hash, std::uint32_t former, std::uint32_t row) {
    rows_[slot_of(hash, former)] = row;
  }

  void clear() {
    *this = {};
  }

  std::size_t memory() const {
    return heap_size(rows_) + heap_size(tags_);
  }

private:
  static constexpr std::uint8_t free_slot = 0;

  static std::uint8_t tag(std::uint64_t hash) {
    return static_cast<std::uint8_t>((hash >> 57U) + 1);
  }
  std::size_t home(std::uint64_t hash) const {
    return hash & (rows_.size() - 1);
  }
  std::size_t after(std::size_t slot) const {
    return (slot + 1) & (rows_.size() - 1);
  }
  std::size_t distance(std::size_t from, std::size_t to) const {
    return (to - from) & (rows_.size() - 1);
  }

  std::size_t slot_of(std::uint64_t hash, std::uint32_t row) const {
    auto slot = home(hash);
    while (rows_[slot] != row || tags_[slot] == free_slot) {
      assert(tags_[slot] != free_slot);
      slot = after(slot);
    }
    return slot;
  }

  void place(std::uint64_t hash, std::uint32_t row) {
    auto slot = home(hash);
    while (tags_[slot] != free_slot)
      slot = after(slot);
    rows_[slot] = row;
    tags_[slot] = tag(hash);
  }

  template <class HashOf>
  void grow(const HashOf& hash_of) {
    const auto rows = std::move(rows_);
    const auto tags = std::move(tags_);
    const auto slots = rows.empty() ? 16 : rows.size() * 2;
    rows_ = std::vector<std::uint32_t>(slots);
    tags_ = std::vector<std::uint8_t>(slots, free_slot);
    for (std::size_t slot = 0; slot < rows.size(); ++slot)
      if (tags[slot] != free_slot)
        place(hash_of(rows[slot]), rows[slot]);
  }

  std::vector<std::uint32_t> rows_; ///< a power of two of slots
  std::vector<std::uint8_t> tags_;
  std::size_t size_ = 0;
};

} // namespace reprieve
