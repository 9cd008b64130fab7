#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace reprieve {

struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

/// By name, where nobody asks for an order. Elements stay where they are.
template <class T>
using name_map = std::unordered_map<std::string, T, text_hash, std::equal_to<>>;

} // namespace reprieve
