#pragma once

#include "preemption/problem/preemptor.hpp"
#include "state/model/decision.hpp"
#include "state/model/node.hpp"

#include <optional>
#include <string>
#include <vector>

namespace reprieve {

/// The plain algorithm of KEP-5710 for a lone pod, as one writes it down: every node by itself, all
/// candidates removed, put back most important first, the best score. Pods go one by one.
class plain_scan {
public:
  struct node_with_pods {
    node spec;
    std::vector<pod> pods;
  };

  explicit plain_scan(std::vector<node_with_pods> nodes) : nodes_(std::move(nodes)) {}

  struct choice {
    std::string node;
    score scored;
  };
  std::optional<choice> decide(const preemptor& who, time_point now) const;

private:
  std::vector<node_with_pods> nodes_;
};

} // namespace reprieve
