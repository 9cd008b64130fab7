#pragma once

#include "state/quantities/time.hpp"
#include "state/store/store.hpp"

#include <deque>
#include <optional>
#include <utility>

namespace reprieve {

/// How much of a store's history is old enough to be forgotten. Nobody can ask the store what its
/// revision was at some time, so it is looked at again and again.
class store_history {
public:
  /// `kept` is for how long what happened can still be read and watched; 0 for ever.
  explicit store_history(duration kept = duration{0}) : kept_(kept) {}

  /// How often to look.
  duration interval() const;

  bool is_kept_for_ever() const {
    return kept_ <= duration{0};
  }

  /// The store is at this revision now. Answers with the one before which everything may be
  /// forgotten, where that is later than what was answered before.
  std::optional<revision> saw(time_point now, revision current);

  /// Somebody else sees to it from now on.
  void forget() {
    seen_.clear();
    compacted_ = 0;
  }

private:
  duration kept_;
  std::deque<std::pair<time_point, revision>> seen_; ///< oldest first
  revision compacted_ = 0;
};

} // namespace reprieve
