#pragma once

#include "actors/caf.hpp"
#include "state/store.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <variant>

namespace reprieve {

using transaction_answer = absl::StatusOr<transaction_result>;
using range_answer = absl::StatusOr<range_result>;

/// An answer of the store on its way from the store's thread to the actor that asked.
struct store_reply {
  std::uint64_t ticket = 0;
  std::variant<transaction_answer, range_answer> answer;
};

/// The door's reminder to itself that a store may have forgotten somebody.
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
/// clock: what has no answer after `answer_time` is answered by the door, `kUnknown` where it was a
/// write, `kUnavailable` where it was a read.
using store_door_actor = typed_actor<
  /// Writes, or tells that a comparison did not hold.
  handles<transaction_answer(transaction)>,
  /// Reads a range.
  handles<range_answer(range_request)>,
  /// From the store's thread.
  handles<void(store_reply)>,
  /// From itself.
  handles<void(look_for_late_answers)>>;

struct store_door_state {
  static inline const char* name = "store_door";

  template <class Answer>
  struct waiting {
    promise<Answer> asked;
    caf::actor_clock::time_point until;
  };

  std::shared_ptr<store> behind;
  std::uint64_t last_ticket = 0;
  std::map<std::uint64_t, waiting<transaction_answer>> writes; ///< the oldest first
  std::map<std::uint64_t, waiting<range_answer>> reads;        ///< likewise
  bool looks_at_the_clock = false;                             ///< whether a reminder is under way
};

store_door_actor::behavior_type
store_door(store_door_actor::stateful_pointer<store_door_state> self,
           std::shared_ptr<store> behind);

} // namespace reprieve
