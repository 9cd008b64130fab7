#include "protocol/backup/restore.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "state/store/memory/memory_store.hpp"
#include "tests/support/faulty_store.hpp"
#include "tests/unit/protocol/backup_bytes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <sstream>

namespace reprieve {

namespace {

using std::chrono::microseconds;
using fault = faulty_store::fault;

const time_point now{std::chrono::seconds{1'800'000'000}};

std::vector<backup_record> with_schema(std::map<std::string, std::string> records,
                                       const schema_record& schema = {}) {
  records[std::string(keys::schema)] = encode(schema);
  std::vector<backup_record> all;
  for (auto& [key, value] : records)
    all.push_back({key, std::move(value)});
  return all;
}

/// So many records, before and behind the schema.
std::vector<backup_record> many(int count, std::size_t bytes = 10) {
  std::map<std::string, std::string> records;
  for (int i = 0; i < count; ++i)
    records[(i % 2 == 0 ? "b/" : "w/") + std::to_string(i)] = std::string(bytes, 'x');
  return with_schema(std::move(records));
}

/// A store that counts what goes through, in front of one in memory.
class restored : public testing::Test {
protected:
  absl::Status put_back(const std::vector<backup_record>& records,
                        const backup_header& about = some_header(),
                        std::chrono::milliseconds patience = std::chrono::seconds{10}) {
    std::istringstream in(backup_bytes(records, about));
    return restore(in, *front_, {now, patience});
  }

  std::map<std::string, std::string> contents() {
    std::map<std::string, std::string> found;
    memory_->read({with_prefix({})}, [&](absl::StatusOr<range_result> all) {
      for (const auto& one : all->values)
        found[one.key] = one.value;
    });
    return found;
  }

  schema_record schema() {
    return decode<schema_record>(contents().at(std::string(keys::schema))).value();
  }

  void write(const std::string& key) {
    memory_->commit({{}, {put{key, "x"}}}, [](const auto& done) { ASSERT_TRUE(done.ok()); });
  }

  /// All records are there, as they are in the file; and nothing else.
  void expect_restored(const std::vector<backup_record>& records) {
    auto found = contents();
    EXPECT_EQ(found.size(), records.size());
    for (const auto& one : records)
      if (one.key != keys::schema) {
        EXPECT_EQ(found[one.key], one.value) << one.key;
      }
    EXPECT_TRUE(found.contains(std::string(keys::schema)));
  }

  std::shared_ptr<memory_store> memory_ = std::make_shared<memory_store>();
  std::shared_ptr<faulty_store> front_ = std::make_shared<faulty_store>(memory_);
};

TEST_F(restored, has_what_the_backup_has) {
  const auto records = many(1000);
  ASSERT_TRUE(put_back(records).ok());
  expect_restored(records);
}

TEST_F(restored, is_written_within_the_limits_of_the_store_however_large_the_records) {
  auto records = many(12, 600'000);
  records.push_back({"z", std::string(store_limits::bytes - 100, 'x')});
  const auto how = put_back(records);
  ASSERT_TRUE(how.ok()) << how;
  expect_restored(records);
}

TEST_F(restored, of_a_cluster_with_nothing_in_it_has_its_schema) {
  ASSERT_TRUE(put_back(with_schema({}, {1, "c", now, 3, 5})).ok());
  EXPECT_EQ(schema().cluster, "c");
  EXPECT_EQ(schema().node_shards, 3U);
  EXPECT_EQ(schema().workload_shards, 5U);
}

TEST_F(restored, counts_its_epochs_on_from_behind_all_that_can_have_been) {
  ASSERT_TRUE(put_back(many(1)).ok());
  EXPECT_EQ(schema().epoch_base, 1'800'000'000'000'000);
}

TEST_F(restored, counts_its_epochs_on_even_where_the_clock_is_behind) {
  schema_record before;
  before.epoch_base = 1'900'000'000'000'000;
  auto about = some_header();
  about.at = 77;
  ASSERT_TRUE(put_back(with_schema({}, before), about).ok());
  EXPECT_EQ(schema().epoch_base, 1'900'000'000'000'077);
}

TEST_F(restored, is_not_what_is_in_use_already) {
  ASSERT_TRUE(put_back(with_schema({}, {1, "mine", now, 3, 5})).ok());
  const auto again = put_back(many(1));
  EXPECT_EQ(again.message(),
            "the store holds a cluster already (id mine); a backup is restored into an empty store "
            "only: give another, or empty this one");
  EXPECT_EQ(schema().cluster, "mine");
}

TEST_F(restored, is_not_where_anything_else_is) {
  write("something");
  const auto how = put_back(many(1));
  EXPECT_EQ(how.message(),
            "the store has records (such as something) but no meta/schema: a restore into it did "
            "not come to its end, or something else writes there; empty it, then restore again");
  EXPECT_EQ(contents().size(), 1U);
}

TEST_F(restored, in_part_is_known_as_such_wherever_it_was_interrupted) {
  const auto records = many(600);
  ASSERT_TRUE(put_back(records).ok());
  const auto writes = front_->writes();
  ASSERT_GT(writes, 4U);
  for (std::size_t last = 1; last < writes; ++last) {
    memory_ = std::make_shared<memory_store>();
    front_ = std::make_shared<faulty_store>(memory_);
    for (std::size_t i = last; i < writes + 100; ++i)
      front_->fault_at(i, fault::refused);
    const auto how = put_back(records, some_header(), std::chrono::milliseconds{0});
    EXPECT_NE(how.message().find("empty it, then restore again"), absl::string_view::npos) << how;
    EXPECT_FALSE(contents().contains(std::string(keys::schema))) << last;
    front_ = std::make_shared<faulty_store>(memory_);
    const auto again = put_back(records);
    EXPECT_NE(again.message().find("did not come to its end"), absl::string_view::npos) << again;
  }
}

TEST_F(restored, has_every_record_once_whatever_becomes_of_the_answers) {
  const auto records = many(600);
  for (const auto what : {fault::refused, fault::answer_lost, fault::carried_out_late})
    for (std::size_t n = 0; n < 6; ++n) {
      memory_ = std::make_shared<memory_store>();
      front_ = std::make_shared<faulty_store>(memory_);
      front_->fault_at(n, what);
      const auto how = put_back(records);
      ASSERT_TRUE(how.ok()) << how;
      front_->let_late_writes_through();
      expect_restored(records);
    }
}

TEST_F(restored, stops_when_a_replica_begins_to_use_the_store) {
  std::istringstream in(backup_bytes(many(600)));
  // As if the second write waited for its answer while a replica created its cluster.
  struct intruder final : forwarding_store {
    using forwarding_store::forwarding_store;
    void commit(transaction writes, store_callback<transaction_result> done) override {
      if (++calls == 2)
        behind().commit({{}, {put{std::string(keys::schema), encode(schema_record{})}}},
                        [](const auto&) {});
      behind().commit(std::move(writes), std::move(done));
    }
    int calls = 0;
  } between(memory_);
  const auto how = restore(in, between, {now, std::chrono::seconds{10}});
  EXPECT_EQ(how.message(), "somebody else writes into the store; the store may have a part of the "
                           "backup in it: empty it, then restore again");
}

TEST_F(restored, from_a_damaged_file_is_not_usable) {
  auto bytes = backup_bytes(many(600));
  bytes[bytes.size() / 2] ^= 1;
  std::istringstream in(bytes);
  EXPECT_FALSE(restore(in, *front_, {now}).ok());
  EXPECT_FALSE(contents().contains(std::string(keys::schema)));
}

TEST(check_backup, refuses_epochs_to_which_no_cluster_can_have_come) {
  const auto said_of = [](revision base, revision at) {
    auto about = some_header();
    about.at = at;
    schema_record schema;
    schema.epoch_base = base;
    std::istringstream in(backup_bytes({{std::string(keys::schema), encode(schema)}}, about));
    return std::string(check_backup(in, now).status().message());
  };
  const auto microseconds =
    std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  EXPECT_EQ(said_of(microseconds, 1000), "");
  const auto three_days = std::chrono::microseconds{std::chrono::days{3}}.count();
  for (const auto& [base, at] : {std::pair{microseconds + three_days, revision{1}},
                                 {revision{1} << 62, revision{1} << 62},
                                 {revision{0}, std::numeric_limits<revision>::max()}})
    EXPECT_NE(said_of(base, at).find("to which no cluster can have come"), std::string::npos);
}

TEST(check_backup, tells_what_is_in_a_good_one) {
  std::istringstream in(backup_bytes(with_schema({{"seq/a", encode(sequence_record{})},
                                                  {"seq/b", encode(sequence_record{})},
                                                  {"seq/c", encode(sequence_record{})}})));
  const auto found = check_backup(in, now);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->count, 4);
  EXPECT_EQ(found->about, some_header());
}

TEST(check_backup, refuses_a_schema_of_a_later_time) {
  std::istringstream in(backup_bytes(with_schema({{"w/a", "x"}}, {schema_version + 1, "c"})));
  EXPECT_EQ(
    check_backup(in, now).status().message(),
    fmt::format(
      "the backup has schema version {}, this program knows versions up to {}; use a newer one",
      schema_version + 1, schema_version));
}

TEST(check_backup, refuses_what_is_of_no_cluster) {
  std::istringstream in(
    backup_bytes(std::vector<backup_record>{{"seq/a", encode(sequence_record{})}}));
  EXPECT_EQ(check_backup(in, now).status().message(),
            "the backup has no record at meta/schema; it is of no cluster");
  std::istringstream unreadable(
    backup_bytes(std::vector<backup_record>{{std::string(keys::schema), "\xff"}}));
  EXPECT_NE(check_backup(unreadable, now).status().message().find("can't be read"),
            absl::string_view::npos);
}

TEST(check_backup, refuses_a_schema_without_shards) {
  std::istringstream in(backup_bytes(with_schema({}, {schema_version, "c", now, 0, 2})));
  EXPECT_EQ(check_backup(in, now).status().message(),
            "the backup's record at meta/schema can't be read: it gives each resource group 0 node "
            "shards; there are 1 to 1024 of them");
}

TEST(check_backup, refuses_queues_that_are_no_tree) {
  const auto why = [](const std::vector<std::pair<std::string, std::string>>& queues) {
    std::map<std::string, std::string> records;
    for (const auto& [name, parent] : queues) {
      queue q;
      q.name = name;
      q.parent = parent;
      records["q/main/queue/" + name] = encode(q);
    }
    std::istringstream in(backup_bytes(with_schema(std::move(records))));
    return std::string(check_backup(in, now).status().message());
  };
  EXPECT_EQ(why({{"a", ""}, {"b", "a"}, {"c", "b"}}), "");
  EXPECT_EQ(why({{"a", "gone"}}), "");
  EXPECT_EQ(why({{"a", "a"}}), "the backup has queues whose parents lead back to themselves: "
                               "a -> a; nothing is restored from it");
  EXPECT_EQ(why({{"a", "b"}, {"b", "a"}, {"c", "a"}, {"d", "d"}}),
            "the backup has queues whose parents lead back to themselves: a -> b -> a, d -> d; "
            "nothing is restored from it");
}

TEST(check_backup, refuses_a_record_that_nobody_could_read) {
  workload_record record;
  workload spec;
  spec.name = "train";
  spec.groups.emplace_back();
  record.spec = spec;
  record.status.uid = "u";
  const auto why = [&](const std::string& key, std::string value) {
    std::istringstream in(backup_bytes(with_schema({{key, std::move(value)}})));
    return std::string(check_backup(in, now).status().message());
  };
  EXPECT_EQ(why("w/default.0/train", encode(record)),
            "the backup's record at w/default.0/train can't be read: status: it has the priorities "
            "of 0 pod groups, and the workload 1 groups; nothing is restored from it");
  record.status.by_group.emplace_back();
  EXPECT_EQ(why("w/default.0/train", encode(record)), "");
  for (const auto* key : {"n/default.0/n1", "l/default.0/n1", "b/default.0/b", "p/default.0/p",
                          "slots/default.0/train/00000001", "q/main/queue/a", "q/main/class/a",
                          "q/main/group/a", "q/main/quota/a", "d/open/1.1"})
    EXPECT_NE(why(key, "\xff\xff").find("can't be read"), std::string::npos) << key;
}

} // namespace

} // namespace reprieve
