#pragma once

#include "state/admission/admission.hpp"
#include "state/model/disruption_budget.hpp"
#include "state/model/resource_group.hpp"
#include "state/records/node_record.hpp"
#include "state/records/workload_record.hpp"
#include "state/store/store.hpp"

#include <cstdint>
#include <vector>

namespace reprieve::tests {

/// A whole cluster as its records tell of it, in one resource group.
struct cluster_records {
  resource_group settings;
  std::vector<node_record> nodes;
  std::vector<workload_record> workloads; ///< those that run, then those that wait
  std::vector<disruption_budget> budgets;

  /// Writes them as a cluster with so many shards of each kind has them.
  void write_to(store& to, std::uint32_t shards) const;

  /// Takes in what somebody changes of a node, a workload that runs, or a budget.
  void change(const admitted& to);
};

/// When the cluster of a test is looked at, but for some milliseconds.
inline constexpr time_point around_now{
  std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}.time_since_epoch()};

struct record_traits {
  /// What decisions do on their way makes no difference to those who are served after them: budgets
  /// do not count who waits or comes back, and no gang waits for more.
  bool steady = false;
  bool one_waits = false; ///< a single unit, and nobody else
};

/// The cluster of this seed, here and anywhere: a few nodes, now and then many, well filled and
/// never overfull, with work that waits for more than there is.
cluster_records draw_records(std::uint64_t seed, const record_traits& with = {});

/// Something that somebody changes of it: a node, a budget, or what it costs to stop a workload.
admitted draw_change(std::uint64_t seed, const cluster_records& of);

} // namespace reprieve::tests
