#include "tests/engine/kubernetes/kubernetes_case.hpp"

#include "preemption/policies/workload_aware/workload_aware.hpp"
#include "preemption/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

namespace reprieve::tests {

namespace {

using nlohmann::json;

const json& list_at(const json& given, const char* key) {
  static const json none = json::array();
  const auto found = given.find(key);
  return found == given.end() ? none : *found;
}

resources amounts_in(const json& given) {
  resources amounts;
  const auto read = [&](const char* key, std::string_view name) {
    if (given.contains(key))
      amounts[std::string{name}] = given.at(key).get<std::int64_t>();
  };
  read("cpu_m", resource::cpu);
  read("mem", resource::memory);
  read("slots", "slots");
  return amounts;
}

std::string namespace_of(const json& given) {
  return given.value("namespace", "");
}

node read_node(const json& given, std::size_t position) {
  node read;
  read.name = name_of_listed(position, given.at("name").get<std::string>());
  // A pod that is asked about on one node is no daemon, so it selects the node.
  read.labels["listed-as"] = read.name;
  read.capacity = amounts_in(given);
  if (given.contains("pods"))
    read.capacity[std::string{resource::pods}] = given.at("pods").get<std::int64_t>();
  return read;
}

std::string label_of_budget(std::size_t position) {
  return fmt::format("budget-{}", position);
}

/// A budget counts no pod of another namespace, nor one whose eviction it has counted already.
bool counts(const json& budget, const json& pod) {
  const auto selector = budget.value("matchLabels", string_map{});
  const auto& disrupted = list_at(budget, "disruptedPods");
  return !selector.empty() && namespace_of(budget) == namespace_of(pod)
         && matches(selector, pod.value("labels", string_map{}))
         && std::ranges::find(disrupted, pod.at("name")) == disrupted.end();
}

/// The PodGroup that the pod belongs to, where there is one.
const json* group_of(const json& groups, const json& pod) {
  if (!pod.contains("podgroup"))
    return nullptr;
  const auto found = std::ranges::find_if(groups, [&](const json& group) {
    return group.at("name") == pod.at("podgroup") && namespace_of(group) == namespace_of(pod);
  });
  return found == groups.end() ? nullptr : &*found;
}

pod read_pod(const json& given, const json& groups, std::int32_t index) {
  const auto* group = group_of(groups, given);
  const bool goes_whole = group != nullptr && group->value("disruptionMode", "") == "all";
  pod read;
  read.name = given.at("name").get<std::string>();
  read.uid = read.name;
  read.workload =
    goes_whole ? fmt::format("{}/{}", namespace_of(*group), group->at("name").get<std::string>())
               : read.name;
  read.group = "g0";
  read.index = index;
  // Kube-scheduler ranks with groups whoever belongs to one, even those that go by themselves:
  // whole replicas of one pod.
  read.disruption = given.contains("podgroup") ? disruption_mode::pod_group : disruption_mode::pod;
  read.priority = (group != nullptr && group->contains("priority") ? *group : given)
                    .value("priority", std::int32_t{0});
  read.requests = amounts_in(given);
  // One that is terminating is still there for kube-scheduler.
  read.phase = pod_phase::running;
  if (given.contains("startTimeNs"))
    read.started = epoch + duration{given.at("startTimeNs").get<std::int64_t>()};
  return read;
}

wanted_pods read_preemptor(const json& given) {
  const auto& pods = given.at("pods");
  wanted_pods read;
  read.group = given.contains("podGroup");
  const auto& spoken_for = read.group ? given.at("podGroup") : pods.at(0);
  read.least = spoken_for.value("minCount", std::size_t{1});
  read.priority = spoken_for.value("priority", std::int32_t{0});
  read.may_preempt =
    given.value("preemptionPolicy", spoken_for.value("preemptionPolicy", "")) != "Never";
  for (const auto& one : pods) {
    read.pods.push_back(read_pod(one, json::array(), static_cast<std::int32_t>(read.pods.size())));
    read.pods.back().phase = pod_phase::pending;
  }
  return read;
}

/// All of `pods` or none; each run of equal ones is a template.
preemptor preemptor_of(const wanted_pods& wanted, std::span<const pod> pods,
                       const std::string& required_node) {
  preemptor who;
  who.workload = "preemptor";
  who.priority = wanted.priority;
  who.may_preempt = wanted.may_preempt;
  who.gang = wanted.group;
  for (const auto& one : pods) {
    if (who.groups.empty() || who.groups.back().pods.front().requests != one.requests) {
      auto& group = who.groups.emplace_back();
      group.name = fmt::format("g{}", who.groups.size());
      if (!required_node.empty())
        group.node_selector = {{"listed-as", required_node}};
    }
    who.groups.back().pods.push_back(one);
    ++who.groups.back().needed;
  }
  return who;
}

void add_unit(std::vector<pod>& pods, const std::string& workload, const json& given) {
  const auto size = std::max(1, given.at("size").get<int>());
  for (int i = 0; i < size; ++i) {
    pod one;
    one.workload = workload;
    one.group = "g0";
    one.index = i;
    one.uid = fmt::format("{}-{}", workload, i);
    one.node = "n";
    one.phase = pod_phase::running;
    one.disruption = given.at("type") == "pod" ? disruption_mode::pod : disruption_mode::pod_group;
    one.priority = given.at("priority").get<std::int32_t>();
    if (given.contains("earliestStartTimeNs"))
      one.started = epoch + duration{given.at("earliestStartTimeNs").get<std::int64_t>()};
    pods.push_back(std::move(one));
  }
}

} // namespace

std::string name_of_listed(std::size_t position, std::string_view node) {
  return fmt::format("{:06}-{}", position, node);
}

std::string listed_name(std::string_view name) {
  return std::string{name.substr(name.find('-') + 1)};
}

kubernetes_case read_kubernetes_case(const json& given) {
  kubernetes_case read;
  const auto& budgets = list_at(given, "pdbs");
  for (std::size_t b = 0; b < budgets.size(); ++b) {
    disruption_budget budget;
    budget.name = label_of_budget(b);
    budget.match_labels = {{label_of_budget(b), "counts"}};
    budget.max_unavailable = budgets[b].at("disruptionsAllowed").get<std::int32_t>();
    read.budgets.push_back(std::move(budget));
  }
  std::map<std::string, std::string> nodes;
  for (const auto& one : given.at("nodes")) {
    read.nodes.push_back(read_node(one, read.nodes.size()));
    nodes[one.at("name").get<std::string>()] = read.nodes.back().name;
  }
  read.now = epoch;
  for (const auto& one : list_at(given, "pods")) {
    auto runs =
      read_pod(one, list_at(given, "podGroups"), static_cast<std::int32_t>(read.pods.size()));
    runs.node = nodes.at(one.at("node").get<std::string>());
    for (std::size_t b = 0; b < budgets.size(); ++b)
      if (counts(budgets[b], one))
        runs.labels[label_of_budget(b)] = "counts";
    read.now = std::max(read.now, runs.started);
    read.pods.push_back(std::move(runs));
  }
  read.now += std::chrono::hours{1};
  read.wanted = read_preemptor(given.at("preemptor"));
  return read;
}

plan decide_as_kubernetes(const kubernetes_case& read, const std::string& required_node) {
  const auto view = view_of(read.nodes, read.pods, read.budgets);
  plan_settings settings;
  settings.group.name = "cluster";
  settings.now = read.now;
  settings.placing = placing_rule::plain;
  const auto& wanted = read.wanted;
  auto made = decide(view, preemptor_of(wanted, wanted.pods, required_node), settings);
  if (made.result != plan::outcome::infeasible || !wanted.may_preempt)
    return made;
  std::vector<pod> coming;
  for (const auto& one : wanted.pods) {
    coming.push_back(one);
    const auto who = preemptor_of(wanted, coming, required_node);
    const problem given{view, who, settings};
    workload_aware rules{given};
    auto with = given.asked.unknown_resource.empty() ? search_victims(given, rules) : plan{};
    if (with.result == plan::outcome::infeasible)
      coming.pop_back();
    else
      made = std::move(with);
  }
  return coming.size() < wanted.least ? plan{} : made;
}

bool first_is_more_important(const json& first, const json& second) {
  node n;
  n.name = "n";
  std::vector<pod> pods;
  // In the order of names the second comes first.
  add_unit(pods, "b", first);
  add_unit(pods, "a", second);
  const auto view = view_of({n}, pods, {});
  const auto portion = [&](const char* uid) { return view.portion_of(view.find_pod(uid)); };
  return view.more_important(portion("b-0"), portion("a-0"));
}

} // namespace reprieve::tests
