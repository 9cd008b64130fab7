#pragma once

#include "actors/caf.hpp"
#include "state/store/store.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <variant>
#include <vector>

namespace reprieve {

using transaction_answer = absl::StatusOr<transaction_result>;

/// Whether a write of which this is known may still happen.
inline bool may_arrive_late(const absl::Status& known) {
  return !known.ok() && !absl::IsUnavailable(known) && !absl::IsInvalidArgument(known);
}

using range_answer = absl::StatusOr<range_result>;

/// An answer of the store on its way from the store's thread to the actor that asked.
struct store_reply {
  std::uint64_t ticket = 0;
  std::variant<transaction_answer, range_answer> answer;
};

/// A reminder to itself that a store may have forgotten somebody.
struct look_for_late_answers {};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::look_for_late_answers)
REPRIEVE_MESSAGE(reprieve::transaction)
REPRIEVE_MESSAGE(reprieve::range_request)
REPRIEVE_MESSAGE(reprieve::transaction_answer)
REPRIEVE_MESSAGE(reprieve::range_answer)
REPRIEVE_MESSAGE(reprieve::store_reply)

namespace reprieve {

/// The store as an actor: its callbacks become answers to requests. Who asks need not look at the
/// clock: what has no answer after `answer_time` is answered by this actor, `kUnknown` where it was
/// a write, `kUnavailable` where it was a read.
///
/// Small writes of several actors become one where the store has not answered earlier ones yet: a
/// decision writes little, and there are many. The answer to each is that to all of them; where a
/// comparison of any did not hold, each is made by itself.
using store_actor = typed_actor<
  /// Writes, or tells that a comparison did not hold.
  handles<transaction_answer(transaction)>,
  /// Reads a range.
  handles<range_answer(range_request)>>;

/// With what the store's thread tells it, and what it reminds itself of.
using private_store_actor =
  store_actor::extend<handles<void(store_reply)>, handles<void(look_for_late_answers)>>;

struct store_actor_state {
  static inline const char* name = "store_actor";

  template <class Answer>
  struct waiting {
    promise<Answer> asked;
    caf::actor_clock::time_point until;
  };

  /// A small write.
  struct small_write {
    std::uint64_t ticket = 0;
    transaction writes;
  };

  std::shared_ptr<store> behind;
  std::uint64_t last_ticket = 0;
  std::deque<small_write> gathered; ///< that wait for an answer to others
  /// Small writes that are under way: one, or several as one.
  struct joint_write {
    std::vector<small_write> parts;
    caf::actor_clock::time_point since;
  };
  std::map<std::uint64_t, joint_write> under_way;              ///< by the ticket it went with
  std::map<std::uint64_t, waiting<transaction_answer>> writes; ///< the oldest first
  std::map<std::uint64_t, waiting<range_answer>> reads;        ///< likewise
  bool looks_at_the_clock = false;                             ///< whether a reminder is under way
};

using store_actor_pointer = private_store_actor::stateful_pointer<store_actor_state>;

private_store_actor::behavior_type serve_store(store_actor_pointer self,
                                               std::shared_ptr<store> behind);

} // namespace reprieve
