#include "state/admission/admission_rules.hpp"

#include "state/quantities/quantity.hpp"

namespace reprieve::rules {

namespace {

// Not those of <cctype>: names compare as bytes, whatever the locale.
bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_letter_or_digit(char c) {
  return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

/// Up to 63 characters of labels and the last part of their keys.
bool is_label_text(std::string_view text) {
  return !text.empty() && text.size() <= longest_label && is_letter_or_digit(text.front())
         && is_letter_or_digit(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
              return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
            });
}

/// Whether the byte goes on with a UTF-8 character that began before it.
bool is_inside_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

/// What users wrote comes back in messages, which are one line each.
std::string on_one_line(std::string text) {
  std::replace_if(
    text.begin(), text.end(),
    [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return text;
}

} // namespace

void findings::add(std::string field, std::string_view text) {
  auto message = on_one_line(fmt::format("{} {}", field, text));
  into_.push_back({kind_, std::string{name_}, std::move(field), std::move(message)});
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t shown = 80;
  if (text.size() <= shown)
    return on_one_line(fmt::format("'{}'", text));
  auto end = shown;
  while (end > 0 && is_inside_character(text[end]))
    --end;
  return on_one_line(fmt::format("'{}…'", text.substr(0, end)));
}

bool is_dns_label(std::string_view text) {
  return !text.empty() && text.size() <= longest_label && text.front() != '-' && text.back() != '-'
         && std::all_of(text.begin(), text.end(),
                        [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_dns_subdomain(std::string_view text) {
  if (text.size() > longest_subdomain)
    return false;
  for (auto dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!is_dns_label(text.substr(0, dot)))
      return false;
    text.remove_prefix(dot + 1);
  }
  return is_dns_label(text);
}

bool is_qualified_name(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos)
    return is_label_text(text);
  return is_dns_subdomain(text.substr(0, slash)) && is_label_text(text.substr(slash + 1));
}

bool is_label_value(std::string_view text) {
  return text.empty() || is_label_text(text);
}

void check_dns_label(findings& out, std::string field, std::string_view name) {
  if (!is_dns_label(name))
    out.refuse(std::move(field),
               "is {}; it must be 1 to {} of a-z, 0-9 and '-', with no '-' at either end",
               in_quotes(name), longest_label);
}

void check_qualified_name(findings& out, std::string field, std::string_view name) {
  if (!is_qualified_name(name))
    out.refuse(std::move(field),
               "has the name {}; it must be 1 to {} letters, digits, '-', '_' and '.', with a "
               "letter or digit at either end, after an optional DNS name and '/'",
               in_quotes(name), longest_label);
}

bool check_number(findings& out, std::string_view field, std::string_view what, std::size_t number,
                  std::size_t most) {
  if (number <= most)
    return true;
  out.refuse(std::string{field}, "has {} {}; it may have at most {}", number, what, most);
  return false;
}

void check_labels(findings& out, std::string_view field, const string_map& labels) {
  if (!check_number(out, field, "labels", labels.size(), record_limits::labels))
    return;
  for (const auto& [key, value] : labels) {
    check_qualified_name(out, std::string{field}, key);
    if (is_qualified_name(key) && !is_label_value(value))
      out.refuse(fmt::format("{}.{}", field, key),
                 "is {}; it must be at most {} letters, digits, '-', '_' and '.', with a letter or "
                 "digit at either end",
                 in_quotes(value), longest_label);
  }
}

void check_amounts(findings& out, std::string_view field, const resources& amounts) {
  if (!check_number(out, field, "resources", amounts.size(), record_limits::resources))
    return;
  for (const auto& [name, amount] : amounts) {
    check_qualified_name(out, std::string{field}, name);
    if (!is_qualified_name(name))
      continue; // it may be too long to stand in a message
    if (amount < 0)
      out.refuse(fmt::format("{}.{}", field, name), "is {}; it must not be negative", amount);
    else if (amount > largest_amount)
      out.refuse(fmt::format("{}.{}", field, name), "is {}; it must be at most {}",
                 format_quantity(amount, name), format_quantity(largest_amount, name));
  }
}

void check_wait(findings& out, std::string_view field, duration d) {
  if (d < duration::zero())
    out.refuse(std::string{field}, "is {}ns; it must not be negative", d.count());
  else if (d > longest_wait)
    out.refuse(std::string{field}, "is {}; it must be at most {}", format_duration(d),
               format_duration(longest_wait));
}

} // namespace reprieve::rules
