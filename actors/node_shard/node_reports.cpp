#include "actors/node_shard/node_reports.hpp"

#include "actors/interfaces/planted_bug.hpp"
#include "actors/node_shard/lost_nodes.hpp"
#include "actors/node_shard/node_stops.hpp"
#include "actors/node_shard/node_watch.hpp"
#include "actors/node_shard/node_writes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;

/// The end of a pod that its workload has to know.
struct pod_end {
  pod ended;
  slot_state how = slot_state::failed;
  bool lost = false; ///< its machine does not know it any more
};

/// Their workloads know the end of these pods.
void erase_pods(self_pointer self, const std::vector<victim_pod>& pods) {
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
}

/// The pods ended by themselves: their records go only when their workloads know the end for good.
void record_ends(self_pointer self, const std::vector<pod_end>& ends) {
  const auto& workloads = self->state.workloads;
  if (workloads.empty())
    return; // all is asked again when it meets them
  struct of_shard {
    slots_ended told;
    std::vector<victim_pod> pods;
  };
  std::map<std::uint32_t, of_shard> by_shard;
  for (const auto& [ended, how, lost] : ends) {
    auto& [told, pods] =
      by_shard[shard_number(ended.workload, static_cast<std::uint32_t>(workloads.size()))];
    told.ends.push_back({ended.workload,
                         {ended.group, ended.replica, ended.index},
                         ended.incarnation,
                         how,
                         lost,
                         ended.node,
                         lost});
    pods.push_back({ended.uid, ended.node});
  }
  for (auto& [number, one] : by_shard)
    self->request(workloads[number], caf::infinite, std::move(one.told))
      .then(
        [self, pods = std::move(one.pods)](absl::Status& recorded) {
          if (!recorded.ok())
            return;
          when_nothing_is_lent(self, [self, pods] { erase_pods(self, pods); });
        },
        [](caf::error&) {}); // it is told again when this shard meets the next
}

bool is_end(const pod_report& report) {
  using what = pod_report::what;
  return report.happened == what::stopped || report.happened == what::succeeded
         || report.happened == what::failed || report.happened == what::forgotten;
}

/// What the end of the pod comes to for its workload.
slot_state outcome(const pod& ended, const pod_report& report) {
  using what = pod_report::what;
  if (ended.evicted_by == not_wanted || report.happened == what::forgotten)
    return slot_state::wanted;
  return report.happened == what::succeeded ? slot_state::succeeded : slot_state::failed;
}

/// Takes in how a pod of the record fares. Returns its end where its workload has to know it.
std::optional<pod_end> apply_report(node_record& record, const pod_report& report) {
  if (apply_own_report(record, report))
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
  const bool is_forgotten = report.happened == pod_report::what::forgotten;
  if (is_forgotten && changed.phase == pod_phase::bound)
    return std::nullopt; // nobody has heard that it was started: it is ordered to, not asked about
  changed.phase = pod_phase::gone;
  if (!changed.evicted_by.empty() && changed.evicted_by != not_wanted) {
    // Its workload learns from the decision that it goes. As long as it was not told, that may be
    // taken back, and then its end counts.
    if (changed.stop_told == no_time)
      put_pod(record, std::move(changed));
    else
      erase_pod(record, report.uid);
    return std::nullopt;
  }
  put_pod(record, changed);
  const auto how = outcome(changed, report);
  const bool lost = is_forgotten && changed.evicted_by.empty();
  return pod_end{std::move(changed), how, lost};
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

/// The nodes that are there, and run more of what was given up than was known.
std::vector<std::string> with_more_left(const node_shard_state& state,
                                        const record_changes& changes) {
  std::vector<std::string> found;
  for (const auto& [name, next] : changes)
    if (const auto before = state.records.newest(name);
        before && !next->status.lost && !next->status.pods_lost
        && next->status.left_behind.size() > before->status.left_behind.size())
      found.push_back(name);
  return found;
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

void tell(self_pointer self, const char* kind, const std::string& name, const char* type,
          std::string message) {
  self->send(self->state.events,
             event{0, self->state.clock.now(self), kind, name, type, std::move(message), {}, {}});
}

/// Pods that were forgotten, by node and then by workload. Those that were gone before are left
/// out: they have been told of.
using forgotten_pods = std::map<std::string, std::map<std::string, std::size_t>>;

void tell_forgotten(self_pointer self, const forgotten_pods& forgotten) {
  const auto pods = [](std::size_t count) {
    return count == 1 ? std::string("a pod") : fmt::format("{} pods", count);
  };
  for (const auto& [node, workloads] : forgotten) {
    std::size_t all = 0;
    for (const auto& [workload, count] : workloads) {
      all += count;
      tell(self, "Workload", workload, "PodsLost",
           fmt::format("{} {} lost: the machine of node {} does not know {} any more", pods(count),
                       count == 1 ? "was" : "were", node, count == 1 ? "it" : "them"));
    }
    tell(self, "Node", node, "PodsLost",
         fmt::format("its machine does not know {} any more that ran there: {} lost", pods(all),
                     all == 1 ? "it is" : "they are"));
  }
}

/// Whether the record says that the pod ran, and its machine does not know it.
bool is_forgotten_now(const node_record& record, const pod_report& report) {
  const pod* known = find_pod(record, report.uid);
  return report.happened == pod_report::what::forgotten && known != nullptr
         && known->phase != pod_phase::gone && known->phase != pod_phase::bound
         && known->stop_told == no_time;
}

/// Whether the pod was started, and nobody here has told it to stop.
bool should_run(const pod& p) {
  if (p.placed_by == placed_by_cluster) // which goes on by itself
    return p.stop_told == no_time || p.evicted_by.empty();
  return p.phase == pod_phase::running && p.stop_told == no_time;
}

/// Whether the pod is to be started, in the newest form of the record too.
bool is_bound(const pod& durable, const pod& newest) {
  return durable.phase == pod_phase::bound && newest.phase == pod_phase::bound;
}

/// Calls `use` with each pod of the node as it is durable, and as it is in the newest form.
template <class F>
void for_each_pod(const node_shard_state& state, const std::string& node, F use) {
  const auto durable = state.records.durable(node);
  const auto newest = state.records.newest(node);
  if (!durable || !newest)
    return;
  for (const auto& shared : durable->pods.shared())
    if (const pod* now = find_pod(*newest, shared->what().uid))
      use(shared, *now);
}

/// Gives again what was ordered for the node's pods, and returns whether some should run.
bool give_orders_again(self_pointer self, const std::string& node) {
  bool some_run = false;
  for_each_pod(self->state, node, [&](const pod_list::pointer& shared, const pod& newest) {
    const auto& p = shared->what();
    if (should_run(newest))
      some_run = true;
    else if (p.placed_by == placed_by_cluster && p.phase == pod_phase::force_deleting)
      order_delete(self, shared);
    else if (p.stop_told != no_time)
      order_stop(self, shared);
    else if (is_bound(p, newest))
      order_start(self, shared);
    else if (p.phase == pod_phase::gone)
      ask_about(self, shared);
  });
  return some_run;
}

/// Asks how the pods on these nodes fare that should run.
void ask_about_all(self_pointer self, const std::vector<std::string>& nodes) {
  auto& waiting = self->state.to_repeat;
  const bool under_way = !waiting.empty();
  waiting.insert(waiting.end(), nodes.begin(), nodes.end());
  if (!under_way)
    ask_about_some(self);
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
  for_each_pod(self->state, node, [&](const pod_list::pointer& shared, const pod& newest) {
    if (is_bound(shared->what(), newest))
      order_start(self, shared);
  });
}

void ask_about(self_pointer self, const pod_list::pointer& p) {
  if (is_planted(planted_bug::asks_by_starting)) {
    order_start(self, p);
    return;
  }
  const auto& known = p->what();
  self->send(self->state.cluster,
             pod_question{known.uid, known.node, known.phase, epoch_of(self->state), self});
}

void receive_reports(self_pointer self, const pod_reports& reports) {
  record_changes changes;
  std::vector<pod_end> ends;
  forgotten_pods forgotten;
  for (const auto& report : reports) {
    if (report.happened == pod_report::what::came_back) {
      repeat_orders(self, report.node);
      continue;
    }
    auto& record = changes[report.node];
    if (!record && is_end(report) && self->state.left_behind.contains(report.node))
      forget_left_behind(self, report.node, report.uid);
    if (!record && !is_news(self->state, report))
      continue;
    if (!record)
      record = edit(self->state, report.node);
    if (!record)
      continue;
    const bool is_lost = is_forgotten_now(*record, report);
    if (auto end = apply_report(*record, report)) {
      if (is_lost && end->lost)
        ++forgotten[report.node][end->ended.workload];
      ends.push_back(*std::move(end));
    }
  }
  leave_out_unchanged(self->state, changes);
  if (changes.empty() && ends.empty())
    return;
  const auto clean = rid_of_all(self->state, changes);
  const auto to_clean = with_more_left(self->state, changes);
  write_records(self, std::move(changes),
                [self, clean, to_clean, forgotten = std::move(forgotten), ends = std::move(ends)] {
                  for (const auto& name : to_clean)
                    stop_left_behind(self, name);
                  if (!clean.empty())
                    watch_own_nodes(self); // pods may be placed on them
                  for (const auto& name : clean) {
                    start_bound(self, name);
                    tell(self, "Node", name, "NodeClean",
                         "what was left on it has been stopped; pods may come again");
                  }
                  tell_forgotten(self, forgotten);
                  record_ends(self, ends);
                });
}

void ask_about_some(self_pointer self) {
  constexpr std::size_t pods_at_once = 200;
  constexpr std::chrono::milliseconds pause{100};
  auto& state = self->state;
  for (std::size_t pods = 0; pods < pods_at_once && !state.to_repeat.empty();) {
    const auto record = state.records.newest(state.to_repeat.back());
    state.to_repeat.pop_back();
    if (!record)
      continue;
    pods += record->pods.size();
    for (const auto& shared : record->pods.shared())
      if (should_run(shared->what()))
        ask_about(self, shared);
  }
  if (!state.to_repeat.empty())
    self->delayed_send(self, pause, repeat_more_orders{});
}

void repeat_orders(self_pointer self) {
  auto& state = self->state;
  std::vector<std::string> asked;
  for (const auto& [name, record] : state.records.durable()) {
    if (give_orders_again(self, name))
      asked.push_back(name);
    if (!record->status.lost && !record->status.pods_lost)
      stop_left_behind(self, name);
  }
  for (const auto& [name, left] : state.left_behind)
    stop_left_behind(self, name);
  ask_about_all(self, asked);
}

void repeat_orders(self_pointer self, const std::string& node) {
  if (give_orders_again(self, node))
    ask_about_all(self, {node});
  stop_left_behind(self, node);
}

void repeat_ends(self_pointer self) {
  for (const auto& [name, record] : self->state.records.durable())
    for (const auto& shared : record->pods.shared())
      if (const auto& p = shared->what(); p.phase == pod_phase::gone) {
        if (p.stop_told != no_time)
          order_stop(self, shared);
        else
          ask_about(self, shared);
      }
}

} // namespace reprieve
