#pragma once

#include "preemption/queue_stage.hpp"
#include "state/catalog.hpp"
#include "state/resources.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What one resource group has and wants in one queue.
struct quota_need {
  queue_totals used;
  resources pending; ///< what its pods without a node ask for
  resources blocked; ///< of that, what waits for a part of a limit that others were granted

  bool operator==(const quota_need&) const = default;
};

/// The queues as one resource group sees them, where pods of others take `elsewhere` by queue: of a
/// limit, what they leave of it.
by_name<queue> part_of_group(by_name<queue> queues, const by_name<resources>& elsewhere);

/// Likewise by what the group was granted of limits, and within what it uses where that is not known;
/// `used` is what its own pods that stay take by queue.
by_name<queue> part_by_grants(by_name<queue> queues, const by_name<resources>* granted,
                              const by_name<queue_totals>& used);

/// What to do about the grants of one queue.
struct grant_changes {
  by_name<resources> granted; ///< from now on; nobody has less than before
  by_name<resources> lower;   ///< what groups are to be asked to come down to, where others lack it
};

/// Shares the limit of a queue out: first what each group uses, in proportion where that is more than
/// the limit, then what waits for it, group by group, as half of what a pod asks for helps nobody,
/// then the rest evenly. What a group was granted it keeps until it agrees to less.
grant_changes share_out(const resources& limit, const by_name<quota_need>& groups,
                        const by_name<resources>& granted);

} // namespace reprieve
