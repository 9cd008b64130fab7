#pragma once

#include "preemption/problem/preemptor.hpp"
#include "state/view/cluster_view.hpp"

namespace reprieve {

/// Whether the nodes would take all pods that the preemptor needs, in one domain where it has to
/// have one, if they were empty. What they would not take then is no demand, whatever happens
/// (docs/policies.md#queues).
bool could_ever_run(const cluster_view& view, const preemptor& who);

} // namespace reprieve
