#pragma once

#include "apps/cli/output.hpp"

#include <cstddef>

namespace reprieve::bench {

struct decide_request {
  std::size_t nodes = 1000;
  std::size_t pods_per_node = 30;
  std::size_t gang = 1;   ///< pods of each preemptor
  std::size_t groups = 1; ///< pods of each workload that runs; with more than one it goes whole
  std::size_t preemptors = 100;
};

/// Decides for so many preemptors on a full cluster that is made up, and prints how long it took.
int decide(const decide_request& wanted, cli::output as);

} // namespace reprieve::bench
