#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace reprieve {

/// The language in which `manifest_fields.hpp` says how objects stand in manifests. The reader and
/// the writer both follow these descriptions, so that they can't differ.
enum class field_use {
  optional, ///< not written where it has its default
  written,  ///< may be left out, but is always written: its default depends on other fields
  required,
  accepted, ///< another spelling, never written
};

/// The forms a member can take in a manifest, where its type alone doesn't say.
struct by_type {};
struct not_empty {};     ///< a string with something in it
struct negated {};       ///< a bool that the manifest turns round
struct comma_list {};    ///< a list of words in one text
struct lone_template {}; ///< pod groups given as the template of one pod
/// A bool as one of two words.
struct either_word {
  std::array<std::string_view, 2> words; ///< for false and for true
};

template <class T, class Member, class Form>
struct manifest_field {
  std::string_view name;
  Member T::*member;
  field_use use;
  Form form;
};

/// Fields of the same struct one level further down, such as those under `spec`.
template <class... Entries>
struct manifest_section {
  std::string_view name;
  std::tuple<Entries...> entries;
};

/// What may be there and means nothing to the reader.
struct ignored_field {
  std::string_view name;
};

template <class T, class Member, class Form = by_type>
constexpr auto optional_field(std::string_view name, Member T::*member, Form form = {}) {
  return manifest_field<T, Member, Form>{name, member, field_use::optional, form};
}

template <class T, class Member, class Form = by_type>
constexpr auto written_field(std::string_view name, Member T::*member, Form form = {}) {
  return manifest_field<T, Member, Form>{name, member, field_use::written, form};
}

template <class T, class Member, class Form = by_type>
constexpr auto required_field(std::string_view name, Member T::*member, Form form = {}) {
  return manifest_field<T, Member, Form>{name, member, field_use::required, form};
}

template <class T, class Member, class Form = by_type>
constexpr auto accepted_field(std::string_view name, Member T::*member, Form form = {}) {
  return manifest_field<T, Member, Form>{name, member, field_use::accepted, form};
}

template <class... Entries>
constexpr auto section(std::string_view name, Entries... entries) {
  return manifest_section<Entries...>{name, std::make_tuple(entries...)};
}

/// The description of a `T`; specialised for every struct that stands in a manifest.
template <class T>
inline constexpr auto fields_of = std::make_tuple();

template <class T>
concept described_in_manifests =
  (std::tuple_size_v<std::remove_const_t<decltype(fields_of<T>)>> > 0);

} // namespace reprieve
