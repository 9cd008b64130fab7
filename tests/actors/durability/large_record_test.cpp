#include "actors/node_shard/node_writes.hpp"
#include "state/records/keys.hpp"
#include "state/records/record_limits.hpp"
#include "tests/actors/replica/replica_test.hpp"

namespace reprieve {

namespace {

using std::chrono::seconds;

/// Pods that bring so many bytes each for people and other tools.
workload heavy(std::string name, std::int32_t priority, std::int32_t pods, std::size_t bytes) {
  auto w = work(std::move(name), priority, pods);
  w.groups[0].pods.annotations["note"] = std::string(bytes, 'x');
  return w;
}

class large_records : public replica_test {
protected:
  void SetUp() override {
    ASSERT_TRUE(replica_.start().ok());
  }

  std::size_t largest_node_record() {
    std::size_t largest = 0;
    store_->read({with_prefix("n/"), 0, 0, false}, [&](const auto& answer) {
      for (const auto& one : answer->values)
        largest = std::max(largest, one.value.size());
    });
    return largest;
  }

  std::size_t running(const std::string& workload) {
    return replica_.pods(workload, pod_phase::running);
  }

  replica_world replica_{store_, journal()};
};

TEST_F(large_records, of_nodes_take_as_many_pods_as_they_have_room_for) {
  ASSERT_TRUE(replica_.apply({machine("n1", 100), machine("n2", 100)}).ok());
  ASSERT_TRUE(replica_.apply({heavy("notes", 0, 30, 50'000)}).ok());
  const auto on_a_node = record_limits::staying_pods_bytes / 50'600;
  ASSERT_TRUE(comes_to(replica_, "notes", pod_phase::running, 2 * on_a_node, seconds{30}));
  replica_.world().advance(seconds{10});
  EXPECT_EQ(running("notes"), 2 * on_a_node) << "the others wait";
  EXPECT_LE(largest_node_record(), record_limits::all_pods_bytes);
  // Whoever is more important takes their places, also while both stand in the record.
  ASSERT_TRUE(replica_.apply({heavy("urgent", 10, 4, 50'000)}).ok());
  EXPECT_TRUE(comes_to(replica_, "urgent", pod_phase::running, 4, seconds{60}));
  EXPECT_LE(largest_node_record(), record_limits::all_pods_bytes);
  // When somebody has gone, others come.
  ASSERT_TRUE(replica_.remove(object_kind::workload, "urgent").ok());
  EXPECT_TRUE(comes_to(replica_, "notes", pod_phase::running, 2 * on_a_node, seconds{120}));
}

TEST_F(large_records, of_nodes_are_told_by_the_nodes_status_until_something_leaves) {
  ASSERT_TRUE(replica_.apply({machine("n1", 100)}).ok());
  ASSERT_TRUE(replica_.apply({heavy("notes", 0, 20, 60'000)}).ok());
  ASSERT_TRUE(comes_to(replica_, "notes", pod_phase::running, 9, seconds{30}));
  const auto full = replica_.get(object_kind::node, "n1");
  ASSERT_FALSE(full.empty());
  EXPECT_EQ(full.front().node->most_pods, 9);
  const auto why = replica_.explain_workload("notes");
  ASSERT_TRUE(why.ok());
  ASSERT_EQ(why->notes.size(), 1U);
  EXPECT_TRUE(
    why->notes.front().starts_with("node n1 takes 9 pods at present, as what these bring"))
    << why->notes.front();
  ASSERT_TRUE(replica_.remove(object_kind::workload, "notes").ok());
  ASSERT_TRUE(replica_.apply({work("small", 0, 50)}).ok());
  EXPECT_TRUE(comes_to(replica_, "small", pod_phase::running, 50, seconds{120}));
  const auto open = replica_.get(object_kind::node, "n1");
  EXPECT_FALSE(open.front().node && open.front().node->most_pods);
}

TEST_F(large_records, of_workloads_keep_their_slots_in_pages) {
  const auto page_size = std::exchange(slot_list::page_size, 16);
  ASSERT_TRUE(replica_.apply({machine("n1", 300)}).ok());
  ASSERT_TRUE(replica_.apply({work("many", 0, 100)}).ok());
  ASSERT_TRUE(comes_to(replica_, "many", pod_phase::running, 100, seconds{60}));
  for (int round = 1; round <= 2; ++round) {
    auto gang = work("gang" + std::to_string(round), 10, 50);
    gang.groups[0].min_count = 50;
    gang.groups[0].pods.requests = {{"gpu", 6000}};
    ASSERT_TRUE(replica_.apply({gang}).ok());
    ASSERT_TRUE(comes_to(replica_, gang.name, pod_phase::running, 50, seconds{120})) << round;
    ASSERT_TRUE(replica_.remove(object_kind::workload, gang.name).ok());
    ASSERT_TRUE(comes_to(replica_, "many", pod_phase::running, 100, seconds{300})) << round;
  }
  std::size_t pages = 0;
  store_->read({with_prefix(std::string(keys::slot_pages)), 0, 0, false}, [&](const auto& answer) {
    pages = answer->values.size();
    for (const auto& one : answer->values)
      EXPECT_LT(one.value.size(), 100'000U);
  });
  EXPECT_GE(pages, 3U);
  ASSERT_TRUE(replica_.remove(object_kind::workload, "many").ok());
  ASSERT_TRUE(replica_.world().advance_until(
    [&] { return replica_.get(object_kind::workload, "many").empty(); }, seconds{120}));
  store_->read({with_prefix(std::string(keys::slot_pages)), 0, 0, false},
               [&](const auto& answer) { EXPECT_TRUE(answer->values.empty()); });
  slot_list::page_size = page_size;
}

TEST_F(large_records, that_the_store_does_not_take_are_refused_and_everything_goes_on) {
  ASSERT_TRUE(replica_.apply({machine("n1", 8), work("first")}).ok());
  replica_.faults().fault_at(0, faulty_store::fault::too_large);
  const auto refused = replica_.apply({work("second")}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_TRUE(replica_.get(object_kind::workload, "second").empty());
  ASSERT_TRUE(replica_.apply({work("second")}).ok());
  EXPECT_TRUE(comes_to(replica_, "second", pod_phase::running, 1, seconds{10}));
  EXPECT_EQ(running("first"), 1U);
}

} // namespace

} // namespace reprieve
