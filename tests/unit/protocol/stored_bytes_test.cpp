#include "protocol/messages/convert_decision.hpp"
#include "protocol/messages/convert_node.hpp"
#include "protocol/messages/convert_pod.hpp"

#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>
#include <reprieve/v1/records.pb.h>

#include <string_view>

namespace reprieve {
namespace {

/// Bytes as an earlier process wrote them, field by field; the numbers must never change.
template <class Record>
Record parse(std::string_view bytes) {
  Record record;
  EXPECT_TRUE(record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  EXPECT_TRUE(record.GetReflection()->GetUnknownFields(record).empty());
  return record;
}

using namespace std::string_view_literals;

TEST(stored_bytes, of_a_node_stay_readable) {
  const auto record = parse<v1::NodeRecord>("\x0a\x16"           // node, 22 bytes
                                            "\x0a\x02n1"         // name
                                            "\x12\x04pool"       // resource_group
                                            "\x2a\x08"           // capacity, an entry of 8 bytes
                                            "\x0a\x03gpu"        // its key
                                            "\x10\xc0\x3e"       // its value, 8000
                                            "\x50\x00"           // schedulable, false
                                            "\x12\x0c"           // pods, one of 12 bytes
                                            "\x0a\x02u1"         // uid
                                            "\x28\x02"           // replica
                                            "\x40\x04"           // phase, running
                                            "\xf0\x01\xe8\x07"sv // created, 1000
  );

  node expected_node;
  expected_node.name = "n1";
  expected_node.resource_group = "pool";
  expected_node.capacity = {{"gpu", 8000}};
  expected_node.schedulable = false;
  pod expected_pod;
  expected_pod.uid = "u1";
  expected_pod.replica = 2;
  expected_pod.phase = pod_phase::running;
  expected_pod.created = time_point{duration{1000}};
  ASSERT_EQ(record.pods_size(), 1);
  EXPECT_EQ(*from_proto(record.node()), expected_node);
  EXPECT_EQ(*from_proto(record.pods(0)), expected_pod);
  EXPECT_EQ(*from_proto(record.status()), node_status{}) << "older processes wrote none";
}

TEST(stored_bytes, of_a_watched_node_stay_readable) {
  const auto record = parse<v1::NodeRecord>("\x0a\x04"   // node, 4 bytes
                                            "\x0a\x02n1" // name
                                            "\x1a\x04"   // status, 4 bytes
                                            "\x08\x01"   // watched
                                            "\x10\x01"sv // lost
  );
  EXPECT_EQ(*from_proto(record.status()), (node_status{.watched = true, .lost = true}));
}

TEST(stored_bytes, of_a_workload_stay_readable) {
  const auto record = parse<v1::WorkloadRecord>("\x0a\x05"  // workload, 5 bytes
                                                "\x0a\x01t" // name
                                                "\x28\x02"  // kind, inference
                                                "\x12\x05"  // status, 5 bytes
                                                "\x0a\x01u" // uid
                                                "\x10\x09"  // generation
                                                "\x1a\x0c"  // slots, one of 12 bytes
                                                "\x0a\x01g" // group
                                                "\x18\x03"  // index
                                                "\x20\x07"  // incarnation
                                                "\x28\x02"  // state, stopped
                                                "\x32\x01"
                                                "d"sv // decision
  );

  EXPECT_EQ(record.workload().name(), "t");
  EXPECT_EQ(record.workload().kind(), v1::WORKLOAD_KIND_INFERENCE);
  EXPECT_EQ(record.status().uid(), "u");
  EXPECT_EQ(record.status().generation(), 9);
  ASSERT_EQ(record.slots_size(), 1);
  EXPECT_EQ(record.slots(0).group(), "g");
  EXPECT_EQ(record.slots(0).index(), 3);
  EXPECT_EQ(record.slots(0).incarnation(), 7u);
  EXPECT_EQ(record.slots(0).state(), v1::SLOT_STATE_STOPPED);
  EXPECT_EQ(record.slots(0).decision(), "d");
}

TEST(stored_bytes, of_a_decision_stay_readable) {
  const auto head = parse<v1::DecisionHead>("\x0a\x02"
                                            "d1"             // id
                                            "\x1a\x01t"      // workloads
                                            "\x30\x02"       // phase, committed
                                            "\x78\x03"       // chunks
                                            "\xa8\x01\x05"sv // committed, 5
  );

  EXPECT_EQ(head.chunks(), 3);
  decision expected;
  expected.id = "d1";
  expected.workloads = {"t"};
  expected.phase = decision_phase::committed;
  expected.committed = time_point{duration{5}};
  EXPECT_EQ(*from_proto(head), expected);
}

} // namespace
} // namespace reprieve
