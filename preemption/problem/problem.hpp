#pragma once

#include "preemption/problem/demand.hpp"
#include "preemption/problem/node_filter.hpp"
#include "preemption/problem/plan.hpp"

namespace reprieve {

/// What one plan is about. All steps read it, none changes it.
struct problem {
  problem(const cluster_view& in, const preemptor& placed, const plan_settings& with,
          std::shared_ptr<const victim_scope> among = nullptr)
      : view(in), who(placed), settings(with), scope(std::move(among)),
        asked(demand_of(in, placed)), filter(in, asked) {}
  problem(const problem&) = delete;
  problem& operator=(const problem&) = delete;

  /// The highest priority that may go.
  std::int64_t highest_level() const {
    return scope ? std::int64_t{scope->highest} : std::int64_t{who.priority} - 1;
  }

  const cluster_view& view;
  const preemptor& who;
  const plan_settings& settings;
  const std::shared_ptr<const victim_scope> scope; ///< null where priority tells who may go
  const demand asked;
  const node_filter filter;
};

} // namespace reprieve
