#include "state/records/decision_archive_keys.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace reprieve {

namespace {

using std::chrono::hours;
using std::chrono::seconds;

const time_point noon{hours{12 + 24 * 20'000}};

archive_entry ended(std::string id, time_point when, std::int64_t bytes,
                    std::vector<std::string> workloads = {"a"}) {
  return {std::move(id), when, {bytes, when - seconds{5}, std::move(workloads)}};
}

/// The keys and ranges that the writes erase.
std::vector<std::string> erased_by(const std::vector<letting_go>& writes) {
  std::vector<std::string> keys;
  for (const auto& one : writes)
    for (const auto& op : one.erased)
      keys.push_back(std::get<erase>(op).range.begin);
  return keys;
}

/// The ids of decisions that are erased whole.
std::vector<std::string> gone_with(const std::vector<letting_go>& writes) {
  std::vector<std::string> ids;
  for (const auto& key : erased_by(writes))
    if (key.starts_with(keys::ended_decisions))
      ids.emplace_back(keys::last_part(key));
  return ids;
}

// -- keys -----------------------------------------------------------------------------------------

TEST(archive_keys, sort_finished_decisions_by_the_second_they_ended_in) {
  EXPECT_LT(keys::ended_decision(noon, "z"), keys::ended_decision(noon + seconds{1}, "a"));
  EXPECT_LT(keys::ended_decision(time_point{seconds{9}}, "a"),
            keys::ended_decision(time_point{seconds{10}}, "a"));
  EXPECT_LE(keys::ended_since(noon), keys::ended_decision(noon, "a"));
  EXPECT_LT(keys::ended_decision(noon, "z"), keys::ended_since(noon + seconds{1}));
}

TEST(archive_keys, tell_when_a_decision_ended) {
  EXPECT_EQ(keys::end_of(keys::ended_decision(noon + std::chrono::milliseconds{999}, "x")), noon);
  EXPECT_EQ(keys::end_of(keys::ended_since(noon)), noon);
  EXPECT_EQ(keys::last_part(keys::ended_decision(noon, "00000003.000002.default")),
            "00000003.000002.default");
}

TEST(archive_keys, sort_the_decisions_of_a_workload_newest_first) {
  EXPECT_LT(keys::decision_of("job", noon + seconds{1}, "a"), keys::decision_of("job", noon, "a"));
  EXPECT_EQ(keys::decided_of(keys::decision_of("job", noon, "a")), noon);
  EXPECT_TRUE(keys::decision_of("job", noon, "a").starts_with(keys::decisions_of("job")));
  EXPECT_FALSE(keys::decision_of("job-2", noon, "a").starts_with(keys::decisions_of("job")));
}

TEST(archive_keys, put_the_head_of_a_finished_decision_behind_its_chunks) {
  EXPECT_LT(keys::decision_body("x", 99'999'999), keys::finished_head("x"));
  EXPECT_TRUE(keys::finished_head("x").starts_with(keys::bodies_of("x")));
  EXPECT_EQ(keys::decision_of_body(keys::finished_head("x")), "x");
  EXPECT_TRUE(keys::is_finished_head(keys::finished_head("x")));
  EXPECT_FALSE(keys::is_finished_head(keys::decision_body("x", 0)));
}

TEST(archive_keys, tell_the_hour_of_a_total) {
  EXPECT_EQ(keys::hour_of_archive(keys::archive_hour(hour_of(noon))), hour_of(noon));
  EXPECT_EQ(start_of_hour(hour_of(noon + seconds{3599})), noon);
}

// -- what it holds --------------------------------------------------------------------------------

TEST(archive_bytes, are_those_of_all_keys_and_what_they_hold) {
  const auto one = ended("d", noon, 0, {"aa", "bbb"});
  const auto keys_of_it = keys::decision_body("d", 0).size() + keys::decision_body("d", 1).size()
                          + keys::finished_head("d").size() + keys::ended_decision(noon, "d").size()
                          + keys::decision_of("aa", noon, "d").size()
                          + keys::decision_of("bbb", noon, "d").size();
  EXPECT_EQ(bytes_in_archive(one, 2, 1000),
            static_cast<std::int64_t>(keys_of_it + 1000 + std::string("aabbb").size()));
}

TEST(archive_index, has_a_key_for_each_workload) {
  const auto writes = index_writes(ended("d", noon, 0, {"aa", "bbb"}));
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(std::get<put>(writes[0]).key, keys::decision_of("aa", noon - seconds{5}, "d"));
  EXPECT_EQ(std::get<put>(writes[1]).key, keys::decision_of("bbb", noon - seconds{5}, "d"));
}

TEST(archive_totals, add_up_by_hour_and_never_fall_below_nothing) {
  archive_totals totals;
  EXPECT_EQ(totals.oldest(), std::nullopt);
  totals.add(7, {2, 100});
  totals.add(5, {1, 30});
  totals.add(5, {1, 20});
  EXPECT_EQ(totals.bytes(), 150);
  EXPECT_EQ(totals.oldest(), 5);
  EXPECT_EQ(totals.of(5), (archive_total{2, 50}));
  totals.take(5, {1, 45});
  EXPECT_EQ(totals.of(5), (archive_total{1, 5}));
  totals.take(5, {9, 99});
  EXPECT_EQ(totals.of(5), (archive_total{0, 0}));
  totals.forget(5);
  EXPECT_EQ(totals.oldest(), 7);
  EXPECT_EQ(totals.bytes(), 100);
}

// -- what goes ------------------------------------------------------------------------------------

TEST(letting_go_of_decisions, is_asked_for_where_something_may_be_too_old_or_too_much) {
  archive_totals totals;
  EXPECT_FALSE(is_too_much(totals, {hours{2}, 100}, noon));
  totals.add(hour_of(noon) - 1, {1, 100});
  EXPECT_FALSE(is_too_much(totals, {hours{2}, 100}, noon));
  EXPECT_TRUE(is_too_much(totals, {hours{2}, 99}, noon));
  EXPECT_TRUE(is_too_much(totals, {hours{1} - seconds{1}, 100}, noon));
}

TEST(letting_go_of_decisions, takes_those_that_are_too_old) {
  const std::vector all{ended("1", noon - seconds{21}, 10), ended("2", noon - seconds{20}, 10),
                        ended("3", noon - seconds{1}, 10)};
  const auto writes = what_to_let_go(all, 30, {seconds{20}, 1000}, noon);
  EXPECT_EQ(gone_with(writes), (std::vector<std::string>{"1"}));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].gone, (archive_total{1, 10}));
  EXPECT_EQ(writes[0].until, noon - seconds{21});
  EXPECT_FALSE(writes[0].made_room);
}

TEST(letting_go_of_decisions, takes_the_oldest_until_the_rest_is_not_too_much) {
  const std::vector all{ended("1", noon, 10), ended("2", noon, 10), ended("3", noon, 10)};
  const auto writes = what_to_let_go(all, 135, {hours{1}, 120}, noon);
  EXPECT_EQ(gone_with(writes), (std::vector<std::string>{"1", "2"}));
  EXPECT_TRUE(writes.back().made_room);
  EXPECT_TRUE(what_to_let_go(all, 120, {hours{1}, 120}, noon).empty());
  EXPECT_TRUE(what_to_let_go({}, 1000, {hours{1}, 120}, noon).empty());
}

TEST(letting_go_of_decisions, erases_all_that_belongs_to_one) {
  const auto one = ended("d", noon - hours{2}, 10, {"x", "y"});
  EXPECT_EQ(erased_by(what_to_let_go(std::vector{one}, 10, {hours{1}, 1000}, noon)),
            (std::vector{keys::decision_of("x", one.what.decided, "d"),
                         keys::decision_of("y", one.what.decided, "d"), keys::bodies_of("d"),
                         keys::ended_decision(one.ended, "d")}));
}

TEST(letting_go_of_decisions, comes_in_writes_that_a_store_takes_and_ends_each_decision_at_once) {
  std::vector<archive_entry> all;
  for (int i = 0; i < 200; ++i) {
    std::vector<std::string> workloads;
    for (int k = 0; k < i * 7 % 400; ++k)
      workloads.push_back(fmt::format("w-{}", k));
    all.push_back(ended(fmt::format("{:03}", i), noon - hours{3}, 10, std::move(workloads)));
  }
  const auto writes = what_to_let_go(all, 2000, {hours{1}, 1000}, noon);
  archive_total gone;
  for (const auto& one : writes) {
    EXPECT_LE(one.erased.size() + operations_beside, store_limits::operations);
    EXPECT_FALSE(one.erased.empty());
    EXPECT_TRUE(check_limits(transaction{{}, one.erased}).ok());
    gone.count += one.gone.count;
    gone.bytes += one.gone.bytes;
    std::set<std::string> bodies;
    std::set<std::string> ends;
    for (const auto& key : erased_by({one}))
      if (key.starts_with(keys::decision_bodies))
        bodies.emplace(keys::decision_of_body(key));
      else if (key.starts_with(keys::ended_decisions))
        ends.emplace(keys::last_part(key));
    EXPECT_EQ(bodies, ends);
    EXPECT_EQ(std::ssize(ends), one.gone.count);
  }
  EXPECT_EQ(gone, (archive_total{200, 2000}));
  EXPECT_EQ(gone_with(writes).size(), 200U);
  EXPECT_TRUE(std::ranges::is_sorted(gone_with(writes)));
}

} // namespace

} // namespace reprieve
