#include "state/quantities/quantity.hpp"

#include "state/quantities/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

namespace reprieve {

namespace {

/// What a suffix multiplies by: 10^tens * 2^twos.
struct unit_suffix {
  std::string_view text;
  int tens = 0;
  int twos = 0;
};

constexpr std::array suffixes{
  unit_suffix{"", 0, 0},    unit_suffix{"m", -3, 0},  unit_suffix{"k", 3, 0},
  unit_suffix{"M", 6, 0},   unit_suffix{"G", 9, 0},   unit_suffix{"T", 12, 0},
  unit_suffix{"P", 15, 0},  unit_suffix{"E", 18, 0},  unit_suffix{"Ki", 0, 10},
  unit_suffix{"Mi", 0, 20}, unit_suffix{"Gi", 0, 30}, unit_suffix{"Ti", 0, 40},
  unit_suffix{"Pi", 0, 50}, unit_suffix{"Ei", 0, 60},
};

/// Beyond this, every power of ten either overflows or leaves nothing to count.
constexpr int farthest_exponent = 1000;

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

template <class... Args>
absl::Status refused(std::string_view text, fmt::format_string<Args...> why, Args&&... args) {
  return absl::InvalidArgumentError(
    fmt::format("'{:.60}' {}", text, fmt::format(why, std::forward<Args>(args)...)));
}

/// A decimal number without its trailing zeros: `mantissa * 10^tens`.
struct decimal {
  std::uint64_t mantissa = 0;
  int tens = 0;
  bool too_long = false; ///< the mantissa has more digits than fit

  void append(unsigned digit) {
    too_long |= __builtin_mul_overflow(mantissa, 10U, &mantissa);
    too_long |= __builtin_add_overflow(mantissa, digit, &mantissa);
  }
};

/// Takes digits and at most one point off the front of `rest`.
std::optional<decimal> take_decimal(std::string_view& rest) {
  decimal number;
  int zeros = 0; // seen since the last other digit; they may turn out to be trailing ones
  bool digits = false;
  bool fraction = false;
  for (; !rest.empty(); rest.remove_prefix(1)) {
    const char c = rest.front();
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!is_digit(c))
      break;
    digits = true;
    number.tens -= fraction ? 1 : 0;
    if (c == '0') {
      ++zeros;
      continue;
    }
    for (; zeros > 0; --zeros)
      number.append(0);
    number.append(static_cast<unsigned>(c - '0'));
  }
  number.tens += zeros;
  if (!digits)
    return std::nullopt;
  return number;
}

/// The power of ten in `e3`, `E-6`; nothing where `text` is no exponent.
std::optional<int> exponent_of(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E'))
    return std::nullopt;
  text.remove_prefix(1);
  if (text.starts_with('+') && text.find_first_not_of("0123456789", 1) == std::string_view::npos)
    text.remove_prefix(1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument)
    return std::nullopt;
  if (error == std::errc::result_out_of_range || exponent > farthest_exponent)
    return text.front() == '-' ? -farthest_exponent : farthest_exponent;
  return std::max(exponent, -farthest_exponent);
}

enum class inexact { too_large, too_precise };

/// `number * 2^twos`, exactly. Ten to a power is that power of five times that of two, so factors
/// that are not there to divide by are found one prime at a time.
std::variant<std::int64_t, inexact> exact_product(decimal number, int twos) {
  if (number.mantissa == 0)
    return std::int64_t{0};
  std::uint64_t product = number.mantissa;
  for (; number.tens > 0; --number.tens)
    if (__builtin_mul_overflow(product, 10U, &product))
      return inexact::too_large;
  for (; number.tens < 0; ++number.tens, --twos) {
    if (product % 5 != 0)
      return inexact::too_precise;
    product /= 5;
  }
  for (; twos < 0; ++twos) {
    if (product % 2 != 0)
      return inexact::too_precise;
    product /= 2;
  }
  for (; twos > 0; --twos)
    if (__builtin_mul_overflow(product, 2U, &product))
      return inexact::too_large;
  if (product > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return inexact::too_large;
  return static_cast<std::int64_t>(product);
}

std::uint64_t magnitude(std::int64_t amount) {
  const auto bits = static_cast<std::uint64_t>(amount);
  return amount < 0 ? 0 - bits : bits;
}

/// `amount` over what the suffix stands for, where that leaves no remainder.
std::optional<std::uint64_t> divided(std::uint64_t amount, int tens, int twos) {
  for (; tens > 0; --tens, amount /= 10)
    if (amount % 10 != 0)
      return std::nullopt;
  for (; twos > 0; --twos, amount /= 2)
    if (amount % 2 != 0)
      return std::nullopt;
  return amount;
}

} // namespace

absl::StatusOr<std::int64_t> parse_quantity(std::string_view text, std::string_view resource) {
  if (text.starts_with('-'))
    return refused(text, "is negative; an amount of {:.60} is 0 or more", resource);
  auto rest = text;
  auto number = take_decimal(rest);
  if (!number)
    return refused(text, "is not an amount of {:.60}; give one such as 2, 500m, 1.5 or 16Gi",
                   resource);

  const bool thousandths = resource::in_thousandths(resource);
  int twos = 0;
  if (const auto exponent = exponent_of(rest)) {
    number->tens += *exponent;
  } else {
    const auto suffix = std::find_if(suffixes.begin(), suffixes.end(),
                                     [&](const unit_suffix& s) { return s.text == rest; });
    if (suffix == suffixes.end())
      return refused(text,
                     "has the unknown unit '{:.60}'; use m, k, M, G, T, P, E or Ki, Mi, Gi, Ti, "
                     "Pi, Ei",
                     rest);
    number->tens += suffix->tens;
    twos = suffix->twos;
  }
  number->tens += thousandths ? 3 : 0;

  if (number->too_long)
    return refused(text, "has more digits than an amount of {:.60} can hold", resource);
  const auto product = exact_product(*number, twos);
  if (const auto* amount = std::get_if<std::int64_t>(&product))
    return *amount;
  if (std::get<inexact>(product) == inexact::too_precise)
    return refused(text, "is more precise than {:.60} is counted; the smallest amount is {}",
                   resource, thousandths ? "1m" : "1");
  return refused(text, "is more {:.60} than 64 bits can count; the most is {}", resource,
                 format_quantity(std::numeric_limits<std::int64_t>::max(), resource));
}

std::string format_quantity(std::int64_t amount, std::string_view resource) {
  const bool thousandths = resource::in_thousandths(resource);
  const auto unsigned_amount = magnitude(amount);
  std::string shortest;
  for (const auto& suffix : suffixes) {
    const int tens = suffix.tens + (thousandths ? 3 : 0);
    if (tens < 0)
      continue;
    const auto count = divided(unsigned_amount, tens, suffix.twos);
    if (!count)
      continue;
    auto candidate = fmt::format("{}{}", *count, suffix.text);
    if (shortest.empty() || candidate.size() < shortest.size())
      shortest = std::move(candidate);
  }
  return amount < 0 ? "-" + shortest : shortest;
}

namespace {

struct duration_unit {
  std::string_view text;
  std::int64_t nanoseconds;
};

/// Largest first: the order in which a text must give them.
constexpr std::array duration_units{
  duration_unit{"h", 3'600'000'000'000},
  duration_unit{"m", 60'000'000'000},
  duration_unit{"s", 1'000'000'000},
  duration_unit{"ms", 1'000'000},
  duration_unit{"us", 1'000},
  duration_unit{"ns", 1},
};

std::string_view take_while(std::string_view& rest, bool (*wanted)(char)) {
  std::size_t length = 0;
  while (length < rest.size() && wanted(rest[length]))
    ++length;
  const auto taken = rest.substr(0, length);
  rest.remove_prefix(length);
  return taken;
}

/// Adds `digits * nanoseconds`; false when that leaves 64 bits.
bool add_units(std::string_view digits, std::int64_t nanoseconds, std::int64_t& total) {
  std::int64_t count = 0;
  return std::from_chars(digits.data(), digits.data() + digits.size(), count).ec == std::errc{}
         && !__builtin_mul_overflow(count, nanoseconds, &count)
         && !__builtin_add_overflow(total, count, &total);
}

} // namespace

absl::StatusOr<duration> parse_duration(std::string_view text) {
  if (text.starts_with('-'))
    return refused(text, "is negative; a duration is 0s or more");
  const auto not_one = [&] {
    return refused(text, "is not a duration; give one such as 300ms, 30s, 5m or 1h30m");
  };
  std::int64_t total = 0;
  auto rest = text;
  auto next = duration_units.begin();
  do {
    const auto digits = take_while(rest, is_digit);
    auto unit = take_while(rest, [](char c) { return !is_digit(c); });
    if (unit.empty() && digits.size() == text.size())
      unit = "s";
    next = std::find_if(next, duration_units.end(),
                        [&](const duration_unit& u) { return u.text == unit; });
    if (digits.empty() || next == duration_units.end())
      return not_one();
    if (!add_units(digits, next->nanoseconds, total))
      return refused(text, "is too long; the longest duration is {}",
                     format_duration(duration::max()));
    ++next;
  } while (!rest.empty());
  return duration{total};
}

std::string format_duration(duration d) {
  if (d == duration::zero())
    return "0s";
  std::string text = d < duration::zero() ? "-" : "";
  auto left = magnitude(d.count());
  for (const auto& unit : duration_units) {
    const auto size = static_cast<std::uint64_t>(unit.nanoseconds);
    if (left >= size)
      fmt::format_to(std::back_inserter(text), "{}{}", left / size, unit.text);
    left %= size;
  }
  return text;
}

namespace {

constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

/// Reads the fixed parts of a time from the front of a text.
class time_scanner {
public:
  explicit time_scanner(std::string_view rest) : rest_(rest) {
    // nop
  }

  /// A number of exactly `width` digits between `low` and `high`.
  int number(std::size_t width, int low, int high) {
    int value = -1;
    if (rest_.size() >= width && is_digit(rest_.front()))
      if (std::from_chars(rest_.data(), rest_.data() + width, value).ptr != rest_.data() + width)
        value = -1;
    ok_ = ok_ && value >= low && value <= high;
    rest_.remove_prefix(std::min(width, rest_.size()));
    return value;
  }

  /// Whether the next character is one of `choices`; it is taken if so.
  bool skip(std::string_view choices) {
    if (rest_.empty() || choices.find(rest_.front()) == std::string_view::npos)
      return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(std::string_view choices) {
    ok_ = skip(choices) && ok_;
  }

  /// Up to nine digits after the point.
  std::int64_t fraction() {
    const auto digits = take_while(rest_, is_digit);
    ok_ = ok_ && !digits.empty() && digits.size() <= 9;
    std::int64_t nanoseconds = 0;
    for (std::size_t i = 0; i < 9; ++i)
      nanoseconds = nanoseconds * 10 + (i < digits.size() ? digits[i] - '0' : 0);
    return nanoseconds;
  }

  /// True when everything so far was as asked for and nothing is left.
  bool done() const {
    return ok_ && rest_.empty();
  }

private:
  std::string_view rest_;
  bool ok_ = true;
};

} // namespace

absl::StatusOr<time_point> parse_time(std::string_view text) {
  using namespace std::chrono;
  time_scanner in(text);
  const auto y = in.number(4, 0, 9999);
  in.expect("-");
  const auto m = in.number(2, 1, 12);
  in.expect("-");
  const auto d = in.number(2, 1, 31);
  in.expect("Tt");
  const auto hour = in.number(2, 0, 23);
  in.expect(":");
  const auto minute = in.number(2, 0, 59);
  in.expect(":");
  const auto second = in.number(2, 0, 59);
  const auto fraction = in.skip(".") ? in.fraction() : 0;
  minutes offset{0};
  if (!in.skip("Zz")) {
    const int sign = in.skip("-") ? -1 : (in.expect("+"), 1);
    const auto offset_hours = in.number(2, 0, 23);
    in.expect(":");
    offset = sign * (hours{offset_hours} + minutes{in.number(2, 0, 59)});
  }
  const auto date = year{y} / month{static_cast<unsigned>(m)} / day{static_cast<unsigned>(d)};
  if (!in.done() || !date.ok())
    return refused(text, "is not a time; give one such as 2026-01-31T08:00:00Z");

  const sys_seconds whole =
    sys_days{date} + hours{hour} + minutes{minute} + seconds{second} - offset;
  // Before 1970 the fraction counts down from the second that follows, so that no sum on the way
  // leaves 64 bits when the result does not.
  const bool early = whole < sys_seconds{};
  std::int64_t count = whole.time_since_epoch().count() + (early ? 1 : 0);
  if (__builtin_mul_overflow(count, nanoseconds_per_second, &count)
      || __builtin_add_overflow(count, fraction - (early ? nanoseconds_per_second : 0), &count))
    return refused(text,
                   "is outside the years that can be told apart by nanoseconds, 1678 to 2261");
  return time_point{duration{count}};
}

std::string format_time(time_point t) {
  using namespace std::chrono;
  if (t == no_time)
    return {};
  const auto second = floor<seconds>(t);
  const auto date = floor<days>(second);
  const year_month_day ymd{date};
  const hh_mm_ss time{second - date};
  auto text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(ymd.year()),
                          static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()),
                          time.hours().count(), time.minutes().count(), time.seconds().count());
  const auto remainder = t.time_since_epoch().count() % nanoseconds_per_second;
  if (const auto fraction = remainder + (remainder < 0 ? nanoseconds_per_second : 0)) {
    text += fmt::format(".{:09}", fraction);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + 'Z';
}

} // namespace reprieve
