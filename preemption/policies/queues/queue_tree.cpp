#include "preemption/policies/queues/queue_tree.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace reprieve {

namespace {

class tree_builder {
public:
  tree_builder(const by_name<queue>& queues, const queue_names& with_pods) : with_pods_(with_pods) {
    for (const auto& [name, spec] : queues)
      if (const auto* parent = find(queues, spec.parent))
        below_[parent->name].push_back(&spec);
  }

  /// Adds the queue with all below it, breadth first.
  void add_top(const queue& spec) {
    if (placed_.contains(spec.name))
      return;
    made_.top.push_back(made_.vertices.size());
    auto next = made_.vertices.size();
    add(spec, no_vertex);
    for (; next < made_.vertices.size(); ++next)
      add_below(next);
  }

  queue_tree result() && {
    sort_by_name(made_.top);
    for (std::size_t v = 0; v < made_.vertices.size(); ++v)
      if (made_.vertices[v].leaf())
        made_.leaves.push_back(v);
    sort_by_name(made_.leaves);
    return std::move(made_);
  }

private:
  void add(queue spec, std::size_t parent, bool own_pods = false) {
    if (!own_pods)
      placed_.insert(spec.name);
    if (parent != no_vertex) {
      made_.vertices[parent].children.push_back(made_.vertices.size());
      // What is not asked for below a queue is not there either, to be kept for one of its
      // children.
      spec.cap_by_demand = spec.cap_by_demand || made_.vertices[parent].spec.cap_by_demand;
    }
    made_.vertices.push_back({std::move(spec), parent, {}, own_pods});
  }

  void add_below(std::size_t parent) {
    if (made_.vertices[parent].own_pods)
      return;
    const auto above = made_.vertices[parent].spec.name;
    if (const auto found = below_.find(above); found != below_.end())
      for (const auto* child : found->second)
        if (!placed_.contains(child->name))
          add(*child, parent);
    if (!made_.vertices[parent].leaf() && with_pods_.contains(above)) {
      queue stand_in;
      stand_in.name = above;
      stand_in.parent = above;
      stand_in.cap_by_demand = true;
      add(std::move(stand_in), parent, true);
    }
    sort_by_name(made_.vertices[parent].children);
  }

  void sort_by_name(std::vector<std::size_t>& some) const {
    std::ranges::sort(some, {}, [this](std::size_t v) -> const std::string& {
      return made_.vertices[v].spec.name;
    });
  }

  const queue_names& with_pods_;
  std::map<std::string_view, std::vector<const queue*>> below_; ///< in order of name
  std::set<std::string, std::less<>> placed_;
  queue_tree made_;
};

} // namespace

queue_tree tree_of(const by_name<queue>& queues, const queue_names& with_pods) {
  tree_builder builder{queues, with_pods};
  for (const auto& [name, spec] : queues)
    if (find(queues, spec.parent) == nullptr)
      builder.add_top(spec);
  // Whoever is not below one of these is in a cycle, or below one.
  for (const auto& [name, spec] : queues)
    builder.add_top(spec);
  return std::move(builder).result();
}

} // namespace reprieve
