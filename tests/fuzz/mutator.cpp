#include "tests/fuzz/mutator.hpp"

#include "tests/fuzz/wire_tree.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace reprieve {

namespace {

using difference = std::string::difference_type;

/// Positions of what lies between line ends.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines)
    text += line;
  return text;
}

} // namespace

std::uint64_t mutator::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  auto mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

std::size_t mutator::below(std::size_t end) {
  return end == 0 ? 0 : static_cast<std::size_t>(next() % end);
}

std::uint64_t mutator::odd_number() {
  static constexpr std::array<std::uint64_t, 16> some{
    0,           1,          2,          127,        128,        255,        0x7fffffff,
    0x80000000,  0xffffffff, 1ULL << 32, 1ULL << 53, 1ULL << 61, 1ULL << 62, 0x7fffffffffffffff,
    1ULL << 63U, ~0ULL};
  return once_in(4) ? next() >> below(64) : some[below(some.size())];
}

std::string mutator::odd_text() {
  static const std::array<std::string, 30> some{"",
                                                "\x1b[31m",
                                                "\n",
                                                std::string(1, '\0'),
                                                "../../etc/passwd",
                                                "\xff\xfe",
                                                "\u202e",
                                                "\U0001f642",
                                                "null",
                                                "~",
                                                "-1",
                                                "0",
                                                "9223372036854775808",
                                                "1e309",
                                                ".nan",
                                                "0x10",
                                                "2^62",
                                                "-0",
                                                "true",
                                                "a/b",
                                                "{}",
                                                "[]",
                                                "&a",
                                                "*a",
                                                "!!binary",
                                                "---",
                                                "\"",
                                                "'",
                                                "default",
                                                "8Ei"};
  if (once_in(12))
    return std::string(1 + below(5000), "a9-\x1b"[below(4)]);
  return some[below(some.size())];
}

void mutator::change_bytes(std::string& in, const std::vector<std::string>& corpus) {
  const auto at = below(in.size() + 1);
  const auto length = below(std::min<std::size_t>(in.size() - std::min(at, in.size()), 64) + 1);
  switch (below(8)) {
  case 0:
    if (at < in.size())
      in[at] = static_cast<char>(static_cast<unsigned char>(in[at]) ^ (1U << below(8)));
    break;
  case 1:
    if (at < in.size())
      in[at] = static_cast<char>(odd_number());
    break;
  case 2:
    in.erase(at, length);
    break;
  case 3:
    in.resize(at);
    break;
  case 4: {
    const auto part = in.substr(at, length);
    for (auto times = 1 + below(once_in(20) ? 500 : 4);
         times > 0 && in.size() + part.size() < largest_input; --times)
      in.insert(at, part);
    break;
  }
  case 5: {
    const auto& other = corpus[below(corpus.size())];
    in = in.substr(0, at) + other.substr(std::min(below(other.size() + 1), other.size()));
    break;
  }
  case 6:
    in.insert(at, odd_text());
    break;
  default:
    for (auto count = 1 + below(8); count > 0; --count)
      in.insert(in.begin() + static_cast<difference>(below(in.size() + 1)),
                static_cast<char>(next()));
  }
}

void mutator::change_message(std::string& in, const std::vector<std::string>& corpus) {
  auto fields = read_wire(in);
  if (!fields || fields->empty()) {
    change_bytes(in, corpus);
    return;
  }
  const auto all = all_fields(*fields);
  auto& field = *all[below(all.size())];
  switch (below(9)) {
  case 0:
    field.number = once_in(3) ? static_cast<std::uint32_t>(odd_number() & 0x1fffffffU)
                              : static_cast<std::uint32_t>(1 + below(32));
    break;
  case 1:
    field.type = static_cast<std::uint32_t>(below(8));
    break;
  case 2:
    field.claimed = once_in(2) ? odd_number() : field.bytes.size() + below(8);
    break;
  case 3:
    field.value = odd_number();
    break;
  case 4:
    field.parts.clear();
    field.bytes = odd_text();
    break;
  case 5: { // comes again
    auto copy = field;
    auto& in_list = field.parts.empty() ? *fields : field.parts;
    for (auto times = 1 + below(once_in(20) ? 300 : 3); times > 0; --times)
      in_list.push_back(copy);
    break;
  }
  case 6:
    if (!field.parts.empty())
      field.parts.erase(field.parts.begin() + static_cast<difference>(below(field.parts.size())));
    else
      fields->erase(fields->begin() + static_cast<difference>(below(fields->size())));
    break;
  case 7: // of another
    if (auto other = read_wire(corpus[below(corpus.size())]); other && !other->empty()) {
      const auto theirs = all_fields(*other);
      auto taken = *theirs[below(theirs.size())];
      taken.number = field.number;
      field = std::move(taken);
    }
    break;
  default: { // within itself
    auto nested = field;
    nested.type = wire_field::with_length;
    for (auto times = 1 + below(once_in(10) ? 120 : 3); times > 0; --times) {
      auto outer = nested;
      outer.parts = {nested};
      nested = std::move(outer);
    }
    field = std::move(nested);
  }
  }
  auto changed = write_wire(*fields);
  if (changed.size() <= largest_input)
    in = std::move(changed);
}

void mutator::change_text(std::string& in) {
  auto lines = lines_of(in);
  if (lines.empty()) {
    in = odd_text();
    return;
  }
  const auto at = below(lines.size());
  auto& line = lines[at];
  const auto indent = std::min(line.find_first_not_of(' '), line.size());
  switch (below(9)) {
  case 0:
    lines.erase(lines.begin() + static_cast<difference>(at));
    break;
  case 1: {
    const auto copy = line;
    for (auto times = 1 + below(once_in(20) ? 200 : 3); times > 0; --times)
      lines.insert(lines.begin() + static_cast<difference>(at), copy);
    break;
  }
  case 2:
    std::swap(line, lines[below(lines.size())]);
    break;
  case 3:
    line = std::string(below(12), ' ') + line.substr(indent);
    break;
  case 4:
  case 5: { // a value, or the last word
    const auto colon = line.rfind(once_in(2) ? ':' : ' ');
    const auto from = colon == std::string::npos ? indent : colon + 1;
    line = line.substr(0, from) + " " + odd_text() + "\n";
    break;
  }
  case 6: { // a name
    const auto end = line.find_first_of(":= \n", indent);
    line = line.substr(0, indent) + odd_text() + (end == std::string::npos ? "" : line.substr(end));
    break;
  }
  case 7: {
    const auto& other = lines[below(lines.size())];
    line = line.substr(0, line.find('\n')) + " " + other;
    break;
  }
  default: {
    const auto digits = line.find_first_of("0123456789");
    if (digits != std::string::npos)
      line.replace(digits, 1, std::to_string(static_cast<std::int64_t>(odd_number())));
  }
  }
  auto changed = joined(lines);
  if (changed.size() <= largest_input)
    in = std::move(changed);
}

std::string mutator::mutate(const std::vector<std::string>& corpus, input_form form) {
  auto input = corpus[below(corpus.size())];
  auto changes = 1 + below(4);
  if (once_in(10))
    changes += below(20);
  for (; changes > 0; --changes)
    if (form == input_form::protobuf && !once_in(4))
      change_message(input, corpus);
    else if (form == input_form::text && !once_in(4))
      change_text(input);
    else
      change_bytes(input, corpus);
  if (input.size() > largest_input)
    input.resize(largest_input);
  return input;
}

} // namespace reprieve
