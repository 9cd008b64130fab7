#include "actors/store_door.hpp"

#include <optional>
#include <utility>

namespace reprieve {

namespace {

/// A call that a door makes of its store on this thread. A store that answers before the call
/// returns needs no message.
struct call_under_way {
  const store_door_state* door = nullptr;
  std::uint64_t ticket = 0;
  std::optional<store_reply> answer;
};

thread_local call_under_way* innermost = nullptr;

/// A callback for the store that sends its answer to the door.
template <class T>
store_callback<T> through(const store_door_actor& door, const store_door_state* state,
                          std::uint64_t ticket) {
  return [door, state, ticket](absl::StatusOr<T> answer) {
    store_reply reply{ticket, std::move(answer)};
    if (innermost != nullptr && innermost->door == state && innermost->ticket == ticket)
      innermost->answer = std::move(reply);
    else
      caf::anon_send(door, std::move(reply));
  };
}

/// Comes back as long as somebody waits.
template <class Self>
void look_later(Self self) {
  constexpr std::chrono::seconds pause{1};
  auto& state = self->state;
  if ((!state.writes.empty() || !state.reads.empty())
      && !std::exchange(state.looks_at_the_clock, true))
    self->delayed_send(self, pause, look_for_late_answers{});
}

/// Answers those who have waited long enough.
template <class Answer>
void answer_late_ones(std::map<std::uint64_t, store_door_state::waiting<Answer>>& waiting,
                      caf::actor_clock::time_point now, const Answer& how) {
  while (!waiting.empty() && waiting.begin()->second.until <= now) {
    waiting.begin()->second.asked.deliver(how);
    waiting.erase(waiting.begin());
  }
}

/// Makes a call of the store by `make`, which is given the callback. Answers at once where the
/// store does; else the promise waits in `waiting`.
template <class T, class Self, class Waiting, class Make>
caf::result<absl::StatusOr<T>> ask_store(Self self, Waiting& waiting, Make make) {
  const auto ticket = ++self->state.last_ticket;
  call_under_way call{&self->state, ticket, {}};
  auto* outer = std::exchange(innermost, &call);
  make(through<T>(self, &self->state, ticket));
  innermost = outer;
  if (call.answer)
    return std::get<absl::StatusOr<T>>(std::move(call.answer->answer));
  auto answer = promise_from<absl::StatusOr<T>>(self);
  waiting.emplace(ticket, typename Waiting::mapped_type{answer, self->clock().now() + answer_time});
  look_later(self);
  return answer;
}

/// Answers the request behind the ticket, if it still waits.
template <class Waiting, class Answer>
void deliver(Waiting& waiting, std::uint64_t ticket, Answer& answer) {
  if (auto found = waiting.find(ticket); found != waiting.end()) {
    found->second.asked.deliver(std::move(answer));
    waiting.erase(found);
  }
}

} // namespace

store_door_actor::behavior_type
store_door(store_door_actor::stateful_pointer<store_door_state> self,
           std::shared_ptr<store> behind) {
  self->state.behind = std::move(behind);
  return {
    [self](transaction& writes) -> caf::result<transaction_answer> {
      return ask_store<transaction_result>(self, self->state.writes, [&](auto done) {
        self->state.behind->commit(std::move(writes), std::move(done));
      });
    },
    [self](range_request& wanted) -> caf::result<range_answer> {
      return ask_store<range_result>(self, self->state.reads, [&](auto done) {
        self->state.behind->read(std::move(wanted), std::move(done));
      });
    },
    [self](store_reply& reply) {
      if (auto* written = std::get_if<transaction_answer>(&reply.answer))
        deliver(self->state.writes, reply.ticket, *written);
      else
        deliver(self->state.reads, reply.ticket, std::get<range_answer>(reply.answer));
    },
    [self](look_for_late_answers) {
      auto& state = self->state;
      state.looks_at_the_clock = false;
      const auto now = self->clock().now();
      answer_late_ones<transaction_answer>(
        state.writes, now, absl::UnknownError("the store has not answered; it may still write"));
      answer_late_ones<range_answer>(state.reads, now,
                                     absl::UnavailableError("the store has not answered"));
      look_later(self);
    },
  };
}

} // namespace reprieve
