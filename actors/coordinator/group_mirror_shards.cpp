#include "actors/coordinator/group_mirror.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// What the mirror and the node shards' own views have to know of each other, and what shards can't
// read.

namespace reprieve {

bool group_mirror::is_aside(std::string_view workload) const {
  return std::ranges::any_of(aside_, [&](const auto& of_shard) {
    return of_shard.second.find(object_kind::workload, workload) != nullptr;
  });
}

bool group_mirror::may_run_unseen(const workload_record& record) const {
  return !aside_.empty() && !is_left_to_cluster(&record)
         && std::ranges::any_of(aside_, [&](const auto& of_shard) {
              return std::ranges::any_of(of_shard.second, [&](const auto& one) {
                return one.second.hides_pods && record.status.submitted <= one.second.since;
              });
            });
}

void group_mirror::look_at_aside(const objects_aside& changed) {
  bool hides = false;
  for (const auto& [name, one] : changed) {
    hides = hides || one.hides_pods;
    if (one.kind != object_kind::workload)
      continue;
    auto& work = workload_named(one.name);
    mark(work);
    mark_nodes_of(work.second);
  }
  if (hides)
    for (auto& one : workloads_)
      mark(one);
}

void group_mirror::know_aside(const std::string& shard, objects_aside aside) {
  auto& known = aside_[shard];
  const auto before = std::exchange(known, std::move(aside));
  look_at_aside(before);
  look_at_aside(known);
  if (known.empty())
    aside_.erase(shard);
}

void group_mirror::know_readable(const std::string& shard, object_kind kind,
                                 const std::string& name) {
  const auto known = aside_.find(shard);
  if (known == aside_.end() || known->second.find(kind, name) == nullptr)
    return;
  auto left = known->second;
  left.remove(kind, name);
  know_aside(shard, std::move(left));
}

std::string group_mirror::why_hidden(std::string_view workload) const {
  const auto record = find_workload(workload);
  if (!record || !may_run_unseen(*record))
    return {};
  for (const auto& [shard, of_shard] : aside_)
    for (const auto& [key, one] : of_shard)
      if (one.hides_pods)
        return fmt::format("what runs on node {} can't be read, and pods of {} may be among it; "
                           "what came before gets no more pods until that is settled: {}",
                           one.name, workload, describe(one));
  return {};
}

/// Remembers what shards have to be told since this pod changed or left.
void group_mirror::note_for_shards(const pod& p) {
  if (p.disruption == disruption_mode::pod_group)
    moved_.insert(portion_of(p));
}

/// Finds out whether the node stands in the view as in its record, and its pods with other costs.
void group_mirror::compare_with_shard(named_node& one) {
  auto& [name, entry] = one;
  const bool differs = (stopping_.has_stuck() || !aside_.empty() || !being_told_.empty())
                       && std::ranges::any_of(entry.shown, [&](const pod& p) {
                            const bool is_ahead =
                              p.evicted_by == not_wanted && p.stop_told == no_time;
                            return stopping_.is_stuck(p.uid) || is_ahead || is_aside(p.workload);
                          });
  if (differs || !entry.taken_in.shares_all_with(entry.record->pods))
    ahead_.insert(&one);
  else
    ahead_.erase(&one);
  if (!entry.taken_in.shares_all_with(entry.shown) || told_costs_.contains(name))
    dear_.insert(name);
}

std::vector<node_row> group_mirror::ahead_of_shards() {
  view_of_nodes();
  std::vector<node_row> rows;
  for (const auto* one : ahead_)
    if (const auto n = view_.find_node(one->first); n != no_row)
      rows.push_back(n);
  return rows;
}

void group_mirror::tell_shards_all() {
  for (const auto& [name, entry] : nodes_) {
    if (!entry.taken_in.shares_all_with(entry.shown))
      dear_.insert(name);
    for (const auto& p : entry.shown)
      note_for_shards(p);
  }
}

std::map<std::uint32_t, portion_facts> group_mirror::news_for_shards(std::uint32_t shards) {
  view_of_nodes();
  std::map<std::uint32_t, portion_facts> news;
  for (const auto& name : std::exchange(dear_, {}))
    if (const auto on = nodes_.find(name); on != nodes_.end()) {
      auto& costs = news[shard_number(name, shards)].costs[name];
      const auto& shown = on->second.shown.shared();
      for (std::size_t i = 0; i < shown.size(); ++i)
        if (const auto& p = shown[i]->what(); shown[i] != on->second.taken_in.shared()[i])
          costs[p.uid] = {p.priority, p.checkpointed, p.minimum_runtime};
      if (costs.empty())
        told_costs_.erase(name);
      else
        told_costs_.insert(name);
    }
  const auto shard_of = [&](node_row n) { return shard_number(view_.node_name(n), shards); };
  for (const auto& id : std::exchange(moved_, {})) {
    std::set<std::uint32_t> on;
    const auto row = view_.find_portion(id);
    if (row != no_row)
      for (const auto p : view_.pods_of(row))
        on.insert(shard_of(view_.node_of(p)));
    auto& told = told_parts_[id];
    for (const auto shard : on)
      if (on.size() > 1 || told.contains(shard))
        news[shard].elsewhere.emplace_back(
          id, view_.part_of(row, [&](node_row n) { return shard_of(n) != shard; }));
    for (const auto shard : told)
      if (!on.contains(shard))
        news[shard].elsewhere.emplace_back(id, portion_part{});
    told = on.size() > 1 ? std::move(on) : std::set<std::uint32_t>{};
    if (told.empty())
      told_parts_.erase(id);
  }
  return news;
}

} // namespace reprieve
