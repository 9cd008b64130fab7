#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace reprieve {

/// Products of two 64-bit amounts.
__extension__ using wide_int = __int128;

/// Amounts by resource name. `cpu` and `gpu` count thousandths, every other resource whole units
/// (bytes for memory). A name that is absent stands for zero.
using resources = std::map<std::string, std::int64_t, std::less<>>;

/// String pairs such as labels, selectors and annotations.
using string_map = std::map<std::string, std::string, std::less<>>;

namespace resource {

inline constexpr std::string_view cpu = "cpu";
inline constexpr std::string_view memory = "memory";
inline constexpr std::string_view gpu = "gpu";
inline constexpr std::string_view pods = "pods";

/// True for the resources that are counted in thousandths.
constexpr bool in_thousandths(std::string_view name) {
  return name == cpu || name == gpu;
}

} // namespace resource

/// The amount of `name` in `from`, zero where it is not mentioned.
std::int64_t amount_of(const resources& from, std::string_view name);

} // namespace reprieve
