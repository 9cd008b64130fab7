#pragma once

#include "preemption/preemptor.hpp"
#include "state/workload_record.hpp"

#include <functional>
#include <string>
#include <vector>

namespace reprieve {

/// The pods that one workload still lacks, in units that are placed as one (DESIGN 3.1): replica k
/// of all its gang groups together, every other pod by itself. `stands` tells which of its pods
/// have or will have a node. A gang that has its minimum already asks pod by pod.
///
/// `node_of` gives the node of a pod that stands. With it, what a replica of a gang lacks keeps to
/// the topology domain that the rest of the replica is in.
std::vector<preemptor> lacking_units(const workload_record& record,
                                     const std::function<bool(const pod&)>& stands,
                                     const std::function<const node*(const pod&)>& node_of = {});

/// Whether a pod that the workload asks for does not stand, which costs less to find out.
bool lacks_pods(const workload_record& record,
                const std::function<bool(const std::string& uid)>& stands);

/// Which of two workloads is served first: higher priority, earlier submission, name.
bool served_before(const workload_record& a, const workload_record& b);

} // namespace reprieve
