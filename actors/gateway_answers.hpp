#pragma once

#include "actors/gateway.hpp"

namespace reprieve {

/// The resource group that an object is in; nothing where it does not exist, or belongs to none.
std::optional<std::string> home_of(const gateway_state& state, object_kind kind,
                                   const std::string& name);

/// What applying the object would come to.
apply_outcome outcome_of(const gateway_state& state, const object& o);

/// All objects of the kind that the request asks for.
get_result look_up(const gateway_state& state, const get_request& wanted,
                   const by_name<queue_status>& queues);

/// Pods of the workload, on the node, or of the queue; in order of name.
std::vector<pod> pods_of(const gateway_state& state, object_kind kind, std::string_view name);

} // namespace reprieve
