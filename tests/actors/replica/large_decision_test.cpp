#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "tests/actors/replica/replica_test.hpp"
#include "tests/support/archive_check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using std::chrono::seconds;

constexpr int nodes = 1000;
constexpr int gpus_per_node = 3;
constexpr int victims = nodes * gpus_per_node;

/// A gang of 1,000 that takes a whole cluster of 3,000 lone pods: more than one transaction takes,
/// at every step.
class large_decision : public replica_test {
protected:
  /// Every node is full of pods that are worth less.
  static void fill(replica_world& replica) {
    ASSERT_TRUE(replica.start().ok());
    apply_request request;
    for (int i = 0; i < nodes; ++i)
      request.objects.emplace_back(machine(fmt::format("n{:04}", i), gpus_per_node));
    auto cheap = played(work("cheap", 0, victims), "stop-takes", "2s");
    cheap.resume.policy = resume_policy::never;
    request.objects.emplace_back(cheap);
    ASSERT_TRUE(replica.apply(request.objects).ok());
    ASSERT_TRUE(comes_to(replica, "cheap", pod_phase::running, victims, seconds{60}));
  }

  static workload thousand() {
    auto gang = work("thousand", 10, nodes);
    gang.groups[0].min_count = nodes;
    gang.groups[0].pods.requests = {{"gpu", gpus_per_node * 1000}};
    return gang;
  }

  void expect_each_stopped_once() const {
    const auto told = read_account(journal());
    EXPECT_EQ(told.stopped.size(), static_cast<std::size_t>(victims));
    EXPECT_TRUE(std::ranges::all_of(told.stopped, [](const auto& one) { return one.second == 1; }));
    EXPECT_TRUE(std::ranges::all_of(told.started, [](const auto& one) { return one.second == 1; }));
    EXPECT_EQ(told.started.size(), static_cast<std::size_t>(victims + nodes));
  }
};

TEST_F(large_decision, is_carried_out_whole) {
  replica_world replica(store_, journal());
  fill(replica);

  ASSERT_TRUE(replica.apply({thousand()}).ok());
  ASSERT_TRUE(comes_to(replica, "thousand", pod_phase::running, nodes, seconds{60}));

  EXPECT_EQ(replica.pods("cheap", pod_phase::running), 0U);
  expect_each_stopped_once();
}

TEST_F(large_decision, goes_on_when_its_process_dies_while_victims_are_told) {
  {
    replica_world replica(store_, journal());
    fill(replica);
    ASSERT_TRUE(replica.apply({thousand()}).ok());
    ASSERT_TRUE(replica.world().advance_until(
      [&] { return replica.pods("cheap", pod_phase::terminating) > 0; }, seconds{60}));
  }
  replica_world another(store_, journal(), seconds{300});
  ASSERT_TRUE(another.start().ok());
  ASSERT_TRUE(comes_to(another, "thousand", pod_phase::running, nodes, seconds{120}));
  expect_each_stopped_once();
}

/// A gang whose pods have names so long that the decision stands in several chunks.
TEST_F(large_decision, leaves_nothing_behind_where_its_process_dies_before_the_commit) {
  constexpr int pods = 1500;
  const std::string long_name(63, 'x');
  const auto keys_below = [&](std::string_view prefix) {
    std::vector<key_value> found;
    store_->read({with_prefix(std::string(prefix)), 0, 0, false},
                 [&](auto answer) { found = std::move(answer->values); });
    return found;
  };
  {
    replica_world replica(store_, journal());
    ASSERT_TRUE(replica.start().ok());
    std::vector<object> all;
    for (int i = 0; i < pods; ++i)
      all.emplace_back(machine(fmt::format("n{:04}", i), 1));
    all.emplace_back(work("cheap", 0, pods));
    ASSERT_TRUE(replica.apply(all).ok());
    ASSERT_TRUE(comes_to(replica, "cheap", pod_phase::running, pods, seconds{60}));
    auto heavy = work(long_name, 10, pods);
    heavy.groups[0].min_count = pods;
    ASSERT_TRUE(replica.apply({heavy}).ok());
    for (int i = 0; i < 1'000'000 && keys_below(keys::drafts).empty(); ++i)
      if (!replica.world().step())
        replica.world().pass(std::chrono::milliseconds{1});
    ASSERT_EQ(keys_below(keys::drafts).size(), 1U);
  }
  const std::string id(keys::last_part(keys_below(keys::drafts).front().key));
  EXPECT_GT(keys_below(keys::bodies_of(id)).size(), 1U);
  replica_world another(store_, journal(), seconds{300});
  ASSERT_TRUE(another.start().ok());
  EXPECT_TRUE(keys_below(keys::drafts).empty());
  EXPECT_TRUE(keys_below(keys::bodies_of(id)).empty());
  ASSERT_TRUE(comes_to(another, long_name, pod_phase::running, pods, seconds{120}));
  another.world().advance(seconds{5});
  EXPECT_EQ(faults_of_archive(keys_below("d/")), std::vector<std::string>{});
}

/// A gang that fits into what is free, on more nodes of a shard than one transaction takes.
class large_gang : public replica_test {
protected:
  static constexpr int size = 600;

  static workload many() {
    auto gang = played(work("many", 10, size), "run-for", "2s");
    gang.groups[0].min_count = size;
    return gang;
  }

  /// How many of its pods the store has, in whatever phase.
  std::size_t known_to_the_store() const {
    std::size_t pods = 0;
    store_->read({with_prefix("n/"), 0, 0, false}, [&](const auto& found) {
      for (const auto& one : found->values)
        if (const auto record = decode<node_record>(one.value); record.ok())
          pods += record->pods.size();
    });
    return pods;
  }
};

TEST_F(large_gang, is_placed_whole_and_each_pod_once_when_its_process_dies_in_between) {
  for (const std::size_t at : {1U, 127U, 400U}) {
    store_ = std::make_shared<memory_store>();
    const auto machines = fmt::format("{}-{}", journal(), at);
    {
      replica_world replica(store_, machines);
      ASSERT_TRUE(replica.start().ok());
      std::vector<object> objects;
      for (int i = 0; i < size; ++i)
        objects.emplace_back(machine(fmt::format("n{:04}", i), 1));
      ASSERT_TRUE(replica.apply(objects).ok());
      ASSERT_TRUE(replica.apply({many()}).ok());
      while (known_to_the_store() < at)
        if (!replica.world().step())
          replica.world().pass(std::chrono::milliseconds{1});
    }
    replica_world another(store_, machines, seconds{300});
    ASSERT_TRUE(another.start().ok());
    ASSERT_TRUE(another.world().advance_until(
      [&] { return read_account(machines).started.size() == static_cast<std::size_t>(size); },
      seconds{120}))
      << read_account(machines).started.size() << " of them were started after " << at;
    another.world().advance(seconds{30});
    const auto told = read_account(machines);
    EXPECT_TRUE(std::ranges::all_of(told.started, [](const auto& one) { return one.second == 1; }));
  }
}

} // namespace

} // namespace reprieve
