#pragma once

#include "state/containers/row_index.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reprieve {

/// Values that many share, each kept once for as long as somebody refers to it. `T` has a member
/// `hash()` and compares with `==`.
template <class T>
class value_pool {
public:
  /// The row of this value, with one more reference to it.
  std::uint32_t intern(const T& value) {
    const auto hash = value.hash();
    auto row = by_value_.find(hash, [&](std::uint32_t r) { return values_[r] == value; });
    if (row != no_row) {
      ++references_[row];
      return row;
    }
    if (spare_.empty()) {
      row = static_cast<std::uint32_t>(values_.size());
      values_.push_back(value);
      references_.push_back(1);
    } else {
      row = spare_.back();
      spare_.pop_back();
      values_[row] = value;
      references_[row] = 1;
    }
    by_value_.insert(hash, row, hash_of_row());
    return row;
  }

  void release(std::uint32_t row) {
    if (--references_[row] > 0)
      return;
    by_value_.erase(values_[row].hash(), row, hash_of_row());
    spare_.push_back(row);
  }

  const T& operator[](std::uint32_t row) const {
    return values_[row];
  }

  std::size_t memory() const {
    return heap_size(values_) + heap_size(references_) + heap_size(spare_) + by_value_.memory();
  }

private:
  auto hash_of_row() const {
    return [this](std::uint32_t row) { return values_[row].hash(); };
  }

  std::vector<T> values_;
  std::vector<std::uint32_t> references_;
  std::vector<std::uint32_t> spare_;
  row_index by_value_;
};

} // namespace reprieve
