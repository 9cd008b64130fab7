#include "protocol/manifest/manifest_tree.hpp"

#include <array>
#include <cctype>

namespace reprieve {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes leading digits, and `_` as YAML 1.1 allows between them; says whether there were any.
bool skip_digits(std::string_view& rest) {
  bool any = false;
  for (; !rest.empty() && (is_digit(rest.front()) || (any && rest.front() == '_'));
       rest.remove_prefix(1))
    any = true;
  return any;
}

bool skip_sign(std::string_view& rest) {
  if (!rest.starts_with('-') && !rest.starts_with('+'))
    return false;
  rest.remove_prefix(1);
  return true;
}

bool looks_like_a_number(std::string_view rest) {
  skip_sign(rest);
  for (const std::string_view prefix : {"0x", "0o", "0b"})
    if (rest.starts_with(prefix))
      return std::all_of(rest.begin() + 2, rest.end(),
                         [](unsigned char c) { return std::isxdigit(c) != 0 || c == '_'; });
  bool digits = skip_digits(rest);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    digits = skip_digits(rest) || digits;
  }
  if (digits && (rest.starts_with('e') || rest.starts_with('E'))) {
    rest.remove_prefix(1);
    skip_sign(rest);
    digits = skip_digits(rest);
  }
  return digits && rest.empty();
}

} // namespace

bool looks_like_another_type(std::string_view scalar) {
  constexpr std::array words{"",   "~",   "null", "true",  "false", "yes", "no",
                             "on", "off", ".inf", "-.inf", "+.inf", ".nan"};
  std::string lower(scalar.substr(0, 8));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(words.begin(), words.end(), lower) != words.end() || looks_like_a_number(scalar);
}

} // namespace reprieve
