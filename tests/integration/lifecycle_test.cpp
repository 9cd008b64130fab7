#include "tests/integration/daemon.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

/// A cluster with a scheduler of its own (docs/policies.md#lifecycle), through the real programs.
namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr const char* two_gpus = R"(kind: ResourceGroup
metadata: {name: edge}
spec: {policy: Lifecycle}
---
kind: Node
metadata: {name: e1}
spec: {resourceGroup: edge, capacity: {gpu: 1}}
---
kind: Node
metadata: {name: e2}
spec: {resourceGroup: edge, capacity: {gpu: 1}}
)";

std::string deployment(const std::string& name, int priority, int replicas,
                       const std::string& queue = "default") {
  return "kind: Workload\nmetadata: {name: " + name
         + "}\nspec:\n  resourceGroup: edge\n  kind: deployment\n  queue: " + queue
         + "\n  priority: " + std::to_string(priority)
         + "\n  podGroups:\n  - name: pods\n    replicas: " + std::to_string(replicas)
         + "\n    template: {spec: {requests: {gpu: 1}}}\n";
}

class lifecycle : public testing::Test {
protected:
  void apply(const std::string& text) {
    const auto file = (data_.path() / "manifest.yaml").string();
    std::ofstream(file) << text;
    const auto result = daemon_->cli({"apply", "-f", file});
    ASSERT_EQ(result.code, 0) << result.output;
  }

  void start() {
    daemon_ = std::make_unique<daemon_process>(data_.path());
    ASSERT_TRUE(daemon_->serves()) << daemon_->output();
  }

  bool shows(const std::string& pattern) {
    return within(seconds{30}, [&] {
      const auto table = daemon_->cli({"get", "placements"}).output;
      return testing::Value(table, ContainsRegex(pattern));
    });
  }

  std::string told(const std::vector<std::string>& arguments) {
    return daemon_->cli(arguments).output;
  }

  temporary_directory data_;
  std::unique_ptr<daemon_process> daemon_;
};

TEST_F(lifecycle, one_of_two_replicas_goes_for_a_more_important_deployment) {
  start();
  apply(two_gpus);
  apply(deployment("crawl", 1, 2));
  ASSERT_TRUE(shows("crawl.edge +crawl +edge +2 +2")) << told({"get", "placements"});
  ASSERT_TRUE(within(seconds{10}, [&] { return daemon_->pods("crawl", "Running") == 2; }));

  apply(deployment("web", 9, 2));
  ASSERT_TRUE(shows("crawl.edge +crawl +edge +1 +1")) << told({"get", "placements"});
  ASSERT_TRUE(shows("web.edge +web +edge +1 +1")) << told({"get", "placements"});
  EXPECT_EQ(daemon_->pods("crawl", "Running"), 1);

  const auto why = told({"explain", "workload", "web"});
  EXPECT_THAT(why, HasSubstr("policy lifecycle"));
  EXPECT_THAT(why, HasSubstr("crawl goes from 2 to 1"));
  EXPECT_THAT(why, HasSubstr("its priority 1 is below 9"));
  EXPECT_THAT(why, HasSubstr("It waits: 1 replica: "));
  EXPECT_THAT(told({"explain", "workload", "crawl"}), HasSubstr("policy lifecycle"));
}

TEST_F(lifecycle, queues_share_replicas_and_limits_further_up_hold) {
  start();
  apply(two_gpus);
  apply("kind: Node\nmetadata: {name: e3}\nspec: {resourceGroup: edge, capacity: {gpu: 4}}\n"
        "---\nkind: Queue\nmetadata: {name: all}\nspec: {limit: {gpu: 4}}\n"
        "---\nkind: Queue\nmetadata: {name: one}\nspec: {parent: all, weight: 1}\n"
        "---\nkind: Queue\nmetadata: {name: two}\nspec: {parent: all, weight: 1}\n");
  apply(deployment("a", 9, 4, "one") + "---\n" + deployment("b", 1, 4, "two"));
  ASSERT_TRUE(shows("a.edge +a +edge +2 +2")) << told({"get", "placements"});
  ASSERT_TRUE(shows("b.edge +b +edge +2 +2")) << told({"get", "placements"});
  EXPECT_THAT(told({"explain", "workload", "b"}), ContainsRegex("It waits: queue (all|two) "));
  EXPECT_THAT(told({"events"}), testing::Not(HasSubstr("Preempted")));
}

TEST_F(lifecycle, goes_on_where_it_was_after_a_kill) {
  start();
  apply(two_gpus);
  apply(deployment("crawl", 1, 2));
  ASSERT_TRUE(shows("crawl.edge +crawl +edge +2 +2")) << told({"get", "placements"});
  apply(deployment("web", 9, 2));
  daemon_->kill();
  start();
  ASSERT_TRUE(shows("web.edge +web +edge +1 +1")) << told({"get", "placements"});
  EXPECT_TRUE(shows("crawl.edge +crawl +edge +1 +1")) << told({"get", "placements"});

  ASSERT_EQ(daemon_->cli({"delete", "workload", "web"}).code, 0);
  EXPECT_TRUE(shows("crawl.edge +crawl +edge +2 +2")) << told({"get", "placements"});
  EXPECT_THAT(told({"get", "placements"}), testing::Not(HasSubstr("web.edge")));
}

} // namespace

} // namespace reprieve
