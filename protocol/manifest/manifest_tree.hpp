#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// A manifest as YAML and JSON both see it: what lies between the text and the objects.
struct manifest_tree {
  enum class type {
    null,
    plain, ///< a scalar without quotes: a number, a bool, or a word
    text,  ///< a scalar that can only be text
    list,
    map
  };

  type kind = type::null;
  int line = 0;                       ///< from 1; of the key, for what a map holds; 0 when not read
  std::string key{};                  ///< of what a map holds
  std::string scalar{};               ///< of `plain` and `text`
  std::vector<manifest_tree> items{}; ///< of `list` and `map`, in the order given

  bool is_scalar() const {
    return kind == type::plain || kind == type::text;
  }

  /// What the map holds under `name`, or nullptr.
  const manifest_tree* find(std::string_view name) const {
    const auto found = std::find_if(items.begin(), items.end(),
                                    [&](const manifest_tree& item) { return item.key == name; });
    return kind == type::map && found != items.end() ? &*found : nullptr;
  }

  /// Puts `value` into the map under `name`.
  void add(std::string_view name, manifest_tree value) {
    value.key = name;
    items.push_back(std::move(value));
  }
};

/// Whether a scalar without quotes would be taken for a number, a bool or null, by us or by a
/// YAML 1.1 reader such as Kubernetes uses, and so is not text.
bool looks_like_another_type(std::string_view scalar);

} // namespace reprieve
