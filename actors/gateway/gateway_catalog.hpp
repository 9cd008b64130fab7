#pragma once

#include "actors/gateway/gateway.hpp"

#include <functional>

/// The entries of the catalog: how they go, and what becomes of resource groups that were made for
/// what did not come.
namespace reprieve {

/// Removes entries of the catalog. Shards may have got something since it was seen that nothing
/// stands on them: those of a resource group are closed with it, and all who have workloads see to
/// it that none names what goes.
void remove_entries(gateway_pointer self, const remove_catalog& wanted,
                    std::function<void(absl::Status)> done);

/// Takes in what the queue shard has told.
void apply_catalog(gateway_pointer self, catalog_update& update);

} // namespace reprieve
