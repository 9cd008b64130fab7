#include "actors/gateway/gateway_admission.hpp"

#include "state/records/keys.hpp"

#include <algorithm>

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
const T* gateway_admission_facts::find_under_way(object_kind kind, std::string_view name) const {
  const auto* coming = find_coming(state_, kind, name);
  return coming == nullptr ? nullptr : std::get_if<T>(&coming->forms.back()->what);
}

std::optional<std::string> gateway_admission_facts::group_of_node(std::string_view name) const {
  if (const auto* coming = find_under_way<node>(object_kind::node, name))
    return coming->resource_group;
  const auto found = state_.nodes.find(name);
  if (found == state_.nodes.end())
    return std::nullopt;
  return found->second->spec->resource_group;
}

const resources* gateway_admission_facts::capacity_of_node(std::string_view name) const {
  if (const auto* coming = find_under_way<node>(object_kind::node, name))
    return &coming->capacity;
  const auto found = state_.nodes.find(name);
  return found == state_.nodes.end() ? nullptr : &found->second->spec->capacity;
}

by_name<wide_int> gateway_admission_facts::capacity_in_all() const {
  auto total = state_.capacity_in_all;
  const auto coming = state_.coming.find(object_kind::node);
  if (coming == state_.coming.end())
    return total;
  for (const auto& [name, forms] : coming->second) {
    for (const auto& [resource, amount] : *capacity_of_node(name))
      total[resource] += amount;
    if (const auto known = state_.nodes.find(name); known != state_.nodes.end())
      for (const auto& [resource, amount] : known->second->spec->capacity)
        total[resource] -= amount;
  }
  return total;
}

const workload* gateway_admission_facts::find_workload(std::string_view name) const {
  if (const auto* coming = find_under_way<workload>(object_kind::workload, name))
    return coming;
  const auto found = state_.workloads.find(name);
  return found == state_.workloads.end() ? nullptr : &*found->second->spec;
}

const workload_status* gateway_admission_facts::find_status(std::string_view name) const {
  const auto found = state_.workloads.find(name);
  return found == state_.workloads.end() ? nullptr : &found->second->status;
}

std::optional<object_reference> gateway_admission_facts::user_of(object_kind kind,
                                                                 std::string_view name) const {
  // What is in use are mostly queues, classes and groups; there are many workloads and nodes, which
  // go without a look at all the others.
  static const decltype(state_.workloads) none;
  for (const auto& [user, record] : in_catalog(kind) ? state_.workloads : none) {
    if (uses(record->spec, kind, name))
      return object_reference{object_kind::workload, user};
  }
  if (kind == object_kind::resource_group)
    for (const auto& [user, record] : state_.nodes)
      if (record->spec->resource_group == name)
        return object_reference{object_kind::node, user};
  // A placement that was made for a deployment goes with it.
  for (const auto& [user, share] : state_.placements)
    if ((kind == object_kind::workload && share.deployment == name
         && user != own_placement_name(share.deployment, share.cluster))
        || (kind == object_kind::resource_group && share.cluster == name))
      return object_reference{object_kind::placement, user};
  return std::nullopt;
}

void gateway_admission_facts::each_workload_in(
  std::string_view group,
  const std::function<void(const workload&, const workload_status*)>& look) const {
  std::map<std::string_view, const workload_status*> found;
  for (const auto& [name, record] : state_.workloads)
    if (record->spec->resource_group == group && !record->deleting)
      found.emplace(name, &record->status);
  if (const auto coming = state_.coming.find(object_kind::workload); coming != state_.coming.end())
    for (const auto& [name, forms] : coming->second)
      if (const auto* w = find_workload(name); w != nullptr && w->resource_group == group)
        found.try_emplace(name, find_status(name));
  for (const auto& [name, status] : found)
    look(*find_workload(name), status);
}

queue_fill gateway_admission_facts::fill_of_queue(std::string_view name) const {
  queue_fill fill{0, state_.limits.workloads_per_queue};
  if (const auto* counted = find(state_.workloads_in_queue, name))
    fill.workloads = *counted;
  if (const auto* coming = find(state_.new_in_queue, name))
    fill.workloads += *coming;
  return fill;
}

by_name<std::int64_t> gateway_admission_facts::pods_by_queue() const {
  auto counts = state_.pods_in_queue;
  if (const auto coming = state_.coming.find(object_kind::workload); coming != state_.coming.end())
    for (const auto& [name, forms] : coming->second) {
      const auto* next = find_workload(name);
      counts[next->queue] += pod_count(*next);
      if (const auto known = state_.workloads.find(name); known != state_.workloads.end())
        counts[known->second->spec->queue] -= pod_count(known->second->spec);
    }
  return counts;
}

std::size_t gateway_admission_facts::most_resource_groups() const {
  if (!state_.serving)
    return record_limits::resource_groups;
  constexpr std::size_t bytes_of_a_part = 160; // its name and its owner's
  const auto& schema = state_.serving->schema;
  const auto parts = std::size_t{schema.node_shards} + schema.workload_shards + 1;
  return std::min(record_limits::resource_groups,
                  record_limits::record_bytes / (parts * bytes_of_a_part));
}

namespace {

void count_out(by_name<std::int64_t>& counts, const std::string& queue) {
  const auto counted = counts.find(queue);
  if (--counted->second == 0)
    counts.erase(counted);
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

void count_pods(by_name<std::int64_t>& counts, const workload& of, std::int64_t sign) {
  const auto counted = counts.try_emplace(of.queue).first;
  counted->second += sign * pod_count(of);
  if (counted->second == 0)
    counts.erase(counted);
}

/// Takes in what a shard has told; `in_shard` tells by group and name what it may have.
template <class T, class In, class F>
void merge_changes(followed_objects<T>& known, std::vector<T>& told,
                   std::vector<std::string> removed, bool everything, const In& in_shard,
                   const F& changed) {
  // What the shard does not have any more was removed while nobody told.
  if (everything)
    removed = known.missing_in(told, in_shard);
  for (auto& one : told)
    known.put(std::move(one), changed);
  for (const auto& name : removed)
    known.remove(name, in_shard, changed);
}

/// Adds what a node has, or has more than before.
void count_capacity(by_name<wide_int>& total, const node_record* before, const node_record* now) {
  if (before != nullptr && now != nullptr && before->spec->capacity == now->spec->capacity)
    return;
  if (before != nullptr)
    for (const auto& [resource, amount] : before->spec->capacity)
      total[resource] -= amount;
  if (now != nullptr)
    for (const auto& [resource, amount] : now->spec->capacity)
      total[resource] += amount;
  std::erase_if(total, [](const auto& one) { return one.second == 0; });
}

auto may_be_in(const std::string& shard, std::uint32_t shards) {
  return [&shard, shards](std::string_view group, std::string_view name) {
    return shard == shard_name(group, shard_number(name, shards));
  };
}

} // namespace

namespace {

/// What can't be read of a shard; what it tells of later can be.
void know_aside(gateway_state& state, const std::string& shard, bool everything,
                std::vector<set_aside> aside) {
  if (!everything)
    return;
  if (aside.empty())
    state.aside.erase(shard);
  else
    state.aside.insert_or_assign(shard, objects_aside{std::move(aside)});
}

template <class T, class Name>
void know_readable(gateway_state& state, const std::string& shard, object_kind kind,
                   const std::vector<T>& changed, const std::vector<std::string>& removed,
                   Name name_of) {
  const auto known = state.aside.find(shard);
  if (known == state.aside.end())
    return;
  for (const auto& one : changed)
    known->second.remove(kind, name_of(one));
  for (const auto& name : removed)
    known->second.remove(kind, name);
}

} // namespace

const set_aside* find_aside(const gateway_state& state, object_kind kind, std::string_view name) {
  for (const auto& [shard, objects] : state.aside)
    if (const auto* found = objects.find(kind, name))
      return found;
  return nullptr;
}

void apply_delta(gateway_state& state, node_delta& delta) {
  const auto of = "n/" + delta.shard;
  const auto name_of = [](const auto& record) { return record->spec->name; };
  know_aside(state, of, delta.everything, delta.aside);
  if (!delta.everything)
    know_readable(state, of, object_kind::node, delta.changed, delta.removed, name_of);
  if (delta.of_bundle || delta.everything)
    ++state.told_of_bundles;
  if (delta.everything)
    state.unheard.erase("n/" + delta.shard);
  merge_changes(state.nodes, delta.changed, std::move(delta.removed), delta.everything,
                may_be_in(delta.shard, state.serving->schema.node_shards),
                [&](const auto* before, const auto* now) {
                  count_capacity(state.capacity_in_all, before == nullptr ? nullptr : before->get(),
                                 now == nullptr ? nullptr : now->get());
                  state.pods.replace(before == nullptr ? pod_list{} : (*before)->pods,
                                     now == nullptr ? pod_list{} : (*now)->pods);
                });
}

void apply_delta(gateway_state& state, workload_delta& delta) {
  const auto of = "w/" + delta.shard;
  know_aside(state, of, delta.everything, delta.aside);
  if (!delta.everything) {
    know_readable(state, of, object_kind::workload, delta.changed, delta.removed,
                  [](const auto& record) { return record->spec->name; });
    know_readable(state, of, object_kind::disruption_budget, delta.budgets, delta.removed_budgets,
                  [](const auto& budget) { return budget.name; });
    know_readable(state, of, object_kind::placement, delta.placements, delta.removed_placements,
                  [](const auto& share) { return share.name; });
  }
  if (delta.of_bundle || delta.everything)
    ++state.told_of_bundles;
  if (delta.everything)
    state.unheard.erase("w/" + delta.shard);
  const auto in_shard = may_be_in(delta.shard, state.serving->schema.workload_shards);
  merge_changes(state.workloads, delta.changed, std::move(delta.removed), delta.everything,
                in_shard, [&](const auto* before, const auto* now) {
                  if (before != nullptr)
                    count_pods(state.pods_in_queue, (*before)->spec, -1);
                  if (now != nullptr)
                    count_pods(state.pods_in_queue, (*now)->spec, 1);
                  const bool stays = before != nullptr && now != nullptr;
                  if (stays && (*before)->spec->queue == (*now)->spec->queue)
                    return;
                  if (before != nullptr)
                    count_out(state.workloads_in_queue, (*before)->spec->queue);
                  if (now != nullptr)
                    ++state.workloads_in_queue[(*now)->spec->queue];
                  if (stays)
                    return;
                  const auto& name = (now != nullptr ? *now : *before)->spec->name;
                  if (auto* coming = find_coming(state, object_kind::workload, name))
                    count_if_new(state, *coming);
                });
  const auto ignore = [](const auto*, const auto*) {};
  merge_changes(state.budgets, delta.budgets, std::move(delta.removed_budgets), delta.everything,
                in_shard, ignore);
  merge_changes(state.placements, delta.placements, std::move(delta.removed_placements),
                delta.everything, in_shard, ignore);
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

} // namespace reprieve
