#include "state/text/nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

/// Letters to insert, drop or change to turn `a` into `b`; case does not count.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool same = std::tolower(static_cast<unsigned char>(a[i]))
                        == std::tolower(static_cast<unsigned char>(b[j]));
      const auto changed = diagonal + (same ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

} // namespace

std::optional<std::string_view> nearest_name(std::string_view given,
                                             std::span<const std::string_view> known) {
  constexpr std::size_t longest = 64; // no name of ours is longer
  if (given.size() > longest)
    return std::nullopt;
  std::optional<std::string_view> nearest;
  auto best = std::clamp<std::size_t>((given.size() + 2) / 3, 1, 3) + 1;
  for (const auto name : known) {
    const auto distance = edit_distance(given, name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

} // namespace reprieve
