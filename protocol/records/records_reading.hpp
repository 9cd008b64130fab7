#pragma once

#include "protocol/records/records.hpp"

#include <absl/status/statusor.h>

#include <string_view>

namespace reprieve {

/// Decodes the record that stands at the key, and sees to it that it has all that those count on
/// who work with it: it is of the object that its key names, in the resource group of its shard,
/// and no part of it is missing.
template <class Record>
absl::StatusOr<Record> read_record(std::string_view key, std::string_view value);

/// Whether those can read the record who will. What stands at other keys is nobody's object.
absl::Status check_stored(std::string_view key, std::string_view value);

/// What can be told of a node whose record can't be read: pods that can be read are there and can't
/// be preempted, and nobody else comes.
struct salvaged_node {
  node_record record;
  bool hides_pods = false; ///< there may be others
};
salvaged_node salvage_node(std::string_view key, std::string_view value);

/// A workload of which nothing is asked any more but to go, for one whose record can't be read: it
/// is in the same queue, where that can be told.
workload_record salvage_workload(std::string_view key, std::string_view value);

} // namespace reprieve
