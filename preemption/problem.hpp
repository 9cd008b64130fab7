#pragma once

#include "preemption/demand.hpp"
#include "preemption/node_filter.hpp"
#include "preemption/plan.hpp"

namespace reprieve {

/// What one plan is about. All steps read it, none changes it.
struct problem {
  problem(const cluster_view& in, const preemptor& placed, const plan_settings& with)
      : view(in), who(placed), settings(with), asked(demand_of(in, placed)), filter(in, asked) {}
  problem(const problem&) = delete;
  problem& operator=(const problem&) = delete;

  const cluster_view& view;
  const preemptor& who;
  const plan_settings& settings;
  const demand asked;
  const node_filter filter;
};

} // namespace reprieve
