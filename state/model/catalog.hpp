#pragma once

#include "state/model/object.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace reprieve {

template <class T>
using by_name = std::map<std::string, T, std::less<>>;

/// The few objects that all others refer to. Its owners keep it; everybody else looks things up.
struct catalog {
  by_name<priority_class> classes;
  by_name<queue> queues;
  by_name<resource_group> groups;

  bool operator==(const catalog&) const = default;
};

/// The queue and the resource group of those who name none; they exist from the start.
inline constexpr std::string_view default_queue = "default";
inline constexpr std::string_view default_group = "default";

/// What a new cluster starts with: the two system classes, the default queue and group.
catalog initial_catalog();

/// The entry named `name`, or null.
template <class T>
const T* find(const by_name<T>& entries, std::string_view name) {
  const auto found = entries.find(name);
  return found == entries.end() ? nullptr : &found->second;
}

/// The class of workloads that name neither class nor number, or null.
const priority_class* global_default(const catalog& known);

/// Whether objects of this kind stand in a catalog.
constexpr bool in_catalog(object_kind kind) {
  return kind == object_kind::priority_class || kind == object_kind::queue
         || kind == object_kind::resource_group;
}

/// Adds the object or takes it in place of the one with its name; other kinds change nothing.
void put_in(catalog& known, const object& o);

/// Takes the entry out; other kinds change nothing.
void remove_from(catalog& known, object_kind kind, const std::string& name);

} // namespace reprieve
