#pragma once

#include "tests/support/history.hpp"

#include <cstdint>
#include <vector>

namespace reprieve {

/// One workload as the API promises it. Counts and uids are numbers, given by whoever asks.
struct model_state {
  enum class life {
    absent,
    present,
    deleting ///< it is there until its pods have gone; nobody is told when that is
  };

  life at = life::absent;
  std::int32_t counts = 0;
  std::int32_t uid = 0; ///< 0: nobody has seen it yet
  std::int64_t generation = 0;
  std::vector<std::int32_t> gone; ///< uids of earlier ones of the name, which never come back

  bool operator==(const model_state&) const = default;
};

/// A call with its end, likewise in numbers.
struct model_call {
  workload_call what = workload_call::get;
  call_end how = call_end::unknown;
  std::optional<apply_outcome> outcome{};
  std::int32_t counts = 0; ///< asked for, or seen
  std::int32_t uid = 0;    ///< seen; 0: not to be looked at
  std::int64_t generation = 0;

  bool operator==(const model_call&) const = default;
};

/// All states that the workload may be in when the call has been carried out and has ended so; none
/// where it can't have ended so.
std::vector<model_state> states_after(const model_state& before, const model_call& call);

/// Whether a call that ended so has changed nothing, whenever that was.
bool changes_nothing(const model_call& call);

} // namespace reprieve
