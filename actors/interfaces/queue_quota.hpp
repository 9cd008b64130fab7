#pragma once

#include "actors/caf.hpp"
#include "preemption/cycle/quota.hpp"
#include "state/model/decision.hpp"
#include "state/store/store.hpp"

#include <string>
#include <vector>

namespace reprieve {

// The messages between the queue shard and the coordinators of the resource groups, who meet only
// there (docs/architecture.md#the-picture).

/// What one resource group has, uses and wants; summed up from its records.
struct quota_report {
  std::string resource_group;
  by_name<quota_need> queues;
  resources capacity;
  std::int64_t nodes = 0;
  revision epoch = 0;             ///< in which its coordinator began
  by_name<queue_status> standing; ///< how the queues stand there

  bool operator==(const quota_report&) const = default;
};

/// What the group may use of the limits of queues, from now on and without asking; durable.
struct quota_grants {
  by_name<resources> queues;
  by_name<resources>
    asked_down;             ///< what it is still asked to come down to: it stays as low as it is
  revision epoch = 0;       ///< of the queue shard
  std::uint64_t number = 0; ///< counts what it told the group; what is older does not count

  bool operator==(const quota_grants&) const = default;
};

/// Asks a group to do with less, by what it had reported until then.
struct lower_grants {
  by_name<resources> queues;
  by_name<resources> used; ///< below the same queues, as reported; absent: not known

  bool operator==(const lower_grants&) const = default;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::quota_report)
REPRIEVE_MESSAGE(reprieve::quota_grants)
REPRIEVE_MESSAGE(reprieve::lower_grants)

namespace reprieve {

/// A coordinator as the queue shard sees it.
using quota_holder_actor = typed_actor<
  /// What the group may spend.
  handles<void(quota_grants)>,
  /// Keeps to less from now on; answers with what it takes even so, until pods have gone. What has
  /// been placed since the report is no reason for anybody to go.
  handles<quota_grants(lower_grants)>>;

/// Tell this coordinator what its group may spend, now and after every change. What one of an
/// earlier epoch says after it does not count.
struct follow_quota {
  std::string resource_group;
  quota_holder_actor holder;
  revision epoch = 0; ///< in which it began
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::follow_quota)
