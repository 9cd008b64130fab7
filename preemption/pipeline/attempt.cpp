#include "preemption/pipeline/attempt.hpp"

#include <algorithm>
#include <limits>

namespace reprieve {

namespace {

/// What one pod lacks on a node: of the resource that it lacks the largest part of.
struct gap {
  resource_column resource = 0;
  std::int64_t by = 0;
  std::int64_t of = 1;

  /// Compares `by / of`.
  bool operator<(const gap& other) const {
    return static_cast<wide_int>(by) * other.of < static_cast<wide_int>(other.by) * of;
  }
};

gap largest_gap(amounts room, amounts request) {
  gap largest;
  for (std::size_t c = 0; c < request.size(); ++c)
    if (request[c] > room[c] && request[c] > 0)
      if (const gap one{static_cast<resource_column>(c), request[c] - room[c], request[c]};
          largest < one)
        largest = one;
  return largest;
}

} // namespace

shortage shortage_of(const problem& given, domain_room& room) {
  const auto& view = given.view;
  seating found{given.asked};
  room.seat(found);
  room.claim(found);
  shortage lacking;
  lacking.group = found.lacking;
  const auto& group = given.asked.groups[found.lacking];
  lacking.pods = group.needed - found.placed[lacking.group];
  gap smallest;
  for (std::size_t i = 0; i < room.size(); ++i) {
    const auto n = room.node(i);
    if (!given.filter.suits(lacking.group, n))
      continue;
    const auto here = largest_gap(room.room(i), group.request);
    const bool nearer =
      lacking.nearest == no_row || here < smallest
      || (!(smallest < here) && view.node_name(n) < view.node_name(lacking.nearest));
    if (nearer) {
      smallest = here;
      lacking.nearest = n;
    }
  }
  lacking.resource = smallest.resource;
  if (__builtin_mul_overflow(smallest.by, static_cast<std::int64_t>(lacking.pods), &lacking.by))
    lacking.by = std::numeric_limits<std::int64_t>::max();
  return lacking;
}

} // namespace reprieve
