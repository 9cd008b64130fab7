#pragma once

#include "state/containers/row_table.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace reprieve {

/// Rows of the view. They stay what they are until the thing is removed; then they are reused. Only
/// the row of a portion of one pod changes once more, when a second pod takes the same id.
using node_row = std::uint32_t;
using pod_row = std::uint32_t;
using portion_row = std::uint32_t;
using resource_column = std::uint32_t;

/// The pods of one portion; a look into the view.
class portion_pods {
public:
  explicit portion_pods(std::span<const pod_row> shared) : shared_(shared) {}
  explicit portion_pods(pod_row alone) : alone_(alone) {}

  const pod_row* begin() const {
    return alone_ == no_row ? shared_.data() : &alone_;
  }
  const pod_row* end() const {
    return begin() + size();
  }
  std::size_t size() const {
    return alone_ == no_row ? shared_.size() : 1;
  }

private:
  std::span<const pod_row> shared_;
  pod_row alone_ = no_row;
};

/// The amounts that all pods of one priority and below hold on a node.
struct priority_step {
  std::int32_t priority = 0;
  std::uint32_t first = 0; ///< position in `pods_on` of the first pod of this priority
};

} // namespace reprieve
