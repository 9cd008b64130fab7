#include "tests/support/history.hpp"
#include "tests/support/history_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <random>

namespace reprieve {

namespace {

using std::chrono::microseconds;

// -- histories of a true object -------------------------------------------------------------------

/// A workload as it is, one call after the other; written without a look at the model.
class true_workload {
public:
  explicit true_workload(std::string name) : name_(std::move(name)) {}

  /// Carries the call out at its instant and puts the answer down.
  void carry_out(recorded_call& call, bool pods_have_gone) {
    if (deleting_ && pods_have_gone)
      there_ = deleting_ = false;
    if (call.what == workload_call::get || call.what == workload_call::remove) {
      call.how = there_ ? call_end::ok : call_end::not_found;
      if (there_ && call.what == workload_call::get)
        call.seen = {name_ + "-" + std::to_string(incarnation_), generation_, counts_};
      deleting_ = deleting_ || (there_ && call.what == workload_call::remove);
      return;
    }
    call.how = deleting_ ? call_end::being_deleted : call_end::ok;
    if (deleting_)
      return;
    call.outcome = !there_                  ? apply_outcome::created
                   : counts_ == call.counts ? apply_outcome::unchanged
                                            : apply_outcome::configured;
    incarnation_ += there_ ? 0 : 1;
    generation_ = there_ ? generation_ + (counts_ == call.counts ? 0 : 1) : 1;
    counts_ = call.counts;
    there_ = true;
  }

private:
  std::string name_;
  bool there_ = false;
  bool deleting_ = false;
  int incarnation_ = 0;
  std::int64_t generation_ = 0;
  group_counts counts_;
};

struct shape {
  int calls = 0;
  int workloads = 1;
  int clients = 8;
  int unknown_per_cent = 0;
  int highest_count = 4; ///< few, so that calls ask for the same
};

class history_maker {
public:
  history_maker(std::uint64_t seed, shape wanted) : luck_(seed), shape_(wanted) {}

  std::vector<recorded_call> make() {
    std::vector<drawn> all;
    std::vector<duration> free(static_cast<std::size_t>(shape_.clients), duration{0});
    for (int i = 0; i < shape_.calls; ++i)
      all.push_back(draw(free));
    std::vector<drawn*> in_order;
    for (auto& one : all)
      in_order.push_back(&one);
    std::sort(in_order.begin(), in_order.end(),
              [](const auto* a, const auto* b) { return a->instant < b->instant; });
    std::map<std::string, true_workload> objects;
    for (auto* one : in_order)
      if (one->happens)
        objects.try_emplace(one->call.workload, one->call.workload)
          .first->second.carry_out(one->call, one_in(3));
    std::vector<recorded_call> calls;
    for (auto& one : all) {
      if (one.unknown)
        forget_answer(one.call);
      calls.push_back(std::move(one.call));
    }
    return calls;
  }

  int below(int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(luck_);
  }
  bool one_in(int n) {
    return below(n) == 0;
  }

private:
  struct drawn {
    recorded_call call;
    duration instant{0}; ///< at which it is carried out
    bool happens = true;
    bool unknown = false;
  };

  static void forget_answer(recorded_call& call) {
    call.how = call_end::unknown;
    call.outcome.reset();
    call.seen = {};
  }

  /// The next call of the client that is free first.
  drawn draw(std::vector<duration>& free) {
    const auto next = std::min_element(free.begin(), free.end());
    drawn one;
    auto& call = one.call;
    call.client = static_cast<int>(next - free.begin());
    call.workload = "w" + std::to_string(below(shape_.workloads));
    constexpr std::array kinds{workload_call::submit, workload_call::scale, workload_call::scale,
                               workload_call::remove, workload_call::get,   workload_call::get,
                               workload_call::get};
    call.what = kinds[static_cast<std::size_t>(below(std::ssize(kinds)))];
    if (call.what == workload_call::submit || call.what == workload_call::scale)
      call.counts = {{"g", 1 + below(shape_.highest_count)}};
    call.invoked = *next + microseconds{1 + below(50)};
    one.instant = call.invoked + microseconds{below(100)};
    call.returned = one.instant + microseconds{below(100)};
    *next = call.returned;
    if (below(100) < shape_.unknown_per_cent) {
      one.unknown = true;
      one.happens = !one_in(3);
      if (one_in(2)) // long after the client has gone on
        one.instant += microseconds{below(5'000)};
    }
    return one;
  }

  std::mt19937_64 luck_;
  shape shape_;
};

std::string accounts_of(const history_verdict& verdict) {
  std::string text;
  for (const auto& one : verdict.anomalies)
    text += one.account;
  return text;
}

TEST(history_property, what_a_true_object_answered_is_explained) {
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    for (const int unknown : {0, 10}) {
      const auto verdict = check_history(history_maker(seed, {40, 1, 5, unknown}).make());
      ASSERT_TRUE(verdict.explained()) << "seed " << seed << "\n" << accounts_of(verdict);
    }
}

TEST(history_property, ten_thousand_calls_take_a_moment) {
  const auto calls = history_maker(7, {10'000, 200, 8, 4}).make();
  const auto unknown = std::count_if(
    calls.begin(), calls.end(), [](const auto& call) { return call.how == call_end::unknown; });
  EXPECT_GT(unknown, 300);
  const auto start = std::chrono::steady_clock::now();
  const auto verdict = check_history(calls);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(verdict.explained()) << accounts_of(verdict);
  EXPECT_LT(took, std::chrono::seconds{5});
  RecordProperty(
    "milliseconds",
    std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
}

TEST(history_property, ten_thousand_calls_about_one_workload_take_a_moment) {
  const auto calls = history_maker(8, {10'000, 1, 8, 0}).make();
  const auto start = std::chrono::steady_clock::now();
  const auto verdict = check_history(calls);
  EXPECT_TRUE(verdict.explained()) << accounts_of(verdict);
  // Even under a sanitizer; what grew with the square would take an hour there.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{90});
}

// -- and with one answer changed ------------------------------------------------------------------

/// Alters the answer of a `get` to one that nobody can have given; returns which one, or nothing
/// where there is no such.
std::optional<std::size_t> alter(std::vector<recorded_call>& calls, history_maker& luck) {
  const auto start = static_cast<std::size_t>(luck.below(static_cast<int>(calls.size())));
  const int how = luck.below(4);
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const auto i = (start + k) % calls.size();
    auto& call = calls[i];
    if (call.what != workload_call::get || call.how != call_end::ok)
      continue;
    if (how == 0) { // counts that nobody asked for
      call.seen.counts["g"] = 1'000;
      return i;
    }
    if (how == 1) { // more changes than there were
      call.seen.generation += 100'000;
      return i;
    }
    for (const auto& before : calls) {
      if (before.workload != call.workload || before.what != workload_call::get
          || before.how != call_end::ok || before.returned >= call.invoked
          || before.seen.uid != call.seen.uid)
        continue;
      if (how == 2 && before.seen.generation > 1) { // older than what was seen before
        call.seen.generation = before.seen.generation - 1;
        return i;
      }
      if (how == 3 && before.seen.generation == call.seen.generation) { // the same, but different
        call.seen.counts["g"] = before.seen.counts.at("g") + 1;
        return i;
      }
    }
  }
  return std::nullopt;
}

TEST(history_property, one_answer_that_can_not_be_is_found_among_thousands) {
  int altered = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    history_maker maker(seed, {1'000, 20, 8, 3});
    auto calls = maker.make();
    const auto at = alter(calls, maker);
    if (!at)
      continue;
    ++altered;
    const auto verdict = check_history(calls);
    ASSERT_EQ(verdict.anomalies.size(), 1U) << "seed " << seed;
    EXPECT_EQ(verdict.anomalies.front().workload, calls[*at].workload) << "seed " << seed;
  }
  EXPECT_GT(altered, 80);
}

// -- beside a search through all orders -----------------------------------------------------------

/// Whether some order of the calls explains them all, by trying every one.
class every_order {
public:
  explicit every_order(const std::vector<recorded_call>& calls, const history_limits& limits = {})
      : calls_(calls), latest_effect_(limits.latest_effect) {
    std::map<group_counts, std::int32_t> counts;
    std::map<std::string, std::int32_t> uids{{"", 0}};
    for (const auto& call : calls_) {
      const auto& counted = call.what == workload_call::get ? call.seen.counts : call.counts;
      const auto number = counts.try_emplace(counted, counts.size() + 1).first->second;
      const auto uid = uids.try_emplace(call.seen.uid, uids.size()).first->second;
      in_numbers_.push_back({call.what, call.how, call.outcome, number, uid, call.seen.generation});
    }
  }

  bool explains() {
    std::vector<bool> placed(calls_.size(), false);
    return explains({}, placed);
  }

private:
  bool is_answered(std::size_t i) const {
    return calls_[i].how != call_end::unknown;
  }

  bool is_too_late(std::size_t i, duration now) const {
    return !is_answered(i) && latest_effect_ && calls_[i].invoked + *latest_effect_ < now;
  }

  /// No call that is still to be placed ended before this one began, and none of those placed began
  /// when it was too late for this one.
  bool may_be_next(std::size_t i, const std::vector<bool>& placed) const {
    for (std::size_t k = 0; k < calls_.size(); ++k)
      if (placed[k] ? is_too_late(i, calls_[k].invoked)
                    : k != i && is_answered(k) && calls_[k].returned < calls_[i].invoked)
        return false;
    return true;
  }

  bool explains(const model_state& state, std::vector<bool>& placed) {
    bool all = true;
    for (std::size_t i = 0; i < calls_.size(); ++i)
      all = all && (placed[i] || !is_answered(i));
    if (all)
      return true;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (placed[i] || !may_be_next(i, placed))
        continue;
      placed[i] = true;
      for (const auto& next : states_after(state, in_numbers_[i]))
        if (explains(next, placed))
          return true;
      placed[i] = false;
    }
    return false;
  }

  const std::vector<recorded_call>& calls_;
  std::optional<duration> latest_effect_;
  std::vector<model_call> in_numbers_;
};

/// An answer that a client may take for true, whether it is or not.
void draw_answer(recorded_call& call, history_maker& luck) {
  switch (call.what) {
  case workload_call::get:
    call.how = luck.one_in(3) ? call_end::not_found : call_end::ok;
    if (call.how == call_end::ok)
      call.seen = {
        "w0-" + std::to_string(1 + luck.below(2)), 1 + luck.below(3), {{"g", 1 + luck.below(2)}}};
    break;
  case workload_call::remove:
    call.how = luck.one_in(3) ? call_end::not_found : call_end::ok;
    break;
  default:
    call.how = luck.one_in(4) ? call_end::being_deleted : call_end::ok;
    call.outcome.reset();
    if (call.how == call_end::ok && luck.one_in(2))
      call.outcome = static_cast<apply_outcome>(luck.below(3));
  }
}

/// The calls of the anomaly, had that one answer not come yet.
std::vector<recorded_call> without_culprit(const anomaly& found) {
  auto calls = found.calls;
  calls[found.culprit].how = call_end::unknown;
  return calls;
}

TEST(history_property, the_verdict_is_that_of_a_search_through_all_orders) {
  int explained = 0;
  int unexplained = 0;
  for (std::uint64_t seed = 0; seed < 6'000; ++seed) {
    history_maker maker(seed, {3 + static_cast<int>(seed % 4), 1, 3, 20, 2});
    auto calls = maker.make();
    // Some are true, some have one answer changed at random, some are made up.
    for (auto& call : calls)
      if (call.how != call_end::unknown && seed % 3 != 0
          && (seed % 3 == 1 ? maker.one_in(static_cast<int>(calls.size())) : maker.one_in(2)))
        draw_answer(call, maker);
    history_limits limits;
    if (maker.one_in(2))
      limits.latest_effect = microseconds{200 + maker.below(400)}; // longer than any call
    const bool possible = every_order(calls, limits).explains();
    (possible ? explained : unexplained) += 1;
    const auto verdict = check_history(calls, limits);
    ASSERT_TRUE(verdict.undecided.empty());
    ASSERT_EQ(verdict.anomalies.empty(), possible) << "seed " << seed << "\n"
                                                   << accounts_of(verdict);
    if (possible)
      continue;
    const auto& found = verdict.anomalies.front();
    EXPECT_FALSE(every_order(found.calls, limits).explains()) << found.account;
    EXPECT_TRUE(every_order(without_culprit(found), limits).explains()) << found.account;
  }
  EXPECT_GT(explained, 1'500);
  EXPECT_GT(unexplained, 1'500);
}

} // namespace

} // namespace reprieve
