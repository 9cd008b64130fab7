#include "state/quantities/quantity.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace reprieve {
namespace {

using namespace std::chrono_literals;

constexpr auto most = std::numeric_limits<std::int64_t>::max();

struct reading {
  std::string_view text;
  std::string_view resource;
  std::int64_t amount;
};

TEST(quantity, counts_cpu_and_gpu_in_thousandths_and_the_rest_in_units) {
  constexpr std::array readings{
    reading{"2", "cpu", 2000},   reading{"500m", "cpu", 500},   reading{"500m", "gpu", 500},
    reading{"1.5", "gpu", 1500}, reading{".5", "cpu", 500},     reading{"5.", "cpu", 5000},
    reading{"2", "memory", 2},   reading{"2000m", "memory", 2}, reading{"0.001", "cpu", 1},
    reading{"0", "memory", 0},   reading{"0.000", "memory", 0}, reading{"007", "pods", 7},
  };
  for (const auto& [text, resource, amount] : readings)
    EXPECT_EQ(parse_quantity(text, resource).value_or(-1), amount) << text << " of " << resource;
}

TEST(quantity, knows_every_suffix_and_exponent) {
  constexpr std::array readings{
    reading{"3k", "memory", 3'000},
    reading{"3M", "memory", 3'000'000},
    reading{"3G", "memory", 3'000'000'000},
    reading{"3T", "memory", 3'000'000'000'000},
    reading{"3P", "memory", 3'000'000'000'000'000},
    reading{"3E", "memory", 3'000'000'000'000'000'000},
    reading{"3Ki", "memory", 3LL << 10},
    reading{"3Mi", "memory", 3LL << 20},
    reading{"3Gi", "memory", 3LL << 30},
    reading{"3Ti", "memory", 3LL << 40},
    reading{"3Pi", "memory", 3LL << 50},
    reading{"3Ei", "memory", 3LL << 60},
    reading{"1.5Gi", "memory", 3LL << 29},
    reading{"0.125Ki", "memory", 128},
    reading{"1e3", "memory", 1'000},
    reading{"1E3", "memory", 1'000},
    reading{"1e+3", "memory", 1'000},
    reading{"2500e-3", "cpu", 2'500},
    reading{"12.5e1", "memory", 125},
    reading{"0e999999999999", "memory", 0},
  };
  for (const auto& [text, resource, amount] : readings)
    EXPECT_EQ(parse_quantity(text, resource).value_or(-1), amount) << text;
}

TEST(quantity, refuses_what_is_no_number) {
  for (const auto* text : {"", ".", "x", "Gi", "+1", " 1", "1 ", "1.2.3", "1,5", "0x10", "1_000",
                           "one", "1 Gi", "NaN", "inf", "e3", "m"})
    EXPECT_FALSE(parse_quantity(text, "memory").ok()) << text;
}

TEST(quantity, refuses_an_unknown_unit_and_names_the_known_ones) {
  for (const auto* text :
       {"1K", "1g", "1GB", "1GiB", "1ki", "1e", "1e+", "1e+-3", "1e3k", "1mm", "1%"}) {
    const auto parsed = parse_quantity(text, "memory");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.status().message().find("Ki, Mi, Gi"), std::string::npos) << text;
  }
}

TEST(quantity, refuses_a_negative_amount) {
  const auto parsed = parse_quantity("-1", "memory");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.status().message().find("negative"), std::string::npos);
}

TEST(quantity, refuses_more_precision_than_is_counted) {
  for (const auto& [text, resource] :
       {std::pair{"0.5", "memory"}, std::pair{"1500m", "pods"}, std::pair{"0.0001", "cpu"},
        std::pair{"0.1m", "gpu"}, std::pair{"0.3Ki", "memory"}, std::pair{"1e-4", "cpu"},
        std::pair{"1e-999999999999", "cpu"}}) {
    const auto parsed = parse_quantity(text, resource);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.status().message().find("precise"), std::string::npos) << text;
  }
}

TEST(quantity, reads_up_to_the_end_of_64_bits_and_refuses_one_more) {
  EXPECT_EQ(parse_quantity("9223372036854775807", "memory").value_or(-1), most);
  EXPECT_EQ(parse_quantity("9223372036854775807m", "cpu").value_or(-1), most);
  EXPECT_EQ(parse_quantity("9223372036854775.807", "cpu").value_or(-1), most);
  EXPECT_EQ(parse_quantity("9223372036854775807000m", "memory").value_or(-1), most);
  for (const auto& [text, resource] :
       {std::pair{"9223372036854775808", "memory"}, std::pair{"9223372036854775808m", "cpu"},
        std::pair{"8Ei", "memory"}, std::pair{"10E", "memory"},
        std::pair{"9223372036854776", "cpu"}, std::pair{"1e19", "memory"},
        std::pair{"1e999999999999", "memory"}, std::pair{"99999999999999999999999999", "memory"}})
    EXPECT_FALSE(parse_quantity(text, resource).ok()) << text;
}

TEST(quantity, is_written_in_its_shortest_form) {
  EXPECT_EQ(format_quantity(500, "cpu"), "500m");
  EXPECT_EQ(format_quantity(8000, "gpu"), "8");
  EXPECT_EQ(format_quantity(1500, "cpu"), "1500m");
  EXPECT_EQ(format_quantity(16LL << 30, "memory"), "16Gi");
  EXPECT_EQ(format_quantity(1000, "memory"), "1k");
  EXPECT_EQ(format_quantity(1023, "memory"), "1023");
  EXPECT_EQ(format_quantity(0, "memory"), "0");
  EXPECT_EQ(format_quantity(-1024, "memory"), "-1Ki");
  EXPECT_EQ(format_quantity(std::numeric_limits<std::int64_t>::min(), "memory"), "-8Ei");
}

RC_GTEST_PROP(quantity, reads_back_what_it_wrote, ()) {
  const auto resource = *rc::gen::element<std::string>("cpu", "gpu", "memory", "pods", "a/b");
  const auto amount = *rc::gen::oneOf(
    rc::gen::inRange<std::int64_t>(0, most),
    rc::gen::map(rc::gen::inRange(0, 63), [](int bits) { return std::int64_t{1} << bits; }),
    rc::gen::nonNegative<std::int64_t>());
  RC_ASSERT(parse_quantity(format_quantity(amount, resource), resource).value() == amount);
}

RC_GTEST_PROP(quantity, is_never_written_longer_than_its_digits, ()) {
  const auto amount = *rc::gen::inRange<std::int64_t>(0, most);
  RC_ASSERT(format_quantity(amount, "memory").size() <= std::to_string(amount).size());
}

TEST(duration_text, adds_units_from_large_to_small) {
  EXPECT_EQ(parse_duration("300ms").value(), 300ms);
  EXPECT_EQ(parse_duration("30s").value(), 30s);
  EXPECT_EQ(parse_duration("5m").value(), 5min);
  EXPECT_EQ(parse_duration("1h30m").value(), 90min);
  EXPECT_EQ(parse_duration("2h3s").value(), 2h + 3s);
  EXPECT_EQ(parse_duration("7us8ns").value(), 7us + 8ns);
  EXPECT_EQ(parse_duration("45").value(), 45s);
  EXPECT_EQ(parse_duration("0").value(), 0s);
}

TEST(duration_text, refuses_what_is_no_duration) {
  for (const auto* text : {"", "s", "5x", "5 m", "30m1h", "5m5m", "1h30", "1.5h", "-5s", "+5s",
                           "5s ", "1d", "one", "9999999999999h", "9223372037s"})
    EXPECT_FALSE(parse_duration(text).ok()) << text;
}

TEST(duration_text, is_written_without_empty_units) {
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(90min), "1h30m");
  EXPECT_EQ(format_duration(1h + 1ms), "1h1ms");
  EXPECT_EQ(format_duration(-90s), "-1m30s");
}

RC_GTEST_PROP(duration_text, reads_back_what_it_wrote, ()) {
  const duration d{
    *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, most), rc::gen::nonNegative<std::int64_t>())};
  RC_ASSERT(parse_duration(format_duration(d)).value() == d);
}

time_point at(std::chrono::year_month_day date, duration time) {
  return std::chrono::sys_days{date} + time;
}

TEST(time_text, reads_fractions_and_offsets) {
  using namespace std::chrono;
  const auto day = 2026y / January / 31;
  EXPECT_EQ(parse_time("2026-01-31T08:00:00Z").value(), at(day, 8h));
  EXPECT_EQ(parse_time("2026-01-31t08:00:00z").value(), at(day, 8h));
  EXPECT_EQ(parse_time("2026-01-31T08:00:00.25Z").value(), at(day, 8h + 250ms));
  EXPECT_EQ(parse_time("2026-01-31T08:00:00.123456789Z").value(), at(day, 8h + 123456789ns));
  EXPECT_EQ(parse_time("2026-01-31T08:00:00+02:00").value(), at(day, 6h));
  EXPECT_EQ(parse_time("2026-01-31T20:30:00-05:30").value(), at(2026y / February / 1, 2h));
  EXPECT_EQ(parse_time("2024-02-29T00:00:00Z").value(), at(2024y / February / 29, 0h));
}

TEST(time_text, refuses_what_is_no_time) {
  for (const auto* text : {"",
                           "now",
                           "2026-01-31",
                           "2026-01-31 08:00:00Z",
                           "2026-01-31T08:00:00",
                           "2026-1-31T08:00:00Z",
                           "2026-02-29T00:00:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-01-32T00:00:00Z",
                           "2026-01-31T24:00:00Z",
                           "2026-01-31T08:60:00Z",
                           "2026-01-31T08:00:60Z",
                           "2026-01-31T08:00:00.Z",
                           "2026-01-31T08:00:00.1234567890Z",
                           "2026-01-31T08:00:00+2:00",
                           "2026-01-31T08:00:00+24:00",
                           "2026-01-31T08:00:00ZZ",
                           "-026-01-31T08:00:00Z",
                           "2026-01-31T+8:00:00Z",
                           "0001-01-01T00:00:00Z",
                           "2262-04-11T23:47:17Z",
                           "9999-12-31T23:59:59Z"})
    EXPECT_FALSE(parse_time(text).ok()) << text;
}

TEST(time_text, is_written_in_utc_with_no_more_digits_than_needed) {
  using namespace std::chrono;
  const auto day = 2026y / January / 31;
  EXPECT_EQ(format_time(at(day, 8h)), "2026-01-31T08:00:00Z");
  EXPECT_EQ(format_time(at(day, 8h + 250ms)), "2026-01-31T08:00:00.25Z");
  EXPECT_EQ(format_time(at(1969y / December / 31, 23h + 59min + 59s + 1ns)),
            "1969-12-31T23:59:59.000000001Z");
  EXPECT_EQ(format_time(no_time), "");
}

RC_GTEST_PROP(time_text, reads_back_what_it_wrote, ()) {
  const time_point t{duration{
    *rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(),
                    rc::gen::inRange(std::numeric_limits<std::int64_t>::min(), most),
                    rc::gen::just(std::numeric_limits<std::int64_t>::min()), rc::gen::just(most))}};
  RC_PRE(t != no_time);
  RC_ASSERT(parse_time(format_time(t)).value() == t);
}

TEST(quantity_text, quotes_the_beginning_of_what_is_long) {
  const std::string text(100'000, 'x');
  for (const auto& refused :
       {parse_quantity("-1", text), parse_quantity("1" + text, "memory"),
        parse_quantity(text, text), parse_quantity("1e99", text), parse_quantity("0.00001", text)})
    EXPECT_LT(refused.status().message().size(), 300U);
}

} // namespace
} // namespace reprieve
