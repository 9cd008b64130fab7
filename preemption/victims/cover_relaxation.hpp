#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace reprieve {

/// The linear program behind a cover: the cheapest amounts between their bounds, parts of items
/// included, that give what is needed. Solved by the dual simplex method for bounded variables,
/// which goes on from where it is when bounds change. Copies are made where a search branches.
class cover_relaxation {
public:
  /// `gives` has a row for each need. Costs are not negative.
  cover_relaxation(std::span<const double> costs, std::span<const std::vector<double>> gives,
                   std::span<const double> needs, std::span<const double> most);

  void set_bounds(std::size_t item, double least, double most);

  /// False where nothing within the bounds is enough, as far as rounding can tell.
  bool solve();

  double amount(std::size_t item) const {
    return values_[item];
  }
  /// What the last unit of a need costs; not negative.
  double price(std::size_t need) const;

private:
  struct bounds {
    double least = 0;
    double most = 0;
  };

  double& at(std::size_t row, std::size_t column) {
    return table_[row * columns_.size() + column];
  }
  double at(std::size_t row, std::size_t column) const {
    return table_[row * columns_.size() + column];
  }
  void compute_values();
  std::size_t row_to_leave() const;
  std::size_t column_to_enter(std::size_t row) const;
  void pivot(std::size_t row, std::size_t column);

  std::size_t items_;
  std::vector<bounds> bounds_;       ///< of items, then of what is given beyond each need
  std::vector<double> values_;       ///< likewise
  std::vector<std::size_t> basic_;   ///< the variable of each row
  std::vector<double> constants_;    ///< of each row
  std::vector<std::size_t> columns_; ///< the variables at a bound
  std::vector<bool> at_most_;        ///< by column, whether it is the upper one
  std::vector<double> reduced_;      ///< costs, by column
  std::vector<double> table_;
};

} // namespace reprieve
