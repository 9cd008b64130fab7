#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "tests/actors/replica/replica_test.hpp"

#include <gmock/gmock.h>

namespace reprieve {

namespace {

using testing::Contains;
using testing::HasSubstr;

/// Records that are none.
class unreadable : public replica_test {
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

  /// The one key of that kind and name, whatever its shard.
  std::string key_of(const std::string& kind, const std::string& name) {
    std::string found;
    store_->read({with_prefix(kind + "/"), 0, 0, true}, [&](const auto& all) {
      for (const auto& one : all->values)
        if (keys::last_part(one.key) == name)
          found = one.key;
    });
    return found;
  }

  /// A name that belongs into the first shard of its kind, however many there are.
  static std::string in_first_shard(const std::string& begin) {
    const auto is_first = [](const std::string& name) {
      for (std::uint32_t shards = 1; shards <= 4; ++shards)
        if (shard_number(name, shards) != 0)
          return false;
      return true;
    };
    for (int i = 0;; ++i)
      if (auto name = begin + std::to_string(i); is_first(name))
        return name;
  }

  std::string stored(const std::string& key) {
    std::string found;
    store_->read({just(key), 0, 0, false}, [&](const auto& all) {
      for (const auto& one : all->values)
        found = one.value;
    });
    return found;
  }
};

using unreadable_shard = unreadable;

/// Without it nobody knows what was carried out.
const std::string sequence = "seq/w/lab.0";

TEST_F(unreadable_shard, keeps_nobody_else_from_going_on) {
  write(sequence, "\xff");
  replica_world replica{store_, journal()};
  ASSERT_TRUE(replica.start().ok());
  EXPECT_EQ(replica.lost(), "");
  EXPECT_THAT(replica.told_of("replica-0"), Contains("Unreadable"));
  ASSERT_TRUE(replica.apply({work("a")}).ok());
  EXPECT_TRUE(comes_to(replica, "a", pod_phase::running, 1, std::chrono::seconds{5}));
}

TEST_F(unreadable_shard, is_served_when_it_was_put_right) {
  write(sequence, "\xff");
  replica_world replica{store_, journal()};
  ASSERT_TRUE(replica.start().ok());
  auto w = work("a");
  w.resource_group = "lab";
  EXPECT_FALSE(replica.apply({w}).ok());
  store_->commit({{}, {erase{just(sequence)}}}, [](const auto&) {});
  replica.world().advance(std::chrono::seconds{15});
  const auto how = replica.apply({w});
  EXPECT_TRUE(how.ok()) << how.status();
  EXPECT_TRUE(comes_to(replica, "a", pod_phase::running, 1, std::chrono::seconds{5}));
}

using unreadable_record = unreadable;

TEST_F(unreadable_record, leaves_the_rest_of_its_shard_to_be_served) {
  write("w/lab.0/x", "\xff");
  replica_world replica{store_, journal()};
  ASSERT_TRUE(replica.start().ok());
  EXPECT_THAT(replica.told_of("x"), Contains("Unreadable"));
  auto w = work("a");
  w.resource_group = "lab";
  ASSERT_TRUE(replica.apply({w}).ok());
  EXPECT_TRUE(comes_to(replica, "a", pod_phase::running, 1, std::chrono::seconds{5}));
  EXPECT_EQ(stored("w/lab.0/x"), "\xff");
}

TEST_F(unreadable_record, keeps_its_name_in_every_resource_group) {
  const auto name = in_first_shard("x");
  const auto key = "w/lab.0/" + name;
  write(key, "\xff");
  replica_world replica{store_, journal()};
  ASSERT_TRUE(replica.start().ok());
  const auto taken = replica.apply({work(name)});
  EXPECT_THAT(std::string(taken.status().message()), HasSubstr("the name is taken"));
  EXPECT_TRUE(absl::IsDataLoss(replica.remove(object_kind::workload, name)));
  EXPECT_TRUE(replica.remove(object_kind::workload, name, true).ok());
  replica.world().advance(std::chrono::seconds{2});
  EXPECT_EQ(stored(key), "");
  EXPECT_TRUE(replica.apply({work(name)}).ok());
}

TEST_F(unreadable_record, of_any_other_kind_is_removed_by_force_alone) {
  const auto few = in_first_shard("few");
  const auto web = in_first_shard("web");
  const auto gone = in_first_shard("gone");
  for (const auto& key : {"b/lab.0/" + few, "p/lab.0/" + web, "l/lab.0/" + gone})
    write(key, "\xff");
  replica_world replica{store_, journal()};
  ASSERT_TRUE(replica.start().ok());
  for (const auto& [kind, name, key] :
       {std::tuple{object_kind::disruption_budget, few, "b/lab.0/" + few},
        std::tuple{object_kind::placement, web, "p/lab.0/" + web},
        std::tuple{object_kind::node, gone, "l/lab.0/" + gone}}) {
    EXPECT_TRUE(absl::IsDataLoss(replica.remove(kind, name))) << key;
    EXPECT_EQ(stored(key), "\xff");
    const auto removed = replica.remove(kind, name, true);
    EXPECT_TRUE(removed.ok()) << key << removed;
    EXPECT_EQ(stored(key), "") << key;
  }
}

TEST_F(unreadable_record, is_a_queue_of_a_cycle) {
  const auto queue_below = [](const std::string& name, const std::string& parent) {
    queue q;
    q.name = name;
    q.parent = parent;
    return q;
  };
  const auto first = encode(queue_below("first", "second"));
  write("q/main/queue/first", first);
  write("q/main/queue/second", encode(queue_below("second", "first")));
  write("q/main/queue/below", encode(queue_below("below", "first")));
  replica_world replica{store_, journal()};
  ASSERT_TRUE(replica.start().ok());
  EXPECT_THAT(replica.told_of("first"), Contains("Unreadable"));
  EXPECT_THAT(replica.told_of("second"), Contains("Unreadable"));
  EXPECT_THAT(replica.told_of("below"), testing::Not(Contains("Unreadable")));
  ASSERT_TRUE(replica.apply({work_in("below", 1)}).ok());
  EXPECT_TRUE(comes_to(replica, "below-work", pod_phase::running, 1, std::chrono::seconds{5}));
  EXPECT_EQ(stored("q/main/queue/first"), first);

  const auto refused = replica.remove(object_kind::queue, "first");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("first -> second -> first"));
  ASSERT_TRUE(replica.remove(object_kind::queue, "first", true).ok());
  ASSERT_TRUE(replica.remove(object_kind::queue, "second", true).ok());
  EXPECT_TRUE(replica.apply({queue_below("first", "second")}).ok());
}

TEST_F(unreadable_record, of_a_slot_page_sets_its_workload_aside) {
  {
    replica_world replica{store_, journal()};
    ASSERT_TRUE(replica.start().ok());
    ASSERT_TRUE(replica.apply({work("a")}).ok());
    ASSERT_TRUE(comes_to(replica, "a", pod_phase::running, 1, std::chrono::seconds{5}));
  }
  const auto key = key_of("w", "a");
  const auto shard = std::string(keys::shard_of(key));
  write(keys::slot_page(shard, "a", 1), "\xff");
  replica_world replica{store_, journal()};
  ASSERT_TRUE(replica.start().ok());
  EXPECT_TRUE(absl::IsDataLoss(replica.remove(object_kind::workload, "a")));
  ASSERT_TRUE(replica.remove(object_kind::workload, "a", true).ok());
  EXPECT_TRUE(
    replica.world().advance_until([&] { return stored(key).empty(); }, std::chrono::minutes{1}));
  EXPECT_EQ(stored(keys::slot_page(shard, "a", 1)), "");
}

TEST_F(unreadable_record, leaves_its_pods_to_nobody_as_victims) {
  {
    replica_world replica{store_, journal()};
    ASSERT_TRUE(replica.start().ok());
    ASSERT_TRUE(replica.apply({work("a")}).ok());
    ASSERT_TRUE(comes_to(replica, "a", pod_phase::running, 1, std::chrono::seconds{5}));
  }
  write(key_of("w", "a"), "\xff");
  replica_world replica{store_, journal()};
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply({work("urgent", 100)}).ok());
  replica.world().advance(std::chrono::seconds{5});
  EXPECT_EQ(replica.pods("urgent", pod_phase::running), 0U)
    << "there is room for one, and it stays";
  EXPECT_EQ(replica.pods("a", pod_phase::running), 1U);
  ASSERT_TRUE(replica.remove(object_kind::workload, "a", true).ok());
  EXPECT_TRUE(comes_to(replica, "urgent", pod_phase::running, 1, std::chrono::minutes{1}));
}

} // namespace

} // namespace reprieve
