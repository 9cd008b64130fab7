#pragma once

#include "state/containers/row_index.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reprieve {

/// Rows of amounts, all of one width, each kept once for as long as somebody refers to it: the few
/// distinct requests of many pods.
class shape_table {
public:
  /// The row with these amounts, with one more reference to it.
  std::uint32_t intern(std::span<const std::int64_t> amounts);
  void release(std::uint32_t shape);

  std::span<const std::int64_t> amounts(std::uint32_t shape) const {
    return {amounts_.data() + shape * width_, width_};
  }

  /// Makes rows `width` wide, with what was in column c in column `moved_to[c]`.
  void widen(std::span<const std::uint32_t> moved_to, std::size_t width);

  std::size_t memory() const {
    return heap_size(amounts_) + heap_size(references_) + heap_size(spare_) + by_amounts_.memory();
  }

private:
  std::uint64_t hash_of_row(std::uint32_t shape) const;

  std::size_t width_ = 0;
  std::vector<std::int64_t> amounts_;
  std::vector<std::uint32_t> references_;
  std::vector<std::uint32_t> spare_;
  row_index by_amounts_;
};

/// `rows` of as many columns as `moved_to` has, laid out anew: `width` columns, what was in column
/// c in column `moved_to[c]`, zero in the others.
std::vector<std::int64_t> widened(std::span<const std::int64_t> rows,
                                  std::span<const std::uint32_t> moved_to, std::size_t count,
                                  std::size_t width);

} // namespace reprieve
