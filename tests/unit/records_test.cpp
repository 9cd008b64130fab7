#include "protocol/records.hpp"
#include "tests/support/generators.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

template <class T>
T drawn() {
  return *rc::gen::arbitrary<T>();
}

TEST(records, of_a_node_come_back_as_they_were) {
  EXPECT_TRUE(rc::check([] {
    node_record record{drawn<node>(), {}, drawn<node_status>()};
    for (int i = 0; i < 2; ++i)
      put_pod(record, drawn<pod>());
    const auto read = decode<node_record>(encode(record));
    RC_ASSERT(read.ok());
    RC_ASSERT(*read == record);
  }));
}

TEST(records, of_a_workload_come_back_as_they_were) {
  EXPECT_TRUE(rc::check([] {
    workload_record record{drawn<workload>(), drawn<workload_status>(), {}, true};
    record.slots.push_back({{"g", 1, 2}, 3, slot_state::stopped, "d1"});
    const auto read = decode<workload_record>(encode(record));
    RC_ASSERT(read.ok());
    RC_ASSERT(*read == record);
  }));
}

TEST(records, of_a_decision_come_back_from_head_and_chunks) {
  EXPECT_TRUE(rc::check([] {
    auto d = drawn<decision>();
    for (int i = 0; i < 5; ++i)
      d.assignments.push_back(drawn<assignment>());
    // Small chunks, so that there are several.
    const auto chunks = encode_bodies(d, shared_pods(d.assignments), 200);
    const auto head = head_of(d, static_cast<std::uint32_t>(chunks.size()));
    auto read = decode<decision_head>(encode(head));
    RC_ASSERT(read.ok());
    RC_ASSERT(read->chunks == chunks.size());
    RC_ASSERT(read->evicted == head.evicted);
    for (const auto& chunk : chunks)
      RC_ASSERT(add_body(read->summary, chunk).ok());
    RC_ASSERT(read->summary == d);
  }));
}

TEST(records, that_are_something_else_are_refused) {
  EXPECT_FALSE(decode<node_record>("\xff\xff\xff").ok());
  EXPECT_FALSE(decode<schema_record>("\x0a").ok());
}

TEST(records, of_a_slot_with_a_negative_number_are_refused) {
  workload_record record;
  record.slots.push_back({{"g", 0, -1}, 0, slot_state::stopped, ""});
  const auto read = decode<workload_record>(encode(record));
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("index: -1 is negative"), std::string::npos)
    << read.status().message();
}

TEST(records, of_owner_sequence_and_schema_come_back_as_they_were) {
  const auto owner = decode<owner_record>(
    encode(owner_record{"r", "h:1", "h:2", time_point{std::chrono::hours{1}}, {"a", "b"}}));
  ASSERT_TRUE(owner.ok());
  EXPECT_EQ(owner->owned.size(), 2U);
  EXPECT_EQ(owner->api, "h:2");
  const shard_owners owners{{"c/g", "r"}, {"n/g.0", "s"}};
  EXPECT_EQ(decode<owners_record>(encode(owners_record{owners, {{"g", 7}}}))->owners, owners);
  const auto sequence = decode<sequence_record>(encode(sequence_record{7, "w", {"d1", "d2"}}));
  ASSERT_TRUE(sequence.ok());
  EXPECT_EQ(sequence->number, 7);
  EXPECT_EQ(sequence->carried_out, (std::set<std::string>{"d1", "d2"}));
  const auto schema = decode<schema_record>(encode(schema_record{1, "c", no_time, 3, 2, 9}));
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ(schema->node_shards, 3U);
  EXPECT_EQ(schema->workload_shards, 2U);
  EXPECT_EQ(schema->epoch_base, 9);
}

} // namespace

} // namespace reprieve
