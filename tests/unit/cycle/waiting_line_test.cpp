#include "preemption/waiting/waiting_line.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

/// What waits is what was put last, however little of it changed.
namespace reprieve {

namespace {

constexpr time_point beginning{std::chrono::hours{1}};

std::shared_ptr<const workload_record> a_record(bool backs_off) {
  workload_record record;
  auto& spec = record.spec.edit();
  spec.name = "w";
  auto& group = spec.groups.emplace_back();
  group.name = "g";
  group.count = 1000;
  group.pods.requests = {{"cpu", 1000}};
  record.status.uid = "u";
  record.status.by_group.resize(1);
  if (backs_off)
    record.status.resume_after = beginning + std::chrono::seconds{5};
  return std::make_shared<const workload_record>(record);
}

class changing_line {
public:
  explicit changing_line(std::uint64_t seed) : random_(seed) {}

  void change() {
    switch (up_to(6)) {
    case 0:
      now_ += std::chrono::seconds{up_to(3)};
      line_.wake_sleepers(now_);
      break;
    case 1:
      record_ = a_record(up_to(2) == 0);
      for (auto& one : units_)
        one.record = record_;
      break;
    case 2:
      if (!units_.empty())
        line_.park(units_[up_to(units_.size())], {});
      break;
    case 3:
      if (!units_.empty())
        units_.erase(units_.begin() + static_cast<std::ptrdiff_t>(up_to(units_.size())));
      break;
    default:
      units_.insert(units_.begin() + static_cast<std::ptrdiff_t>(up_to(units_.size() + 1)),
                    new_unit());
    }
    line_.put("w", units_);
  }

  void expect_all_of_it() const {
    waiting_line anew;
    anew.wake_sleepers(now_);
    anew.put("w", units_);
    EXPECT_EQ(names_in(line_), names_in(anew));
    EXPECT_EQ(line_.size(), anew.size());
    EXPECT_EQ(line_.asked(), anew.asked());
    EXPECT_EQ(line_.next_due(), anew.next_due());
    EXPECT_EQ(awake_in(line_), awake_in(anew));
    for (const auto& one : units_) {
      const auto found = line_.find_like(*one.who);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->who, one.who);
    }
  }

private:
  std::size_t up_to(std::size_t most) {
    return random_() % most;
  }

  waiting_unit new_unit() {
    preemptor who;
    who.workload = "w";
    auto& group = who.groups.emplace_back();
    group.name = "g";
    group.needed = 1;
    auto& p = group.pods.emplace_back();
    p.index = next_;
    p.incarnation = static_cast<std::uint32_t>(up_to(2));
    p.uid = p.name = fmt::format("w-{}", next_++);
    p.requests = {{"cpu", 1000 * static_cast<std::int64_t>(1 + up_to(2))}};
    return {record_, std::make_shared<const preemptor>(who)};
  }

  static std::vector<std::string> names_in(const waiting_line& line) {
    std::vector<std::string> names;
    for (const auto& one : line.in_order())
      names.push_back(one.who->groups.front().pods.front().name);
    return names;
  }

  /// Whether or not they are among their kind.
  static std::set<std::string> awake_in(const waiting_line& line) {
    std::set<std::string> names;
    const auto add = [&](const auto& units) {
      for (const auto& [place, one] : units)
        names.insert(one.who->groups.front().pods.front().name);
    };
    for (const auto& [queue, units] : line.fresh())
      add(units);
    for (const auto& [key, kind] : line.all_kinds()) {
      EXPECT_FALSE(kind.units.empty()) << key;
      EXPECT_EQ(kind.count, std::ssize(kind.units));
      add(kind.units);
    }
    return names;
  }

  std::mt19937_64 random_;
  waiting_line line_;
  std::vector<waiting_unit> units_;
  std::shared_ptr<const workload_record> record_ = a_record(false);
  time_point now_ = beginning;
  std::int32_t next_ = 0;
};

TEST(waiting_line, has_what_was_put_last_however_little_changed) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    changing_line line{seed};
    for (int i = 0; i < 60; ++i) {
      line.change();
      line.expect_all_of_it();
    }
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(waiting_line, sees_that_a_run_changed_which_is_as_long_as_before) {
  const auto record = a_record(false);
  const auto run =
    std::make_shared<unit_run>(record, 0, unit_run::of::new_ones, unit_run::at_first::nobody_waits);
  for (const auto one : {1, 5})
    run->set(one, true);
  const auto unit = [&] { return waiting_unit{record, run->unit_at(run->first()), run}; };
  waiting_line line;
  line.put("w", {unit()});
  line.park(unit(), {});
  const auto& kind = line.all_kinds().begin()->second;
  ASSERT_TRUE(*waiting_line::last_of(kind) == run->place_at(5));

  run->set(5, false);
  run->set(9, true);
  line.put("w", {unit()});

  EXPECT_TRUE(*waiting_line::last_of(line.all_kinds().begin()->second) == run->place_at(9));
}

} // namespace

} // namespace reprieve
