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
  resources blocked; ///< of that, what waits for nothing but a grant

  bool operator==(const quota_need&) const = default;
};

/// By queue: what pods may use there. A queue with children stands for its own pods.
by_name<resources> spendable(const queue_stage_result& result);

/// Lends what no queue has to those that are capped by their demand and that no limit binds, by
/// weight, so that they need not ask for every pod. The next run takes back what is not used.
void lend_unassigned(const by_name<queue>& queues, queue_stage_result& result);

/// What to do about the grants of one queue.
struct grant_changes {
  by_name<resources> granted; ///< from now on; nobody has less than before
  by_name<resources> lower;   ///< what groups are to be asked to come down to, where others lack it
};

/// Shares `allocated` out: first what each group uses, then what waits for it, group by group, as
/// half of what a pod asks for helps nobody, then the rest evenly. What a group was granted it
/// keeps until it agrees to less.
grant_changes share_out(const resources& allocated, const by_name<quota_need>& groups,
                        const by_name<resources>& granted);

/// Why `more` does not fit into what was granted beside what is used; empty where it does.
std::string beyond_grant(std::string_view queue, const resources& granted, const resources& used,
                         const resources& more);

} // namespace reprieve
