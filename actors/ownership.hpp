#pragma once

#include "state/store.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace reprieve {

/// The ground on which a replica's actors write: its owner record is as the replica left it. The
/// record's modification revision is the epoch of all that it owns (DESIGN 4), so it changes for
/// all of them whenever any of them comes or goes; whoever finds a comparison failed looks here
/// whether that was why.
///
/// All of a replica's actors share one; only its membership changes it.
class ownership {
public:
  ownership(std::string key, revision epoch) : key_(std::move(key)), epoch_(epoch) {}

  const std::string& key() const {
    return key_;
  }

  revision epoch() const {
    return epoch_;
  }

  /// What every write compares.
  comparison held() const {
    return {key_, compared::modified, epoch()};
  }

  /// Whether the record is being rewritten, so that its revision may be one that is not known yet.
  bool is_changing() const {
    return changing_;
  }

  /// Whether a write whose comparison with `compared` failed may succeed with the epoch of now, or
  /// that of a moment later.
  bool may_try_again(revision compared) const {
    return is_changing() || epoch() != compared;
  }

  void begin_change() {
    changing_ = true;
  }

  void end_change(revision epoch) {
    epoch_ = epoch;
    changing_ = false;
  }

private:
  const std::string key_;
  std::atomic<revision> epoch_;
  std::atomic<bool> changing_ = false;
};

using ownership_pointer = std::shared_ptr<const ownership>;

} // namespace reprieve
