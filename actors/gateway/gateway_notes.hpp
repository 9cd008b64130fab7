#pragma once

#include "actors/gateway/gateway.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What an explanation tells beside decisions: what befell the nodes of a workload or a pod.
namespace reprieve {

/// What the workload or the pod has lost with machines, and what it is about to lose.
std::vector<std::string> notes_on_losses(const gateway_state& state, const explain_request& wanted);

/// Which nodes of the group take no more pods because their records are full; empty for none.
std::string note_on_full_nodes(const gateway_state& state, std::string_view resource_group);

} // namespace reprieve
