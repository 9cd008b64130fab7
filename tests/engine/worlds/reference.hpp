#pragma once

#include "preemption/problem/plan.hpp"
#include "tests/engine/worlds/counted_cluster.hpp"

#include <optional>

namespace reprieve::tests {

/// The preemption algorithm of KEP-5710, step by step, to be read and to be compared with; or the
/// plain one of kube-scheduler, which is the same without a threshold.
class reference {
public:
  reference(const cluster& in, const preemptor& who, time_point now,
            placing_rule rule = placing_rule::cheapest)
      : of_(in, who, now), rule_(rule) {}

  /// What the best domain costs: nobody where the preemptor fits, nothing where it never does.
  std::optional<score> decide() const;

private:
  std::optional<score> decide_in(const node_names& nodes) const;
  std::optional<seats> place(const ranks& gone, const node_names& nodes) const;
  void put_back(const ranks& tried, ranks& gone, const seats& taken) const;

  score score_of(const ranks& victims, const seats& taken, const ranks& candidates) const;

  counted_cluster of_;
  placing_rule rule_;
};

} // namespace reprieve::tests
