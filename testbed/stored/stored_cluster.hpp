#pragma once

#include "state/records/node_record.hpp"
#include "state/records/workload_record.hpp"
#include "state/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace reprieve {

/// A cluster that is made up for measurements, as a replica finds it in its store: every node runs
/// as many pods, all of one size and of eight priorities, and has room for some more of that size.
struct stored_cluster {
  std::size_t nodes = 1000;
  std::size_t pods_per_node = 30;
  std::size_t spare_per_node = 0; ///< pods that still fit
  std::size_t workload_size = 1;  ///< pods of a workload, which go one by one
  std::uint32_t node_shards = 8;
  std::uint32_t workload_shards = 8;

  static constexpr time_point now{std::chrono::hours{24 * 365 * 56}};
  /// Above all that runs.
  static constexpr std::int32_t urgent = 1000;

  /// Writes the schema and all records.
  void write_to(store& to) const;

  static std::string node_name(std::size_t number);

  /// The name of the workload that is written last.
  std::string last_workload() const;

  /// A workload of one pod of the size of those that run.
  static workload lone_pod(std::string name, std::int32_t priority);

private:
  workload_record workload_at(std::size_t number) const;
  node_record node_at(std::size_t number) const;
};

} // namespace reprieve
