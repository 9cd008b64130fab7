#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace reprieve {

/// A set of numbers that mostly follow each other: kept as ranges, so that a million of them take
/// no more room than the gaps between them.
class number_ranges {
public:
  using number = std::int64_t;

  number_ranges() = default;
  /// All from 0 up to that one, which is not among them.
  explicit number_ranges(number below);

  bool empty() const {
    return size_ == 0;
  }
  number size() const {
    return size_;
  }
  bool contains(number one) const;

  /// Whether it was not there.
  bool insert(number one);
  /// Whether it was there.
  bool erase(number one);

  /// The first that is not before `from`.
  std::optional<number> first_from(number from) const;
  /// The last that is before `to`.
  std::optional<number> last_before(number to) const;

  bool operator==(const number_ranges&) const = default;

private:
  using range = std::map<number, number>::const_iterator;
  range range_of(number one) const;

  std::map<number, number> ranges_; ///< the first of each, and the one behind its last
  number size_ = 0;
};

} // namespace reprieve
