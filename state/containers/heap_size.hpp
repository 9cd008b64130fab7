#pragma once

#include "state/quantities/resources.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace reprieve {

/// What an allocation of `bytes` takes from the heap: a word of bookkeeping, in steps of two words.
constexpr std::size_t heap_block(std::size_t bytes) {
  constexpr std::size_t word = sizeof(void*);
  const auto steps = (bytes + word + 2 * word - 1) / (2 * word);
  return bytes == 0 ? 0 : std::max(steps * 2 * word, 4 * word);
}

inline std::size_t heap_size(const std::string& text) {
  static const std::size_t inside = std::string().capacity();
  return text.capacity() > inside ? heap_block(text.capacity() + 1) : 0;
}

/// Of the elements themselves, not of what they point to.
template <class T>
std::size_t heap_size(const std::vector<T>& items) {
  return heap_block(items.capacity() * sizeof(T));
}

inline std::size_t heap_size(const string_map& pairs) {
  constexpr std::size_t links = 4 * sizeof(void*);
  std::size_t bytes = 0;
  for (const auto& [key, value] : pairs)
    bytes += heap_block(links + sizeof(string_map::value_type)) + heap_size(key) + heap_size(value);
  return bytes;
}

} // namespace reprieve
