#include "actors/gateway/followed_objects.hpp"
#include "state/model/disruption_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

disruption_budget budget(const std::string& name, const std::string& group, int available = 0) {
  disruption_budget b;
  b.name = name;
  b.resource_group = group;
  b.min_available = available;
  return b;
}

/// Each group has one shard.
auto shard_of(const std::string& group) {
  return [group](std::string_view its, std::string_view) { return its == group; };
}

class told_objects_test : public testing::Test {
protected:
  void put(const disruption_budget& one) {
    known.put(one, note());
  }

  void remove(const std::string& name, const std::string& group) {
    known.remove(name, shard_of(group), note());
  }

  std::string group_of(const std::string& name) const {
    const auto found = known.find(name);
    return found == known.end() ? "none" : found->second.resource_group;
  }

  std::function<void(const disruption_budget*, const disruption_budget*)> note() {
    return [this](const auto* before, const auto* now) {
      changes.push_back((before == nullptr ? "none" : before->resource_group) + " to "
                        + (now == nullptr ? "none" : now->resource_group));
    };
  }

  followed_objects<disruption_budget> known;
  std::vector<std::string> changes;
};

TEST_F(told_objects_test, tell_what_has_changed) {
  put(budget("a", "one"));
  put(budget("a", "one", 2));
  EXPECT_EQ(known.find("a")->second.min_available, 2);
  remove("a", "one");
  EXPECT_FALSE(known.contains("a"));
  remove("a", "one");
  EXPECT_THAT(changes, ElementsAre("none to one", "one to one", "one to none"));
}

TEST_F(told_objects_test,
       keep_what_came_in_one_group_when_it_is_heard_later_that_it_went_in_another) {
  put(budget("a", "one"));
  put(budget("a", "two")); // "one" has let it go, and was not heard yet
  remove("a", "one");
  EXPECT_EQ(group_of("a"), "two");
  remove("a", "two");
  EXPECT_EQ(group_of("a"), "none");
  EXPECT_THAT(changes, ElementsAre("none to one", "one to two", "two to none"));
}

TEST_F(told_objects_test,
       come_back_to_what_came_when_the_last_words_of_another_group_are_heard_after) {
  put(budget("a", "two"));
  put(budget("a", "one", 1));
  put(budget("a", "one", 2));
  EXPECT_EQ(group_of("a"), "one");
  remove("a", "one");
  EXPECT_EQ(group_of("a"), "two");
  remove("a", "two");
  EXPECT_EQ(group_of("a"), "none");
}

TEST_F(told_objects_test, remember_one_form_of_each_group) {
  for (int i = 0; i < 3; ++i) {
    put(budget("a", "one", i));
    put(budget("a", "two", i));
  }
  remove("a", "two");
  EXPECT_EQ(known.find("a")->second.min_available, 2);
  remove("a", "one");
  EXPECT_EQ(group_of("a"), "none");
}

TEST_F(told_objects_test, miss_what_a_shard_does_not_have_any_more) {
  put(budget("a", "one"));
  put(budget("b", "one"));
  put(budget("c", "two"));
  EXPECT_THAT(known.missing_in({budget("b", "one")}, shard_of("one")), ElementsAre("a"));
  EXPECT_THAT(known.missing_in({}, shard_of("three")), IsEmpty());
}

TEST_F(told_objects_test, miss_also_what_stands_behind_another_group) {
  put(budget("a", "one"));
  put(budget("a", "two"));
  for (const auto& name : known.missing_in({}, shard_of("one")))
    remove(name, "one");
  remove("a", "two");
  EXPECT_EQ(group_of("a"), "none");
}

} // namespace

} // namespace reprieve
