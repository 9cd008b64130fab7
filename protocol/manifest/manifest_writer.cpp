#include "protocol/manifest/manifest_writer.hpp"

#include "protocol/manifest/manifest_emitter.hpp"
#include "protocol/manifest/manifest_fields.hpp"
#include "protocol/manifest/manifest_words.hpp"
#include "state/model/catalog.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace reprieve {

namespace {

manifest_tree plain(std::string scalar) {
  return {.kind = manifest_tree::type::plain, .scalar = std::move(scalar)};
}

manifest_tree text(std::string_view scalar) {
  return {.kind = manifest_tree::type::text, .scalar = std::string(scalar)};
}

manifest_tree empty(manifest_tree::type kind) {
  return {.kind = kind};
}

/// Turns values into trees by their descriptions; a class so that its overloads see each other.
class tree_writer {
public:
  template <class T>
  static manifest_tree tree_of(const T& value, by_type = {}) {
    if constexpr (described_in_manifests<T>)
      return struct_tree(value);
    else if constexpr (std::is_enum_v<T>)
      return text(word_for(value));
    else if constexpr (std::is_arithmetic_v<T>)
      return plain(fmt::format("{}", value));
    else
      return text(value);
  }

private:
  static manifest_tree tree_of(duration value, by_type) {
    return text(format_duration(value));
  }

  static manifest_tree tree_of(time_point value, by_type) {
    return text(format_time(value));
  }

  template <class T>
  static manifest_tree tree_of(const std::optional<T>& value, by_type form) {
    return value ? tree_of(*value, form) : manifest_tree{};
  }

  template <class T>
  static manifest_tree tree_of(const std::vector<T>& values, by_type form) {
    auto list = empty(manifest_tree::type::list);
    for (const auto& value : values)
      list.items.push_back(tree_of(value, form));
    return list;
  }

  static manifest_tree tree_of(const string_map& pairs, by_type) {
    auto map = empty(manifest_tree::type::map);
    for (const auto& [name, value] : pairs)
      map.add(name, text(value));
    return map;
  }

  static manifest_tree tree_of(const resources& amounts, by_type) {
    auto map = empty(manifest_tree::type::map);
    for (const auto& [name, amount] : amounts)
      map.add(name, text(format_quantity(amount, name)));
    return map;
  }

  template <class T>
  static manifest_tree tree_of(const by_name<T>& values, by_type form) {
    auto map = empty(manifest_tree::type::map);
    for (const auto& [name, value] : values)
      map.add(name, tree_of(value, form));
    return map;
  }

  static manifest_tree tree_of(const std::string& value, not_empty) {
    return text(value);
  }

  static manifest_tree tree_of(bool value, negated) {
    return tree_of(!value, by_type{});
  }

  static manifest_tree tree_of(bool value, either_word form) {
    return text(form.words[value ? 1 : 0]);
  }

  template <class T>
  static manifest_tree tree_of(const std::vector<T>& values, comma_list) {
    std::string joined;
    for (const auto value : values)
      joined += fmt::format("{}{}", joined.empty() ? "" : ",", word_for(value));
    return text(joined);
  }

  template <class T>
  static manifest_tree struct_tree(const T& value) {
    auto map = empty(manifest_tree::type::map);
    write_entries(fields_of<T>, value, map);
    return map;
  }

  template <class T, class... Entries>
  static void write_entries(const std::tuple<Entries...>& entries, const T& value,
                            manifest_tree& into) {
    std::apply([&](const auto&... entry) { (write_entry(entry, value, into), ...); }, entries);
  }

  template <class Base, class Member, class Form, std::derived_from<Base> T>
  static void write_entry(const manifest_field<Base, Member, Form>& field, const T& value,
                          manifest_tree& into) {
    static const Base defaults{};
    const auto& member = value.*field.member;
    if constexpr (!std::is_same_v<Form, lone_template>)
      if (field.use == field_use::optional ? member != defaults.*field.member
                                           : field.use != field_use::accepted)
        into.add(field.name, tree_of(member, field.form));
  }

  template <class T, class... Entries>
  static void write_entry(const manifest_section<Entries...>& section, const T& value,
                          manifest_tree& into) {
    auto map = empty(manifest_tree::type::map);
    write_entries(section.entries, value, map);
    if (!map.items.empty())
      into.add(section.name, std::move(map));
  }

  template <class T>
  static void write_entry(const ignored_field&, const T&, manifest_tree&) {
    // nop
  }
};

manifest_tree object_tree(const object& o) {
  auto tree = empty(manifest_tree::type::map);
  tree.add("apiVersion", text(manifest_version));
  tree.add("kind", text(to_string(kind_of(o))));
  auto fields = std::visit([](const auto& value) { return tree_writer::tree_of(value); }, o);
  std::move(fields.items.begin(), fields.items.end(), std::back_inserter(tree.items));
  return tree;
}

manifest_tree object_tree(const object& o, const object_status& status) {
  auto tree = object_tree(o);
  std::visit(
    [&](const auto& known) {
      if constexpr (!std::is_same_v<decltype(known), const std::monostate&>)
        tree.add("status", tree_writer::tree_of(known));
    },
    status);
  return tree;
}

} // namespace

std::string write_yaml(const object& o) {
  return yaml_text(object_tree(o));
}

std::string write_json(const object& o) {
  return json_text(object_tree(o));
}

std::string write_yaml(const object& o, const object_status& status) {
  return yaml_text(object_tree(o, status));
}

std::string write_json(const object& o, const object_status& status) {
  return json_text(object_tree(o, status));
}

} // namespace reprieve
