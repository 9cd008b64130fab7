#include "actors/gateway/gateway_turns.hpp"

#include <utility>

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

/// Takes one step once what is in the mailbox now was heard, and so on while there are reads.
void take_turns(self_pointer self) {
  self->send(self, to_do_later{[self] {
               auto& state = self->state;
               auto step = std::move(state.reads.front());
               state.reads.pop_front();
               if (!step())
                 state.reads.push_back(std::move(step));
               state.reads_take_turns = !state.reads.empty();
               if (state.reads_take_turns)
                 take_turns(self);
             }});
}

} // namespace

void read_in_turn(self_pointer self, std::function<bool()> step) {
  auto& state = self->state;
  state.reads.push_back(std::move(step));
  if (!std::exchange(state.reads_take_turns, true))
    take_turns(self);
}

} // namespace reprieve
