#pragma once

#include "state/model/catalog.hpp"
#include "state/model/queue.hpp"

#include <cstddef>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// Queue names, such as those that have pods.
using queue_names = std::set<std::string, std::less<>>;

inline constexpr std::size_t no_vertex = std::numeric_limits<std::size_t>::max();

/// A queue in the tree, or the own pods of a queue that has children as well.
struct queue_vertex {
  /// Of own pods, what stands for them: the queue's name and the weight of a queue that says
  /// nothing, capped by what the pods need. Below a queue that is capped by its demand all are.
  queue spec;
  std::size_t parent = no_vertex;
  std::vector<std::size_t> children; ///< in order of name
  bool own_pods = false;

  bool leaf() const {
    return children.empty();
  }
};

/// The queues as a tree (docs/policies.md#queues). Only leaves have pods and hold a share: where a
/// queue with children has pods of its own, these stand below it as one leaf more.
struct queue_tree {
  std::vector<queue_vertex> vertices; ///< parents before their children
  std::vector<std::size_t> top;       ///< in order of name
  std::vector<std::size_t> leaves;    ///< in order of name, after which ties are broken
};

/// A queue whose parent is not there stands at the top. Admission refuses cycles; should there be
/// one, it is cut, in the same place every time.
queue_tree tree_of(const by_name<queue>& queues, const queue_names& with_pods);

} // namespace reprieve
