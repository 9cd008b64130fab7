#include "protocol/manifest/manifest_reader.hpp"

#include "protocol/manifest/manifest_fields.hpp"
#include "protocol/manifest/manifest_parser.hpp"
#include "protocol/manifest/manifest_path.hpp"
#include "protocol/manifest/manifest_scalar.hpp"
#include "protocol/manifest/manifest_words.hpp"
#include "state/model/catalog.hpp"
#include "state/text/nearest_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <concepts>
#include <fstream>
#include <optional>
#include <span>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace reprieve {

namespace {

/// The members of one struct that the manifest gave, however it spelled them.
class given_members {
public:
  template <class Member>
  bool has(const Member& member) const {
    return std::find(members_.begin(), members_.end(), &member) != members_.end();
  }

  /// False when it was given before.
  template <class Member>
  bool add(const Member& member) {
    if (has(member))
      return false;
    members_.push_back(&member);
    return true;
  }

private:
  std::vector<const void*> members_;
};

/// Defaults that depend on other fields.
template <class T>
void fill_in(T&, const given_members&) {
  // nop
}

void fill_in(pod& p, const given_members& given) {
  if (!given.has(p.uid))
    p.uid = p.name;
  if (!given.has(p.workload))
    p.workload = p.name;
  if (!given.has(p.group))
    p.group = lone_group;
  if (!given.has(p.priority))
    p.priority = p.own_priority.value_or(0);
}

pod_manifest_fields fields_given(const pod& p, const given_members& given) {
  return {.preemption_priority = given.has(p.priority),
          .disruption = given.has(p.disruption),
          .daemon = given.has(p.daemon),
          .minimum_runtime = given.has(p.minimum_runtime),
          .grace_period = given.has(p.grace_period),
          .checkpoint_time = given.has(p.checkpoint_time)};
}

template <std::size_t... Index>
object empty_object(object_kind kind, std::index_sequence<Index...>) {
  object made;
  ((static_cast<std::size_t>(kind) == Index && (made.emplace<Index>(), true)) || ...);
  return made;
}

object empty_object(object_kind kind) {
  return empty_object(kind, std::make_index_sequence<std::variant_size_v<object>>());
}

constexpr std::string_view list_kind = "List";

class object_reader {
public:
  object_reader(std::string_view file_name, manifest_options options)
      : file_name_(file_name), options_(options) {
    // nop
  }

  /// Appends the object, or those of a list, that `from` holds.
  absl::Status read_document(const manifest_tree& from, std::vector<manifest_object>& into) {
    if (from.kind != manifest_tree::type::map)
      return wrong(from, "is not an object; give a map with kind, metadata and spec");
    if (auto status = check_version(from); !status.ok())
      return status;
    const auto* kind = from.find("kind");
    if (kind == nullptr)
      return wrong(from, fmt::format("has no kind; give one of {}", fmt::join(kinds(), ", ")));
    if (kind->scalar == list_kind)
      return read_list(from, into);
    given_ = {};
    auto made = object_of(*kind);
    if (!made.ok())
      return made.status();
    if (auto status =
          std::visit([&](auto& alternative) { return read(from, alternative, by_type{}); }, *made);
        !status.ok())
      return status;
    object_status came_of_it;
    if (auto status = read_status(from, *made, came_of_it); !status.ok())
      return status;
    into.push_back(
      {std::move(*made), {std::string(file_name_), from.line}, std::move(came_of_it), given_});
    return absl::OkStatus();
  }

private:
  absl::Status read_status(const manifest_tree& from, const object& of, object_status& into) {
    const auto* status = from.find("status");
    if (!options_.snapshot || status == nullptr)
      return absl::OkStatus();
    const path_step step(path_, status->key);
    if (std::holds_alternative<queue>(of))
      return read(*status, into.emplace<queue_status>(), by_type{});
    if (std::holds_alternative<node>(of))
      return read(*status, into.emplace<node_status>(), by_type{});
    if (std::holds_alternative<workload>(of))
      return read(*status, into.emplace<workload_course>(), by_type{});
    if (std::holds_alternative<resource_group>(of))
      return read(*status, into.emplace<group_status>(), by_type{});
    return absl::OkStatus();
  }

  absl::Status wrong(const manifest_tree& at, std::string_view what) const {
    return manifest_error(file_name_, at.line,
                          path_.empty() ? std::string(what) : fmt::format("{}: {}", path_, what));
  }

  /// Adds the place to an error about the value there.
  absl::Status placed(const manifest_tree& at, const absl::Status& status) const {
    return status.ok() ? status : wrong(at, std::string(status.message()));
  }

  /// In the order of `object_kind`, of which `pod` is the last; then the list.
  std::vector<std::string_view> kinds() const {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < std::variant_size_v<object>; ++i)
      if (const auto kind = static_cast<object_kind>(i);
          kind != object_kind::pod || options_.snapshot)
        names.push_back(to_string(kind));
    names.push_back(list_kind);
    return names;
  }

  absl::Status check_version(const manifest_tree& from) {
    const auto* version = from.find("apiVersion");
    if (version == nullptr)
      return absl::OkStatus();
    const path_step step(path_, version->key);
    constexpr std::array supported{manifest_version};
    return placed(*version, word_from(*version, supported).status());
  }

  absl::StatusOr<object> object_of(const manifest_tree& kind) {
    const path_step step(path_, kind.key);
    const auto known = kinds();
    const auto position = word_from(kind, known);
    if (position.ok())
      return empty_object(static_cast<object_kind>(*position));
    if (!kind.is_scalar())
      return placed(kind, position.status());
    if (kind.scalar == to_string(object_kind::pod))
      return wrong(kind, "pods stand in snapshots only; give a Workload with a template");
    return wrong(
      kind, fmt::format("'{:.60}' is not a kind{}", kind.scalar, suggestion(kind.scalar, known)));
  }

  absl::Status read_list(const manifest_tree& from, std::vector<manifest_object>& into) {
    constexpr std::array<std::string_view, 4> known{"apiVersion", "kind", "metadata", "items"};
    for (const auto& field : from.items) {
      const path_step step(path_, field.key);
      if (std::find(known.begin(), known.end(), field.key) == known.end())
        return unknown_field(field, known);
      if (field.key != "items")
        continue;
      auto status =
        for_each_item(field, [&](const manifest_tree& item) { return read_document(item, into); });
      if (!status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  static std::string suggestion(std::string_view given, std::span<const std::string_view> known) {
    if (const auto nearest = nearest_name(given, known))
      return fmt::format("; did you mean {}?", *nearest);
    return fmt::format("; known are {}", fmt::join(known, ", "));
  }

  absl::Status unknown_field(const manifest_tree& field,
                             std::span<const std::string_view> known) const {
    return wrong(field, "there is no such field" + suggestion(field.key, known));
  }

  /// Calls `read_item` for all items; no value stands for an empty list.
  template <class Function>
  absl::Status for_each_item(const manifest_tree& from, Function read_item) {
    if (from.kind == manifest_tree::type::null)
      return absl::OkStatus();
    if (from.kind != manifest_tree::type::list)
      return wrong(from, "is not a list; give one such as [a, b]");
    for (std::size_t i = 0; i < from.items.size(); ++i) {
      const path_step step(path_, i);
      if (from.items[i].kind == manifest_tree::type::null)
        return wrong(from.items[i], "has no value; give one or drop the item");
      if (auto status = read_item(from.items[i]); !status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  /// Calls `read_entry` for all entries; no value stands for an empty map.
  template <class Function>
  absl::Status for_each_entry(const manifest_tree& from, Function read_entry) {
    if (from.kind == manifest_tree::type::null)
      return absl::OkStatus();
    if (from.kind != manifest_tree::type::map)
      return wrong(from, "is not a map; give 'name: value' pairs");
    for (const auto& entry : from.items) {
      const path_step step(path_, entry.key);
      if (auto status = read_entry(entry); !status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  template <class T>
  absl::Status read(const manifest_tree& from, T& into, by_type) {
    if constexpr (described_in_manifests<T>)
      return read_struct(from, into);
    else if constexpr (std::is_enum_v<T>)
      return read_word(from, words_of<T>, into);
    else
      return placed(from, scalar_from(from, into));
  }

  template <class T>
  absl::Status read(const manifest_tree& from, std::optional<T>& into, by_type form) {
    return read(from, into.emplace(), form);
  }

  template <class T>
  absl::Status read(const manifest_tree& from, std::vector<T>& into, by_type form) {
    return for_each_item(
      from, [&](const manifest_tree& item) { return read(item, into.emplace_back(), form); });
  }

  /// A single text stands for a list of one.
  absl::Status read(const manifest_tree& from, std::vector<std::string>& into, by_type form) {
    if (from.is_scalar())
      return read(from, into.emplace_back(), form);
    return read<std::string>(from, into, form);
  }

  absl::Status read(const manifest_tree& from, string_map& into, by_type form) {
    return for_each_entry(
      from, [&](const manifest_tree& entry) { return read(entry, into[entry.key], form); });
  }

  absl::Status read(const manifest_tree& from, resources& into, by_type) {
    return for_each_entry(from, [&](const manifest_tree& entry) {
      return placed(entry, amount_from(entry, entry.key, into[entry.key]));
    });
  }

  template <class T>
  absl::Status read(const manifest_tree& from, by_name<T>& into, by_type form) {
    return for_each_entry(
      from, [&](const manifest_tree& entry) { return read(entry, into[entry.key], form); });
  }

  absl::Status read(const manifest_tree& from, std::string& into, not_empty) {
    if (auto status = read(from, into, by_type{}); !status.ok())
      return status;
    return into.empty() ? wrong(from, "is empty; give a name") : absl::OkStatus();
  }

  absl::Status read(const manifest_tree& from, bool& into, negated) {
    bool opposite = !into;
    auto status = read(from, opposite, by_type{});
    into = !opposite;
    return status;
  }

  absl::Status read(const manifest_tree& from, bool& into, either_word form) {
    return read_word(from, form.words, into);
  }

  template <class T>
  absl::Status read(const manifest_tree& from, std::vector<T>& into, comma_list) {
    std::string text;
    if (auto status = read(from, text, by_type{}); !status.ok())
      return status;
    into.clear();
    std::string_view rest = text;
    do {
      const auto comma = std::min(rest.find(','), rest.size());
      const auto position = word_from(rest.substr(0, comma), words_of<T>);
      if (!position.ok())
        return placed(from, position.status());
      into.push_back(static_cast<T>(*position));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    } while (!rest.empty());
    return absl::OkStatus();
  }

  absl::Status read(const manifest_tree& from, std::vector<pod_group>& into, lone_template) {
    auto& group = into.emplace_back();
    group.name = lone_group;
    return read(from, group.pods, by_type{});
  }

  template <class T, std::size_t N>
  absl::Status read_word(const manifest_tree& from, const std::array<std::string_view, N>& words,
                         T& into) {
    const auto position = word_from(from, words);
    if (position.ok())
      into = static_cast<T>(*position);
    return placed(from, position.status());
  }

  template <class T>
  absl::Status read_struct(const manifest_tree& from, T& into) {
    given_members given;
    if (auto status = read_entries(from, fields_of<T>, into, given); !status.ok())
      return status;
    if (auto status = check_required(from, fields_of<T>, into, given); !status.ok())
      return status;
    fill_in(into, given);
    if constexpr (std::is_same_v<T, pod>)
      given_ = fields_given(into, given);
    return absl::OkStatus();
  }

  template <class T, class... Entries>
  absl::Status read_entries(const manifest_tree& from, const std::tuple<Entries...>& entries,
                            T& into, given_members& given) {
    return for_each_entry(from, [&](const manifest_tree& value) {
      absl::Status status;
      const auto read_if_named = [&](const auto& entry) {
        if (entry.name != value.key)
          return false;
        status = read_entry(value, entry, into, given);
        return true;
      };
      return std::apply(
        [&](const auto&... entry) {
          const std::array<std::string_view, sizeof...(Entries)> known{entry.name...};
          return (read_if_named(entry) || ...) ? status : unknown_field(value, known);
        },
        entries);
    });
  }

  /// `T` may have the field from the struct that it is made of.
  template <class Base, class Member, class Form, std::derived_from<Base> T>
  absl::Status read_entry(const manifest_tree& from,
                          const manifest_field<Base, Member, Form>& field, T& into,
                          given_members& given) {
    auto& member = into.*field.member;
    if (!given.add(member))
      return wrong(from, "is given under another name too; keep one");
    return read(from, member, field.form);
  }

  template <class T, class... Entries>
  absl::Status read_entry(const manifest_tree& from, const manifest_section<Entries...>& section,
                          T& into, given_members& given) {
    return read_entries(from, section.entries, into, given);
  }

  template <class T>
  absl::Status read_entry(const manifest_tree&, const ignored_field&, T&, given_members&) {
    return absl::OkStatus();
  }

  template <class T, class... Entries>
  absl::Status check_required(const manifest_tree& at, const std::tuple<Entries...>& entries,
                              const T& into, const given_members& given) {
    absl::Status status;
    const auto check = [&](const auto& entry) {
      status = check_entry(at, entry, into, given);
      return status.ok();
    };
    std::apply([&](const auto&... entry) { (check(entry) && ...); }, entries);
    return status;
  }

  template <class T, class Entry>
  absl::Status check_entry(const manifest_tree& at, const Entry& entry, const T& into,
                           const given_members& given) {
    const path_step step(path_, entry.name);
    if constexpr (requires { entry.entries; })
      return check_required(at, entry.entries, into, given);
    else if constexpr (requires { entry.member; })
      if (entry.use == field_use::required && !given.has(into.*entry.member))
        return wrong(at, "is missing; give it a value");
    return absl::OkStatus();
  }

  std::string_view file_name_;
  manifest_options options_;
  pod_manifest_fields given_; ///< of the object that is being read
  std::string path_;
};

std::size_t most_bytes(manifest_options options) {
  return options.snapshot ? largest_snapshot : largest_manifest;
}

} // namespace

absl::StatusOr<std::vector<manifest_object>>
read_manifests(std::string_view text, std::string_view file_name, manifest_options options) {
  std::vector<manifest_object> objects;
  object_reader reader(file_name, options);
  auto status = parse_manifest(
    text, file_name,
    [&](const manifest_tree& document) { return reader.read_document(document, objects); },
    most_bytes(options));
  if (!status.ok())
    return status;
  if (objects.empty())
    return manifest_error(file_name, 1, "holds no object; give at least one");
  return objects;
}

absl::StatusOr<std::vector<manifest_object>> read_manifest_file(const std::string& path,
                                                                manifest_options options) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::array<char, 1U << 16U> chunk;
  while (text.size() <= most_bytes(options) && in.read(chunk.data(), chunk.size()).gcount() > 0)
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
  if (!in.is_open() || in.bad())
    return absl::NotFoundError(
      fmt::format("{}: can't be read: {}", path, std::generic_category().message(errno)));
  return read_manifests(text, path, options);
}

} // namespace reprieve
