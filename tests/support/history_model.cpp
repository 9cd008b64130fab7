#include "tests/support/history_model.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using life = model_state::life;

bool is(const model_call& call, call_end how) {
  return call.how == how || call.how == call_end::unknown;
}

bool is(const model_call& call, apply_outcome outcome) {
  return call.how == call_end::unknown
         || (call.how == call_end::ok && (!call.outcome || *call.outcome == outcome));
}

model_state when_gone(model_state state) {
  auto gone = std::move(state.gone);
  if (state.uid != 0)
    gone.insert(std::upper_bound(gone.begin(), gone.end(), state.uid), state.uid);
  return {life::absent, 0, 0, 0, std::move(gone)};
}

std::optional<model_state> applied(model_state state, const model_call& call) {
  switch (state.at) {
  case life::absent:
    if (!is(call, apply_outcome::created))
      return std::nullopt;
    return model_state{life::present, call.counts, 0, 1, std::move(state.gone)};
  case life::present:
    if (!is(call,
            state.counts == call.counts ? apply_outcome::unchanged : apply_outcome::configured))
      return std::nullopt;
    state.generation += state.counts == call.counts ? 0 : 1;
    state.counts = call.counts;
    return state;
  case life::deleting:
    break;
  }
  return is(call, call_end::being_deleted) ? std::optional{std::move(state)} : std::nullopt;
}

std::optional<model_state> removed(model_state state, const model_call& call) {
  if (!is(call, state.at == life::absent ? call_end::not_found : call_end::ok))
    return std::nullopt;
  if (state.at == life::present)
    state.at = life::deleting;
  return state;
}

std::optional<model_state> seen(model_state state, const model_call& call) {
  if (state.at == life::absent)
    return is(call, call_end::not_found) ? std::optional{std::move(state)} : std::nullopt;
  if (call.how == call_end::unknown)
    return state;
  if (call.how != call_end::ok || call.counts != state.counts
      || call.generation != state.generation)
    return std::nullopt;
  if (call.uid == 0 || call.uid == state.uid)
    return state;
  if (state.uid != 0 || std::binary_search(state.gone.begin(), state.gone.end(), call.uid))
    return std::nullopt;
  state.uid = call.uid;
  return state;
}

std::optional<model_state> carried_out(const model_state& state, const model_call& call) {
  if (call.how == call_end::refused)
    return state;
  switch (call.what) {
  case workload_call::submit:
  case workload_call::scale:
    return applied(state, call);
  case workload_call::remove:
    return removed(state, call);
  case workload_call::get:
    break;
  }
  return seen(state, call);
}

} // namespace

std::vector<model_state> states_after(const model_state& before, const model_call& call) {
  std::vector<model_state> after;
  if (auto next = carried_out(before, call))
    after.push_back(*std::move(next));
  if (before.at == life::deleting) // it may have gone meanwhile
    if (auto next = carried_out(when_gone(before), call))
      after.push_back(*std::move(next));
  return after;
}

bool changes_nothing(const model_call& call) {
  switch (call.how) {
  case call_end::not_found:
  case call_end::being_deleted:
  case call_end::refused:
    return true;
  case call_end::unknown:
    return false;
  case call_end::ok:
    break;
  }
  return call.what == workload_call::get || call.outcome == apply_outcome::unchanged;
}

} // namespace reprieve
