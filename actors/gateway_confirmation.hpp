#pragma once

#include "actors/gateway.hpp"
#include "state/object.hpp"

#include <functional>
#include <string>
#include <vector>

namespace reprieve {

/// Objects that a request is about: one, or all of a kind where there is no name.
struct asked_object {
  object_kind kind = object_kind::node;
  std::string name;
};

/// How sure the gateway is of what it knows.
struct confirmation {
  absl::Status how; ///< ok: it knows all that anybody was told before it was asked
  duration age{0};  ///< else: how long ago that was so
};

/// Calls `then` when those who own the objects have said whether they still do. What they told
/// before that has come here by then: whatever another replica has acknowledged is known, too.
void confirm(gateway_actor::stateful_pointer<gateway_state> self,
             const std::vector<asked_object>& about, std::function<void(confirmation)> then);

} // namespace reprieve
