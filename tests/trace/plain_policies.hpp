#pragma once

#include "tests/trace/outcome.hpp"

namespace reprieve::trace {

/// The plan as an event simulation in which pods are served by priority, then arrival: first fit,
/// and where nothing fits, kube-scheduler's preemption. On every node all pods of lower priority
/// are taken away, and put back, the most important first, while the preemptor still fits; the node
/// is chosen by the lowest highest priority that goes, the lowest sum of (priority + 2^31), the
/// fewest pods, the latest start of the most important.
outcome simulate_first_fit(const replay_plan& plan);

/// The plan under plain shares by weight: the GPUs go to queues by weight, as far as they ask for
/// them; the queue that has least of its weight is served first. What fits is placed, whosever
/// share it is. A pod that does not, and that its queue's share has room for, takes from queues
/// above their shares, or from lower priority in its own queue, on the node where least goes by
/// the same measures as above.
outcome simulate_shares(const replay_plan& plan);

/// Whole GPUs of each queue by weight, none more than it asks for: each goes to the queue that
/// would still have least for its weight with it, the first of them where several would.
std::vector<std::int64_t> shares_of(std::int64_t gpus, const std::vector<std::int64_t>& weights,
                                    const std::vector<std::int64_t>& asked);

} // namespace reprieve::trace
