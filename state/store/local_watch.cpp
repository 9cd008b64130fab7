#include "state/store/local_watch.hpp"

#include <algorithm>

namespace reprieve {

watch_batch local_watch::select(std::span<const change> changes, revision current) {
  watch_batch batch{.changes = {}, .current = current};
  for (const auto& one : changes)
    if (one.value.modified >= next_ && contains(range_, one.value.key))
      batch.changes.push_back(one);
  next_ = std::max(next_, current + 1);
  return batch;
}

} // namespace reprieve
