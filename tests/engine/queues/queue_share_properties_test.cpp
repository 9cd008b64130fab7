#include "preemption/policies/queues/queue_shares.hpp"
#include "preemption/problem/amounts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

namespace reprieve::tests {

namespace {

std::int64_t between(std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

bool one_in(std::int64_t n) {
  return between(1, n) == 1;
}

std::vector<share_bounds> draw_bounds() {
  std::vector<share_bounds> drawn;
  for (auto count = between(1, 8); count > 0; --count) {
    const auto least = one_in(2) ? between(0, 20) : 0;
    const auto most = one_in(2) ? least + between(0, 30) : std::int64_t{1} << 62U;
    const auto weight = between(0, 6);
    drawn.push_back({weight, least, weight == 0 ? least : most});
  }
  return drawn;
}

void for_many(const std::function<void()>& check) {
  EXPECT_TRUE(rc::check([&] {
    for (int i = 0; i < 50; ++i)
      check();
  }));
}

wide_int total_of(const std::vector<std::int64_t>& shares) {
  wide_int total = 0;
  for (const auto one : shares)
    total += one;
  return total;
}

} // namespace

TEST(queue_share_properties, shares_keep_to_their_bounds_and_give_all_that_can_be_taken) {
  for_many([] {
    const auto among = draw_bounds();
    const auto total = between(0, 150);

    const auto shares = fill_by_weight(total, among);

    wide_int least = 0;
    wide_int most = 0;
    for (const auto& one : among) {
      least += one.least;
      most += one.most;
    }
    RC_ASSERT(total_of(shares) == std::min<wide_int>(total, most));
    for (std::size_t i = 0; i < among.size(); ++i) {
      RC_ASSERT(shares[i] <= among[i].most);
      RC_ASSERT(shares[i] >= (least > total ? 0 : among[i].least));
    }
  });
}

/// Who could take more has, by its weight, no less than another has above its least, but for one
/// unit of rounding.
TEST(queue_share_properties, shares_are_level_where_no_bound_stops_them) {
  for_many([] {
    const auto among = draw_bounds();

    const auto shares = fill_by_weight(between(0, 150), among);

    wide_int given = 0;
    wide_int least = 0;
    for (std::size_t i = 0; i < among.size(); ++i) {
      given += shares[i];
      least += among[i].least;
    }
    if (given < least)
      return;
    for (std::size_t i = 0; i < among.size(); ++i)
      for (std::size_t j = 0; j < among.size(); ++j)
        if (shares[i] < among[i].most && shares[j] > among[j].least)
          RC_ASSERT((shares[i] + 1) * among[j].weight >= (shares[j] - 1) * among[i].weight);
  });
}

TEST(queue_share_properties, shares_that_are_rounded_upwards_never_fall_as_there_is_more) {
  int larger = 0;
  for_many([&] {
    const auto among = draw_bounds();
    const auto total = between(0, 150);
    const auto unit = between(1, 4);

    const auto exact = fill_in_units(total, among, unit);
    const auto upwards = fill_in_units(total, among, unit, share_rounding::upwards);
    const auto of_more =
      fill_in_units(total + between(0, 20), among, unit, share_rounding::upwards);

    for (std::size_t i = 0; i < among.size(); ++i) {
      RC_ASSERT(upwards[i] >= exact[i]);
      RC_ASSERT(upwards[i] <= std::max(exact[i] + unit, among[i].least));
      RC_ASSERT(upwards[i] <= among[i].most);
      RC_ASSERT(of_more[i] >= upwards[i]);
      larger += upwards[i] > exact[i] ? 1 : 0;
    }
  });
  EXPECT_GT(larger, 100);
}

TEST(queue_share_properties, everybody_has_all_it_may_where_there_is_enough) {
  for_many([] {
    auto among = draw_bounds();
    std::int64_t all = 0;
    for (auto& one : among) {
      one.most = std::min(one.most, one.least + 30);
      all += one.most;
    }

    const auto shares = fill_in_units(all + between(0, 3), among, between(1, 4));

    for (std::size_t i = 0; i < among.size(); ++i)
      RC_ASSERT(shares[i] == among[i].most);
  });
}

TEST(queue_share_properties, more_weight_never_means_a_smaller_share_where_nothing_else_binds) {
  for_many([] {
    std::vector<share_bounds> among;
    for (auto count = between(2, 6); count > 0; --count)
      among.push_back({between(0, 9), 0, std::int64_t{1} << 62U});
    const auto total = between(0, 200);
    const auto who = static_cast<std::size_t>(between(0, std::ssize(among) - 1));
    auto heavier = among;
    heavier[who].weight += between(1, 5);
    // Without weight, it takes nothing, whatever may be left.
    for (auto* list : {&among, &heavier})
      for (auto& one : *list)
        if (one.weight == 0)
          one.most = 0;

    RC_ASSERT(fill_by_weight(total, heavier)[who] >= fill_by_weight(total, among)[who]);
  });
}

TEST(queue_share_properties, the_order_of_those_who_share_moves_no_more_than_the_odd_one) {
  for_many([] {
    std::vector<share_bounds> among;
    for (std::int64_t weight = 1; weight <= between(2, 6); ++weight)
      among.push_back({weight, between(0, 4), between(4, 60)});
    std::vector<std::size_t> order(among.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(between(0, std::ssize(order) - 1))]);
    std::vector<share_bounds> other;
    for (const auto i : order)
      other.push_back(among[i]);
    const auto total = between(0, 150);

    const auto shares = fill_by_weight(total, among);
    const auto shuffled_shares = fill_by_weight(total, other);

    for (std::size_t i = 0; i < order.size(); ++i)
      RC_ASSERT(std::abs(shuffled_shares[i] - shares[order[i]]) <= 1);
  });
}

} // namespace reprieve::tests
