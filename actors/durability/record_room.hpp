#pragma once

#include "protocol/records/records.hpp"
#include "state/records/record_limits.hpp"

#include <algorithm>
#include <cstddef>

namespace reprieve {

/// How many bytes are kept for a pod in the record of its node, with what it may still grow by. As
/// it grows it takes no more than before: else a record that was full would have too much by and
/// by, and its node would owe places to others that it does not have.
inline std::size_t bytes_kept_for(const shared_pod& shared) {
  constexpr std::size_t of_a_time = 14;
  constexpr std::size_t beside_text = 2;
  const auto& p = shared.what();
  std::size_t grown = 0;
  for (const auto* at : {&p.created, &p.started, &p.checkpointed, &p.stop_told})
    grown += *at == no_time ? 0 : of_a_time;
  for (const auto* id : {&p.placed_by, &p.evicted_by})
    grown += id->empty() ? 0 : id->size() + beside_text;
  constexpr auto most = record_limits::pod_growth_bytes;
  return bytes_in_record(shared) + most - std::min(grown, most);
}

} // namespace reprieve
