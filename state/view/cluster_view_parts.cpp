#include "state/view/cluster_view.hpp"
#include "state/view/group_key.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>

/// What a view of some nodes knows of those portions that are on others as well.
namespace reprieve {

namespace {

time_point earlier_start(time_point a, time_point b) {
  if (a == no_time || b == no_time)
    return a == no_time ? b : a;
  return std::min(a, b);
}

portion_card sum_of(const portion_card& a, const portion_card& b) {
  if (a.pods == 0 || b.pods == 0)
    return a.pods == 0 ? b : a;
  return {.priority = std::max(a.priority, b.priority),
          .pods = a.pods + b.pods,
          .earliest_start = earlier_start(a.earliest_start, b.earliest_start),
          .minimum_runtime = std::max(a.minimum_runtime, b.minimum_runtime),
          .group = a.group || b.group,
          .evictable = a.evictable && b.evictable,
          .daemon = a.daemon || b.daemon,
          .opted_out = a.opted_out || b.opted_out,
          .arriving = a.arriving || b.arriving};
}

portion_work sum_of(const portion_work& a, const portion_work& b) {
  if (a.gpu == 0 || b.gpu == 0)
    return a.gpu == 0 ? b : a;
  portion_work both;
  if (__builtin_add_overflow(a.gpu, b.gpu, &both.gpu))
    both.gpu = std::numeric_limits<std::int64_t>::max();
  const auto total = static_cast<wide_int>(a.gpu) + b.gpu;
  const auto safe =
    static_cast<wide_int>(a.gpu) * a.safe_until + static_cast<wide_int>(b.gpu) * b.safe_until;
  both.safe_until = static_cast<std::int64_t>((safe + total - 1) / total);
  return both;
}

} // namespace

portion_part sum_of(const portion_part& a, const portion_part& b) {
  return {sum_of(a.card, b.card), sum_of(a.work, b.work)};
}

portion_part cluster_view::part_of(portion_row p,
                                   const std::function<bool(node_row)>& counts) const {
  const auto all = pods_of(p);
  std::vector<pod_row> some;
  std::ranges::copy_if(all, std::back_inserter(some),
                       [&](pod_row one) { return counts(node_of(one)); });
  return {card_of(some, key_of(p).index < 0), work_of(some)};
}

void cluster_view::put_elsewhere(const portion_id& id, const portion_part& part) {
  assert(id.whole_replica()); // a portion of one pod is on one node
  const portion_key key{names_.intern(group_key(id.workload, id.group)), id.replica, id.index};
  if (const auto row = find_portion(key); row != no_row)
    mark_portion(row & ~shared_bit);
  if (elsewhere_.erase(key) > 0)
    names_.release(key.series);
  if (part.card.pods > 0)
    elsewhere_.emplace(key, part);
  else
    names_.release(key.series);
}

} // namespace reprieve
