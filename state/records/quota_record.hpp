#pragma once

#include "state/model/catalog.hpp"
#include "state/quantities/resources.hpp"

namespace reprieve {

/// How one queue stands between two runs of the queue stage, and how its allocation is handed on to
/// the resource groups, which spend their grants without asking (docs/architecture.md#the-picture).
struct quota_record {
  resources allocated;
  resources preempting;
  by_name<resources> grants; ///< by resource group

  bool operator==(const quota_record&) const = default;
};

} // namespace reprieve
