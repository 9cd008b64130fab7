#include "state/containers/name_pool.hpp"
#include "state/containers/row_index.hpp"
#include "state/containers/row_table.hpp"
#include "state/containers/text_store.hpp"
#include "state/containers/value_pool.hpp"
#include "state/view/budget_count.hpp"
#include "state/view/budget_table.hpp"
#include "state/view/shape_table.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace reprieve {
namespace {

TEST(text_store, gives_back_what_was_put) {
  using namespace std::string_view_literals;
  text_store store;
  const auto empty = store.put(u"");
  const auto name = store.put(u"a-name");
  const auto odd = store.put(u"\0x"sv);
  EXPECT_EQ(store.at(empty), u"");
  EXPECT_EQ(store.at(name), u"a-name");
  EXPECT_EQ(store.at(odd), u"\0x"sv);
}

TEST(text_store, uses_the_room_of_a_dropped_text_again) {
  text_store store;
  const auto first = store.put(u"123456");
  const auto second = store.put(u"234567");
  const auto neighbour = store.put(u"neighbour");
  store.drop(first);
  store.drop(second);
  EXPECT_EQ(store.put(u"abcdef"), second);
  EXPECT_EQ(store.put(u"bcdefg"), first);
  EXPECT_EQ(store.at(first), u"bcdefg");
  EXPECT_EQ(store.at(second), u"abcdef");
  EXPECT_EQ(store.at(neighbour), u"neighbour");
}

TEST(text_store, uses_the_room_of_a_dropped_empty_text_again) {
  text_store store;
  const auto first = store.put(u"");
  const auto neighbour = store.put(u"");
  store.drop(first);
  EXPECT_EQ(store.put(u"x"), first);
  EXPECT_EQ(store.at(neighbour), u"");
}

TEST(text_store, does_not_grow_while_texts_of_one_length_come_and_go) {
  text_store store;
  const std::u16string text(12, u'u');
  std::vector<text_store::handle> kept;
  for (int i = 0; i < 5000; ++i)
    kept.push_back(store.put(text));
  store.drop(kept[17]);
  kept[17] = store.put(text);
  const auto before = store.memory();
  for (int i = 0; i < 20000; ++i) {
    auto& one = kept[static_cast<std::size_t>(i) % kept.size()];
    store.drop(one);
    one = store.put(text);
  }
  EXPECT_EQ(store.memory(), before);
}

TEST(text_store, keeps_a_text_that_is_longer_than_a_page_and_gives_its_memory_back) {
  text_store store;
  const auto small = store.put(u"small");
  const auto before = store.memory();
  const std::u16string text(500'000, u'x');
  const auto large = store.put(text);
  EXPECT_EQ(store.at(large), text);
  EXPECT_GT(store.memory(), before + 2 * text.size());
  store.drop(large);
  EXPECT_LT(store.memory(), before + 1000);
  const auto again = store.put(text);
  EXPECT_EQ(again, large);
  EXPECT_EQ(store.at(again), text);
  EXPECT_EQ(store.at(small), u"small");
}

TEST(text_store, goes_on_with_small_texts_after_a_page_sized_one) {
  text_store store;
  std::map<text_store::handle, std::u16string> put;
  for (const std::size_t length : {10U, 70'000U, 11U, 16'383U, 16'384U, 12U, 10'000U, 10'000U}) {
    const std::u16string text(length, static_cast<char16_t>(u'a' + put.size()));
    put.emplace(store.put(text), text);
  }
  EXPECT_EQ(put.size(), 8U);
  for (const auto& [handle, text] : put)
    EXPECT_EQ(store.at(handle), text);
}

TEST(name_pool, keeps_a_name_once_until_the_last_reference_goes) {
  name_pool pool;
  const auto one = pool.intern("trainer");
  EXPECT_EQ(pool.intern("trainer"), one);
  EXPECT_EQ(pool.references(one), 2U);
  pool.release(one);
  EXPECT_EQ(pool.find("trainer"), one);
  pool.release(one);
  EXPECT_EQ(pool.find("trainer"), no_row);
  EXPECT_EQ(pool.intern("other"), one) << "its number is taken again";
}

TEST(name_pool, orders_names_as_bytes_whether_they_are_packed_or_not) {
  name_pool pool;
  const auto low = pool.intern("a.b");
  const auto middle = pool.intern("aBc");
  const auto high = pool.intern("ab");
  EXPECT_TRUE(pool.order(low, middle) < 0);
  EXPECT_TRUE(pool.order(middle, high) < 0);
  EXPECT_TRUE(pool.order(high, low) > 0);
  EXPECT_TRUE(pool.order(low, low) == 0);
}

TEST(value_pool, keeps_equal_values_once_and_takes_rows_again) {
  struct number {
    int value;

    bool operator==(const number&) const = default;
    std::uint64_t hash() const {
      return 7;
    }
  };
  value_pool<number> pool;
  const auto one = pool.intern({1});
  const auto two = pool.intern({2});
  EXPECT_NE(one, two);
  EXPECT_EQ(pool.intern({1}), one);
  pool.release(one);
  EXPECT_EQ(pool.intern({1}), one);
  pool.release(two);
  EXPECT_EQ(pool.intern({3}), two);
  EXPECT_EQ(pool[two].value, 3);
}

TEST(row_table, takes_rows_again_that_were_given_back) {
  row_table<int, 4> table;
  for (int i = 0; i < 10; ++i)
    table[table.take()] = i;
  table.give_back(3);
  EXPECT_EQ(table.taken(), 9U);
  EXPECT_EQ(table.take(), 3U);
  EXPECT_EQ(table.take(), 10U);
  EXPECT_EQ(table[9], 9);
  EXPECT_EQ(table.rows(), 11U);
}

TEST(row_index, finds_nothing_while_it_is_empty) {
  EXPECT_EQ(row_index().find(0, [](std::uint32_t) { return true; }), no_row);
}

TEST(row_index, finds_what_was_inserted_and_not_erased_even_where_hashes_collide) {
  // Hashes of eight values, so that runs are long and wrap around the end.
  const auto hash = [](std::uint32_t row) { return ~std::uint64_t{0} - row % 8; };
  ASSERT_TRUE(rc::check([&](const std::vector<std::uint8_t>& toggled) {
    row_index index;
    std::set<std::uint32_t> inside;
    for (const std::uint32_t row : toggled) {
      if (inside.insert(row).second) {
        index.insert(hash(row), row, hash);
      } else {
        inside.erase(row);
        index.erase(hash(row), row, hash);
      }
    }
    for (std::uint32_t row = 0; row < 256; ++row) {
      const auto found = index.find(hash(row), [&](std::uint32_t r) { return r == row; });
      RC_ASSERT(found == (inside.contains(row) ? row : no_row));
    }
  }));
}

TEST(row_index, lets_one_row_stand_for_another) {
  row_index index;
  const auto hash = [](std::uint32_t) { return std::uint64_t{7}; };
  index.insert(7, 1, hash);
  index.insert(7, 2, hash);
  index.replace(7, 1, 9);
  const auto find = [&](std::uint32_t row) {
    return index.find(7, [&](std::uint32_t r) { return r == row; });
  };
  EXPECT_EQ(find(1), no_row);
  EXPECT_EQ(find(2), 2U);
  EXPECT_EQ(find(9), 9U);
}

TEST(shape_table, keeps_equal_amounts_once_and_takes_rows_again) {
  shape_table shapes;
  shapes.widen({}, 2);
  const std::vector<std::int64_t> small{1, 2};
  const std::vector<std::int64_t> large{8, 9};
  const auto one = shapes.intern(small);
  const auto two = shapes.intern(large);
  EXPECT_EQ(shapes.intern(small), one);
  EXPECT_NE(one, two);
  shapes.release(one);
  EXPECT_EQ(shapes.intern(small), one);
  shapes.release(two);
  const std::vector<std::int64_t> other{5, 5};
  EXPECT_EQ(shapes.intern(other), two);
  EXPECT_EQ(shapes.amounts(two)[0], 5);
}

TEST(shape_table, keeps_amounts_in_their_columns_when_it_widens) {
  shape_table shapes;
  shapes.widen({}, 2);
  const std::vector<std::int64_t> before{1, 2};
  const auto shape = shapes.intern(before);
  const std::vector<std::uint32_t> moved_to{0, 2};
  shapes.widen(moved_to, 3);
  const std::vector<std::int64_t> after{1, 0, 2};
  EXPECT_TRUE(std::ranges::equal(shapes.amounts(shape), after));
  EXPECT_EQ(shapes.intern(after), shape);
}

TEST(budget_table, tells_labels_apart_whatever_characters_they_have) {
  budget_table table;
  const auto one = table.add({{"a", "bc"}}, true);
  const auto two = table.add({{"ab", "c"}}, true);
  const auto three = table.add({{"a", ""}, {"b", "c"}}, true);
  EXPECT_EQ((std::set{one, two, three}.size()), 3U);
  EXPECT_EQ(table.add({{"ab", "c"}}, false), two);
}

TEST(budget_table, matches_labels_that_came_before_the_budget_and_after) {
  disruption_budget budget;
  budget.name = "web";
  budget.match_labels = {{"app", "web"}, {"tier", "front"}};
  budget.max_unavailable = 1;
  budget_table table;
  const auto before = table.add({{"app", "web"}, {"tier", "front"}}, true);
  table.put(budget);
  table.settle();
  const auto after = table.add({{"app", "web"}, {"tier", "front"}, {"zone", "a"}}, true);
  const auto other = table.add({{"app", "web"}, {"tier", "back"}}, true);
  EXPECT_EQ(table.matching(before).size(), 1U);
  EXPECT_EQ(table.matching(after).size(), 1U);
  EXPECT_TRUE(table.matching(other).empty());
  EXPECT_EQ(table.allowed(0), 1);
}

disruption_budget at_most_one_missing() {
  disruption_budget budget;
  budget.name = "web";
  budget.match_labels = {{"app", "web"}};
  budget.max_unavailable = 1;
  return budget;
}

TEST(budget_table, counts_pods_that_wait_as_missing) {
  const string_map web{{"app", "web"}};
  budget_table table;
  table.put(at_most_one_missing());
  table.settle();
  table.add(web, true);
  table.add(web, true);
  EXPECT_EQ(table.allowed(0), 1);
  table.expect(web, 1);
  EXPECT_EQ(table.allowed(0), 0);
  table.expect(web, -1);
  EXPECT_EQ(table.allowed(0), 1);
}

TEST(budget_table, counts_pods_that_waited_before_it_came) {
  const string_map web{{"app", "web"}};
  budget_table table;
  table.add(web, true);
  table.expect(web, 3);
  table.expect(web, -2);
  table.put(at_most_one_missing());
  table.settle();
  EXPECT_EQ(table.allowed(0), 0) << "one of two runs";
}

TEST(budget_table, takes_back_no_more_than_was_expected) {
  const string_map web{{"app", "web"}};
  budget_table table;
  table.put(at_most_one_missing());
  table.settle();
  table.expect(web, -3);
  table.add(web, true);
  table.expect(web, 1);
  EXPECT_EQ(table.allowed(0), 0);
}

TEST(budget_table, forgets_labels_that_nobody_waits_with_any_more) {
  budget_table table;
  const auto used = table.add({{"app", "a"}}, true);
  table.drop(used, true);
  table.expect({{"app", "b"}}, 2);
  table.expect({{"app", "b"}}, -2);
  EXPECT_EQ(table.add({{"app", "c"}}, true), used) << "the row is taken again";
}

TEST(budget_count, counts_pods_that_wait_as_missing) {
  auto record = std::make_shared<node_record>();
  record->spec.edit().name = "n1";
  pod runs;
  runs.labels = {{"app", "web"}};
  runs.phase = pod_phase::running;
  put_pod(*record, runs);
  budget_count counted;
  counted.put(at_most_one_missing());
  counted.put(record);
  EXPECT_EQ(counted.allowed("web"), 1);
  counted.expect({{"app", "web"}}, 1);
  EXPECT_EQ(counted.allowed("web"), 0);
}

} // namespace
} // namespace reprieve
