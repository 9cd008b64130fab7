#include "actors/node_shard/shard_view.hpp"

#include "actors/interfaces/pod_changes.hpp"

#include <utility>

namespace reprieve {

namespace {

pod_list::pointer with_cost(const pod_list::pointer& p, const pod_cost& cost) {
  auto shown = p->what();
  shown.priority = cost.priority;
  shown.checkpointed = cost.checkpointed;
  shown.minimum_runtime = cost.minimum_runtime;
  return std::make_shared<const shared_pod>(std::move(shown));
}

} // namespace

void shard_view::put(std::shared_ptr<const node_record> record) {
  stale_.insert(record->spec->name);
  auto& entry = nodes_[record->spec->name];
  entry.record = std::move(record);
}

void shard_view::remove(const std::string& name) {
  stale_.insert(name);
  nodes_[name].record = nullptr;
}

void shard_view::know(const portion_facts& facts) {
  for (const auto& [id, part] : facts.elsewhere)
    view_.put_elsewhere(id, part);
  for (const auto& [name, costs] : facts.costs) {
    auto& entry = nodes_[name];
    entry.costs = costs;
    entry.costs_changed = true;
    stale_.insert(name);
  }
}

void shard_view::refresh(const std::string& name, node_entry& entry) {
  const bool shown_anew = std::exchange(entry.costs_changed, false);
  static const pod_list none;
  const auto& before = entry.in_view ? entry.in_view->pods : none;
  const auto& next = entry.record ? entry.record->pods : none;
  auto found =
    changes_between(before, entry.shown, next, shown_anew, [&](const pod_list::pointer& p) {
      const auto cost = entry.costs.find(p->what().uid);
      return cost == entry.costs.end() ? p : with_cost(p, cost->second);
    });
  for (const auto& p : found.gone) {
    const auto& uid = p->what().uid;
    // It may stand on another node already.
    if (const auto row = view_.find_pod(uid);
        row != no_row && view_.node_name(view_.node_of(row)) == name)
      view_.remove_pod(uid);
  }
  if (!entry.record) {
    if (entry.in_view)
      view_.remove_node(name);
    nodes_.erase(name);
    return;
  }
  if (!entry.in_view || !planned_on_alike(*entry.in_view, *entry.record))
    view_.put_node(planned_on(*entry.record));
  for (const auto& [known, now] : found.changed)
    view_.put_pod(now->what(), known ? &known->what() : nullptr);
  entry.shown = std::move(found.shown);
  entry.in_view = entry.record;
}

const cluster_view& shard_view::up_to_date() {
  for (const auto& name : std::exchange(stale_, {}))
    if (const auto entry = nodes_.find(name); entry != nodes_.end())
      refresh(entry->first, entry->second);
  view_.settle();
  return view_;
}

} // namespace reprieve
