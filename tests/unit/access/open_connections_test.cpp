#include "protocol/limits/open_connections.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// Connections that were silent for as long as the test says.
class open_connections_test : public testing::Test {
protected:
  using instant = open_connections::instant;

  open_connection& stranger(const std::string& host, instant since = {}) {
    open_connection one;
    one.end = host + ":" + std::to_string(++ports);
    one.host = host;
    one.since = since;
    const auto end = one.end;
    open.add(std::move(one));
    return *open.find(end);
  }

  open_connection& of(const std::string& caller, const std::string& host) {
    auto& one = stranger(host, now);
    open.let_in_call(one, caller);
    return one;
  }

  void many_of(const std::string& caller, const std::string& host, int count) {
    for (int i = 0; i < count; ++i)
      of(caller, host);
  }

  open_connection* to_end_for(const std::string& host) {
    return open.to_end_for(host, now, [this](const open_connection& one) {
      const auto found = silent.find(one.end);
      return found == silent.end() ? milliseconds{minutes{5}} : found->second;
    });
  }

  open_connections open{{100, 50}};
  instant now{minutes{10}};
  std::map<std::string, milliseconds> silent;
  int ports = 0;
};

TEST_F(open_connections_test, the_caller_who_holds_most_gives_way_from_however_many_addresses) {
  const auto& oldest = of("eve", "10.0.0.0");
  for (int i = 0; i < 8; ++i)
    many_of("eve", "10.0.0." + std::to_string(i), 10);
  many_of("max", "10.0.1.1", 19);
  ASSERT_TRUE(open.is_full_for("10.0.2.2"));
  EXPECT_EQ(to_end_for("10.0.2.2"), &oldest);
  EXPECT_EQ(to_end_for("10.0.1.1"), &oldest);
}

TEST_F(open_connections_test, an_address_that_holds_most_gives_way_where_nobody_has_a_name) {
  many_of("", "10.0.0.1", 40);
  many_of("", "10.0.0.2", 20);
  many_of("", "10.0.0.3", 40);
  auto* goes = to_end_for("10.0.0.3");
  ASSERT_NE(goes, nullptr);
  EXPECT_EQ(goes->host, "10.0.0.3") << "the own ones of who holds as much as anybody";
  goes = to_end_for("10.0.0.2");
  ASSERT_NE(goes, nullptr);
  EXPECT_NE(goes->host, "10.0.0.2");
}

TEST_F(open_connections_test, nobody_gives_way_to_one_who_would_hold_as_much_then) {
  for (int i = 0; i < 100; ++i)
    of("caller " + std::to_string(i), "10.0.0." + std::to_string(i));
  EXPECT_EQ(to_end_for("10.0.1.1"), nullptr);
}

TEST_F(open_connections_test, an_address_with_all_that_it_may_have_gives_way_to_its_own) {
  many_of("max", "10.0.0.1", 10);
  const auto& oldest_of_most = of("eve", "10.0.0.1");
  many_of("eve", "10.0.0.1", 39);
  many_of("max", "10.0.0.2", 5);
  ASSERT_TRUE(open.is_full_for("10.0.0.1"));
  EXPECT_FALSE(open.is_full_for("10.0.0.2"));
  EXPECT_EQ(to_end_for("10.0.0.1"), &oldest_of_most);
}

TEST_F(open_connections_test, those_in_use_stay_while_there_are_idle_ones) {
  for (int i = 0; i < 45; ++i)
    silent[of("eve", "10.0.0.1").end] = seconds{3};
  const auto& idle = of("eve", "10.0.0.1");
  auto& called = of("eve", "10.0.0.1");
  many_of("eve", "10.0.0.1", 3);
  open.let_in_call(called, "eve");
  EXPECT_EQ(to_end_for("10.0.0.1"), &idle);
  // The next time they are behind the others.
  open.forget(*open.find(idle.end));
  EXPECT_NE(open.find(to_end_for("10.0.0.1")->end), nullptr);
  EXPECT_FALSE(silent.contains(to_end_for("10.0.0.1")->end));
}

TEST_F(open_connections_test, strangers_have_their_part_and_the_oldest_gives_way) {
  many_of("eve", "10.0.0.1", 40);
  for (int i = 0; i < 32; ++i)
    stranger("10.0.0.2", now);
  ASSERT_TRUE(open.is_full_for("10.0.0.2"));
  EXPECT_EQ(to_end_for("10.0.0.2"), nullptr) << "they have no time for a handshake";
  const auto& oldest = *open.strangers().begin()->second;
  now += seconds{2};
  EXPECT_EQ(to_end_for("10.0.0.2"), &oldest);
}

TEST_F(open_connections_test, what_is_forgotten_counts_no_more) {
  many_of("eve", "10.0.0.1", 25);
  for (int i = 0; i < 25; ++i)
    stranger("10.0.0.1", now);
  EXPECT_TRUE(open.is_full_for("10.0.0.1"));
  while (!open.all().empty())
    open.forget(open.all().begin()->second);
  EXPECT_TRUE(open.strangers().empty());
  many_of("max", "10.0.0.1", 49);
  EXPECT_FALSE(open.is_full_for("10.0.0.1"));
}

} // namespace

} // namespace reprieve
