#pragma once

#include "preemption/problem/amounts.hpp"
#include "preemption/problem/preemptor.hpp"
#include "state/view/cluster_view.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reprieve {

/// What one group of the preemptor asks for, in columns of the view.
struct demanded_group {
  const wanted_group* wanted = nullptr; ///< of the preemptor, which lives longer
  std::vector<std::int64_t> request;    ///< of each of its pods
  std::size_t needed = 0;
};

/// What the preemptor asks for, group by group.
struct demand {
  std::vector<demanded_group> groups;
  std::string unknown_resource; ///< asked for, but no node has it; then there are no groups
};

demand demand_of(const cluster_view& view, const preemptor& who);

} // namespace reprieve
