#pragma once

#include "protocol/records/records.hpp"
#include "state/store/store.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace reprieve {

/// The ground on which a replica's actors write: its owner record is as the replica left it. The
/// record's modification revision is the epoch of all that it owns
/// (docs/protocol.md#two-phase-commit), so it changes for all of them whenever any of them comes or
/// goes; whoever finds a comparison failed looks here whether that was why.
///
/// All of a replica's actors share one; only its membership changes it.
class ownership {
public:
  /// `lasts` says whether the record is surely there still; without it, nobody can know. `base` is
  /// that of the store's schema.
  ownership(std::string key, revision epoch, std::function<bool()> lasts = {}, revision base = 0,
            std::int32_t schema = schema_version)
      : key_(std::move(key)), epoch_(epoch), lasts_(std::move(lasts)), base_(base),
        schema_(schema) {}

  const std::string& key() const {
    return key_;
  }

  revision epoch() const {
    return epoch_;
  }

  /// The epoch for those who remember it beyond the life of the store: in orders, uids and ids of
  /// decisions, which must not come again after a restore either.
  revision lasting_epoch() const {
    return base_ + epoch();
  }

  /// The version of the records, which all replicas know.
  std::int32_t schema() const {
    return schema_;
  }

  void use_schema(std::int32_t version) {
    schema_ = version;
  }

  /// What every write compares.
  comparison held() const {
    return {key_, compared::modified, epoch()};
  }

  /// Whether nobody else can own any of it at this moment, so that what is known is the newest.
  bool is_sure() const {
    return !lasts_ || lasts_();
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
  const std::function<bool()> lasts_;
  const revision base_;
  std::atomic<std::int32_t> schema_;
  std::atomic<bool> changing_ = false;
};

using ownership_pointer = std::shared_ptr<const ownership>;

} // namespace reprieve
