#pragma once

#include "preemption/problem/preemptor.hpp"
#include "preemption/waiting/service_place.hpp"
#include "state/containers/number_ranges.hpp"
#include "state/records/workload_record.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace reprieve {

/// The pods of one group that a workload lacks and that are placed one by one; or the replicas of
/// its gangs of which it lacks every pod. They ask for the same and may be a million, so they wait
/// as one, and a unit is made when its turn comes. Those that were there before wait by themselves,
/// as they may have to wait for longer. Pods are numbered by replica, then index.
class unit_run {
public:
  using number = number_ranges::number;

  /// How many of one run are served before others are heard who may come before the rest; fewer
  /// where a test wants that to happen often.
  static inline std::int64_t served_at_once = 512;

  enum class of { new_ones, those_who_come_back };

  enum class at_first { nobody_waits, all_wait };

  /// Of the group at that position; of gangs, that of the first of them.
  unit_run(std::shared_ptr<const workload_record> record, std::size_t group, of whom, at_first who);

  /// The record has another form, in which the group is as it was.
  void renew(std::shared_ptr<const workload_record> record);

  /// Whether the pod or replica of that number waits for its turn.
  void set(number one, bool waits);

  /// Whether its units are replicas of the workload's gangs.
  bool of_gangs() const {
    return group().is_gang();
  }
  bool comes_back() const {
    return whom_ == of::those_who_come_back;
  }
  const std::shared_ptr<const workload_record>& record() const {
    return record_;
  }
  const pod_group& group() const {
    return record_->spec->groups[group_];
  }
  std::size_t group_position() const {
    return group_;
  }
  number size() const {
    return waiting_.size();
  }
  /// How often something about it changed: what was looked up in it before then may be wrong.
  std::uint64_t changes() const {
    return changes_;
  }
  /// Whether this very pod is one of them, or of one of them.
  bool has(const pod& p) const;
  /// The unit's number.
  number number_of(const preemptor& who) const;

  /// The first of them; there must be one.
  number first() const {
    return *waiting_.first_from(0);
  }
  std::optional<number> first_behind(const service_place& place) const;
  std::optional<number> last_before(const service_place& place) const;
  number last() const {
    return *waiting_.last_before(numbers_);
  }

  service_place place_at(number one) const;
  std::shared_ptr<const preemptor> unit_at(number one) const;

private:
  number first_number_from(const unit_position& at) const;
  number first_replica_from(const unit_position& at) const;
  std::uint32_t incarnation_at(number one) const;
  pod_slot slot_of(number one) const;

  std::shared_ptr<const workload_record> record_;
  std::size_t group_;
  of whom_;
  number numbers_; ///< of pods that the group has, or of replicas
  number_ranges waiting_;
  std::uint64_t changes_ = 0;
  struct made_unit {
    number which = -1;
    std::shared_ptr<const preemptor> unit;
  };
  /// The first, and the one behind it that was asked for last: they are asked for several times.
  mutable made_unit made_first_;
  mutable made_unit made_;
};

/// Whether what the workload lacks of the group waits as a run of pods: they are placed one by one.
bool waits_as_run(const pod_group& group);

/// The position of the first gang, where replicas that lack every pod wait as a run: there are
/// several, and each has a part in all gangs, so that they are alike.
std::optional<std::size_t> gangs_wait_as_run(const workload& spec);

} // namespace reprieve
