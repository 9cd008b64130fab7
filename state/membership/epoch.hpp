#pragma once

#include "state/quantities/time.hpp"
#include "state/store/store.hpp"

#include <chrono>

namespace reprieve {

/// Whether no store can have given the epoch by now. An epoch is a revision, to which a store that
/// was restored adds the microseconds since 1970 at that time, or more by as much as it had come
/// before; and no store makes a revision every microsecond. Clocks differ by less than a day.
inline bool is_beyond_all_epochs(revision epoch, time_point now) {
  using std::chrono::microseconds;
  return epoch
         > std::chrono::duration_cast<microseconds>(now.time_since_epoch() + std::chrono::hours{24})
             .count();
}

} // namespace reprieve
