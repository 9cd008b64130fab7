// What stands in one file, or is deleted by one command, through the real programs: all of it comes
// about, or nothing does.

#include "tests/integration/live/live_cluster.hpp"
#include "tests/support/etcd_process.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <set>
#include <thread>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

/// On the embedded store and on etcd.
class whole_file_live : public testing::TestWithParam<bool> {
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

  run_result try_to_apply(const std::string& manifests) {
    const auto file = (data_.path() / fmt::format("{}.yaml", ++files_)).string();
    std::ofstream(file) << manifests;
    return cluster_->daemon().cli({"apply", "-f", file});
  }

  /// A queue, nodes and workloads in it that are for many shards, all named after `name`.
  static std::string file(const std::string& name, int workloads = 10) {
    auto all = queue_of(name, "weight: 1");
    for (int i = 0; i < 5; ++i)
      all +=
        fmt::format("---\nkind: Node\nmetadata: {{name: {}-n{}}}\nspec: {{capacity: {{gpu: 1}}, "
                    "unschedulable: true}}\n",
                    name, i);
    for (int i = 0; i < workloads; ++i)
      all += work_of(fmt::format("{}-w{}", name, i), {.queue = name});
    return all;
  }

  /// How many objects there are of that name.
  std::size_t there(const std::string& name) {
    std::size_t found = 0;
    for (const auto* kind : {"queues", "nodes", "workloads"})
      for (const auto& one : cluster_->get(kind))
        if (const auto full = one["metadata"]["name"].get<std::string>();
            full == name || full.starts_with(name + "-"))
          ++found;
    return found;
  }

  /// A workload that is being deleted and does not go.
  void begin_to_delete(const std::string& name) {
    cluster_->run(nodes(1, "gpu: 1") + work_of(name, {.annotations = "simulation/stop-takes: 1h"}),
                  name);
    ASSERT_EQ(cluster_->daemon().cli({"delete", "workload", name}).code, 0);
  }

  temporary_directory data_;
  int files_ = 0;
  std::optional<etcd_process> etcd_;
  std::optional<live_cluster> cluster_;
};

TEST_P(whole_file_live, changes_nothing_where_one_of_its_workloads_is_being_deleted) {
  begin_to_delete("old");
  for (const int workloads : {10, 300}) {
    const auto tried = try_to_apply(file("some", workloads) + work_of("old", {}));
    EXPECT_EQ(tried.code, 1) << tried.output;
    EXPECT_THAT(tried.output, HasSubstr("workload old is being deleted"));
    EXPECT_EQ(there("some"), 0U);
  }
  EXPECT_EQ(try_to_apply(file("some")).code, 0);
  EXPECT_EQ(there("some"), 16U);
}

TEST_P(whole_file_live, is_there_or_not_whenever_the_process_is_killed) {
  int whole = 0;
  for (int i = 0; i < 12; ++i) {
    const auto name = fmt::format("f{}", i);
    std::thread user([&] { (void)try_to_apply(file(name)); });
    std::this_thread::sleep_for(milliseconds{5 + 4 * i});
    cluster_->restart();
    user.join();
    const auto found = there(name);
    EXPECT_TRUE(found == 0 || found == 16) << name << " has " << found;
    whole += found == 16 ? 1 : 0;
    // Asked again, nothing of it is done twice.
    EXPECT_EQ(try_to_apply(file(name)).code, 0);
    EXPECT_EQ(there(name), 16U);
  }
  RecordProperty("whole", whole);
}

TEST_P(whole_file_live, that_is_large_is_there_or_not_whenever_the_process_is_killed) {
  int whole = 0;
  for (int i = 0; i < 10; ++i) {
    const auto name = fmt::format("f{}", i);
    const auto all = file(name, 400);
    std::thread user([&] { (void)try_to_apply(all); });
    std::this_thread::sleep_for(milliseconds{20 + 15 * i});
    cluster_->restart();
    user.join();
    const auto found = there(name);
    EXPECT_TRUE(found == 0 || found == 406) << name << " has " << found;
    whole += found == 406 ? 1 : 0;
    EXPECT_EQ(try_to_apply(all).code, 0);
    EXPECT_EQ(there(name), 406U);
  }
  RecordProperty("whole", whole);
}

TEST_P(whole_file_live, nobody_is_deleted_where_one_is_not_there) {
  ASSERT_EQ(try_to_apply(file("some")).code, 0);
  const auto tried = cluster_->daemon().cli(
    {"delete", "workload", "some-w0", "some-w1", "some-w2", "some-w3", "nobody"});
  EXPECT_NE(tried.code, 0);
  EXPECT_EQ(there("some"), 16U);
}

TEST_P(whole_file_live, queues_of_a_file_go_together_or_not_at_all) {
  const auto queues = queue_of("above", "weight: 1") + queue_of("one-below", "parent: above")
                      + queue_of("two-below", "parent: above");
  const auto names = [this] { return there("above") + there("one-below") + there("two-below"); };
  ASSERT_EQ(try_to_apply(queues + work_of("user", {.queue = "two-below"})).code, 0);
  const auto path = (data_.path() / "queues.yaml").string();
  std::ofstream(path) << queues;
  const auto tried = cluster_->daemon().cli({"delete", "-f", path});
  EXPECT_EQ(tried.code, 1) << tried.output;
  EXPECT_THAT(tried.output, HasSubstr("in use by Workload 'user'"));
  EXPECT_EQ(names(), 3U);
  ASSERT_EQ(cluster_->daemon().cli({"delete", "workload", "user"}).code, 0);
  ASSERT_TRUE(within(std::chrono::seconds{10}, [&] { return there("user") == 0; }));
  const auto removed = cluster_->daemon().cli({"delete", "-f", path});
  EXPECT_EQ(removed.code, 0) << removed.output;
  EXPECT_EQ(names(), 0U);
}

/// Nodes stay until the pods of the file's workloads have left them.
TEST_P(whole_file_live, a_file_of_which_some_is_gone_is_deleted_by_asking_again) {
  ASSERT_EQ(try_to_apply(file("some")).code, 0);
  const auto path = (data_.path() / "some.yaml").string();
  std::ofstream(path) << file("some");
  ASSERT_EQ(cluster_->daemon().cli({"delete", "workload", "some-w0"}).code, 0);
  EXPECT_TRUE(within(std::chrono::seconds{20}, [&] {
    return cluster_->daemon().cli({"delete", "-f", path}).code == 0;
  }));
  EXPECT_TRUE(within(std::chrono::seconds{20}, [&] { return there("some") == 0; }));
  const auto again = cluster_->daemon().cli({"delete", "-f", path});
  EXPECT_EQ(again.code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("workload/some-w1 is not there"));
}

TEST_P(whole_file_live, nothing_is_left_in_a_resource_group_that_does_not_exist) {
  for (int i = 0; i < 8; ++i) {
    const auto group = fmt::format("g{}", i);
    ASSERT_EQ(
      try_to_apply(fmt::format("kind: ResourceGroup\nmetadata: {{name: {}}}\n", group)).code, 0);
    std::thread user([&] {
      (void)try_to_apply(
        fmt::format("kind: Node\nmetadata: {{name: n-{}}}\nspec: {{resourceGroup: {}, capacity: "
                    "{{gpu: 1}}}}\n---\nkind: Node\nmetadata: {{name: m-{}}}\nspec: "
                    "{{resourceGroup: {}, capacity: {{gpu: 1}}}}\n",
                    group, group, group, group));
    });
    (void)cluster_->daemon().cli({"delete", "resourcegroup", group});
    user.join();
    const auto groups = cluster_->get("resourcegroups");
    const bool is_there = std::ranges::any_of(
      groups, [&](const auto& one) { return one["metadata"]["name"] == group; });
    std::size_t left = 0;
    for (const auto& one : cluster_->get("nodes"))
      left += one["spec"].value("resourceGroup", "default") == group ? 1 : 0;
    EXPECT_TRUE(is_there ? left == 0 || left == 2 : left == 0)
      << group << (is_there ? " is there" : " is gone") << " and has " << left << " nodes";
  }
}

/// An apply that names something, and a delete of that at the same moment: one of them is refused.
TEST_P(whole_file_live, nothing_stands_on_a_queue_or_a_class_that_does_not_exist) {
  int applied = 0;
  int deleted = 0;
  for (int i = 0; i < 16; ++i) {
    const auto queue = fmt::format("q{}", i);
    const auto tier = fmt::format("c{}", i);
    ASSERT_EQ(try_to_apply(queue_of(queue, "weight: 1")
                           + fmt::format("---\nkind: PriorityClass\nmetadata: {{name: {}}}\nspec: "
                                         "{{value: 7}}\n",
                                         tier))
                .code,
              0);
    run_result put_in;
    std::thread user([&] {
      std::this_thread::sleep_for(milliseconds{20});
      put_in = try_to_apply(fmt::format(
        "kind: Queue\nmetadata: {{name: below-{0}}}\nspec: {{parent: {0}, weight: 1}}\n---\n"
        "kind: Workload\nmetadata: {{name: w-{0}}}\nspec:\n  queue: below-{0}\n"
        "  priorityClassName: {1}\n  podGroups: [{{name: g, count: 1, template: {{spec: "
        "{{requests: "
        "{{gpu: 1}}}}}}}}]\n",
        queue, tier));
    });
    std::this_thread::sleep_for(milliseconds{5 * (i % 9)});
    const auto gone = cluster_->daemon().cli({"delete", "queue", queue});
    (void)cluster_->daemon().cli({"delete", "priorityclass", tier});
    user.join();
    applied += put_in.code == 0 ? 1 : 0;
    deleted += gone.code == 0 ? 1 : 0;
    EXPECT_FALSE(put_in.code == 0 && gone.code == 0) << put_in.output << gone.output;
  }
  EXPECT_GT(applied, 0);
  EXPECT_GT(deleted, 0);
  std::set<std::string> queues;
  for (const auto& one : cluster_->get("queues"))
    queues.insert(one["metadata"]["name"].get<std::string>());
  std::set<std::string> classes;
  for (const auto& one : cluster_->get("priorityclasses"))
    classes.insert(one["metadata"]["name"].get<std::string>());
  const auto said = [](const nlohmann::json& one, const char* what) {
    return one.value("spec", nlohmann::json::object()).value(what, "");
  };
  for (const auto& one : cluster_->get("queues"))
    if (const auto parent = said(one, "parent"); !parent.empty()) {
      EXPECT_TRUE(queues.contains(parent)) << parent;
    }
  for (const auto& one : cluster_->get("workloads")) {
    EXPECT_TRUE(queues.contains(said(one, "queue"))) << one;
    EXPECT_TRUE(classes.contains(said(one, "priorityClassName"))) << one;
  }
}

/// Deleted, it may come again at once, and is used as any other.
TEST_P(whole_file_live, a_queue_that_comes_again_can_be_used_at_once) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(try_to_apply(queue_of("again", "weight: 1")).code, 0);
    const auto name = fmt::format("w{}", i);
    const auto used = try_to_apply(work_of(name, {.queue = "again"}));
    ASSERT_EQ(used.code, 0) << used.output;
    ASSERT_EQ(cluster_->daemon().cli({"delete", "workload", name}).code, 0);
    int tries = 0;
    while (cluster_->daemon().cli({"delete", "queue", "again"}).code != 0 && tries++ < 50)
      std::this_thread::sleep_for(milliseconds{100});
    ASSERT_LT(tries, 50);
  }
}

INSTANTIATE_TEST_SUITE_P(stores, whole_file_live, testing::Bool(),
                         [](const auto& one) { return one.param ? "etcd" : "embedded"; });

} // namespace

} // namespace reprieve
