#include "protocol/records/records.hpp"
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

TEST(records, of_a_large_workload_come_back_from_its_own_and_its_pages) {
  workload_record record;
  record.spec.edit().name = "many";
  for (std::int32_t i = 0; i < 2000; ++i)
    record.slots.push_back({{"g", i / 100, i % 100}, 1, slot_state::stopped, "d1"});
  const auto own = decode<workload_record>(encode_without_pages(record));
  ASSERT_TRUE(own.ok());
  EXPECT_TRUE(own->slots.is_stored_in_pages());
  EXPECT_EQ(own->slots.size(), slot_list::page_size);
  std::vector<slot_page> pages;
  for (const auto& page : record.slots.pages()) {
    auto read = decode<slot_page>(encode(*page));
    ASSERT_TRUE(read.ok());
    EXPECT_LE(encode(*page).size(), 100'000U);
    read->number = page->number;
    pages.push_back(*std::move(read));
  }
  EXPECT_EQ(slot_list::of_pages(std::move(pages)), record.slots);
  const auto whole = decode<workload_record>(encode(record));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->slots, record.slots);
  EXPECT_FALSE(whole->slots.is_stored_in_pages());
}

TEST(records, of_a_decision_that_stops_a_large_gang_fit_a_transaction) {
  decision d;
  d.id = "1";
  auto& gang = d.victims.emplace_back();
  gang.portion = {"train", "workers", 0, -1};
  gang.reason = "it is less important";
  for (int i = 0; i < 40'000; ++i)
    gang.pods.push_back({"train-workers-0-" + std::to_string(i) + ".default.0-1f-2.0", "n1"});
  d.victims.push_back({{"other", "workers", 0, -1}, 0, false, 0, {{"uid", "n1"}}, "likewise"});
  const auto chunks = encode_bodies(d, {});
  EXPECT_GT(chunks.size(), 4U);
  decision read;
  read.id = "1";
  for (const auto& chunk : chunks) {
    EXPECT_LE(chunk.size(), 512U * 1024U);
    ASSERT_TRUE(add_body(read, chunk).ok());
  }
  EXPECT_EQ(read, d);
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

TEST(records, of_a_schema_with_odd_counts_of_shards_are_refused) {
  const auto refusal = [](std::uint32_t nodes, std::uint32_t workloads,
                          std::int32_t version = schema_version) {
    const auto read =
      decode<schema_record>(encode(schema_record{version, "c", no_time, nodes, workloads}));
    return std::string(read.status().message());
  };
  EXPECT_EQ(refusal(1, 1), "");
  EXPECT_EQ(refusal(most_shards, most_shards), "");
  EXPECT_EQ(refusal(0, 2),
            "it gives each resource group 0 node shards; there are 1 to 1024 of them");
  EXPECT_EQ(refusal(4, 0),
            "it gives each resource group 0 workload shards; there are 1 to 1024 of them");
  EXPECT_EQ(refusal(1025, 2),
            "it gives each resource group 1025 node shards; there are 1 to 1024 of them");
  EXPECT_EQ(refusal(4, 0xffff'ffff),
            "it gives each resource group -1 workload shards; there are 1 to 1024 of them");
  EXPECT_NE(refusal(0x7fff'ffff, 2), "");
  EXPECT_EQ(refusal(0, 0, schema_version + 1), "") << "its version is refused by who reads it";
}

} // namespace

} // namespace reprieve
