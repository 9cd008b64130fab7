#pragma once

#include "actors/gateway/gateway.hpp"
#include "state/model/object.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// Objects that a request is about: one, or all of a kind where there is no name.
struct asked_object {
  object_kind kind = object_kind::node;
  std::string name;
  std::string resource_group{}; ///< those in it; in any where it is empty
};

/// A workload that a request is to change, and the resource group that it is or will be in.
struct asked_workload {
  std::string name;
  std::string resource_group;
};

/// How sure the gateway is of what it knows.
struct confirmation {
  absl::Status how; ///< ok: it knows all that anybody was told before it was asked
  duration age{0};  ///< else: how long ago that was so
  /// The catalog of that moment, which the gateway need not have been told of.
  std::shared_ptr<const catalog> known{};
  revision known_at = 0; ///< where it stood so in the store, or before
};

/// Calls `then` when those who own the objects have said whether they still do. What they told
/// before that has come here by then: whatever another replica has acknowledged is known, too.
/// Where a name is known to be in a resource group, nobody of another one has to say anything.
void confirm(gateway_pointer self, const std::vector<asked_object>& about,
             std::function<void(confirmation)> then);

/// Likewise before workloads are changed, and so that nobody waits for those who have nothing to do
/// with it: who owns the workloads has to answer, but the catalog, and whether the names are taken
/// in other resource groups, is read from the store where their owners are lost or take too long.
void confirm_workloads(gateway_pointer self, const std::vector<asked_workload>& about,
                       std::function<void(confirmation)> then);

} // namespace reprieve
