#include "tests/integration/live/lifecycle_live.hpp"

#include <fmt/format.h>

#include <thread>

namespace reprieve {

using std::chrono::seconds;

std::string deployment_of(const std::string& name, const deployment_shape& shape) {
  return fmt::format(
    "---\nkind: Workload\nmetadata: {{name: {}}}\nspec:\n  resourceGroup: edge\n"
    "  kind: deployment\n  queue: {}\n  priority: {}\n  gracePeriod: {}\n{}  podGroups:\n"
    "    - name: w\n      replicas: {}\n      template:\n"
    "        metadata: {{annotations: {{{}}}}}\n"
    "        spec: {{requests: {{gpu: {}}}, nodeSelector: {{{}}}}}\n",
    name, shape.queue, shape.priority, shape.grace,
    shape.more.empty() ? "" : "  " + shape.more + "\n", shape.replicas, shape.annotations,
    shape.gpus, shape.site.empty() ? "" : "site: " + shape.site);
}

std::string edge_node(const std::string& name, int gpus, const std::string& site) {
  return fmt::format("---\nkind: Node\nmetadata: {{name: {}, labels: {{site: {}}}}}\n"
                     "spec: {{resourceGroup: edge, capacity: {{gpu: {}}}}}\n",
                     name, site.empty() ? name : site, gpus);
}

void lifecycle_live::SetUp() {
  ASSERT_TRUE(cluster_.serves()) << cluster_.daemon().output();
  cluster_.apply("kind: ResourceGroup\nmetadata: {name: edge}\nspec: {policy: Lifecycle}\n");
}

void lifecycle_live::run(const std::string& name, const deployment_shape& shape) {
  cluster_.run(deployment_of(name, shape), name, shape.replicas);
}

void lifecycle_live::comes_to(const std::string& deployment, int replicas) {
  ASSERT_TRUE(within(
    seconds{20},
    [&] { return committed(deployment) == replicas && pods(deployment, "Running") == replicas; }))
    << deployment << "\n"
    << placements() << cluster_.explain(deployment);
}

void lifecycle_live::waits_on(const std::string& deployment,
                              const std::multiset<std::string>& nodes) {
  ASSERT_TRUE(within(seconds{20}, [&] { return nominated(deployment) == nodes; }))
    << placements() << cluster_.explain(deployment);
}

void lifecycle_live::stays_so() {
  const auto shown = [&] {
    return placements() + cluster_.daemon().cli({"get", "pods"}).output
           + cluster_.daemon().cli({"events"}).output;
  };
  // What was decided a moment ago has to be through.
  ASSERT_TRUE(cluster_.rests(std::chrono::milliseconds{500}));
  const auto before = shown();
  std::this_thread::sleep_for(seconds{1});
  EXPECT_EQ(shown(), before);
}

int lifecycle_live::committed(const std::string& deployment) const {
  for (const auto& one : cluster_.get("placements"))
    if (one["spec"]["deployment"] == deployment)
      return one["spec"].value("committed", 0);
  return -1;
}

int lifecycle_live::pods(const std::string& deployment, const std::string& phase,
                         const std::string& node) const {
  int count = 0;
  for (const auto& one : cluster_.get("pods"))
    count += one["spec"]["workload"] == deployment && one["status"].value("phase", "") == phase
                 && (node.empty() || one["spec"].value("nodeName", "") == node)
               ? 1
               : 0;
  return count;
}

std::multiset<std::string> lifecycle_live::nominated(const std::string& deployment) const {
  std::multiset<std::string> nodes;
  for (const auto& one : cluster_.get("placements"))
    if (one["spec"]["deployment"] == deployment && one["spec"].contains("nominations"))
      for (const auto& room : one["spec"]["nominations"])
        nodes.insert(room["node"].get<std::string>());
  return nodes;
}

std::string lifecycle_live::placements() const {
  return cluster_.daemon().cli({"get", "placements"}).output;
}

} // namespace reprieve
