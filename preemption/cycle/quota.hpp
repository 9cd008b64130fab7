#pragma once

#include "preemption/policies/queues/queue_stage.hpp"
#include "state/model/catalog.hpp"
#include "state/quantities/resources.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

class waiting_line;

/// Some that wait and are alike. A part of what one asks for helps nobody.
struct quota_wish {
  std::int32_t priority = 0;
  time_point since = no_time;
  resources each; ///< what one of them needs
  std::int64_t count = 1;

  bool operator==(const quota_wish&) const = default;
};

/// What one resource group has and wants in one queue.
struct quota_need {
  queue_totals used;
  resources pending; ///< what its pods without a node ask for
  resources blocked; ///< of that, what waits for a part of a limit that others were granted
  std::vector<quota_wish> wishes; ///< of that, the first in line

  bool operator==(const quota_need&) const = default;
};

/// The queues as one resource group sees them, where pods of others take `elsewhere` by queue: of a
/// limit, what they leave of it.
by_name<queue> part_of_group(by_name<queue> queues, const by_name<resources>& elsewhere);

/// Likewise by what the group was granted of limits, and within what it uses where that is not
/// known; `used` is what its own pods that stay take by queue.
by_name<queue> part_by_grants(by_name<queue> queues, const by_name<resources>* granted,
                              const by_name<queue_totals>& used);

/// What to do about the grants of one queue.
struct grant_changes {
  by_name<resources> granted; ///< from now on; nobody has less than before
  by_name<resources> lower;   ///< what groups are to be asked to come down to, where others lack it
};

/// Whether the queue or one above it has a limit.
bool is_limited(const by_name<queue>& queues, std::string_view name);

/// The first kinds of units that wait in the queue.
std::vector<quota_wish> wishes_in(const waiting_line& line, std::string_view queue);

/// Shares the limit of a queue out: first what each group uses, in proportion where that is more
/// than the limit; then what those who wait need, as far as there is all of it, the most important
/// first, then who waits longest; then to the others, in the same order, as much as there is; then
/// what else waits, group by group; then the rest evenly. What a group was granted it keeps until
/// it agrees to less.
grant_changes share_out(const resources& limit, const by_name<quota_need>& groups,
                        const by_name<resources>& granted);

} // namespace reprieve
