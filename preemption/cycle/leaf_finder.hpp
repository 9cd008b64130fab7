#pragma once

#include "preemption/policies/queues/group_shares.hpp"

#include <cstddef>
#include <string_view>

namespace reprieve {

/// Leaves of queues, where most who ask come queue by queue.
class leaf_finder {
public:
  explicit leaf_finder(const group_shares& in) : in_(in) {}

  std::size_t of(std::string_view queue) {
    if (queue != queue_) {
      queue_ = queue;
      leaf_ = in_.leaf_of(queue);
    }
    return leaf_;
  }

private:
  const group_shares& in_;
  std::string_view queue_;
  std::size_t leaf_ = no_vertex;
};

} // namespace reprieve
