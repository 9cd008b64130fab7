#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reprieve {

/// A value for every row, each as it is by default until it is first asked for. Forgetting all of
/// them costs nothing: values of an older epoch count as never set.
template <class T>
class epoch_array {
public:
  bool has(std::size_t row) const {
    return row < cells_.size() && cells_[row].epoch == epoch_;
  }

  /// The row's value, which is there from now on.
  T& operator[](std::size_t row) {
    if (row >= cells_.size())
      cells_.resize(row + 1);
    auto& cell = cells_[row];
    if (cell.epoch != epoch_)
      cell = {epoch_, T{}};
    return cell.value;
  }

  /// The row's value; only where it `has` one.
  const T& at(std::size_t row) const {
    return cells_[row].value;
  }

  void forget_all() {
    ++epoch_;
  }

private:
  struct cell_type {
    std::uint64_t epoch = 0;
    T value{};
  };

  std::vector<cell_type> cells_;
  std::uint64_t epoch_ = 1;
};

} // namespace reprieve
