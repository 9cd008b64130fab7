#include "preemption/victims/cover_relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reprieve {

namespace {

constexpr double tolerance = 1e-9;
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

} // namespace

cover_relaxation::cover_relaxation(std::span<const double> costs,
                                   std::span<const std::vector<double>> gives,
                                   std::span<const double> needs, std::span<const double> most)
    : items_(costs.size()), reduced_(costs.begin(), costs.end()) {
  for (std::size_t i = 0; i < items_; ++i) {
    bounds_.push_back({0, most[i]});
    columns_.push_back(i);
  }
  at_most_.assign(items_, false);
  for (std::size_t r = 0; r < gives.size(); ++r) {
    bounds_.push_back({0, std::numeric_limits<double>::infinity()});
    basic_.push_back(items_ + r);
    constants_.push_back(-needs[r]);
    for (const double given : gives[r])
      table_.push_back(-given);
  }
  values_.assign(bounds_.size(), 0);
}

void cover_relaxation::set_bounds(std::size_t item, double least, double most) {
  bounds_[item] = {least, most};
}

double cover_relaxation::price(std::size_t need) const {
  const auto column = std::ranges::find(columns_, items_ + need) - columns_.begin();
  return column == std::ssize(columns_) ? 0
                                        : std::max(reduced_[static_cast<std::size_t>(column)], 0.0);
}

void cover_relaxation::compute_values() {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto& of = bounds_[columns_[c]];
    values_[columns_[c]] = at_most_[c] ? of.most : of.least;
  }
  for (std::size_t r = 0; r < basic_.size(); ++r) {
    double value = constants_[r];
    for (std::size_t c = 0; c < columns_.size(); ++c)
      value -= at(r, c) * values_[columns_[c]];
    values_[basic_[r]] = value;
  }
}

std::size_t cover_relaxation::row_to_leave() const {
  auto worst = none;
  double most = tolerance;
  for (std::size_t r = 0; r < basic_.size(); ++r) {
    const auto& of = bounds_[basic_[r]];
    const double value = values_[basic_[r]];
    if (const double beyond = std::max(of.least - value, value - of.most); beyond > most) {
      most = beyond;
      worst = r;
    }
  }
  return worst;
}

std::size_t cover_relaxation::column_to_enter(std::size_t row) const {
  const auto leaving = basic_[row];
  const bool rises = values_[leaving] < bounds_[leaving].least;
  auto best = none;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const double slope = at(row, c);
    // Whether the column's variable, moved away from its bound, moves the row's towards its own.
    const bool helps = rises == at_most_[c] ? slope > tolerance : slope < -tolerance;
    const auto& of = bounds_[columns_[c]];
    if (!helps || of.most - of.least < tolerance)
      continue;
    const double ratio = std::abs(reduced_[c] / slope);
    if (ratio < least - tolerance
        || (ratio < least + tolerance && best != none
            && std::abs(slope) > std::abs(at(row, best)))) {
      least = std::min(least, ratio);
      best = c;
    }
  }
  return best;
}

void cover_relaxation::pivot(std::size_t row, std::size_t column) {
  const auto leaving = basic_[row];
  const bool leaves_at_most = values_[leaving] > bounds_[leaving].most;
  const double slope = at(row, column);
  constants_[row] /= slope;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    at(row, c) /= slope;
  at(row, column) = 1 / slope;
  for (std::size_t r = 0; r < basic_.size(); ++r) {
    const double factor = at(r, column);
    if (r == row || factor == 0)
      continue;
    at(r, column) = 0;
    constants_[r] -= factor * constants_[row];
    for (std::size_t c = 0; c < columns_.size(); ++c)
      at(r, c) -= factor * at(row, c);
  }
  const double cost = reduced_[column];
  reduced_[column] = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    reduced_[c] -= cost * at(row, c);
  std::swap(basic_[row], columns_[column]);
  at_most_[column] = leaves_at_most;
}

bool cover_relaxation::solve() {
  // Enough for all but those that go round in circles; the prices are good for a bound at any time.
  for (std::size_t left = 20 + 4 * basic_.size(); left-- > 0;) {
    compute_values();
    const auto row = row_to_leave();
    if (row == none)
      return true;
    const auto column = column_to_enter(row);
    if (column == none)
      return false;
    pivot(row, column);
  }
  compute_values();
  return true;
}

} // namespace reprieve
