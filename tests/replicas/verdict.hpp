#pragma once

#include "tests/replicas/load.hpp"
#include "tests/replicas/replica_cluster.hpp"

namespace reprieve::replicas {

/// What must hold of a deployment after whatever was done to it, told by GoogleTest's failures: no
/// answer that people had is without an explanation, no decision is open, and the machines did
/// nothing twice, too much or by halves. Ends the load. At least so much must have gone well, and
/// so many pods have yielded, else nothing was tried.
void check_all(replica_cluster& cluster, load& people, int least_ok, int least_evictions);

} // namespace reprieve::replicas
