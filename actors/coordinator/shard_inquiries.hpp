#pragma once

#include "preemption/evaluation/evaluation_hints.hpp"
#include "state/model/resource_group.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace reprieve {

/// A question to all node shards: what they have for a kind of preemptor
/// (docs/protocol.md#messages-of-a-decision).
struct shard_inquiry {
  std::shared_ptr<const evaluation_request> asked;
  std::optional<live_hints> seen; ///< nothing as long as there was no answer
};

/// The questions whose answers may still be of use.
class shard_inquiries {
public:
  /// Null where nobody asked for one of this kind.
  shard_inquiry* find(const preemptor& who);

  /// To ask the shards for each of very many kinds costs more than it spares.
  bool are_enough() const {
    return all_.size() >= most;
  }

  void add(shard_inquiry one) {
    all_.push_back(std::move(one));
  }

  /// What was told of gangs counts for the time that it was asked at; all of it, for the settings.
  void forget_outdated(const resource_group& group);

private:
  static constexpr std::size_t most = 8;

  std::vector<shard_inquiry> all_;
};

} // namespace reprieve
