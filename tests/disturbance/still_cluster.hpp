#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reprieve::disturbance {

using node_number = std::size_t;
using queue_number = std::size_t;

/// A workload that is one portion: it is placed whole and goes whole.
struct unit {
  std::string name;
  queue_number queue = 0;
  std::int32_t priority = 0;
  std::int64_t pods = 1;
  std::int64_t gpus = 1;   ///< of each pod
  std::int64_t number = 0; ///< in the order in which they came

  std::int64_t gpus_in_all() const {
    return pods * gpus;
  }
};

struct running_unit {
  unit what;
  std::map<node_number, std::int64_t> on; ///< pods by node
  std::int64_t since = 0;                 ///< when it started
};

struct share_queue {
  std::int64_t weight = 1;
  std::optional<std::int64_t> limit; ///< of GPUs
};

/// A cluster at rest, with a change that has just come. Queues deserve what they ask for, by
/// weight.
struct still_cluster {
  std::int64_t shared =
    0; ///< GPUs that the queues share: of nodes that take pods, and in use on others
  std::vector<std::int64_t> capacity; ///< of nodes, in GPUs; 0 where nothing may be placed
  std::vector<std::int64_t> free;     ///< by node
  std::vector<share_queue> queues;
  std::vector<running_unit> running;
  std::vector<unit> waiting;
};

/// How many pods have to go at least.
struct least {
  std::int64_t pods = 0;
  bool exact = true; ///< else the search was cut off, and no fewer than these are enough
};

/// A place for a unit, and who has to go for it.
struct entitled_room {
  std::vector<std::size_t> victims; ///< positions in `running`
  std::map<node_number, std::int64_t> places;
  least cost;
};

} // namespace reprieve::disturbance
