#include "actors/gateway/gateway_get.hpp"

#include "actors/gateway/gateway_confirmation.hpp"
#include "actors/gateway/gateway_lookup.hpp"
#include "actors/gateway/gateway_routes.hpp"
#include "actors/gateway/gateway_turns.hpp"

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

/// What was found, with how old that may be. What was not found may be there by now, where nobody
/// can say.
get_result with_age(get_result found, const confirmation& sure) {
  if (found.ok())
    found->age = sure.age;
  else if (!sure.how.ok())
    return get_result(sure.how);
  return found;
}

/// Whether more is to be looked at than one object that is found by its name.
bool takes_a_while(const get_request& wanted) {
  return wanted.name.empty() || wanted.kind == object_kind::pod;
}

void get_confirmed(self_pointer self, const get_request& wanted, const confirmation& found,
                   promise<get_result> answer) {
  const auto give = [self, wanted, found, answer] {
    answer.deliver(with_age(look_up(self->state, wanted, {}), found));
    return true;
  };
  if (takes_a_while(wanted))
    read_in_turn(self, give);
  else
    give();
}

} // namespace

caf::result<get_result> get(self_pointer self, const get_request& wanted) {
  auto& state = self->state;
  if (!state.serving || !state.known)
    return get_result(starting());
  auto answer = promise_from<get_result>(self);
  confirm(
    self, {{wanted.kind, wanted.name, wanted.resource_group}},
    [self, wanted, answer](const confirmation& found) mutable {
      if (wanted.kind != object_kind::queue || !found.how.ok()) {
        get_confirmed(self, wanted, found, answer);
        return;
      }
      self->request(self->state.serving->queues, answer_time, read_queues{})
        .then(
          [self, wanted, answer](const by_name<queue_status>& queues) mutable {
            answer.deliver(look_up(self->state, wanted, queues));
          },
          [answer](caf::error& error) mutable { answer.deliver(get_result(to_status(error))); });
    });
  return answer;
}

} // namespace reprieve
