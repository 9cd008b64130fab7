#pragma once

#include "preemption/policies/queues/queue_balance.hpp"
#include "preemption/policies/queues/queue_stage.hpp"
#include "preemption/policies/queues/queue_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What goes into the queue stage as a table: rows are the leaf queues in order of name, columns
/// the resources. The input must live longer.
class queue_table {
public:
  explicit queue_table(const queue_stage_input& in);

  const queue_tree& tree() const {
    return tree_;
  }
  std::size_t rows() const {
    return tree_.leaves.size();
  }
  std::span<const std::string> columns() const {
    return columns_;
  }
  const queue_vertex& leaf(std::size_t row) const {
    return tree_.vertices[tree_.leaves[row]];
  }
  /// The pods that take room.
  std::span<const queue_pod* const> pods(std::size_t row) const {
    return pods_[row];
  }
  /// By pods of queues that do not exist.
  std::int64_t used_outside(std::size_t column) const;

  /// How the queues stand in one resource; what they deserve is left open.
  std::vector<queue_account> accounts(std::size_t column) const;
  /// By vertex, what the leaves' pods use, until they are gone, and what others ask for.
  std::vector<std::int64_t> demand(std::size_t column,
                                   std::span<const queue_account> accounts) const;

private:
  std::int64_t previous(const queue_vertex& leaf, resources queue_status::*which,
                        std::string_view resource) const;

  const queue_stage_input& in_;
  queue_tree tree_;
  std::vector<std::string> columns_;
  std::vector<std::vector<const queue_pod*>> pods_; ///< by row
  std::vector<const queue_pod*> outside_;           ///< of queues that do not exist; so the totals
  std::vector<const queue_totals*> totals_outside_;
};

} // namespace reprieve
