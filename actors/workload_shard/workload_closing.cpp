#include "actors/workload_shard/workload_closing.hpp"

#include <map>
#include <optional>
#include <string>
#include <variant>

namespace reprieve {

namespace {

using self_pointer = workload_shard_pointer;

/// One of all that is there, as people call it; empty where nothing is.
std::optional<object_reference> some_in(const workload_shard_state& state) {
  if (auto name = state.workloads.any(); !name.empty())
    return object_reference{object_kind::workload, std::move(name)};
  if (auto name = state.budgets.any(); !name.empty())
    return object_reference{object_kind::disruption_budget, std::move(name)};
  if (auto name = state.placements.any(); !name.empty())
    return object_reference{object_kind::placement, std::move(name)};
  if (!state.aside.empty()) {
    const auto& one = state.aside.begin()->second;
    return object_reference{one.kind, one.name};
  }
  return std::nullopt;
}

/// The first workload that names it, be it on its way.
std::optional<object_reference> user_of(const workload_shard_state& state,
                                        const object_reference& what) {
  for (const auto& name : state.workloads.names())
    if (const auto record = state.workloads.newest(name);
        record && uses(record->spec, what.kind, what.name))
      return object_reference{object_kind::workload, name};
  return std::nullopt;
}

/// Entries of the catalog go, if nobody names them: nor does anybody later who was let in before.
caf::result<lent_result> let_go(self_pointer self, const lend<close_shard>& wanted) {
  return lend_for(self, wanted, [self, wanted](status_answer answer) {
    auto& state = self->state;
    std::map<object_reference, revision> before;
    for (const auto& name : wanted.change.names) {
      const object_reference what{wanted.change.kind, name};
      if (const auto user = user_of(state, what)) {
        answer(in_use(what, *user));
        return;
      }
      before[what] = state.gone.contains(what) ? state.gone[what] : 0;
    }
    for (const auto& [what, since] : before)
      state.gone[what] = workload_shard_state::goes_now;
    const auto settle = [self, before](revision at) {
      for (const auto& [what, since] : before)
        if (at != 0 || since != 0)
          self->state.gone[what] = at != 0 ? at : since;
        else
          self->state.gone.erase(what);
    };
    write_then(
      self, {},
      [self, settle, answer] {
        settle(self->state.ledger.settings.sequence_revision);
        answer(absl::OkStatus());
      },
      {{}, wanted.bundle},
      [settle, answer](const absl::Status& why) {
        settle(0);
        answer(why);
      });
  });
}

} // namespace

caf::result<lent_result> close_for_others(self_pointer self, const lend<close_shard>& wanted) {
  return wanted.change.names.empty()
           ? close_for(self, wanted, [self] { return some_in(self->state); })
           : let_go(self, wanted);
}

absl::Status check_that_all_is_there(const workload_shard_state& state,
                                     const put_workloads& wanted) {
  for (const auto& [what, since] : state.gone)
    if (since == workload_shard_state::goes_now
        || (wanted.known_at != 0 && wanted.known_at < since))
      for (const auto& one : wanted.objects)
        if (const auto* w = std::get_if<workload>(&one->what);
            w != nullptr && uses(*w, what.kind, what.name))
          return used_goes({object_kind::workload, w->name}, what);
  return absl::OkStatus();
}

} // namespace reprieve
