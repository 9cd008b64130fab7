#include "actors/node_reports.hpp"

#include "actors/lost_nodes.hpp"
#include "actors/node_stops.hpp"
#include "actors/node_watch.hpp"
#include "actors/node_writes.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;

/// The end of a pod that its workload has to know.
struct pod_end {
  pod ended;
  slot_state how = slot_state::failed;
};

/// The pods ended by themselves: their records go only when their workloads know the end for good.
void record_ends(self_pointer self, const std::vector<pod_end>& ends) {
  const auto& workloads = self->state.workloads;
  struct of_shard {
    slots_ended told;
    std::vector<victim_pod> pods;
  };
  std::map<std::uint32_t, of_shard> by_shard;
  for (const auto& [ended, how] : ends) {
    auto& [told, pods] =
      by_shard[shard_number(ended.workload, static_cast<std::uint32_t>(workloads.size()))];
    told.ends.push_back(
      {ended.workload, {ended.group, ended.replica, ended.index}, ended.incarnation, how});
    pods.push_back({ended.uid, ended.node});
  }
  for (auto& [number, one] : by_shard)
    self->request(workloads[number], caf::infinite, std::move(one.told))
      .then(
        [self, pods = std::move(one.pods)](absl::Status& recorded) {
          if (!recorded.ok())
            return;
          record_changes changes;
          for (const auto& [uid, node] : pods) {
            auto& record = changes.try_emplace(node, nullptr).first->second;
            if (!record)
              record = edit(self->state, node);
            if (record)
              erase_pod(*record, uid);
          }
          leave_out_unchanged(self->state, changes);
          if (!changes.empty())
            write_records(self, std::move(changes));
        },
        [](caf::error&) {}); // it is told again when this shard meets the next
}

bool is_end(const pod_report& report) {
  using what = pod_report::what;
  return report.happened == what::stopped || report.happened == what::succeeded
         || report.happened == what::failed;
}

/// Takes in how a pod of the record fares. Returns its end where its workload has to know it.
std::optional<pod_end> take_in(node_record& record, const pod_report& report) {
  if (take_in_own(record, report))
    return std::nullopt;
  const pod* known = find_pod(record, report.uid);
  if (known == nullptr) {
    if (is_end(report))
      std::erase(record.status.left_behind, report.uid);
    return std::nullopt;
  }
  auto changed = *known;
  if (report.happened == pod_report::what::running) {
    if (changed.phase == pod_phase::bound) {
      changed.phase = pod_phase::running;
      changed.started = report.at;
      put_pod(record, std::move(changed));
    }
    return std::nullopt;
  }
  auto how =
    report.happened == pod_report::what::succeeded ? slot_state::succeeded : slot_state::failed;
  changed.phase = pod_phase::gone;
  if (changed.evicted_by == not_wanted) {
    how = slot_state::wanted;
  } else if (!changed.evicted_by.empty()) {
    // Its workload learns from the decision that it goes. As long as it was not told, that may be
    // taken back, and then its end counts.
    if (changed.stop_told == no_time)
      put_pod(record, std::move(changed));
    else
      erase_pod(record, report.uid);
    return std::nullopt;
  }
  put_pod(record, changed);
  return pod_end{std::move(changed), how};
}

/// Whether the report tells something new; what was told again after a start does not.
bool is_news(const node_shard_state& state, const pod_report& report) {
  const auto record = state.records.newest(report.node);
  const pod* known = record ? find_pod(*record, report.uid) : nullptr;
  if (record && report.happened == pod_report::what::placed)
    return known == nullptr;
  if (record && known == nullptr && is_end(report))
    return std::ranges::find(record->status.left_behind, report.uid)
           != record->status.left_behind.end();
  return known != nullptr
         && (report.happened != pod_report::what::running || known->phase == pod_phase::bound);
}

/// The nodes that have stopped the last of what was given up there.
std::vector<std::string> rid_of_all(const node_shard_state& state, const record_changes& changes) {
  std::vector<std::string> found;
  for (const auto& [name, next] : changes)
    if (const auto before = state.records.newest(name);
        before && !before->status.left_behind.empty() && next->status.left_behind.empty())
      found.push_back(name);
  return found;
}

} // namespace

void order_start(self_pointer self, const pod_list::pointer& p) {
  // Not beside what may be there still: it is given up as well, or starts when those have gone.
  if (const auto record = self->state.records.newest(p->what().node);
      record && is_given_up(record->status))
    return;
  self->send(self->state.cluster, start_order{p, epoch_of(self->state), self});
}

void start_bound(self_pointer self, const std::string& node) {
  if (const auto record = self->state.records.durable(node))
    for (const auto& shared : record->pods.shared())
      if (shared->what().phase == pod_phase::bound)
        order_start(self, shared);
}

void take_in(self_pointer self, const pod_reports& reports) {
  record_changes changes;
  std::vector<pod_end> ends;
  for (const auto& report : reports) {
    auto& record = changes[report.node];
    if (!record && is_end(report) && self->state.left_behind.contains(report.node))
      forget_left_behind(self, report.node, report.uid);
    if (!record && !is_news(self->state, report))
      continue;
    if (!record)
      record = edit(self->state, report.node);
    if (record)
      if (auto end = take_in(*record, report))
        ends.push_back(*std::move(end));
  }
  leave_out_unchanged(self->state, changes);
  if (changes.empty() && ends.empty())
    return;
  const auto clean = rid_of_all(self->state, changes);
  write_records(self, std::move(changes), [self, clean, ends = std::move(ends)] {
    for (const auto& name : clean) {
      start_bound(self, name);
      self->send(self->state.events,
                 event{0,
                       self->state.clock.now(self),
                       "Node",
                       name,
                       "NodeClean",
                       "what was left on it has been stopped; pods may come again",
                       {},
                       {}});
    }
    record_ends(self, ends);
  });
}

void repeat_starts(self_pointer self) {
  constexpr std::size_t pods_at_once = 200;
  constexpr std::chrono::milliseconds pause{100};
  auto& state = self->state;
  for (std::size_t pods = 0; pods < pods_at_once && !state.to_repeat.empty();) {
    const auto record = state.records.durable(state.to_repeat.back());
    state.to_repeat.pop_back();
    if (!record)
      continue;
    pods += record->pods.size();
    for (const auto& shared : record->pods.shared())
      if (const auto& p = shared->what(); p.phase == pod_phase::running && p.stop_told == no_time
                                          && p.placed_by != placed_by_cluster)
        order_start(self, shared);
  }
  if (!state.to_repeat.empty())
    self->delayed_send(self, pause, repeat_more_orders{});
}

void repeat_orders(self_pointer self) {
  auto& state = self->state;
  for (const auto& [name, record] : state.records.durable()) {
    bool runs = false;
    for (const auto& shared : record->pods.shared()) {
      const auto& p = shared->what();
      if (p.placed_by == placed_by_cluster && (p.stop_told == no_time || p.evicted_by.empty()))
        continue; // its cluster goes on by itself, and tells when it is asked to
      if (p.placed_by == placed_by_cluster && p.phase == pod_phase::force_deleting)
        order_delete(self, shared);
      else if (p.stop_told != no_time)
        order_stop(self, shared);
      else if (p.phase == pod_phase::bound || p.phase == pod_phase::gone)
        order_start(self, shared);
      runs = runs || p.phase == pod_phase::running;
    }
    if (runs)
      state.to_repeat.push_back(name);
    if (!record->status.lost && !record->status.pods_lost)
      stop_left_behind(self, name);
  }
  for (const auto& [name, left] : state.left_behind)
    stop_left_behind(self, name);
  repeat_starts(self);
}

void repeat_ends(self_pointer self) {
  for (const auto& [name, record] : self->state.records.durable())
    for (const auto& shared : record->pods.shared())
      if (const auto& p = shared->what(); p.phase == pod_phase::gone) {
        if (p.stop_told != no_time)
          order_stop(self, shared);
        else
          order_start(self, shared);
      }
}

} // namespace reprieve
