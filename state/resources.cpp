#include "state/resources.hpp"

namespace reprieve {

std::int64_t amount_of(const resources& from, std::string_view name) {
  const auto found = from.find(name);
  return found == from.end() ? 0 : found->second;
}

std::optional<resources> checked_add(const resources& a, const resources& b) {
  resources sum = a;
  for (const auto& [name, amount] : b) {
    auto& total = sum[name];
    if (__builtin_add_overflow(total, amount, &total))
      return std::nullopt;
  }
  return sum;
}

std::optional<resources> checked_multiply(const resources& a, std::int64_t factor) {
  resources product = a;
  for (auto& [name, amount] : product)
    if (__builtin_mul_overflow(amount, factor, &amount))
      return std::nullopt;
  return product;
}

} // namespace reprieve
