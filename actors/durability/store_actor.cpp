#include "actors/durability/store_actor.hpp"

#include "state/store/joint_transaction.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace reprieve {

namespace {

/// A call that this actor makes of its store on this thread. A store that answers before the call
/// returns needs no message.
struct call_under_way {
  const store_actor_state* state = nullptr;
  std::uint64_t ticket = 0;
  std::optional<store_reply> answer;
};

thread_local call_under_way* innermost = nullptr;

/// A callback for the store that sends its answer to the actor.
template <class T>
store_callback<T> through(const private_store_actor& me, const store_actor_state* state,
                          std::uint64_t ticket) {
  return [me, state, ticket](absl::StatusOr<T> answer) {
    store_reply reply{ticket, std::move(answer)};
    if (innermost != nullptr && innermost->state == state && innermost->ticket == ticket)
      innermost->answer = std::move(reply);
    else
      caf::anon_send(me, std::move(reply));
  };
}

/// Comes back as long as somebody waits.
template <class Self>
void schedule_timeout_check(Self self) {
  constexpr std::chrono::seconds pause{1};
  auto& state = self->state;
  if ((!state.writes.empty() || !state.reads.empty())
      && !std::exchange(state.looks_at_the_clock, true))
    self->delayed_send(self, pause, look_for_late_answers{});
}

/// Answers those who have waited long enough.
template <class Answer>
void answer_late_ones(std::map<std::uint64_t, store_actor_state::waiting<Answer>>& waiting,
                      caf::actor_clock::time_point now, const Answer& how) {
  while (!waiting.empty() && waiting.begin()->second.until <= now) {
    waiting.begin()->second.asked.deliver(how);
    waiting.erase(waiting.begin());
  }
}

/// Makes a call of the store by `make`, which is given the callback. Returns the answer where the
/// store gives it at once; else it comes with the ticket.
template <class T, class Self, class Make>
std::optional<absl::StatusOr<T>> call_store(Self self, std::uint64_t ticket, Make make) {
  call_under_way call{&self->state, ticket, {}};
  auto* outer = std::exchange(innermost, &call);
  make(through<T>(self, &self->state, ticket));
  innermost = outer;
  if (!call.answer)
    return std::nullopt;
  return std::get<absl::StatusOr<T>>(std::move(call.answer->answer));
}

/// Has the one who asked wait for what comes with the ticket.
template <class T, class Self, class Waiting>
caf::result<absl::StatusOr<T>> wait_for(Self self, Waiting& waiting, std::uint64_t ticket) {
  auto answer = promise_from<absl::StatusOr<T>>(self);
  waiting.emplace(ticket, typename Waiting::mapped_type{answer, self->clock().now() + answer_time});
  schedule_timeout_check(self);
  return answer;
}

/// Answers at once where the store does; else the promise waits in `waiting`.
template <class T, class Self, class Waiting, class Make>
caf::result<absl::StatusOr<T>> ask_store(Self self, Waiting& waiting, Make make) {
  const auto ticket = ++self->state.last_ticket;
  if (auto answer = call_store<T>(self, ticket, std::move(make)))
    return *std::move(answer);
  return wait_for<T>(self, waiting, ticket);
}

/// Answers the request behind the ticket, if it still waits.
template <class Waiting, class Answer>
void deliver(Waiting& waiting, std::uint64_t ticket, Answer& answer) {
  if (auto found = waiting.find(ticket); found != waiting.end()) {
    found->second.asked.deliver(std::move(answer));
    waiting.erase(found);
  }
}

// -- small writes ---------------------------------------------------------------------------------

/// Whether those that come have to gather. An answer that is late does not keep others waiting.
template <class Self>
bool is_busy(Self self) {
  constexpr std::ptrdiff_t most_under_way = 2;
  constexpr std::chrono::seconds soon{1};
  const auto late = self->clock().now() - soon;
  return std::ranges::count_if(self->state.under_way,
                               [&](const auto& one) { return one.second.since > late; })
         >= most_under_way;
}

/// Sends a write that consists of these; where the store answers at once, so does this.
template <class Self>
std::optional<transaction_answer> send_joint(Self self, std::uint64_t ticket,
                                             std::vector<store_actor_state::small_write> parts,
                                             transaction whole) {
  auto& state = self->state;
  state.under_way[ticket] = {std::move(parts), self->clock().now()};
  auto answer = call_store<transaction_result>(
    self, ticket, [&](auto done) { state.behind->commit(std::move(whole), std::move(done)); });
  return answer;
}

template <class Self>
void take_answer(Self self, std::uint64_t ticket, transaction_answer answer);

/// Sends what has gathered, as far as it may go.
template <class Self>
void send_gathered(Self self) {
  auto& state = self->state;
  while (!state.gathered.empty() && !is_busy(self)) {
    joint_transaction joint;
    std::vector<store_actor_state::small_write> parts;
    while (!state.gathered.empty() && joint.add(state.gathered.front().writes)) {
      parts.push_back(std::move(state.gathered.front()));
      state.gathered.pop_front();
    }
    const auto ticket = ++state.last_ticket;
    if (auto answer = send_joint(self, ticket, std::move(parts), joint.whole()))
      take_answer(self, ticket, *std::move(answer));
  }
}

/// The store has answered a write of several. One that did not hold, or that the store does not
/// take, has written nothing: each of them is made by itself, for it is not known which it was.
template <class Self>
void take_answer(Self self, std::uint64_t ticket, transaction_answer answer) {
  auto& state = self->state;
  auto parts = std::move(state.under_way.extract(ticket).mapped().parts);
  const bool did_not_hold =
    answer.ok() ? !answer->succeeded : absl::IsInvalidArgument(answer.status());
  for (auto& one : parts) {
    auto own = answer;
    if (!did_not_hold || parts.size() == 1) {
      deliver(state.writes, one.ticket, own);
      continue;
    }
    const auto again = ++state.last_ticket;
    auto whole = std::move(one.writes);
    if (auto at_once = send_joint(self, again, {{one.ticket, {}}}, std::move(whole)))
      take_answer(self, again, *std::move(at_once));
  }
  send_gathered(self);
}

/// Writes what is small: at once by itself, or together with others that come while the store is
/// busy.
template <class Self>
caf::result<transaction_answer> write_small(Self self, transaction writes) {
  auto& state = self->state;
  const auto ticket = ++state.last_ticket;
  if (is_busy(self)) {
    state.gathered.push_back({ticket, std::move(writes)});
  } else if (auto answer = send_joint(self, ticket, {{ticket, {}}}, std::move(writes))) {
    state.under_way.erase(ticket);
    return *std::move(answer);
  }
  return wait_for<transaction_result>(self, state.writes, ticket);
}

/// Forgets the small writes of those who were told that there is no answer.
void forget_late_ones(store_actor_state& state) {
  const auto is_over = [&](const auto& one) { return !state.writes.contains(one.ticket); };
  std::erase_if(state.gathered, is_over);
  std::erase_if(state.under_way,
                [&](const auto& one) { return std::ranges::all_of(one.second.parts, is_over); });
}

} // namespace

private_store_actor::behavior_type serve_store(store_actor_pointer self,
                                               std::shared_ptr<store> behind) {
  self->state.behind = std::move(behind);
  return {
    [self](transaction& writes) -> caf::result<transaction_answer> {
      if (joint_transaction::takes(writes))
        return write_small(self, std::move(writes));
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
      if (auto* written = std::get_if<transaction_answer>(&reply.answer)) {
        if (self->state.under_way.contains(reply.ticket))
          take_answer(self, reply.ticket, std::move(*written));
        else
          deliver(self->state.writes, reply.ticket, *written);
      } else
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
      forget_late_ones(state);
      send_gathered(self);
      schedule_timeout_check(self);
    },
  };
}

} // namespace reprieve
