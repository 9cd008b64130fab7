// What submitters can't do to others, seen from outside: they come with their tokens, ask for all
// that there is to ask for, and the owners of the room get it nevertheless.

#include "tests/integration/live/live_cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace reprieve {

namespace {

using testing::HasSubstr;

/// A server with an admin, an operator and a submitter for each of two queues. The cluster itself
/// is spoken to as the admin.
class tenants : public testing::Test {
protected:
  void SetUp() override {
    const auto tokens = (directory_.path() / "tokens").string();
    std::ofstream(tokens) << "root admin token=root-has-this-token\n"
                             "olga operator token=olga-has-this-token\n"
                             "bob submitter queues=borrower token=bob-has-this-token\n"
                             "ann submitter queues=owner,team token=ann-has-this-token\n";
    std::filesystem::permissions(tokens, std::filesystem::perms::owner_read);
    ::setenv("REPRIEVE_TOKEN", "root-has-this-token", 1);
    cluster_ = std::make_unique<live_cluster>(std::vector<std::string>{"--tokens", tokens});
    ASSERT_TRUE(cluster_->serves()) << cluster_->daemon().output();
  }

  void TearDown() override {
    ::unsetenv("REPRIEVE_TOKEN");
  }

  run_result apply_as(const std::string& who, const std::string& manifests) const {
    const auto file = (directory_.path() / (who + ".yaml")).string();
    std::ofstream(file) << manifests;
    return cluster_->daemon().cli({"--token", who + "-has-this-token", "apply", "-f", file});
  }

  void expect_applied(const std::string& who, const std::string& manifests) const {
    const auto result = apply_as(who, manifests);
    EXPECT_EQ(result.code, 0) << result.output << manifests;
  }

  void expect_refused(const std::string& who, const std::string& manifests,
                      const std::string& because) const {
    const auto result = apply_as(who, manifests);
    EXPECT_EQ(result.code, 2) << result.output << manifests;
    EXPECT_THAT(result.output, HasSubstr(because)) << manifests;
  }

  temporary_directory directory_;
  std::unique_ptr<live_cluster> cluster_;
};

/// A group of pods with a GPU each; `spec` and `group` are further lines of these.
std::string pods_of(const std::string& name, const std::string& queue, int count,
                    const std::string& spec = "", const std::string& group = "") {
  return fmt::format("---\nkind: Workload\nmetadata: {{name: {}}}\nspec:\n  queue: {}\n"
                     "  gracePeriod: 1s\n{}  podGroups:\n    - name: w\n      count: {}\n{}"
                     "      template: {{spec: {{requests: {{gpu: 1}}}}}}\n",
                     name, queue, spec, count, group);
}

// -- borrowed room --------------------------------------------------------------------------------

struct way_to_keep {
  std::string name;
  std::string spec;
  std::string group;
  int stopped; ///< pods, where the owner asks for four of eight
};

class borrowed_from : public tenants, public testing::WithParamInterface<way_to_keep> {};

TEST_P(borrowed_from, an_owner_is_given_back) {
  cluster_->apply(nodes(1, "gpu: 8") + queue_of("borrower", "weight: 1, capByDemand: true")
                  + queue_of("owner", "weight: 1, capByDemand: true"));
  expect_applied("bob", pods_of("greedy", "borrower", 8, GetParam().spec, GetParam().group));
  cluster_->wait_for("greedy", 8);

  const auto wanted = pods_of("mine", "owner", 4, "  priority: 1000000000\n");
  const pod_counts go{{"greedy", GetParam().stopped}};
  const auto offline = cluster_->decide_with(wanted);
  EXPECT_EQ(offline.victims, go) << offline.output;
  cluster_->mark();
  expect_applied("ann", wanted);
  cluster_->wait_for("mine", 4);
  EXPECT_TRUE(cluster_->rests()) << "it does not come to rest";
  EXPECT_EQ(cluster_->evicted(), go);
  EXPECT_EQ(cluster_->running()["mine"], 4);
  EXPECT_THAT(cluster_->explain("mine"),
              HasSubstr("neither a minimum runtime nor a protection holds"));
}

INSTANTIATE_TEST_SUITE_P(
  those, borrowed_from,
  testing::Values(way_to_keep{"who_run_for_ten_years", "  minimumRuntime: 87600h\n", "", 4},
                  way_to_keep{"who_are_all_protected", "",
                              "      protectedMembers: [0, 1, 2, 3, 4, 5, 6, 7]\n", 4},
                  way_to_keep{"a_gang_with_one_protected_member", "",
                              "      minCount: 8\n      disruptionMode: PodGroup\n"
                              "      protectedMembers: [0]\n",
                              8}),
  [](const auto& of) { return of.param.name; });

TEST_F(tenants, what_a_queue_deserves_stays_protected) {
  cluster_->apply(nodes(1, "gpu: 8") + queue_of("borrower", "weight: 1, capByDemand: true")
                  + queue_of("owner", "weight: 1, capByDemand: true"));
  expect_applied("bob", pods_of("kept", "borrower", 4, "  minimumRuntime: 87600h\n"));
  cluster_->wait_for("kept", 4);
  expect_applied("ann", pods_of("mine", "owner", 8, "  priority: 1000000000\n"));
  cluster_->wait_for("mine", 4);
  EXPECT_TRUE(cluster_->rests());
  EXPECT_EQ(cluster_->running(), (pod_counts{{"kept", 4}, {"mine", 4}}));
  EXPECT_EQ(cluster_->evicted(), pod_counts{});
}

// -- pods that name their node --------------------------------------------------------------------

class pinned : public tenants {
protected:
  void SetUp() override {
    tenants::SetUp();
    cluster_->apply(nodes(1, "gpu: 4") + queue_of("borrower", "weight: 1, capByDemand: true")
                    + queue_of("owner", "weight: 1, capByDemand: true")
                    + "---\nkind: ResourceGroup\nmetadata: {name: default}\n"
                      "spec: {requiredNode: {preemptionStartDelay: 0s}}\n");
    expect_applied("ann", pods_of("theirs", "owner", 4));
    cluster_->wait_for("theirs", 4);
    cluster_->apply(nodes(2, "gpu: 4"));
  }

  const std::string wanted_ =
    pods_of("wants-n0", "borrower", 2, "  priority: 1000000000\n", "      requiredNode: n0\n");
};

TEST_F(pinned, take_nothing_of_others_who_use_what_they_deserve) {
  EXPECT_EQ(cluster_->decide_with(wanted_).victims, pod_counts{});
  cluster_->mark();
  expect_applied("bob", wanted_);
  EXPECT_TRUE(cluster_->rests());
  EXPECT_EQ(cluster_->evicted(), pod_counts{});
  EXPECT_EQ(cluster_->running(), (pod_counts{{"theirs", 4}}));
}

TEST_F(pinned, take_on_their_node_what_others_have_borrowed) {
  expect_applied("ann", pods_of("lent", "owner", 4));
  cluster_->wait_for("lent", 4);

  EXPECT_EQ(cluster_->decide_with(wanted_).victims, (pod_counts{{"theirs", 2}}));
  cluster_->mark();
  expect_applied("bob", wanted_);
  cluster_->wait_for("wants-n0", 2);
  EXPECT_TRUE(cluster_->rests());
  EXPECT_EQ(cluster_->evicted(), (pod_counts{{"theirs", 2}}));
}

// -- ceilings -------------------------------------------------------------------------------------

TEST_F(tenants, the_classes_of_the_system_are_closed_to_submitters_unless_a_queue_opens_them) {
  expect_applied("olga", queue_of("team", ""));
  for (const auto* name : {"system-node-critical", "system-cluster-critical"})
    for (const auto* field : {"priorityClassName", "preemptionPriorityClassName"}) {
      const auto job = pods_of("job", "team", 1, fmt::format("  {}: {}\n", field, name));
      expect_refused("ann", job, fmt::format("spec.{} makes the", field));
      expect_refused("ann", job, "that of the system's own classes");
    }
  const auto job = pods_of("job", "team", 1, "  priorityClassName: system-cluster-critical\n");
  expect_applied("root", job);
  cluster_->remove("workload", "job");
  expect_applied("olga",
                 queue_of("team", "ceilings: {priorityClasses: [system-cluster-critical]}"));
  EXPECT_TRUE(within(std::chrono::seconds{10}, [&] { return apply_as("ann", job).code == 0; }));
}

TEST_F(tenants, submitters_stay_below_every_ceiling_of_their_queue_and_those_above) {
  expect_applied(
    "olga", nodes(1, "gpu: 8")
              + queue_of("tenants", "ceilings: {priority: 1000, minimumRuntime: 1h, pods: 10}")
              + queue_of("team", "parent: tenants, ceilings: {priority: 5000, gracePeriod: 1m, "
                                 "checkpointTimeNeeded: 1m, protectedPods: 1, requiredNodes: "
                                 "false, daemons: false, podsPerWorkload: 4, annotationBytes: 0, "
                                 "priorityClasses: [usual]}")
              + "---\nkind: PriorityClass\nmetadata: {name: usual}\nvalue: 10\n"
                "---\nkind: PriorityClass\nmetadata: {name: urgent}\nvalue: 900\n");
  const auto refused = [&](const std::string& spec, const std::string& because,
                           const std::string& group = "", int pods = 1) {
    const auto job = pods_of("job", "team", pods, spec, group);
    expect_refused("ann", job, because);
    const auto as_admin = apply_as("root", job);
    EXPECT_EQ(as_admin.code, 0) << "admins are above ceilings: " << as_admin.output;
    cluster_->remove("workload", "job");
    EXPECT_TRUE(
      within(std::chrono::seconds{20}, [&] { return cluster_->get("workloads").empty(); }));
  };
  refused("  priority: 1000000000\n",
          "spec.priority makes the priority 1000000000; queue 'tenants' allows submitters at most "
          "1000 (spec.ceilings.priority)");
  refused("  preemptionPriority: 1001\n", "makes the preemption priority 1001; queue 'tenants'");
  refused("  priorityClassName: urgent\n", "queue 'team' allows submitters only the classes usual");
  refused("  minimumRuntime: 87600h\n", "queue 'tenants' allows submitters at most 1h");
  refused("  checkpoint: {timeNeeded: 2m}\n", "queue 'team' allows submitters at most 1m");
  refused("", "have 2 pods that are protected members", "      protectedMembers: [0, 1]\n", 2);
  refused("", "does not let submitters name the node of a pod", "      requiredNode: n0\n");
  refused("  kind: daemon\n", "queue 'team' allows submitters none (spec.ceilings.daemons)");
  refused("", "ask for 5 pods in all; queue 'team' allows submitters at most 4", "", 5);

  expect_applied("ann", pods_of("a", "team", 4, "  priority: 1000\n"));
  expect_applied("ann", pods_of("b", "team", 4, "  priorityClassName: usual\n"));
  expect_refused("ann", pods_of("c", "team", 3),
                 "with them the workloads of queue 'tenants' for 11; it allows submitters at most "
                 "10 (spec.ceilings.pods)");
  expect_applied("ann", pods_of("c", "team", 2));
  expect_refused("ann", pods_of("c", "team", 3), "for 11");
}

TEST_F(tenants, ceilings_that_come_down_leave_what_runs_and_are_kept_through_a_restart) {
  cluster_->apply(nodes(1, "gpu: 8") + queue_of("team", ""));
  const auto job = pods_of("job", "team", 2, "  priority: 1000000000\n");
  expect_applied("ann", job);
  cluster_->wait_for("job", 2);
  expect_applied("olga", queue_of("team", "ceilings: {priority: 10}"));
  const auto larger = pods_of("job", "team", 3, "  priority: 1000000000\n");
  expect_refused("ann", larger, "allows submitters at most 10");
  cluster_->restart();
  expect_refused("ann", larger, "allows submitters at most 10");
  expect_applied("ann", job);
  cluster_->wait_for("job", 2);
  const auto shown = cluster_->daemon().cli({"get", "queues", "team", "-o", "yaml"});
  EXPECT_THAT(shown.output, HasSubstr("ceilings:"));
  EXPECT_THAT(shown.output, HasSubstr("priority: 10"));
  expect_applied("olga", shown.output);
  // Submitters set none themselves.
  EXPECT_EQ(apply_as("ann", queue_of("team", "")).code, 1);
}

} // namespace

} // namespace reprieve
