#pragma once

#include "state/store/memory/memory_store.hpp"
#include "testbed/processes/temporary_directory.hpp"
#include "tests/disturbance/least_evictions.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/support/actor_world.hpp"

#include <absl/status/status.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace reprieve::disturbance {

struct cluster_size {
  std::size_t nodes = 200;
  std::size_t workloads = 300;
  std::size_t queues = 5; ///< that many of five, at least one
};

/// What became of one change.
struct aftermath {
  std::string change;
  std::int64_t evicted = 0;  ///< pods that decisions stopped
  std::int64_t returned = 0; ///< of them, those whose workloads run again
  least needed;
  std::vector<unit> stopped;          ///< workloads that lost pods
  std::vector<unit> started;          ///< workloads that run and did not before, in their order
  std::vector<std::string> displaced; ///< stopped, and others behind them in line run in their room
  std::vector<std::string> twice;     ///< pods that were stopped more than once
  bool rests = true;
};

/// A whole replica in virtual time with queues that are over-subscribed, to which one random change
/// after the other is made, each when all is quiet.
class changing_cluster {
public:
  changing_cluster(std::uint64_t seed, const cluster_size& size);

  /// Sets up nodes, queues and the first workloads, and waits until all is quiet.
  absl::Status start();

  /// Makes a change, and waits again.
  aftermath next();

private:
  struct queue_shape {
    std::int64_t weight = 1;
    std::optional<std::int64_t> limit;
  };
  struct node_shape {
    bool there = true;
    bool schedulable = true;
  };
  struct whereabouts {
    std::map<node_number, std::int64_t> on; ///< pods by node
    time_point since = time_point::max();   ///< when the first of them started
  };
  /// Who runs where, of those that run whole.
  using places = std::map<std::string, whereabouts>;

  unit draw_unit();
  workload workload_of(const unit& u) const;
  node node_of(node_number n) const;
  queue queue_of(queue_number q) const;

  std::string submit();
  std::string end_one();
  std::string weigh_anew();
  std::string limit_anew();
  std::string change_a_node(const places& running);
  std::string made(std::string what, const absl::Status& how);

  bool come_to_rest(duration most);
  places look();
  still_cluster cluster_with(const places& running) const;
  void account(aftermath& told, const places& before, const places& after,
               const std::string& journal) const;

  simulation::dice dice_;
  cluster_size size_;
  temporary_directory directory_;
  replica_world replica_;
  std::map<std::string, unit> units_; ///< those that there are
  std::vector<node_shape> nodes_;
  std::vector<queue_shape> queues_;
  std::size_t drawn_ = 0;
  std::size_t journal_read_ = 0;
  std::string ended_;  ///< by the change
  std::string failed_; ///< why the change was refused
};

} // namespace reprieve::disturbance
