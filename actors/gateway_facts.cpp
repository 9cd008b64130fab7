#include "actors/gateway_facts.hpp"

#include "state/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace reprieve {

namespace {

/// What is being written of this name; null where nothing is.
template <class State>
auto* find_coming(State& state, object_kind kind, std::string_view name) {
  const auto of_kind = state.coming.find(kind);
  if (of_kind == state.coming.end())
    return static_cast<decltype(&of_kind->second.begin()->second)>(nullptr);
  const auto found = of_kind->second.find(name);
  return found == of_kind->second.end() ? nullptr : &found->second;
}

} // namespace

template <class T>
const T* gateway_facts::find_under_way(object_kind kind, std::string_view name) const {
  const auto* coming = find_coming(state_, kind, name);
  return coming == nullptr ? nullptr : std::get_if<T>(&coming->forms.back()->what);
}

std::optional<std::string> gateway_facts::group_of_node(std::string_view name) const {
  if (const auto* coming = find_under_way<node>(object_kind::node, name))
    return coming->resource_group;
  const auto found = state_.nodes.find(name);
  if (found == state_.nodes.end())
    return std::nullopt;
  return found->second->spec->resource_group;
}

const workload* gateway_facts::find_workload(std::string_view name) const {
  if (const auto* coming = find_under_way<workload>(object_kind::workload, name))
    return coming;
  const auto found = state_.workloads.find(name);
  return found == state_.workloads.end() ? nullptr : &*found->second->spec;
}

const workload_status* gateway_facts::find_status(std::string_view name) const {
  const auto found = state_.workloads.find(name);
  return found == state_.workloads.end() ? nullptr : &found->second->status;
}

std::optional<object_reference> gateway_facts::user_of(object_kind kind,
                                                       std::string_view name) const {
  // What is in use are mostly queues, classes and groups; there are many workloads and nodes, which
  // go without a look at all the others.
  static const decltype(state_.workloads) none;
  for (const auto& [user, record] : in_catalog(kind) ? state_.workloads : none) {
    const auto& spec = record->spec;
    const bool uses_class =
      spec->priority_class == name || spec->preemption_priority_class == name
      || std::any_of(spec->groups.begin(), spec->groups.end(),
                     [&](const pod_group& group) { return group.priority_class == name; });
    if ((kind == object_kind::queue && spec->queue == name)
        || (kind == object_kind::priority_class && uses_class)
        || (kind == object_kind::resource_group && spec->resource_group == name))
      return object_reference{object_kind::workload, user};
  }
  if (kind == object_kind::resource_group)
    for (const auto& [user, record] : state_.nodes)
      if (record->spec->resource_group == name)
        return object_reference{object_kind::node, user};
  for (const auto& [user, share] : state_.placements)
    if ((kind == object_kind::workload && share.deployment == name)
        || (kind == object_kind::resource_group && share.cluster == name))
      return object_reference{object_kind::placement, user};
  return std::nullopt;
}

queue_fill gateway_facts::fill_of_queue(std::string_view name) const {
  queue_fill fill{0, state_.limits.workloads_per_queue};
  if (const auto* counted = find(state_.workloads_in_queue, name))
    fill.workloads = *counted;
  if (const auto* coming = find(state_.new_in_queue, name))
    fill.workloads += *coming;
  return fill;
}

namespace {

template <class T>
void take_in(by_name<T>& known, const std::vector<T>& changed,
             const std::vector<std::string>& removed) {
  for (const auto& one : changed)
    known[one.name] = one;
  for (const auto& name : removed)
    known.erase(name);
}

void count_out(by_name<std::int64_t>& counts, const std::string& queue) {
  const auto counted = counts.find(queue);
  if (--counted->second == 0)
    counts.erase(counted);
}

void drop_workload(gateway_state& state, const std::string& name) {
  const auto found = state.workloads.find(name);
  if (found == state.workloads.end())
    return;
  count_out(state.workloads_in_queue, found->second->spec->queue);
  state.workloads.erase(found);
  if (auto* coming = find_coming(state, object_kind::workload, name))
    count_if_new(state, *coming);
}

void put_workload(gateway_state& state, std::shared_ptr<const workload_record> record) {
  auto& kept = state.workloads[record->spec->name];
  const bool is_new = !kept;
  if (is_new || kept->spec->queue != record->spec->queue) {
    if (!is_new)
      count_out(state.workloads_in_queue, kept->spec->queue);
    ++state.workloads_in_queue[record->spec->queue];
  }
  kept = std::move(record);
  if (auto* coming = is_new ? find_coming(state, object_kind::workload, kept->spec->name) : nullptr)
    count_if_new(state, *coming);
}

} // namespace

void count_if_new(gateway_state& state, gateway_state::coming_object& coming) {
  std::string queue;
  if (const auto* last =
        coming.forms.empty() ? nullptr : std::get_if<workload>(&coming.forms.back()->what);
      last != nullptr && !state.workloads.contains(last->name))
    queue = last->queue;
  if (coming.counts_in == queue)
    return;
  if (!coming.counts_in.empty())
    count_out(state.new_in_queue, coming.counts_in);
  if (!queue.empty())
    ++state.new_in_queue[queue];
  coming.counts_in = std::move(queue);
}

namespace {

/// Whether the object belongs to the shard, by its resource group and name.
bool is_in(std::string_view shard, std::string_view group, std::string_view name,
           std::uint32_t shards) {
  return shard == shard_name(group, shard_number(name, shards));
}

void drop_node(gateway_state& state, const std::string& name) {
  if (const auto found = state.nodes.find(name); found != state.nodes.end()) {
    state.pods.replace(found->second->pods, {});
    state.nodes.erase(found);
  }
}

} // namespace

void take_in(gateway_state& state, node_delta& delta) {
  if (delta.everything) {
    // What the shard does not have any more was removed while nobody told.
    std::unordered_set<std::string_view> there(delta.changed.size());
    for (const auto& record : delta.changed)
      there.insert(record->spec->name);
    const auto shards = state.serving->schema.node_shards;
    for (const auto& [name, record] : state.nodes)
      if (!there.contains(name) && is_in(delta.shard, record->spec->resource_group, name, shards))
        delta.removed.push_back(name);
  }
  for (auto& record : delta.changed) {
    auto& known = state.nodes[record->spec->name];
    state.pods.replace(known ? known->pods : pod_list{}, record->pods);
    known = std::move(record);
  }
  for (const auto& name : delta.removed)
    drop_node(state, name);
}

void take_in(gateway_state& state, workload_delta& delta) {
  if (delta.everything) {
    const auto shards = state.serving->schema.workload_shards;
    const auto find_removed = [&](const auto& known, const auto& changed, const auto& group_of,
                                  const auto& name_of, std::vector<std::string>& removed) {
      std::unordered_set<std::string_view> there(changed.size());
      for (const auto& one : changed)
        there.insert(name_of(one));
      for (const auto& [name, one] : known)
        if (!there.contains(name) && is_in(delta.shard, group_of(one), name, shards))
          removed.push_back(name);
    };
    const auto name_of = [](const auto& one) -> std::string_view { return one.name; };
    find_removed(
      state.workloads, delta.changed,
      [](const auto& one) -> std::string_view { return one->spec->resource_group; },
      [](const auto& one) -> std::string_view { return one->spec->name; }, delta.removed);
    find_removed(
      state.budgets, delta.budgets,
      [](const auto& one) -> std::string_view { return one.resource_group; }, name_of,
      delta.removed_budgets);
    find_removed(
      state.placements, delta.placements,
      [](const auto& one) -> std::string_view { return one.cluster; }, name_of,
      delta.removed_placements);
  }
  for (auto& record : delta.changed)
    put_workload(state, std::move(record));
  for (const auto& name : delta.removed)
    drop_workload(state, name);
  take_in(state.budgets, delta.budgets, delta.removed_budgets);
  take_in(state.placements, delta.placements, delta.removed_placements);
}

std::shared_ptr<const catalog> catalog_with_under_way(const gateway_state& state,
                                                      std::shared_ptr<const catalog> durable) {
  const auto is_coming = [](const auto& of_kind) {
    return in_catalog(of_kind.first) && !of_kind.second.empty();
  };
  if (std::ranges::none_of(state.coming, is_coming))
    return durable;
  auto known = std::make_shared<catalog>(*durable);
  for (const auto& [kind, objects] : state.coming)
    if (in_catalog(kind))
      for (const auto& [name, coming] : objects)
        for (const auto* one : coming.forms)
          put_in(*known, one->what);
  return known;
}

namespace {

/// The object as it is now, or nothing.
std::optional<object> existing(const gateway_state& state, object_kind kind,
                               const std::string& name) {
  const auto copy = [&](const auto& entries) -> std::optional<object> {
    const auto* found = find(entries, name);
    return found == nullptr ? std::nullopt : std::optional<object>{*found};
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
  const auto among = [&](const std::vector<pod_list::pointer>& pods) {
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

apply_outcome outcome_of(const gateway_state& state, const object& o) {
  const auto before = existing(state, kind_of(o), name_of(o));
  if (!before)
    return apply_outcome::created;
  return *before == o ? apply_outcome::unchanged : apply_outcome::configured;
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
      if (auto* shown = show(one.second->spec); shown && one.second->status.watched)
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
