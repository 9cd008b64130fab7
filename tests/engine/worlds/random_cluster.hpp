#pragma once

#include "preemption/problem/plan.hpp"
#include "tests/support/cluster_builder.hpp"

#include <cstdint>
#include <functional>

/// Clusters and preemptors drawn by rapidcheck; only while a property runs.
namespace reprieve::tests {

struct cluster_traits {
  bool budgets = true;
  bool immovable = true; ///< daemons, protected members and such
  bool groups = true;
  bool leaving = true;
  /// Racks within zones, nodes without GPUs, closed or tainted ones; pods of one group that differ
  /// in priority, start, checkpoint and minimum runtime; some that opted out or are held.
  bool varied = false;
  bool crowded = false; ///< no room is left, and most of what runs are groups
  std::int64_t most_nodes = 6;
  std::int64_t most_pods = 1000;
};

/// A few nodes, well filled and never overfull.
cluster draw_cluster(const cluster_traits& with);

/// More important than most of what runs.
preemptor draw_lone_pod();
preemptor draw_gang_of_one_template();
preemptor draw_gang_of_several_templates();

/// Draws clusters, and for each some preemptors by `draw`, and calls `check(cluster, preemptor)`.
/// Fails where one check does.
void for_random_cases(const cluster_traits& with, const std::function<preemptor()>& draw,
                      const std::function<void(const cluster&, const preemptor&)>& check);

struct random_case {
  cluster in;
  preemptor who;
};

/// The cluster and the preemptor that are drawn with this seed, here and anywhere.
random_case case_of_seed(std::uint64_t seed, const cluster_traits& with,
                         const std::function<preemptor()>& draw);

/// A gang that is bound to racks within zones, or with a group that is and one that is not.
preemptor draw_gang_within_racks();

/// A lone pod, or a gang of one or of several templates that may be bound to a zone.
preemptor draw_anyone();

/// Settings with any of the guards and choices that the engine has, with `explained` up to
/// `deepest`.
plan_settings draw_settings(depth deepest);

} // namespace reprieve::tests
