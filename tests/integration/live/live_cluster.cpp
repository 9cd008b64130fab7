#include "tests/integration/live/live_cluster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace reprieve {

namespace {

using json = nlohmann::json;

/// `a-w-0-1` is a pod of the workload `a`: its group, replica and index are cut off.
std::string workload_of(std::string pod) {
  pod = pod.substr(0, pod.find('.'));
  for (int i = 0; i < 3; ++i)
    pod = pod.substr(0, pod.rfind('-'));
  return pod;
}

/// Calls `each` with the kind and name that a manifest says.
void for_each_object(const std::string& manifests,
                     const std::function<void(const std::string&, const std::string&)>& each) {
  const auto after = [](const std::string& line, std::string_view word) {
    const auto begin = line.find(word) + word.size();
    return line.substr(begin, line.find_first_of(",}", begin) - begin);
  };
  std::istringstream lines(manifests);
  std::string kind;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("kind: "))
      kind = line.substr(6);
    if (line.starts_with("metadata: {name: "))
      each(kind, after(line, "name: "));
  }
}

/// Wherever victims stand in what `decide` prints.
void collect_victims(const json& told, pod_counts& victims) {
  if (told.is_object() && told.contains("portion") && told.contains("pods"))
    victims[told["portion"]["workload"].get<std::string>()] +=
      static_cast<int>(told["pods"].size());
  else if (told.is_structured())
    for (const auto& [key, part] : told.items())
      if (!told.is_object() || (key != "reprieved" && key != "passedOver"))
        collect_victims(part, victims);
}

offline_decision decide_on(const std::vector<std::string>& files) {
  std::vector<std::string> command{REPRIEVE_BINARIES "/reprieve", "decide", "--all", "-o", "json"};
  for (const auto& file : files)
    command.insert(command.end(), {"-f", file});
  const auto result = run_program(command);
  offline_decision made{result.code, result.output, {}, {}};
  const auto told = json::parse(result.output, nullptr, false);
  EXPECT_TRUE(told.is_object()) << result.output;
  if (!told.is_object())
    return made;
  collect_victims(told, made.victims);
  for (const auto& plan : told["plans"])
    if (plan["outcome"] == "placed" || plan["outcome"] == "preempts")
      made.placed.insert(plan["preemptor"].get<std::string>());
  return made;
}

} // namespace

live_cluster::live_cluster(std::vector<std::string> more)
    : options_(std::move(more)),
      daemon_(std::make_unique<daemon_process>(data_.path() / "daemon", options_)) {}

void live_cluster::restart() {
  daemon_->kill();
  start_again();
}

void live_cluster::restart_without_memory() {
  daemon_->kill();
  std::filesystem::remove(data_.path() / "daemon" / "simulated-cluster.jsonl");
  mark_ = 0;
  start_again();
}

void live_cluster::start_again() {
  daemon_ = std::make_unique<daemon_process>(data_.path() / "daemon", options_);
  ASSERT_TRUE(daemon_->serves()) << daemon_->output();
}

std::string live_cluster::file_of(const std::string& manifests) const {
  auto file = (data_.path() / "manifests.yaml").string();
  std::ofstream(file) << manifests;
  return file;
}

void live_cluster::apply(const std::string& manifests) {
  const auto result = daemon_->cli({"apply", "-f", file_of(manifests)});
  ASSERT_EQ(result.code, 0) << result.output << manifests;
}

void live_cluster::remove(const std::string& kind, const std::string& name) {
  const auto result = daemon_->cli({"delete", kind, name});
  ASSERT_EQ(result.code, 0) << result.output;
}

void live_cluster::run(const std::string& manifests, const std::string& workload, int pods) {
  apply(manifests);
  wait_for(workload, pods);
}

void live_cluster::wait_for(const std::string& workload, int pods) {
  ASSERT_TRUE(
    within(std::chrono::seconds{20}, [&] { return daemon_->pods(workload, "Running") == pods; }))
    << explain(workload);
}

bool live_cluster::rests(std::chrono::milliseconds quiet, std::chrono::seconds most) {
  using clock = std::chrono::steady_clock;
  const auto journal = (data_.path() / "daemon" / "simulated-cluster.jsonl").string();
  const auto shown = [&] {
    return daemon_->cli({"get", "pods"}).output + daemon_->cli({"get", "workloads"}).output
           + file_contents(journal);
  };
  const auto end = clock::now() + most;
  auto last = shown();
  for (auto since = clock::now(); clock::now() - since < quiet;) {
    if (clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    if (auto now = shown(); now != last) {
      last = std::move(now);
      since = clock::now();
    }
  }
  return true;
}

pod_counts live_cluster::running() const {
  pod_counts counts;
  for (const auto& one : get("pods"))
    if (one["status"].value("phase", "") == "Running")
      ++counts[one["spec"]["workload"].get<std::string>()];
  return counts;
}

void live_cluster::mark() {
  mark_ = file_contents((data_.path() / "daemon" / "simulated-cluster.jsonl").string()).size();
}

pod_counts live_cluster::counted(std::string_view stage) const {
  const auto journal =
    file_contents((data_.path() / "daemon" / "simulated-cluster.jsonl").string()).substr(mark_);
  std::istringstream lines(journal);
  pod_counts counts;
  for (std::string line; std::getline(lines, line);) {
    const auto step = json::parse(line, nullptr, false);
    if (!step.is_object() || step.value("stage", "") != stage)
      continue;
    // What its workload does not want any more goes without a decision.
    const auto decision = step.value("decision", "");
    if (stage != "stopping" || (!decision.empty() && decision != "not-wanted"))
      ++counts[workload_of(step.value("uid", ""))];
  }
  return counts;
}

pod_counts live_cluster::evicted() const {
  return counted("stopping");
}

pod_counts live_cluster::started() const {
  return counted("starting");
}

std::vector<json> live_cluster::get(const std::string& kind) const {
  const auto result = daemon_->cli({"get", kind, "-o", "json"});
  const auto list = json::parse(result.output, nullptr, false);
  EXPECT_TRUE(list.is_object()) << result.output;
  return list.is_object() ? list.value("items", std::vector<json>{}) : std::vector<json>{};
}

std::string live_cluster::queue_amount(const std::string& queue, const std::string& what,
                                       const std::string& resource) const {
  const json::json_pointer amount("/status/" + what + "/" + resource);
  for (const auto& one : get("queues"))
    if (one["metadata"]["name"] == queue && one.contains(amount))
      return one[amount].get<std::string>();
  return {};
}

std::string live_cluster::explain(const std::string& workload) const {
  return daemon_->cli({"explain", "workload", workload}).output;
}

int live_cluster::preemptions_by(const std::string& workload) const {
  const auto result = daemon_->cli({"explain", "workload", workload, "-o", "json"});
  const auto told = json::parse(result.output, nullptr, false);
  EXPECT_TRUE(told.is_object()) << result.output;
  int count = 0;
  for (const auto& one : told.value("decisions", std::vector<json>{})) {
    const auto whom = one.value("workloads", std::vector<std::string>{});
    const bool takes = !one.value("victims", std::vector<json>{}).empty();
    count += takes && std::find(whom.begin(), whom.end(), workload) != whom.end() ? 1 : 0;
  }
  return count;
}

int live_cluster::told(const std::string& type, const std::string& workload) const {
  std::istringstream lines(daemon_->cli({"events", "-o", "json"}).output);
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto event = json::parse(line, nullptr, false);
    if (event.is_object() && event.value("type", "") == type
        && (workload.empty() || event.value("name", "") == workload))
      ++count;
  }
  return count;
}

offline_decision live_cluster::decide_with(const std::string& manifests) const {
  std::set<std::pair<std::string, std::string>> replaced;
  for_each_object(manifests, [&](const std::string& kind, const std::string& name) {
    replaced.emplace(kind, name);
  });
  auto items = json::array();
  for (const auto* kind : {"resourcegroups", "priorityclasses", "queues", "nodes", "workloads",
                           "disruptionbudgets", "pods"})
    for (auto& one : get(kind))
      if (!replaced.contains({one.value("kind", ""), one["metadata"].value("name", "")}))
        items.push_back(std::move(one));
  const auto file = (data_.path() / "snapshot.json").string();
  std::ofstream(file) << json{{"apiVersion", "reprieve/v1"}, {"kind", "List"}, {"items", items}};
  return decide_on({file, file_of(manifests)});
}

offline_decision decide_all(const std::string& manifests) {
  const temporary_directory directory;
  const auto file = (directory.path() / "snapshot.yaml").string();
  std::ofstream(file) << manifests;
  return decide_on({file});
}

int sum(const pod_counts& counts) {
  int all = 0;
  for (const auto& [workload, pods] : counts)
    all += pods;
  return all;
}

std::string nodes(int count, const std::string& capacity) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("---\nkind: Node\nmetadata: {{name: n{}}}\nspec: {{capacity: {{{}}}}}\n", i,
                        capacity);
  return text;
}

std::string queue_of(const std::string& name, const std::string& spec) {
  return fmt::format("---\nkind: Queue\nmetadata: {{name: {}}}\nspec: {{{}}}\n", name, spec);
}

std::string work_of(const std::string& name, const work_shape& shape) {
  return fmt::format(
    "---\nkind: Workload\nmetadata: {{name: {}}}\nspec:\n  queue: {}\n  priority: {}\n"
    "  resume: {{policy: {}, backoff: 1s, limit: 1000}}\n{}  podGroups:\n"
    "    - name: w\n      count: {}\n{}      template:\n"
    "        metadata: {{annotations: {{{}}}}}\n        spec: {{requests: {{{}}}}}\n",
    name, shape.queue, shape.priority, shape.comes_back ? "Always" : "Never",
    shape.more.empty() ? "" : "  " + shape.more + "\n", shape.pods,
    shape.gang ? fmt::format("      minCount: {}\n      disruptionMode: PodGroup\n", shape.pods)
               : "",
    shape.annotations, shape.requests);
}

} // namespace reprieve
