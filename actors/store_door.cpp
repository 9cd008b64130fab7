#include "actors/store_door.hpp"

namespace reprieve {

namespace {

/// A callback for the store that sends its answer to the door.
template <class T>
store_callback<T> through(const store_door_actor& door, std::uint64_t ticket) {
  return [door, ticket](absl::StatusOr<T> answer) {
    caf::anon_send(door, store_reply{ticket, std::move(answer)});
  };
}

/// Answers the request behind the ticket, if it still waits.
template <class Waiting, class Answer>
void deliver(Waiting& waiting, std::uint64_t ticket, Answer& answer) {
  if (auto found = waiting.find(ticket); found != waiting.end()) {
    found->second.deliver(std::move(answer));
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
      const auto ticket = ++self->state.last_ticket;
      auto answer = self->make_response_promise<transaction_answer>();
      self->state.writes.emplace(ticket, answer);
      self->state.behind->commit(std::move(writes), through<transaction_result>(self, ticket));
      return answer;
    },
    [self](range_request& wanted) -> caf::result<range_answer> {
      const auto ticket = ++self->state.last_ticket;
      auto answer = self->make_response_promise<range_answer>();
      self->state.reads.emplace(ticket, answer);
      self->state.behind->read(std::move(wanted), through<range_result>(self, ticket));
      return answer;
    },
    [self](store_reply& reply) {
      if (auto* written = std::get_if<transaction_answer>(&reply.answer))
        deliver(self->state.writes, reply.ticket, *written);
      else
        deliver(self->state.reads, reply.ticket, std::get<range_answer>(reply.answer));
    },
  };
}

} // namespace reprieve
