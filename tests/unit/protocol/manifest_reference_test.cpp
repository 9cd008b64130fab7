#include "protocol/manifest/manifest_fields.hpp"
#include "protocol/manifest/manifest_words.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

/// The tables of fields in docs/manifests.md are those that manifests are read by. With
/// REPRIEVE_WRITE_DOCS=1 the tables are written anew; what a field means stays as it is there.
namespace reprieve {

namespace {

struct field_row {
  std::string path;
  std::string type;
  std::string fallback;
};

template <class T>
struct list_item {
  using type = void;
  static constexpr bool is_list = false;
};
template <class T>
struct list_item<std::vector<T>> {
  using type = T;
  static constexpr bool is_list = true;
};

template <class T>
struct optional_value {
  using type = T;
  static constexpr bool is_optional = false;
};
template <class T>
struct optional_value<std::optional<T>> {
  using type = T;
  static constexpr bool is_optional = true;
};

template <class Words>
std::string one_of(const Words& words) {
  std::string text;
  for (const auto word : words)
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", word);
  return text;
}

template <class T>
std::string type_name() {
  using item = typename list_item<T>::type;
  if constexpr (list_item<T>::is_list)
    return "list: " + type_name<item>();
  else if constexpr (std::is_same_v<T, bool>)
    return "`true`, `false`";
  else if constexpr (std::is_enum_v<T>)
    return one_of(words_of<T>);
  else if constexpr (std::is_arithmetic_v<T>)
    return "number";
  else if constexpr (std::is_same_v<T, duration>)
    return "duration";
  else if constexpr (std::is_same_v<T, time_point>)
    return "time";
  else if constexpr (std::is_same_v<T, resources>)
    return "amounts";
  else if constexpr (std::is_same_v<T, string_map>)
    return "texts by name";
  else
    return "text";
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (list_item<T>::is_list
                || std::is_same_v<T, resources> || std::is_same_v<T, string_map>)
    return value.empty() ? "" : "`…`";
  else if constexpr (std::is_enum_v<T>)
    return fmt::format("`{}`", word_for(value));
  else if constexpr (std::is_same_v<T, duration>)
    return fmt::format("`{}`", format_duration(value));
  else if constexpr (std::is_same_v<T, time_point>)
    return value == no_time ? "" : fmt::format("`{}`", format_time(value));
  else if constexpr (std::is_arithmetic_v<T>)
    return fmt::format("`{}`", value);
  else
    return value.empty() ? "" : fmt::format("`{}`", value);
}

class field_lister {
public:
  template <class T>
  static std::vector<field_row> rows_of() {
    field_lister list;
    list.add_entries("", fields_of<T>);
    return list.rows_;
  }

private:
  template <class... Entries>
  void add_entries(const std::string& path, const std::tuple<Entries...>& entries) {
    std::apply([&](const auto&... entry) { (add(path, entry), ...); }, entries);
  }

  template <class... Entries>
  void add(const std::string& path, const manifest_section<Entries...>& section) {
    add_entries(fmt::format("{}{}.", path, section.name), section.entries);
  }

  void add(const std::string&, const ignored_field&) {}

  template <class T, class Member, class Form>
  void add(const std::string& path, const manifest_field<T, Member, Form>& field) {
    using value = typename optional_value<Member>::type;
    using item = typename list_item<value>::type;
    if (field.use == field_use::accepted)
      return;
    const auto name = path + std::string(field.name);
    if constexpr (described_in_manifests<value>) {
      add_entries(name + ".", fields_of<value>);
    } else if constexpr (list_item<value>::is_list) {
      if constexpr (described_in_manifests<item>)
        add_entries(name + "[].", fields_of<item>);
      else
        add_row(name, field);
    } else {
      add_row(name, field);
    }
  }

  template <class T, class Member, class Form>
  void add_row(const std::string& name, const manifest_field<T, Member, Form>& field) {
    using value = typename optional_value<Member>::type;
    auto& row = rows_.emplace_back(field_row{name, {}, {}});
    if constexpr (std::is_same_v<Form, either_word>)
      row.type = one_of(field.form.words);
    else if constexpr (std::is_same_v<Form, comma_list>)
      row.type = "list in one text: " + one_of(words_of<typename list_item<value>::type>);
    else
      row.type = type_name<value>();
    if (field.use == field_use::required)
      row.fallback = "required";
    else if constexpr (std::is_same_v<Form, negated>)
      row.fallback = text_of(!(T{}.*field.member));
    else if constexpr (std::is_same_v<Form, comma_list>)
      row.fallback = joined(T{}.*field.member);
    else if constexpr (!optional_value<Member>::is_optional && !std::is_same_v<Form, either_word>)
      row.fallback = text_of(T{}.*field.member);
  }

  template <class Enum>
  static std::string joined(const std::vector<Enum>& values) {
    std::string text;
    for (const auto value : values)
      text += fmt::format("{}{}", text.empty() ? "" : ",", word_for(value));
    return fmt::format("`{}`", text);
  }

  std::vector<field_row> rows_;
};

std::vector<std::pair<std::string, std::vector<field_row>>> all_kinds() {
  return {{"Node", field_lister::rows_of<node>()},
          {"ResourceGroup", field_lister::rows_of<resource_group>()},
          {"PriorityClass", field_lister::rows_of<priority_class>()},
          {"Queue", field_lister::rows_of<queue>()},
          {"Workload", field_lister::rows_of<workload>()},
          {"DisruptionBudget", field_lister::rows_of<disruption_budget>()},
          {"Placement", field_lister::rows_of<placement>()},
          {"Pod", field_lister::rows_of<pod>()}};
}

constexpr std::string_view head = "| field | type | default | meaning |\n|---|---|---|---|\n";

std::string path_of_page() {
  return std::string(REPRIEVE_SOURCE) + "/docs/manifests.md";
}

std::string read_page() {
  std::ifstream in{path_of_page()};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What stands in the last column, by kind and field.
std::map<std::string, std::string> meanings_in(const std::string& page) {
  std::map<std::string, std::string> found;
  std::istringstream lines{page};
  std::string kind;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("### "))
      kind = line.substr(4);
    if (!line.starts_with("| `") || !line.ends_with(" |"))
      continue;
    const auto name_end = line.find('`', 3);
    const auto last = line.rfind(" | ");
    if (name_end != std::string::npos && last != std::string::npos && last + 3 < line.size() - 2)
      found[kind + " " + line.substr(3, name_end - 3)] =
        line.substr(last + 3, line.size() - last - 5);
  }
  return found;
}

std::string table_of(const std::string& kind, const std::vector<field_row>& rows,
                     const std::map<std::string, std::string>& meanings) {
  std::string table{head};
  for (const auto& [path, type, fallback] : rows) {
    const auto meaning = meanings.find(kind + " " + path);
    table += fmt::format("| `{}` | {} | {} | {} |\n", path, type, fallback,
                         meaning == meanings.end() ? "" : meaning->second);
  }
  return table;
}

/// The table below the kind's heading: where it begins, and how long it is.
std::optional<std::pair<std::size_t, std::size_t>> place_of_table(const std::string& page,
                                                                  const std::string& kind) {
  const auto heading = page.find("\n### " + kind + "\n");
  const auto begin = heading == std::string::npos ? heading : page.find(head, heading);
  if (begin == std::string::npos)
    return std::nullopt;
  auto end = begin;
  while (end < page.size() && page[end] == '|')
    end = page.find('\n', end) + 1;
  return std::pair{begin, end - begin};
}

} // namespace

TEST(manifest_reference, tells_of_every_field_what_it_is_and_means) {
  auto page = read_page();
  const auto meanings = meanings_in(page);
  const bool writes = std::getenv("REPRIEVE_WRITE_DOCS") != nullptr;
  for (const auto& [kind, rows] : all_kinds()) {
    ASSERT_FALSE(rows.empty()) << kind;
    for (const auto& row : rows)
      EXPECT_TRUE(meanings.contains(kind + " " + row.path))
        << kind << ": what " << row.path << " means is not told in docs/manifests.md";
    const auto place = place_of_table(page, kind);
    ASSERT_TRUE(place) << "docs/manifests.md has no table of " << kind;
    const auto table = table_of(kind, rows, meanings);
    if (writes)
      page.replace(place->first, place->second, table);
    else
      EXPECT_EQ(page.substr(place->first, place->second), table)
        << "write it anew with REPRIEVE_WRITE_DOCS=1 and this test";
  }
  if (writes)
    std::ofstream{path_of_page()} << page;
}

} // namespace reprieve
