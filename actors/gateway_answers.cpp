#include "actors/gateway_answers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

/// The object as it is now, or nothing.
std::optional<object> existing(const gateway_state& state, object_kind kind,
                               const std::string& name) {
  const auto copy = [&](const auto& entries) -> std::optional<object> {
    const auto found = entries.find(name);
    return found == entries.end() ? std::nullopt : std::optional<object>{found->second};
  };
  const auto copy_spec = [&](const auto& records) -> std::optional<object> {
    const auto found = records.find(name);
    return found == records.end() ? std::nullopt : std::optional<object>{found->second->spec};
  };
  switch (kind) {
  case object_kind::node:
    return copy_spec(state.nodes);
  case object_kind::queue:
    return copy(state.known->queues);
  case object_kind::priority_class:
    return copy(state.known->classes);
  case object_kind::resource_group:
    return copy(state.known->groups);
  case object_kind::workload:
    return copy_spec(state.workloads);
  case object_kind::placement:
    return copy(state.placements);
  case object_kind::disruption_budget:
    return copy(state.budgets);
  case object_kind::pod:
    break;
  }
  return std::nullopt;
}

/// Whether the object belongs to the group and queue that the request names.
bool is_asked_for(const gateway_state& state, const get_request& wanted, const object& o) {
  if (!wanted.name.empty() && name_of(o) != wanted.name)
    return false;
  const auto group_is = [&](const std::string& group) {
    return wanted.resource_group.empty() || group == wanted.resource_group;
  };
  const auto queue_is = [&](const std::string& queue) {
    return wanted.queue.empty() || queue == wanted.queue;
  };
  if (const auto* n = std::get_if<node>(&o))
    return group_is(n->resource_group) && queue_is({});
  if (const auto* w = std::get_if<workload>(&o))
    return group_is(w->resource_group) && queue_is(w->queue);
  if (const auto* b = std::get_if<disruption_budget>(&o))
    return group_is(b->resource_group) && queue_is({});
  if (const auto* share = std::get_if<placement>(&o))
    return group_is(share->cluster) && queue_is({});
  if (const auto* p = std::get_if<pod>(&o)) {
    if ((!wanted.node.empty() && p->node != wanted.node)
        || (!wanted.workload.empty() && p->workload != wanted.workload))
      return false;
    const auto owner = state.workloads.find(p->workload);
    return owner == state.workloads.end() ? wanted.resource_group.empty() && wanted.queue.empty()
                                          : group_is(owner->second->spec->resource_group)
                                              && queue_is(owner->second->spec->queue);
  }
  return true;
}

/// Calls `f` with the pods among which those are that the request asks for: not more of them than
/// it must be.
template <class F>
void each_pod(const gateway_state& state, const get_request& wanted, F f) {
  const auto on = [&](const node_record& record) {
    std::for_each(record.pods.begin(), record.pods.end(), f);
  };
  const auto among = [&](const auto& pods) {
    for (const auto& p : pods)
      f(p->what());
  };
  if (!wanted.name.empty()) {
    among(state.pods.named(wanted.name));
  } else if (!wanted.workload.empty()) {
    among(state.pods.of(wanted.workload));
  } else if (!wanted.node.empty()) {
    if (const auto found = state.nodes.find(wanted.node); found != state.nodes.end())
      on(*found->second);
  } else {
    for (const auto& [name, record] : state.nodes)
      on(*record);
  }
}

} // namespace

std::optional<std::string> home_of(const gateway_state& state, object_kind kind,
                                   const std::string& name) {
  switch (kind) {
  case object_kind::node:
    if (const auto found = state.nodes.find(name); found != state.nodes.end())
      return found->second->spec->resource_group;
    break;
  case object_kind::workload:
    if (const auto found = state.workloads.find(name); found != state.workloads.end())
      return found->second->spec->resource_group;
    break;
  case object_kind::disruption_budget:
    if (const auto found = state.budgets.find(name); found != state.budgets.end())
      return found->second.resource_group;
    break;
  case object_kind::placement:
    if (const auto found = state.placements.find(name); found != state.placements.end())
      return found->second.cluster;
    break;
  default:
    break;
  }
  return std::nullopt;
}

apply_outcome outcome_of(const gateway_state& state, const object& o) {
  const auto before = existing(state, kind_of(o), name_of(o));
  return outcome_over(before ? &*before : nullptr, o);
}

get_result look_up(const gateway_state& state, const get_request& wanted,
                   const by_name<queue_status>& queues) {
  std::vector<shown_object> found;
  const auto show = [&](object o) -> shown_object* {
    if (!is_asked_for(state, wanted, o))
      return nullptr;
    return &found.emplace_back(shown_object{std::move(o), {}, {}});
  };
  // One of many is found by its name, without a look at the others.
  const auto each = [&](const auto& entries, auto f) {
    if (wanted.name.empty())
      std::for_each(entries.begin(), entries.end(), f);
    else if (const auto one = entries.find(wanted.name); one != entries.end())
      f(*one);
  };
  switch (wanted.kind) {
  case object_kind::node:
    each(state.nodes, [&](const auto& one) {
      if (auto* shown = show(one.second->spec); shown && one.second->status != node_status{})
        shown->node = one.second->status;
    });
    break;
  case object_kind::queue:
    for (const auto& [name, one] : state.known->queues)
      if (auto* shown = show(one))
        if (const auto* status = find(queues, name))
          shown->queue = *status;
    break;
  case object_kind::priority_class:
    for (const auto& [name, one] : state.known->classes)
      show(one);
    break;
  case object_kind::resource_group:
    for (const auto& [name, one] : state.known->groups)
      show(one);
    break;
  case object_kind::workload:
    each(state.workloads, [&](const auto& one) {
      if (auto* shown = show(one.second->spec))
        shown->workload = one.second->status;
    });
    break;
  case object_kind::placement:
    for (const auto& [name, one] : state.placements)
      show(one);
    break;
  case object_kind::disruption_budget:
    for (const auto& [name, one] : state.budgets)
      show(one);
    break;
  case object_kind::pod:
    each_pod(state, wanted, show);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return std::get<pod>(a.what).uid < std::get<pod>(b.what).uid;
    });
    break;
  }
  if (!wanted.name.empty() && found.empty())
    return absl::NotFoundError(
      fmt::format("there is no {} {}", to_string(wanted.kind), wanted.name));
  return shown_objects{std::move(found)};
}

std::vector<pod> pods_of(const gateway_state& state, object_kind kind, std::string_view name) {
  std::vector<pod> pods;
  const auto take_from = [&](const get_request& wanted) {
    each_pod(state, wanted, [&](const pod& p) { pods.push_back(p); });
  };
  get_request wanted;
  if (kind == object_kind::node) {
    wanted.node = name;
    take_from(wanted);
  } else if (kind == object_kind::pod) {
    wanted.name = name;
    take_from(wanted);
  } else if (kind == object_kind::workload) {
    wanted.workload = name;
    take_from(wanted);
  } else if (kind == object_kind::queue) {
    for (const auto& [workload, record] : state.workloads)
      if (record->spec->queue == name) {
        wanted.workload = workload;
        take_from(wanted);
      }
  }
  std::sort(pods.begin(), pods.end(), [](const pod& a, const pod& b) { return a.uid < b.uid; });
  return pods;
}

} // namespace reprieve
