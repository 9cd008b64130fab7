// Objects and workloads that are too large, through the real programs: each is refused with a
// sentence or has its room, and everything else goes on.

#include "tests/integration/live/live_cluster.hpp"
#include "tests/support/etcd_process.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// `key-0: v, key-1: v, …`
std::string entries(int count, const std::string& value = "v") {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += fmt::format("{}key-{}: {}", i == 0 ? "" : ", ", i, value);
  return all;
}

/// Pods of one GPU that bring so many bytes of annotations each.
std::string heavy(const std::string& name, int pods, std::size_t bytes) {
  return fmt::format("---\nkind: Workload\nmetadata: {{name: {}}}\nspec:\n"
                     "  podGroups:\n    - name: w\n      count: {}\n      template:\n"
                     "        metadata: {{annotations: {{note: {}}}}}\n"
                     "        spec: {{requests: {{gpu: 1}}}}\n",
                     name, pods, std::string(bytes, 'x'));
}

/// On the embedded store and on etcd.
class limits_live : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    if (GetParam() && !etcd_process::available())
      GTEST_SKIP() << "no etcd on this machine";
    std::vector<std::string> options;
    if (GetParam()) {
      etcd_.emplace();
      options = {"--etcd", etcd_->endpoint()};
    }
    cluster_.emplace(options);
    ASSERT_TRUE(cluster_->serves()) << cluster_->daemon().output();
  }

  run_result try_to_apply(const std::string& manifest) {
    const auto file = (data_.path() / "object.yaml").string();
    std::ofstream(file) << manifest;
    return cluster_->daemon().cli({"apply", "-f", file});
  }

  /// Nothing has ended or begun anew by itself.
  void expect_nothing_has_ended() const {
    EXPECT_THAT(cluster_->daemon().output(), testing::Not(HasSubstr("begins anew")));
    const auto events = cluster_->daemon().cli({"events"});
    EXPECT_THAT(events.output, testing::Not(HasSubstr("Restarted")));
  }

  temporary_directory data_;
  std::optional<etcd_process> etcd_;
  std::optional<live_cluster> cluster_;
};

TEST_P(limits_live, objects_of_each_kind_that_are_too_large_are_refused_and_the_rest_goes_on) {
  cluster_->apply(nodes(1, "gpu: 8"));
  const std::string long_text(2'000'000, 'x');
  const std::vector<std::pair<std::string, std::string>> refused{
    {heavy("job", 1, 2'000'000), "it may take at most 65536"},
    {fmt::format("kind: Workload\nmetadata: {{name: job, labels: {{{}}}}}\nspec:\n"
                 "  podGroups: [{{name: w}}]\n",
                 entries(20'000)),
     "metadata.labels has 20000 labels; it may have at most 64"},
    {fmt::format("kind: Node\nmetadata: {{name: n, labels: {{{}}}}}\n"
                 "spec: {{capacity: {{gpu: 1}}}}\n",
                 entries(20'000)),
     "has 20000 labels; it may have at most 64"},
    {fmt::format("kind: Node\nmetadata: {{name: n}}\nspec: {{capacity: {{{}}}}}\n",
                 entries(20'000, "1")),
     "has 20000 resources; it may have at most 64"},
    {fmt::format("kind: Queue\nmetadata: {{name: q}}\nspec: {{limit: {{{}}}}}\n",
                 entries(20'000, "1")),
     "has 20000 resources; it may have at most 64"},
    {fmt::format("kind: ResourceGroup\nmetadata: {{name: g}}\nspec: {{divisible: [{}]}}\n",
                 long_text),
     "spec.divisible[0] has the name"},
    {fmt::format("kind: PriorityClass\nmetadata: {{name: {}}}\nvalue: 1\n", long_text),
     "it must be 1 to 63"},
    {fmt::format("kind: DisruptionBudget\nmetadata: {{name: b}}\n"
                 "spec: {{minAvailable: 1, selector: {{matchLabels: {{{}}}}}}}\n",
                 entries(20'000)),
     "has 20000 labels; it may have at most 64"},
  };
  for (const auto& [manifest, sentence] : refused) {
    const auto result = try_to_apply(manifest);
    EXPECT_NE(result.code, 0) << manifest.substr(0, 100);
    EXPECT_THAT(result.output.substr(0, 2000), HasSubstr(sentence)) << manifest.substr(0, 100);
  }
  cluster_->run(work_of("after", {}), "after");
  expect_nothing_has_ended();
  cluster_->restart();
  cluster_->run(work_of("later", {}), "later");
}

TEST_P(limits_live, pods_that_a_nodes_record_has_no_room_for_wait_or_go_elsewhere) {
  cluster_->apply(nodes(1, "gpu: 100"));
  // What ended a resource group once: 1.4 and 0.3 megabytes on one node.
  EXPECT_THAT(try_to_apply(heavy("large", 1, 1'400'000)).output, HasSubstr("at most 65536"));
  EXPECT_THAT(try_to_apply(heavy("small", 1, 300'000)).output, HasSubstr("at most 65536"));
  cluster_->apply(heavy("notes", 20, 60'000));
  cluster_->wait_for("notes", 9);
  EXPECT_TRUE(cluster_->rests());
  EXPECT_EQ(cluster_->running(), (pod_counts{{"notes", 9}}));
  EXPECT_THAT(cluster_->daemon().cli({"events"}).output, HasSubstr("its record takes 9 pods"));
  expect_nothing_has_ended();
  cluster_->restart();
  EXPECT_TRUE(cluster_->rests());
  EXPECT_EQ(cluster_->running(), (pod_counts{{"notes", 9}}));
  cluster_->apply(nodes(3, "gpu: 100"));
  cluster_->wait_for("notes", 20);
  expect_nothing_has_ended();
}

TEST_P(limits_live, a_large_workload_is_stopped_several_times_and_comes_back) {
  constexpr int pods = 1000; // two pages of slots
  cluster_->apply(nodes(10, "gpu: 120"));
  cluster_->apply(work_of("many", {.pods = pods}));
  ASSERT_TRUE(within(seconds{60}, [&] { return cluster_->running()["many"] == pods; }));
  for (int round = 0; round < 3; ++round) {
    const auto name = fmt::format("gang-{}", round);
    cluster_->apply(
      work_of(name, {.priority = 10, .pods = 10, .gang = true, .requests = "gpu: 120"}));
    ASSERT_TRUE(within(seconds{60}, [&] { return cluster_->running()[name] == 10; })) << round;
    cluster_->remove("workload", name);
    ASSERT_TRUE(within(seconds{60}, [&] { return cluster_->running()["many"] == pods; })) << round;
  }
  expect_nothing_has_ended();
  cluster_->restart();
  EXPECT_TRUE(cluster_->rests());
  EXPECT_EQ(cluster_->running(), (pod_counts{{"many", pods}}));
}

INSTANTIATE_TEST_SUITE_P(stores, limits_live, testing::Bool(),
                         [](const auto& on) { return on.param ? "etcd" : "embedded"; });

} // namespace

} // namespace reprieve
