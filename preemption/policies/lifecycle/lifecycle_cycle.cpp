#include "preemption/policies/lifecycle/lifecycle_cycle.hpp"

#include "preemption/policies/lifecycle/lifecycle_allocation.hpp"
#include "state/model/queue_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace reprieve {

namespace {

/// Its priority as a part of the score, which is a sum over pods (docs/policies.md#workload-aware
/// step 9).
constexpr std::int64_t above_zero(std::int32_t priority) {
  return std::int64_t{priority} + (std::int64_t{1} << 31U);
}

std::string replicas(std::int32_t count) {
  return fmt::format("{} replica{}", count, count == 1 ? "" : "s");
}

count_change change_of(const counted_share& share) {
  const auto& now = share.now;
  return {now.name,      now.deployment, now.cluster,    share.committed,
          now.committed, now.preempted,  now.nominations};
}

class cycle {
public:
  cycle(const cluster_view& view, const lifecycle_cycle_input& given)
      : view_(view), given_(given), allocation_(view, given) {
    for (const auto& share : shares())
      by_deployment_.emplace(share.now.deployment, &share);
  }

  lifecycle_outcome run() && {
    allocation_.run();
    count_pending();
    if (allocate())
      remember(nullptr);
    else
      make_room();
    return std::move(out_);
  }

private:
  const std::vector<counted_share>& shares() const {
    return allocation_.shares();
  }

  const counted_share* share_of(std::string_view deployment) const {
    const auto found = by_deployment_.find(deployment);
    return found == by_deployment_.end() ? nullptr : found->second;
  }

  void count_pending() {
    for (const auto& share : shares())
      if (!share.why_no_more.empty())
        out_.waiting[share.now.deployment] = share.why_no_more;
    out_.needs = allocation_.needs();
  }

  // -- normal allocation --------------------------------------------------------------------------

  /// Commits what there is room for, and no more than is asked for, and makes the placements that
  /// are missing. False where that is so already.
  bool allocate() {
    lifecycle_step step;
    std::int32_t more = 0;
    bool fewer = false;
    for (const auto& share : shares()) {
      if (share.exists && share.now.committed == share.committed)
        continue;
      add_change(step, share);
      fewer = fewer || share.now.committed < share.committed;
      more += std::max(share.now.committed - share.committed, 0);
    }
    if (step.counts.empty())
      return false;
    step.why.summary =
      more > 0 ? fmt::format("{} fit{} without preemption: {}", replicas(more),
                             more == 1 ? "s" : "", told(step.counts))
      : fewer  ? fmt::format("fewer replicas are asked for or find room: {}", told(step.counts))
               : fmt::format("no node has room yet: {}", told(step.counts));
    put(std::move(step));
    return true;
  }

  static std::string told(const count_change& one) {
    return one.from == one.to
             ? fmt::format("{} keeps {}", one.deployment, one.to)
             : fmt::format("{} goes from {} to {}", one.deployment, one.from, one.to);
  }

  static std::string told(const std::vector<count_change>& counts) {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(counts.size(), most); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ", told(counts[i]));
    if (counts.size() > most)
      text += fmt::format(", and {} others", counts.size() - most);
    return text;
  }

  static void add_change(lifecycle_step& step, const counted_share& share) {
    const auto& who = share.of->who;
    step.priority = step.deployments.empty() ? who.priority : std::max(step.priority, who.priority);
    step.deployments.push_back(who.name);
    step.counts.push_back(change_of(share));
  }

  // -- the lifecycle phase ------------------------------------------------------------------------

  lifecycle_input phase_input() const {
    lifecycle_input in;
    in.pods = given_.pods;
    in.clusters.push_back(given_.cluster);
    in.recent_preemptions = given_.recent_preemptions;
    in.now = given_.now;
    in.explain = given_.explain;
    for (const auto& share : shares()) {
      auto& one = in.deployments.emplace_back(share.of->who);
      one.scores = {{given_.cluster.name, share.now.score}};
      one.lacking = share.lacking();
      if (share.exists)
        in.placements.push_back(share.now);
      if (share.now.preempted)
        in.before.preempted.push_back(one.name);
      for (const auto& room : share.now.nominations)
        in.before.nominations.push_back({one.name, room.node, room.victims});
    }
    std::ranges::sort(in.before.preempted);
    return in;
  }

  /// Those for whom nothing but their queue is in the way ask for no room until it is not.
  lifecycle_plan plan_within_grants() {
    auto in = phase_input();
    for (auto& one : in.deployments)
      if (const auto* share = share_of(one.name);
          !share->why_no_more.empty() && !share->now.preempted)
        one.lacking = 0;
    for (std::size_t tries = 0; tries <= in.deployments.size(); ++tries) {
      auto made = preempt_by_lifecycle(view_, in);
      const auto refused = first_refused(made);
      if (refused == made.matches.end())
        return made;
      const auto asks =
        std::ranges::find(in.deployments, refused->deployment, &lifecycle_deployment::name);
      asks->lacking = refused->replica;
    }
    return {};
  }

  /// The first match that its queue does not allow even with its victims gone.
  std::vector<lifecycle_match>::const_iterator first_refused(const lifecycle_plan& made) {
    auto grants = allocation_.grants();
    return std::ranges::find_if(made.matches, [&](const lifecycle_match& match) {
      const auto* share = share_of(match.deployment);
      bool from_others = false;
      for (const auto& one : match.victims)
        if (const auto* loser = share_of(one.deployment); loser != nullptr && stays(one)) {
          grants.give_back(loser->of->queue, taken_by_replica(loser->of->who));
          from_others =
            from_others
            || (one.stage == victim_stage::committed && loser->of->queue != share->of->queue);
        }
      const auto more = taken_by_replica(share->of->who);
      auto found = grants.in_the_way(share->of->queue, more, from_others);
      grants.take(share->of->queue, more);
      if (found.empty())
        return false;
      out_.waiting[match.deployment] = std::move(found);
      return true;
    });
  }

  /// Whether it counts among those that stay as long as nobody scales its deployment down.
  static bool stays(const lifecycle_victim& one) {
    return one.stage == victim_stage::surplus || one.stage == victim_stage::committed;
  }

  void make_room() {
    const auto made = plan_within_grants();
    out_.look_again = made.look_again;
    for (const auto& share : shares())
      take_step(made, share);
    explain_waiting(made);
    remember(&made);
  }

  /// What is done now for one preemptor: those scaled down for it, and those force-deleted.
  void take_step(const lifecycle_plan& made, const counted_share& share) {
    const auto& who = share.of->who;
    lifecycle_step step;
    step.deployments = {who.name};
    step.priority = who.priority;
    std::map<std::string_view, std::int32_t> lost; // committed replicas by deployment
    std::int32_t matched = 0;
    for (const auto& match : made.matches) {
      if (match.deployment != who.name)
        continue;
      ++matched;
      auto& tried = step.why.domains.emplace_back();
      tried.domain = match.node;
      tried.feasible = tried.chosen = true;
      tried.victims = static_cast<std::int64_t>(match.victims.size());
      tried.reason =
        fmt::format("room for replica {} of {} that it lacks", match.replica + 1, share.lacking());
      for (const auto& one : match.victims)
        add_victim(made, match, one, step, lost);
    }
    if (lost.empty() && step.force_deletes.empty())
      return;
    step.counts.push_back(change_of(share));
    step.counts.back().nominations = rooms_of(made, who.name);
    for (const auto& [name, count] : lost) {
      const auto* loser = share_of(name);
      auto& change = step.counts.emplace_back(change_of(*loser));
      // Replicas without a pod are given up with the first that has one.
      change.to = std::min(loser->now.committed, loser->bound) - count;
      change.preempted = true;
      change.nominations = rooms_of(made, name);
    }
    step.why.summary = summary_of(share, matched, step);
    for (const auto& one : made.passed_over)
      if (one.preemptor == who.name)
        if (const auto p = view_.find_pod(one.uid); p != no_row)
          step.why.passed_over.push_back(
            {view_.id_of(view_.portion_of(p)), view_.priority(p), one.reason});
    put(std::move(step));
  }

  void add_victim(const lifecycle_plan& made, const lifecycle_match& match,
                  const lifecycle_victim& one, lifecycle_step& step,
                  std::map<std::string_view, std::int32_t>& lost) const {
    const bool forced = std::ranges::binary_search(made.force_deletes, one.uid);
    if (one.stage != victim_stage::committed && !forced)
      return; // it goes by an earlier decision, or by itself
    victim gone;
    gone.portion = view_.id_of(view_.portion_of(view_.find_pod(one.uid)));
    gone.priority = one.priority;
    gone.pods.push_back({one.uid, match.node});
    gone.reason = one.reason;
    gone.counted = gone.expected = true;
    if (forced)
      step.force_deletes.push_back(gone.pods.front());
    else
      ++lost[one.deployment];
    auto& cost = step.scored;
    cost.highest_victim_priority =
      step.victims.empty() ? one.priority : std::max(cost.highest_victim_priority, one.priority);
    cost.priority_sum += above_zero(one.priority);
    ++cost.pods;
    step.victims.push_back(std::move(gone));
  }

  std::string summary_of(const counted_share& share, std::int32_t matched,
                         const lifecycle_step& step) const {
    auto text = fmt::format("{} (priority {}) lacks {} in {} and is matched to room for {}",
                            share.now.deployment, share.of->who.priority, replicas(share.lacking()),
                            share.now.cluster, matched);
    for (std::size_t i = 1; i < step.counts.size(); ++i)
      text += "; " + told(step.counts[i]);
    for (const auto& one : step.force_deletes)
      text += fmt::format("; {} is force-deleted", one.uid);
    return text;
  }

  void explain_waiting(const lifecycle_plan& made) {
    std::map<std::string, std::pair<std::int32_t, std::int32_t>, std::less<>> matched;
    for (const auto& match : made.matches) {
      auto& [pods, victims] = matched[match.deployment];
      ++pods;
      victims += static_cast<std::int32_t>(match.victims.size());
    }
    for (const auto& [name, counts] : matched)
      out_.waiting[name] =
        counts.second > 0
          ? fmt::format("{} wait{} for {} pod{} to leave", replicas(counts.first),
                        counts.first == 1 ? "s" : "", counts.second, counts.second == 1 ? "" : "s")
          : fmt::format("{} wait{} for room that others leave over", replicas(counts.first),
                        counts.first == 1 ? "s" : "");
    for (const auto& one : made.unmatched) {
      auto& why = out_.waiting[one.deployment];
      why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", replicas(one.pods), one.reason);
    }
  }

  static std::vector<nominated_room> rooms_of(const lifecycle_plan& made, std::string_view name) {
    std::vector<nominated_room> rooms;
    for (const auto& one : made.memory.nominations)
      if (one.deployment == name)
        rooms.push_back({one.node, one.victims});
    return rooms;
  }

  // -- what is handed on --------------------------------------------------------------------------

  /// A later step that touches the same placement comes again in the next cycle.
  void put(lifecycle_step step) {
    if (std::ranges::any_of(step.counts,
                            [&](const auto& one) { return touched_.contains(one.placement); }))
      return;
    for (const auto& one : step.counts)
      touched_.insert(one.placement);
    out_.steps.push_back(std::move(step));
  }

  /// What the next cycle has to know, and how many pods there are. Where no phase has run, only the
  /// latter.
  void remember(const lifecycle_plan* made) {
    for (const auto& share : shares()) {
      if (touched_.contains(share.now.name))
        continue;
      auto next = share.now;
      next.committed = share.committed;
      if (made != nullptr) {
        next.preempted = std::ranges::binary_search(made->memory.preempted, next.deployment);
        next.nominations = rooms_of(*made, next.deployment);
      }
      const auto known = std::ranges::find(given_.placements, next.name, &placement::name);
      if (known != given_.placements.end() && *known != next)
        out_.remembered.push_back(std::move(next));
    }
  }

  const cluster_view& view_;
  const lifecycle_cycle_input& given_;
  lifecycle_allocation allocation_;
  std::map<std::string_view, const counted_share*> by_deployment_;
  std::set<std::string, std::less<>> touched_; ///< placements
  lifecycle_outcome out_;
};

} // namespace

void add_demand(queue_stage_input& to, const replica_needs& of) {
  for (const auto& [queue, amounts] : of.pending)
    add_to(to.pending[queue], amounts);
  for (const auto& [queue, amounts] : of.coming)
    add_to(to.pending[queue], amounts);
  for (const auto& [queue, amounts] : of.again)
    add_to(to.again[queue], amounts);
}

bool is_counted(const workload& w) {
  return w.kind == workload_kind::deployment && w.groups.size() == 1 && !w.groups.front().is_gang()
         && w.groups.front().required_node.empty()
         && w.groups.front().disruption == disruption_mode::pod;
}

std::int32_t replicas_wanted(const workload& w) {
  const auto& group = w.groups.front();
  constexpr std::int64_t most = 1'000'000;
  return static_cast<std::int32_t>(
    std::min(std::int64_t{group.count} * std::int64_t{group.replicas}, most));
}

lifecycle_outcome run_lifecycle_cycle(const cluster_view& view,
                                      const lifecycle_cycle_input& given) {
  return cycle{view, given}.run();
}

} // namespace reprieve
