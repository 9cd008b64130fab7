#include "tests/simulation/member.hpp"
#include "tests/simulation/truth.hpp"

#include <algorithm>

// What changes, as far as it may be why somebody has to go.

namespace reprieve::simulation {

void truth::note_changes(const node_record* before, const node_record& now) {
  const auto& group = now.spec->resource_group;
  if (before == nullptr || !planned_on_alike(*before, now)) {
    causes_.changed(group, now_());
    return;
  }
  // Room of those who end by themselves. That of victims is why they went; but a node that takes
  // no pods is shared only as far as some are there.
  const auto ends = [&](const pod& p) {
    const pod* still = find_pod(now, p.uid);
    return (still == nullptr || !takes_room(still->phase))
           && (p.evicted_by.empty() || p.evicted_by == not_wanted || !takes_pods(now));
  };
  for (const auto& p : before->pods)
    if (takes_room(p.phase) && ends(p))
      causes_.changed(group, now_());
}

void truth::note_changes(const workload_record* before, const workload_record& now) {
  const auto& group = now.spec->resource_group;
  if (before == nullptr || *before->spec != *now.spec || before->deleting != now.deleting)
    causes_.changed(group, now_());
  if (const auto due = now.status.resume_after;
      due != no_time && (before == nullptr || before->status.resume_after != due))
    causes_.comes_back(group, now.spec->name, due);
}

void truth::queue_written(queue record) {
  note_limits(record);
  auto& known = queues_[record.name];
  if (known != record)
    causes_.changed({}, now_());
  known = std::move(record);
}

/// From when they are durable until the group knows them.
constexpr std::chrono::milliseconds time_to_tell_grants{500};

void truth::quota_written(const std::string& queue, quota_record record) {
  auto& known = quota_[queue];
  for (const auto& name : groups_) {
    const auto* before = find(known.grants, name);
    const auto* now = find(record.grants, name);
    if ((before == nullptr) != (now == nullptr) || (now != nullptr && *before != *now))
      causes_.changed(name, now_(), now_() + time_to_tell_grants);
  }
  known = std::move(record);
}

time_point truth::planned_by(std::string_view decision) const {
  if (const auto open = open_.find(decision); open != open_.end())
    return open->second.what.decided;
  const auto ended = ended_.find(decision);
  return ended == ended_.end() ? no_time : ended->second.decided;
}

void truth::check_cause(const decision& d) {
  if (d.resource_group == counted_group) // where the cluster starts pods
    return;
  const auto now = now_();
  std::vector<eviction_causes::stopped_pod> pods;
  for (const auto& [name, record] : nodes_)
    for (const auto& p : record.pods) {
      // Nobody counts on room that is not left in time; but a queue that gave it back has done so.
      if (d.queue.empty() && record.spec->resource_group == d.resource_group
          && p.stop_told != no_time
          && p.stop_told + p.checkpoint_time + p.grace_period + std::chrono::seconds{1} < now)
        causes_.changed(d.resource_group, now);
      for (const auto& one : d.victims)
        if (std::ranges::find(one.pods, p.uid, &victim_pod::uid) != one.pods.end())
          pods.push_back({p.uid, p.workload, planned_by(p.placed_by), p.started});
    }
  if (auto wrong = causes_.judge(d, pods, now); !wrong.empty())
    complain(std::move(wrong) + text_of_nodes());
  std::set<std::string> queues;
  for (const auto& one : d.assignments)
    if (const auto owner = workloads_.find(one.placed.workload); owner != workloads_.end())
      queues.insert(owner->second.spec->queue);
  causes_.committed(d, std::move(queues));
}

/// Whoever others have gone for runs, unless there was a reason.
void truth::check_for_vain() {
  auto wrong = causes_.stopped_in_vain([&](const assignment& one) {
    return std::ranges::any_of(nodes_, [&](const auto& on) {
      return std::ranges::any_of(on.second.pods, [&](const pod& p) {
        return p.workload == one.placed.workload && p.group == one.placed.group
               && p.replica == one.placed.replica && p.index == one.placed.index;
      });
    });
  });
  if (!wrong.empty())
    complain(std::move(wrong) + text_of_nodes());
}

} // namespace reprieve::simulation
