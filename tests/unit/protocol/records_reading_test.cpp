#include "protocol/records/records_reading.hpp"

#include <gtest/gtest.h>
#include <reprieve/v1/records.pb.h>

#include <string>

namespace reprieve {

namespace {

constexpr const char* key = "n/default.0/n1";

pod standing(const std::string& name, pod_phase phase) {
  pod p;
  p.uid = name + ".1";
  p.name = name;
  p.workload = "w";
  p.group = "g";
  p.node = "n1";
  p.phase = phase;
  p.requests["gpu"] = 2000;
  return p;
}

node_record two_pods() {
  node_record record;
  node spec;
  spec.name = "n1";
  spec.capacity["gpu"] = 8000;
  record.spec = spec;
  put_pod(record, standing("one", pod_phase::running));
  put_pod(record, standing("two", pod_phase::running));
  return record;
}

std::string refusal(std::string_view at, const std::string& bytes) {
  return std::string(check_stored(at, bytes).message());
}

TEST(stored_record, is_of_the_object_that_its_key_names) {
  const auto bytes = encode(two_pods());
  EXPECT_EQ(refusal(key, bytes), "");
  EXPECT_EQ(refusal("n/default.0/n2", bytes), "it is of n1, not of n2");
  EXPECT_EQ(refusal("n/lab.0/n1", bytes), "it is of resource group 'default', not of lab");
  EXPECT_EQ(refusal(key, ""), "it does not say of which object it is");
}

TEST(stored_record, of_a_workload_lacks_no_part) {
  workload_record record;
  workload spec;
  spec.name = "job";
  spec.groups.resize(1);
  spec.groups[0].name = "g";
  record.spec = spec;
  record.status.uid = "u";
  record.status.by_group.resize(1);
  const auto* at = "w/default.0/job";
  EXPECT_EQ(refusal(at, encode(record)), "");
  auto without = record;
  without.status.uid.clear();
  EXPECT_EQ(refusal(at, encode(without)), "status: it has no uid");
  without = record;
  without.status.by_group.clear();
  EXPECT_EQ(refusal(at, encode(without)),
            "status: it has the priorities of 0 pod groups, and the workload 1 groups");
  spec.groups[0].count = 2'000'000'000;
  spec.groups[0].replicas = 2'000'000'000;
  record.spec = spec;
  EXPECT_EQ(refusal(at, encode(record)), "it asks for more than 16000000 pods");
}

TEST(salvaged_node, has_the_pods_that_can_be_read) {
  v1::NodeRecord record;
  ASSERT_TRUE(record.ParseFromString(encode(two_pods())));
  (*record.mutable_node()->mutable_capacity())["gpu"] = -1;
  const auto found = salvage_node(key, record.SerializeAsString());
  EXPECT_FALSE(found.hides_pods);
  EXPECT_EQ(found.record.pods.size(), 2U);
  EXPECT_EQ(found.record.spec->name, "n1");
  EXPECT_FALSE(found.record.spec->schedulable);
  EXPECT_EQ(found.record.spec->capacity, (resources{{"gpu", 4000}})) << "what its pods take";
  for (const auto& p : found.record.pods)
    EXPECT_TRUE(p.daemon) << "which nobody takes away";
}

TEST(salvaged_node, says_where_there_may_be_others) {
  const auto bytes = encode(two_pods());
  EXPECT_TRUE(salvage_node(key, bytes.substr(0, bytes.size() - 3)).hides_pods);
  EXPECT_EQ(salvage_node(key, bytes.substr(0, bytes.size() - 3)).record.pods.size(), 1U);
  EXPECT_TRUE(salvage_node(key, "").hides_pods);
  EXPECT_TRUE(salvage_node(key, "\xff\xff").hides_pods);
  v1::NodeRecord record;
  ASSERT_TRUE(record.ParseFromString(bytes));
  record.mutable_pods(0)->set_phase(static_cast<v1::PodPhase>(99));
  EXPECT_TRUE(salvage_node(key, record.SerializeAsString()).hides_pods);
}

TEST(salvaged_node, has_nobody_who_had_not_begun) {
  auto record = two_pods();
  put_pod(record, standing("coming", pod_phase::nominated));
  EXPECT_EQ(salvage_node(key, encode(record)).record.pods.size(), 2U);
}

TEST(salvaged_workload, only_goes) {
  v1::WorkloadRecord record;
  record.mutable_workload()->set_queue("train");
  record.mutable_status()->set_uid("u7");
  const auto found = salvage_workload("w/lab.0/job", record.SerializeAsString() + "\xff");
  EXPECT_EQ(found.spec->name, "job");
  EXPECT_EQ(found.spec->resource_group, "lab");
  EXPECT_EQ(found.spec->queue, "train");
  EXPECT_EQ(found.status.uid, "u7");
  EXPECT_TRUE(found.deleting);
  EXPECT_EQ(refusal("w/lab.0/job", encode(found)), "");
}

} // namespace

} // namespace reprieve
