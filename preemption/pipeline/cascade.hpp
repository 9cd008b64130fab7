#pragma once

#include "preemption/pipeline/scoring.hpp"
#include "preemption/problem/problem.hpp"
#include "preemption/room/seating.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace reprieve {

/// Whether a victim that comes back would have to preempt in its turn: it finds no room in what is
/// then free on the nodes that it may run on, and would find some there without those below it. It
/// waits with its priority, which may not be the one by which it goes. One that is over when it
/// goes looks for nothing. Where its workload is not known, it comes back, may run on all nodes,
/// and over whoever it comes before when it goes.
class cascade_check {
public:
  explicit cascade_check(const problem& given) : given_(given), view_(given.view) {}

  /// `victims` are most important first; the preemptor sits on `seats`.
  bool cascades(std::span<const evicted_portion> victims, std::span<const seat> seats) const;

private:
  /// A victim when it comes back.
  struct returning {
    const pod_group* group = nullptr;
    std::int32_t priority = 0; ///< below which others would go for it
    std::int32_t when_it_goes = 0;
    bool comes_back = true;
  };

  std::vector<returning> as_they_would_wait(std::span<const evicted_portion> victims) const;

  const problem& given_;
  const cluster_view& view_;
};

} // namespace reprieve
