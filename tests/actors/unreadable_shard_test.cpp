#include "tests/actors/replica_test.hpp"

#include <gmock/gmock.h>

namespace reprieve {

namespace {

/// A shard with a record that is none.
class unreadable_shard : public replica_test {
protected:
  void SetUp() override {
    replica_world first{store_, journal()};
    ASSERT_TRUE(first.start().ok());
    resource_group lab;
    lab.name = "lab";
    ASSERT_TRUE(first.apply({lab}).ok());
    auto there = machine("n1", 1);
    there.resource_group = "lab";
    ASSERT_TRUE(first.apply({machine("n0", 1), there}).ok());
  }

  void write(const std::string& key, const std::string& value) {
    store_->commit({{}, {put{key, value, 0}}}, [](const auto& done) { ASSERT_TRUE(done.ok()); });
  }
};

TEST_F(unreadable_shard, keeps_nobody_else_from_going_on) {
  write("w/lab.0/x", "\xff");
  replica_world replica{store_, journal()};
  ASSERT_TRUE(replica.start().ok());
  EXPECT_EQ(replica.lost(), "");
  EXPECT_THAT(replica.told_of("replica-0"), testing::Contains("Unreadable"));
  ASSERT_TRUE(replica.apply({work("a")}).ok());
  EXPECT_TRUE(comes_to(replica, "a", pod_phase::running, 1, std::chrono::seconds{5}));
}

TEST_F(unreadable_shard, is_served_when_it_was_put_right) {
  write("w/lab.0/x", "\xff");
  replica_world replica{store_, journal()};
  ASSERT_TRUE(replica.start().ok());
  auto w = work("a");
  w.resource_group = "lab";
  EXPECT_FALSE(replica.apply({w}).ok());
  store_->commit({{}, {erase{just("w/lab.0/x")}}}, [](const auto&) {});
  replica.world().advance(std::chrono::seconds{15});
  const auto how = replica.apply({w});
  EXPECT_TRUE(how.ok()) << how.status();
  EXPECT_TRUE(comes_to(replica, "a", pod_phase::running, 1, std::chrono::seconds{5}));
}

} // namespace

} // namespace reprieve
