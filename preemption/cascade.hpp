#pragma once

#include "preemption/problem.hpp"
#include "preemption/scoring.hpp"
#include "preemption/seating.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace reprieve {

/// Whether a victim that comes back would have to preempt in its turn: it finds no room in what is
/// then free on the nodes that it may run on, and would find some there without those below it.
/// Where its workload is not known, it may run on all nodes.
class cascade_check {
public:
  explicit cascade_check(const problem& given) : given_(given), view_(given.view) {}

  /// `victims` are most important first; the preemptor sits on `seats`.
  bool cascades(std::span<const evicted_portion> victims, std::span<const seat> seats) const;

private:
  const problem& given_;
  const cluster_view& view_;
};

} // namespace reprieve
