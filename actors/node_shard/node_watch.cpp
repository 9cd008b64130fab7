#include "actors/node_shard/node_watch.hpp"

#include "actors/durability/record_room.hpp"
#include "actors/interfaces/given_up_nodes.hpp"
#include "actors/node_shard/node_writes.hpp"

#include <algorithm>

namespace reprieve {

namespace {

/// Puts in a pod that runs already: nobody was asked whether the node's record has room for it.
/// What it brings for people and other tools is left out where there is none.
void put_as_fits(pod_list& pods, const pod_list::pointer& placed) {
  const auto used = bytes_of_pods(pods);
  const auto fits = [&](const pod_list::pointer& p) {
    return used + bytes_kept_for(*p) <= record_limits::all_pods_bytes;
  };
  if (fits(placed)) {
    pods.put(placed);
    return;
  }
  auto bare = placed->what();
  bare.annotations.clear();
  if (const auto without = std::make_shared<const shared_pod>(std::move(bare)); fits(without))
    pods.put(without);
}

} // namespace

void watch_own_nodes(node_shard_pointer self) {
  auto& state = self->state;
  if (!state.own_scheduler)
    return;
  watch_nodes watched{state.shard, {}, epoch_of(state), self};
  for (const auto& [name, record] : state.records.durable()) {
    auto& told = watched.nodes.emplace_back(planned_on(*record));
    if (is_given_up(record->status))
      taint_as_given_up(told);
  }
  self->send(state.cluster, std::move(watched));
}

void order_delete(node_shard_pointer self, const pod_list::pointer& forced) {
  const auto& p = forced->what();
  self->send(self->state.cluster,
             delete_order{p.uid, p.node, p.evicted_by, epoch_of(self->state), self});
}

bool apply_own_report(node_record& record, const pod_report& report) {
  using what = pod_report::what;
  const pod* known = find_pod(record, report.uid);
  if (report.happened == what::placed) {
    if (known != nullptr || !report.placed)
      return true;
    auto& left_behind = record.status.left_behind;
    if (!is_given_up(record.status))
      put_as_fits(record.pods, report.placed);
    else if (std::ranges::find(left_behind, report.uid) == left_behind.end())
      left_behind.push_back(report.uid); // nobody counts on it, whoever has placed it
    return true;
  }
  if (report.happened == what::terminating) {
    if (known != nullptr && !is_leaving(known->phase))
      record.pods.change_if([&](const pod& p) { return p.uid == report.uid; },
                            [&](pod& p) {
                              p.phase = pod_phase::terminating;
                              p.stop_told = report.at;
                              // Its workload had a place for it, which is to be filled anew.
                              if (p.placed_by != placed_by_cluster && p.evicted_by.empty())
                                p.evicted_by = not_wanted;
                            });
    return true;
  }
  if (known == nullptr || known->placed_by != placed_by_cluster || report.happened == what::running)
    return false;
  erase_pod(record, report.uid);
  return true;
}

} // namespace reprieve
