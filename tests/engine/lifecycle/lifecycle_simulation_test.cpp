#include "tests/engine/lifecycle/lifecycle_reference.hpp"
#include "tests/engine/lifecycle/random_lifecycle.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

/// Cycle after cycle of allocation, the lifecycle phase, and clusters that carry out what it says.
namespace reprieve::tests {

namespace {

/// Which pods a cluster removes when it is scaled down.
enum class removal {
  as_expected, ///< those that were matched
  any          ///< its own choice
};

class simulation {
public:
  simulation(lifecycle_world start, removal how) : world_(std::move(start)), how_(how) {
    for (const auto& one : world_.given.deployments)
      desired_[one.name] = committed(one.name) + one.lacking;
  }

  /// True where nothing is left to be done.
  bool run_cycle() {
    world_.count_assigned();
    allocated_ = 0;
    allocate();
    const auto plan = world_.plan();
    check(world_, plan);
    nobody_new_goes_while_demand_is_the_same(plan);
    nobody_gets_back_what_is_matched(plan);
    world_.act_on(plan);
    const bool quiet = plan.matches.empty() && allocated_ == 0 && !anybody_leaves();
    carry_out(plan);
    every_share_keeps_a_replica();
    world_.given.now += std::chrono::seconds{20};
    return quiet;
  }

  const lifecycle_world& world() const {
    return world_;
  }
  const std::map<std::string, std::int32_t>& desired() const {
    return desired_;
  }
  std::int32_t committed(const std::string& deployment) const {
    std::int32_t sum = 0;
    for (const auto& share : world_.given.placements)
      sum += share.deployment == deployment ? share.committed : 0;
    return sum;
  }

private:
  // -- normal allocation --------------------------------------------------------------------------

  /// Gives what is free to the deployments in their turn, but for what others of no lower priority
  /// are nominated to, and nothing to those that were preempted.
  void allocate() {
    auto turns = world_.given.deployments;
    std::ranges::sort(turns, goes_before);
    for (const auto& who : turns) {
      auto& lacking = world_.deployment(who.name).lacking;
      lacking = desired_[who.name] - committed(who.name);
      if (std::ranges::binary_search(world_.given.before.preempted, who.name))
        continue;
      while (lacking > 0 && (take_back_surplus(who) || add_pod(who))) {
        --lacking;
        ++allocated_;
      }
    }
  }

  bool take_back_surplus(const lifecycle_deployment& who) {
    for (auto& p : world_.pods)
      if (p.workload == who.name && p.phase == pod_phase::surplus
          && who.scores.contains(cluster_of(p))) {
        p.phase = pod_phase::running;
        ++world_.share(who.name, cluster_of(p)).committed;
        return true;
      }
    return false;
  }

  bool add_pod(const lifecycle_deployment& who) {
    for (const auto& n : world_.nodes) {
      auto room = free_on(world_, n);
      for (const auto& held : world_.given.before.nominations)
        if (const auto& other = world_.deployment(held.deployment);
            held.node == n.name && other.name != who.name && other.priority >= who.priority)
          take(room, beyond_victims(held, other.pods.requests));
      if (!who.scores.contains(n.resource_group) || !has(room, who.pods.requests))
        continue;
      pod p;
      p.uid = p.name = fmt::format("{}-{}", who.name, 100 + made_++);
      p.workload = who.name;
      p.group = "g";
      p.index = 100 + made_;
      p.node = n.name;
      p.phase = pod_phase::running;
      p.requests = who.pods.requests;
      p.priority = who.priority;
      p.created = p.started = world_.given.now;
      world_.pods.push_back(std::move(p));
      ++world_.share(who.name, n.resource_group).committed;
      return true;
    }
    return false;
  }

  /// What a nomination needs of the room that is free now.
  resources beyond_victims(const lifecycle_nomination& held, resources asked) const {
    for (const auto& p : world_.pods)
      if (std::ranges::find(held.victims, p.uid) != held.victims.end())
        for (auto& [name, amount] : asked)
          amount = std::max<std::int64_t>(amount - amount_of(p.requests, name), 0);
    return asked;
  }

  // -- the clusters -------------------------------------------------------------------------------

  void carry_out(const lifecycle_plan& plan) {
    left_ = std::erase_if(world_.pods, [&](const pod& p) {
      const bool over =
        p.phase == pod_phase::terminating
        && lifecycle_pod_of(p).grace_over + std::chrono::minutes{1} < world_.given.now;
      const bool forced = p.phase == pod_phase::force_deleting
                          && !std::ranges::binary_search(plan.force_deletes, p.uid);
      return over || (forced && one_in(2));
    });
    const auto expected = victims_of(plan);
    for (const auto& share : world_.given.placements) {
      auto* next = choose(share, pod_phase::surplus, expected);
      if (next != nullptr && staying_in(share) > 1 && one_in(2) && in_order(*next, expected)) {
        next->phase = pod_phase::terminating;
        next->stop_told = world_.given.now;
      }
      while (pods_in(share, pod_phase::running) > share.committed && !one_in(3))
        choose(share, pod_phase::running, expected)->phase = pod_phase::surplus;
    }
  }

  /// Others do not go before those that are expected to: one of these might be left as the last.
  bool in_order(const pod& next, const std::set<std::string>& expected) const {
    return how_ == removal::any || expected.contains(next.uid)
           || std::ranges::none_of(world_.pods, [&](const pod& p) {
                return p.workload == next.workload && cluster_of(p) == cluster_of(next)
                       && !is_leaving(p.phase) && expected.contains(p.uid);
              });
  }

  /// A pod of the share in this phase, if there is one: the one that is expected to go, or any;
  /// protected ones last.
  pod* choose(const placement& share, pod_phase phase, const std::set<std::string>& expected) {
    std::vector<std::pair<std::int64_t, pod*>> choice;
    for (auto& p : world_.pods)
      if (in(share, p) && p.phase == phase) {
        const bool first = how_ == removal::as_expected && expected.contains(p.uid);
        const bool last = p.daemon || p.protected_member;
        choice.emplace_back(first ? 0 : between(1, 10) + (last ? 10 : 0), &p);
      }
    const auto chosen = std::ranges::min_element(choice, {}, [](const auto& c) { return c.first; });
    return chosen == choice.end() ? nullptr : chosen->second;
  }

  // -- what must hold -----------------------------------------------------------------------------

  using demand_list = std::map<std::string, std::int32_t>;

  /// Those who took a turn, and what they asked for.
  demand_list asked_for(const lifecycle_plan& plan) const {
    demand_list asked;
    for (const auto& one : world_.given.deployments)
      if (!std::ranges::binary_search(plan.memory.preempted, one.name)
          && !std::ranges::binary_search(world_.given.before.preempted, one.name))
        asked[one.name] = one.lacking;
    return asked;
  }

  /// The same preemptors with the same demand get along with the victims they have, as long as no
  /// room came or went.
  void nobody_new_goes_while_demand_is_the_same(const lifecycle_plan& plan) {
    const auto asked = asked_for(plan);
    if (how_ == removal::as_expected && allocated_ == 0 && left_ == 0 && asked == asked_before_)
      RC_ASSERT(plan.scale_downs.empty());
    asked_before_ = asked;
  }

  /// Whoever makes room for somebody more important gets nothing until that is done.
  void nobody_gets_back_what_is_matched(const lifecycle_plan& plan) {
    std::map<std::string, std::int32_t> losers;
    for (const auto& match : plan.matches)
      for (const auto& one : match.victims)
        if (world_.deployment(one.deployment).priority
            < world_.deployment(match.deployment).priority)
          losers[one.deployment] = committed(one.deployment);
    for (const auto& [name, count] : losers)
      if (const auto before = losers_.find(name); before != losers_.end())
        RC_ASSERT(count <= before->second);
    losers_ = std::move(losers);
  }

  void every_share_keeps_a_replica() {
    for (const auto& share : world_.given.placements) {
      const bool has_one = staying_in(share) > 0;
      if (had_one_.contains(share.name))
        RC_ASSERT(has_one);
      if (has_one)
        had_one_.insert(share.name);
    }
  }

  bool anybody_leaves() const {
    return std::ranges::any_of(world_.pods, [](const pod& p) { return is_leaving(p.phase); });
  }

  std::string cluster_of(const pod& p) const {
    return std::ranges::find(world_.nodes, p.node, &node::name)->resource_group;
  }
  bool in(const placement& share, const pod& p) const {
    return p.workload == share.deployment && cluster_of(p) == share.cluster;
  }
  std::int64_t pods_in(const placement& share, pod_phase phase) const {
    return std::ranges::count_if(world_.pods,
                                 [&](const pod& p) { return in(share, p) && p.phase == phase; });
  }

  std::int64_t staying_in(const placement& share) const {
    return pods_in(share, pod_phase::running) + pods_in(share, pod_phase::surplus);
  }

  lifecycle_world world_;
  removal how_;
  std::map<std::string, std::int32_t> desired_;
  demand_list asked_before_;
  std::map<std::string, std::int32_t> losers_; ///< with what they had
  std::set<std::string> had_one_;
  int allocated_ = 0;    ///< in this cycle
  std::size_t left_ = 0; ///< pods, after the cycle before
  int made_ = 0;
};

void for_random_simulations(const lifecycle_traits& with, removal how, auto use) {
  EXPECT_TRUE(rc::check([&] {
    for (int i = 0; i < 10; ++i) {
      simulation run{draw_lifecycle_world(with), how};
      use(run);
    }
  }));
}

void run_to_the_end(simulation& run) {
  int cycles = 0;
  while (!run.run_cycle())
    RC_ASSERT(++cycles < 100);
}

} // namespace

TEST(lifecycle_simulation, everybody_ends_with_what_they_get) {
  for_random_simulations({.leaving = false}, removal::as_expected, [](simulation& run) {
    run_to_the_end(run);

    // Who has less than was asked for finds nobody to take it from.
    for (const auto& who : run.world().given.deployments) {
      RC_ASSERT(run.committed(who.name) <= run.desired().at(who.name));
      if (run.committed(who.name) < run.desired().at(who.name))
        RC_ASSERT(!best_worst_victim(run.world(), who));
    }
    RC_ASSERT(run.world().given.before == lifecycle_memory{});
  });
}

TEST(lifecycle_simulation, it_ends_from_any_stage_too) {
  for_random_simulations({.immovable = false}, removal::as_expected, run_to_the_end);
}

TEST(lifecycle_simulation, plans_stay_sound_when_clusters_remove_other_pods_than_expected) {
  for_random_simulations({}, removal::any, [](simulation& run) {
    for (int cycle = 0; cycle < 20; ++cycle)
      run.run_cycle();
  });
}

} // namespace reprieve::tests
