#pragma once

#include "state/containers/heap_size.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace reprieve {

/// Records by row. Rows that are given back are taken again; records never move, and memory grows
/// page by page, so that a large table has no slack of doubling.
template <class T, std::size_t PageRows = 1024>
class row_table {
public:
  /// A row that nobody has. Its record is as it was left, or default-initialized.
  std::uint32_t take() {
    if (!spare_.empty()) {
      const auto row = spare_.back();
      spare_.pop_back();
      return row;
    }
    if (rows_ == pages_.size() * PageRows)
      pages_.push_back(std::make_unique_for_overwrite<T[]>(PageRows));
    return rows_++;
  }

  void give_back(std::uint32_t row) {
    spare_.push_back(row);
  }

  T& operator[](std::uint32_t row) {
    return pages_[row / PageRows][row % PageRows];
  }
  const T& operator[](std::uint32_t row) const {
    return pages_[row / PageRows][row % PageRows];
  }

  /// One above the highest row that was ever taken.
  std::uint32_t rows() const {
    return rows_;
  }
  /// How many rows are taken now.
  std::size_t taken() const {
    return rows_ - spare_.size();
  }

  /// Of the records themselves, not of what they point to.
  std::size_t memory() const {
    return pages_.size() * heap_block(PageRows * sizeof(T)) + heap_size(pages_) + heap_size(spare_);
  }

private:
  std::vector<std::unique_ptr<T[]>> pages_;
  std::vector<std::uint32_t> spare_;
  std::uint32_t rows_ = 0;
};

} // namespace reprieve
