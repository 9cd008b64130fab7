#include "state/quantities/resource_sums.hpp"

#include <algorithm>

namespace reprieve {

void add_times(resources& to, const resources& more, std::int64_t times) {
  for (const auto& [name, amount] : more) {
    auto& total = to[name];
    total = static_cast<std::int64_t>(std::clamp<wide_int>(
      static_cast<wide_int>(amount) * times + total, -largest_sum, largest_sum));
  }
}

} // namespace reprieve
