#pragma once

#include "state/quantities/resources.hpp"
#include "state/quantities/time.hpp"

#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What generators of structs are made of: `draw` fills what their fields are, only while a
/// generator runs.
namespace reprieve {

/// Names, and what breaks careless code: quotes, line ends, letters of more than one byte.
inline const rc::Gen<std::string>& any_text() {
  static const auto text = rc::gen::resize(
    10, rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
                       std::vector<std::string>{"a", "b", "z", "0", "9", "-", ".", "/", " ", "\"",
                                                "\n", "\u00e9", "\u7bc0", "\U0001f642"})),
                     [](const std::vector<std::string>& pieces) {
                       std::string joined;
                       for (const auto& piece : pieces)
                         joined += piece;
                       return joined;
                     }));
  return text;
}

/// Few are enough: a fault that needs more than three elements is not one of a conversion.
inline std::size_t any_length() {
  return *rc::gen::inRange<std::size_t>(0, 4);
}

inline void draw(std::string& to) {
  to = *any_text();
}

inline void draw(bool& to) {
  to = *rc::gen::arbitrary<bool>();
}

inline void draw(std::int32_t& to) {
  to = *rc::gen::nonNegative<std::int32_t>();
}

inline void draw(std::uint32_t& to) {
  to = *rc::gen::arbitrary<std::uint32_t>();
}

inline void draw(std::uint64_t& to) {
  to = *rc::gen::arbitrary<std::uint64_t>();
}

inline void draw(std::int64_t& to) {
  to = *rc::gen::nonNegative<std::int64_t>();
}

inline void draw(duration& to) {
  to = duration{*rc::gen::nonNegative<std::int64_t>()};
}

inline void draw(time_point& to) {
  to = time_point{duration{*rc::gen::nonNegative<std::int64_t>()}};
}

inline void draw(resources& to) {
  static const std::vector<std::string> names{"cpu", "memory", "gpu", "pods", "example.com/nic"};
  for (auto left = any_length(); left > 0; --left)
    draw(to[*rc::gen::elementOf(names)]);
}

inline void draw(string_map& to) {
  for (auto left = any_length(); left > 0; --left)
    draw(to[*any_text()]);
}

template <class Model>
void draw(std::optional<Model>& to) {
  if (*rc::gen::arbitrary<bool>())
    draw(to.emplace());
}

template <class Model>
void draw(std::vector<Model>& to) {
  to.resize(any_length());
  for (auto& element : to)
    draw(element);
}

template <class First, class Second>
void draw(std::pair<First, Second>& to) {
  draw(to.first);
  draw(to.second);
}

template <class Model, class Order>
void draw(std::map<std::string, Model, Order>& to) {
  for (auto left = any_length(); left > 0; --left)
    draw(to[*any_text()]);
}

template <class Model>
void draw(std::shared_ptr<const Model>& to) {
  Model made;
  draw(made);
  to = std::make_shared<const Model>(std::move(made));
}

template <class... Fields>
void draw_all(Fields&... fields) {
  (draw(fields), ...);
}

template <class Enum>
void draw_up_to(Enum last, Enum& to) {
  to = static_cast<Enum>(*rc::gen::inRange(0, static_cast<int>(last) + 1));
}

/// Priorities and the parts of a score, which may be negative.
template <class... Numbers>
void draw_signed(Numbers&... to) {
  ((to = *rc::gen::arbitrary<Numbers>()), ...);
}

inline void draw_signed(duration& to) {
  to = duration{*rc::gen::arbitrary<std::int64_t>()};
}

inline void draw_signed(time_point& to) {
  to = time_point{duration{*rc::gen::arbitrary<std::int64_t>()}};
}

inline void draw_signed(resources& to) {
  draw(to);
  for (auto& [name, amount] : to)
    draw_signed(amount);
}

inline void draw_signed(std::optional<std::int32_t>& to) {
  if (*rc::gen::arbitrary<bool>())
    draw_signed(to.emplace());
}

} // namespace reprieve
