#include "state/model/slot_list.hpp"
#include "tests/simulation/dice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace reprieve {

namespace {

/// Pages of four slots while it lasts.
class slot_lists : public testing::Test {
protected:
  slot_lists() {
    slot_list::page_size = 4;
  }
  ~slot_lists() override {
    slot_list::page_size = before_;
  }

  static pod_slot at(std::int32_t index, std::int32_t replica = 0) {
    return {"workers", replica, index};
  }

  static slot_record taken(std::int32_t index, const char* decision = "d1") {
    return {at(index), 1, slot_state::wanted, decision};
  }

  static slot_list of(std::int32_t count) {
    slot_list made;
    for (std::int32_t i = 0; i < count; ++i)
      made.push_back(taken(i));
    return made;
  }

  static std::vector<slot_page> copies(const slot_list& list) {
    std::vector<slot_page> pages;
    for (const auto& page : list.pages())
      pages.push_back(*page);
    return pages;
  }

private:
  std::size_t before_ = slot_list::page_size;
};

TEST_F(slot_lists, are_in_order_whatever_order_they_were_filled_in) {
  std::mt19937 random{7};
  for (int round = 0; round < 50; ++round) {
    std::map<pod_slot, slot_record> expected;
    slot_list list;
    for (int i = 0; i < 100; ++i) {
      slot_record one{
        at(static_cast<std::int32_t>(random() % 20), static_cast<std::int32_t>(random() % 5)),
        static_cast<std::uint32_t>(i), slot_state::wanted, "d"};
      expected[one.slot] = one;
      list.push_back(one);
    }
    ASSERT_EQ(list.size(), expected.size());
    ASSERT_TRUE(std::ranges::equal(list, expected, {}, {}, [](const auto& e) { return e.second; }));
    for (const auto& page : list.pages())
      ASSERT_TRUE(!page->slots.empty() && page->slots.size() <= 4);
    for (std::int32_t i = -1; i < 22; ++i) {
      const auto found = expected.find(at(i, 2));
      ASSERT_EQ(list.find(at(i, 2)) != nullptr, found != expected.end());
      const auto behind = expected.lower_bound(at(i, 2));
      const auto* before = list.last_before(at(i, 2));
      ASSERT_EQ(before == nullptr, behind == expected.begin());
      if (before != nullptr) {
        ASSERT_EQ(*before, std::prev(behind)->second);
      }
    }
    ASSERT_EQ(slot_list::of_pages(copies(list)), list);
  }
}

TEST_F(slot_lists, share_pages_until_one_of_them_changes) {
  const auto before = of(20);
  auto next = before;
  next.edit(at(9)).incarnation = 7;
  EXPECT_NE(next, before);
  EXPECT_EQ(before.find(at(9))->incarnation, 1U);
  ASSERT_EQ(next.pages().size(), before.pages().size());
  int changed = 0;
  for (std::size_t i = 0; i < next.pages().size(); ++i)
    changed += next.pages()[i] != before.pages()[i];
  EXPECT_EQ(changed, 1);
}

TEST_F(slot_lists, keep_the_numbers_of_their_pages) {
  auto list = of(4);
  ASSERT_EQ(list.pages().size(), 1U);
  EXPECT_EQ(list.pages()[0]->number, 0U);
  list.push_back({at(0, -1), 0, slot_state::wanted, ""}); // before all others
  ASSERT_EQ(list.pages().size(), 2U);
  EXPECT_EQ(list.pages()[0]->number, 0U);
  EXPECT_EQ(list.pages()[1]->number, 1U);
  auto again = slot_list::of_pages(copies(list));
  for (std::int32_t i = 4; i < 20; ++i)
    again.push_back(taken(i));
  std::vector<std::uint32_t> numbers;
  for (const auto& page : again.pages())
    numbers.push_back(page->number);
  std::ranges::sort(numbers);
  EXPECT_TRUE(std::ranges::adjacent_find(numbers) == numbers.end()) << "each is there once";
}

TEST_F(slot_lists, are_whole_after_a_write_that_was_cut_off) {
  const auto before = of(16);
  auto next = before;
  next.push_back({at(0, -1), 3, slot_state::failed, "d2"});
  next.edit(at(3)).incarnation = 9;
  // New pages are written before those that have given them their slots.
  std::map<std::uint32_t, slot_page> stored;
  for (const auto& page : before.pages())
    stored[page->number] = *page;
  std::map<std::uint32_t, slot_page, std::greater<>> changes;
  for (const auto& page : next.pages())
    if (const auto known = stored.find(page->number);
        known == stored.end() || known->second != *page)
      changes[page->number] = *page;
  ASSERT_GT(changes.size(), 1U);
  for (const auto& [number, page] : changes) {
    stored[number] = page;
    std::vector<slot_page> found;
    for (const auto& [key, value] : stored)
      found.push_back(value);
    const auto read = slot_list::of_pages(std::move(found));
    for (const auto& slot : before)
      ASSERT_NE(read.find(slot.slot), nullptr) << slot.slot.index;
  }
  std::vector<slot_page> found;
  for (const auto& [key, value] : stored)
    found.push_back(value);
  EXPECT_EQ(slot_list::of_pages(std::move(found)), next);
}

TEST_F(slot_lists, are_equal_by_what_they_hold) {
  auto forwards = of(10);
  slot_list backwards;
  for (std::int32_t i = 9; i >= 0; --i)
    backwards.push_back(taken(i));
  EXPECT_EQ(forwards, backwards);
  backwards.edit(at(5)).decision = "d2";
  EXPECT_NE(forwards, backwards);
}

TEST_F(slot_lists, tell_what_has_changed_by_the_pages_that_have) {
  simulation::dice luck{11};
  slot_list list;
  for (int i = 0; i < 400; ++i) {
    const auto before = list;
    std::set<pod_slot> touched;
    for (auto left = luck.between(0, 3); left > 0; --left) {
      const pod_slot slot{luck.one_in(2) ? "a" : "b", static_cast<std::int32_t>(luck.below(3)),
                          static_cast<std::int32_t>(luck.below(20))};
      ++list.edit(slot).incarnation;
      touched.insert(slot);
    }
    const auto changed = slot_list::changed_slots(before, list);
    ASSERT_EQ(changed, std::vector<pod_slot>(touched.begin(), touched.end())) << i;
    const auto pages = slot_list::difference(before, list);
    ASSERT_LE(pages.before.size(), touched.size());
  }
}

} // namespace

} // namespace reprieve
