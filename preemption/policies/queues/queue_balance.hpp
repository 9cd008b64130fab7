#pragma once

#include "preemption/problem/amounts.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace reprieve {

/// What one leaf queue has of one resource. No amount is negative.
struct queue_account {
  std::int64_t deserved = 0;
  std::int64_t allocated = 0;  ///< what its pods may use
  std::int64_t preempting = 0; ///< promised to it, as soon as the pods that use it have gone
  std::int64_t used = 0;       ///< by its pods until they are gone
  std::int64_t staying = 0;    ///< of that, by pods that do not leave

  bool operator==(const queue_account&) const = default;
};

/// What one run of the stage takes from a queue, or promises it.
struct queue_movement {
  std::int64_t unused = 0;   ///< given: allocated above deserved that nobody used
  std::int64_t used = 0;     ///< given: allocated above deserved that pods use until they have gone
  std::int64_t promises = 0; ///< given: preempting above deserved
  std::int64_t received = 0; ///< first as preempting

  bool operator==(const queue_movement&) const = default;
};

/// One resource and what all leaf queues have of it, in order of name (docs/policies.md#queues).
///
/// The sum of all allocated and preempting, plus what is assigned to nobody, is the capacity; and
/// nothing promised becomes allocated while pods still use it. Amounts only move, and how much room
/// is free is told from what is used, so that nobody has to remember who gave what to whom.
class queue_balance {
public:
  /// `used_outside` is what pods use that are in none of the queues. All allocated and preempting
  /// together stay within 64 bits; amounts beyond are cut off.
  queue_balance(std::int64_t capacity, std::int64_t used_outside,
                std::vector<queue_account> accounts);

  std::span<const queue_account> accounts() const {
    return accounts_;
  }

  /// Pods that were counted as staying and use this much leave now.
  void leave(std::size_t who, std::int64_t amount) {
    accounts_[who].staying -= amount;
  }

  /// What no queue is allocated or waits for; below zero where the capacity has shrunk.
  wide_int unassigned() const;

  /// The step when pods have gone: what was preempting becomes allocated as far as its room is
  /// free, divided by how much each waits for.
  ///
  /// What pods that stay use above their queue's allocated becomes allocated first: out of what the
  /// queue itself waits for, then, as far as the queue deserves it, of what is unassigned. That
  /// takes nothing from anybody. So queues keep what runs in them when their cluster begins to have
  /// this stage, or when their demand has grown since it ran.
  void settle();

  /// The three cases. Queues give up all that they have above what they deserve, whether others
  /// lack it or not: what nobody uses of it, promises of more, and what their pods use. All that is
  /// lacked is then promised, and `settle` makes allocated at once what is free of it; the rest of
  /// what was given is unassigned.
  ///
  /// The sum of all deserved must not be above the capacity: then everybody has, or is promised,
  /// just what it deserves, and so nobody more than its limit.
  std::vector<queue_movement> promise_what_is_deserved();

private:
  using amount_of_account = std::function<std::int64_t(const queue_account&)>;

  std::vector<std::int64_t> each(const amount_of_account& amount) const;
  void cover_what_stays();
  void keep_promises();

  std::int64_t capacity_;
  std::int64_t used_outside_;
  std::vector<queue_account> accounts_;
};

} // namespace reprieve
