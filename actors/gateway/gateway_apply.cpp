#include "actors/gateway/gateway_apply.hpp"

#include "actors/gateway/gateway_admission.hpp"
#include "actors/gateway/gateway_confirmation.hpp"
#include "actors/gateway/gateway_lookup.hpp"
#include "actors/gateway/gateway_routes.hpp"
#include "actors/gateway/gateway_tries.hpp"
#include "actors/gateway/gateway_writing.hpp"
#include "state/text/printable.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

batch_pointer put_under_way(gateway_state& state, std::vector<admitted> objects) {
  const auto batch = state.under_way.insert(state.under_way.end(), admitted_batch{});
  for (auto& one : objects)
    batch->push_back(std::make_shared<const admitted>(std::move(one)));
  for (const auto& one : *batch) {
    auto& coming = state.coming[kind_of(one->what)][name_of(one->what)];
    coming.forms.push_back(one.get());
    count_if_new(state, coming);
  }
  return batch;
}

void end_under_way(gateway_state& state, batch_pointer batch) {
  for (const auto& one : *batch) {
    auto& of_kind = state.coming[kind_of(one->what)];
    const auto found = of_kind.find(name_of(one->what));
    std::erase(found->second.forms, one.get());
    count_if_new(state, found->second);
    if (found->second.forms.empty())
      of_kind.erase(found);
  }
  state.under_way.erase(batch);
}

/// A workload that is being deleted has to be gone before there is another of its name. Shards see
/// to that; here it is seen before anything is written.
absl::Status check_that_nobody_goes(const gateway_state& state,
                                    const std::vector<object>& objects) {
  for (const auto& one : objects)
    if (const auto* w = std::get_if<workload>(&one))
      if (const auto known = state.workloads.find(w->name);
          known != state.workloads.end() && known->second->deleting)
        return absl::FailedPreconditionError(fmt::format(
          "workload {} is being deleted; apply it again when it has gone", printable(w->name)));
  return absl::OkStatus();
}

void begin_apply(self_pointer self, std::shared_ptr<const apply_request> wanted,
                 promise<apply_result> answer, int tries);

void admit_and_write(self_pointer self, const std::shared_ptr<const apply_request>& asked,
                     const confirmation& found, promise<apply_result> answer, int tries) {
  auto& state = self->state;
  const auto& wanted = *asked;
  for (const auto& one : wanted.objects)
    if (const auto* aside = find_aside(state, kind_of(one), name_of(one))) {
      answer.deliver(apply_result(mark_nothing_changed(cannot_be_made(*aside))));
      return;
    }
  if (auto gone = check_that_nobody_goes(state, wanted.objects); !gone.ok()) {
    answer.deliver(apply_result(mark_nothing_changed(gone)));
    return;
  }
  auto let_in = admit(wanted.objects, *catalog_with_under_way(state, found.known),
                      gateway_admission_facts{state}, wanted.by ? &*wanted.by : nullptr);
  if (!let_in.ok()) {
    answer.deliver(apply_result(let_in.status()));
    return;
  }
  std::vector<apply_outcome> outcomes;
  for (const auto& one : wanted.objects)
    outcomes.push_back(outcome_of(state, one));
  if (wanted.dry_run) {
    answer.deliver(apply_result(std::move(outcomes)));
    return;
  }
  // In the end it is done whatever is told.
  batch_terms terms{found.known_at, {}};
  for (std::size_t i = 0; tries > 0 && i < wanted.objects.size(); ++i)
    terms.told[{kind_of(wanted.objects[i]), name_of(wanted.objects[i])}] = outcomes[i];
  const auto batch = put_under_way(state, *std::move(let_in));
  write_batch(self, batch, terms,
              [self, batch, asked, answer, outcomes, tries](absl::Status how) mutable {
                end_under_way(self->state, batch);
                if (how.ok())
                  answer.deliver(apply_result(std::move(outcomes)));
                else if (was_in_the_way(how) && tries > 0)
                  begin_apply(self, asked, answer, tries - 1);
                else
                  answer.deliver(apply_result(how));
              });
}

/// Whether the group gets settings that all its workloads have to go with.
bool binds_others(const gateway_state& state, const resource_group& g) {
  const auto* before = find(state.known->groups, g.name);
  return before != nullptr
         && (before->policy != g.policy
             || before->preemption_priority_gap != g.preemption_priority_gap);
}

/// Has those confirm what is known who own what the request is about, and goes by that.
void begin_apply(self_pointer self, std::shared_ptr<const apply_request> wanted,
                 promise<apply_result> answer, int tries) {
  auto& state = self->state;
  std::vector<asked_object> about{{object_kind::queue, {}}}; // whose catalog admission goes by
  std::vector<asked_workload> workloads;
  for (const auto& one : wanted->objects) {
    about.push_back({kind_of(one), name_of(one)});
    if (const auto* g = std::get_if<resource_group>(&one); g != nullptr && binds_others(state, *g))
      about.push_back({object_kind::workload, {}, g->name});
    if (const auto* w = std::get_if<workload>(&one))
      workloads.push_back({w->name, w->resource_group});
  }
  const bool only_workloads = workloads.size() == wanted->objects.size();
  auto go_on = [self, wanted, answer, tries](const confirmation& found) mutable {
    if (found.how.ok())
      admit_and_write(self, wanted, found, answer, tries);
    else
      answer.deliver(apply_result(saying_nothing_changed(found.how)));
  };
  if (only_workloads)
    confirm_workloads(self, workloads, std::move(go_on));
  else
    confirm(self, about, std::move(go_on));
}

} // namespace

caf::result<apply_result> apply_all(self_pointer self, apply_request& wanted) {
  if (!self->state.serving || !self->state.known)
    return apply_result(starting());
  auto answer = promise_from<apply_result>(self);
  // Not copied with the functions that it goes along with.
  begin_apply(self, std::make_shared<const apply_request>(std::move(wanted)), answer, most_tries);
  return answer;
}

} // namespace reprieve
