#include "tests/support/cluster_builder.hpp"

#include <fmt/format.h>

namespace reprieve::tests {

amount gpu(std::int64_t n) {
  return {std::string{resource::gpu}, n * 1000};
}

amount cpu(std::int64_t n) {
  return {std::string{resource::cpu}, n * 1000};
}

amount memory(std::int64_t n) {
  return {std::string{resource::memory}, n};
}

preemptor named(preemptor who, const std::string& workload) {
  who.workload = workload;
  who.may_have_weaker_kin = false;
  for (std::size_t g = 0; g < who.groups.size(); ++g) {
    auto& group = who.groups[g];
    group.name = fmt::format("g{}", g);
    for (std::size_t i = 0; i < group.pods.size(); ++i) {
      auto& p = group.pods[i];
      p.workload = workload;
      p.group = group.name;
      p.index = static_cast<std::int32_t>(i);
      p.name = fmt::format("{}-{}-0-{}", workload, group.name, i);
      p.uid = p.name;
    }
  }
  return who;
}

cluster& cluster::budget(const std::string& name, const label& selected, std::int32_t available) {
  disruption_budget made;
  made.name = name;
  made.match_labels = {{selected.key, selected.value}};
  made.min_available = available;
  budgets_.push_back(std::move(made));
  return *this;
}

cluster_view cluster::view() const {
  return view_of(nodes_, pods_, budgets_);
}

pod cluster::running_pod(const std::string& workload, disruption_mode mode, std::int32_t index,
                         const std::string& on) {
  pod made;
  made.workload = workload;
  made.group = "g0";
  made.index = index;
  made.name = fmt::format("{}-g0-0-{}", workload, index);
  made.uid = made.name;
  made.node = on;
  made.phase = pod_phase::running;
  made.disruption = mode;
  made.started = at(0);
  return made;
}

cluster_view view_of(const std::vector<node>& nodes, const std::vector<pod>& pods,
                     const std::vector<disruption_budget>& budgets) {
  cluster_view view;
  for (const auto& n : nodes)
    view.put_node(n);
  for (const auto& p : pods)
    view.put_pod(p);
  for (const auto& b : budgets)
    view.put_budget(b);
  view.settle();
  return view;
}

} // namespace reprieve::tests
