#include "actors/gateway_accounts.hpp"

#include "actors/decision_archive.hpp"
#include "actors/gateway_answers.hpp"
#include "actors/gateway_confirmation.hpp"
#include "actors/gateway_routes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = gateway_actor::stateful_pointer<gateway_state>;

constexpr std::size_t most_decisions = 20;
/// For a store of which nobody knows whether it answers.
constexpr std::chrono::seconds short_answer_time{1};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Decisions that place the workload or take something from it.
head_filter concerning(std::string workload) {
  return [workload = std::move(workload)](const decision_head& head) {
    return contains(head.summary.workloads, workload) || contains(head.evicted, workload);
  };
}

bool mentions(const decision& d, std::string_view pod) {
  return std::any_of(
           d.assignments.begin(), d.assignments.end(),
           [&](const assignment& one) { return one.placed.uid == pod || one.placed.name == pod; })
         || std::any_of(d.victims.begin(), d.victims.end(), [&](const victim& one) {
              return std::any_of(one.pods.begin(), one.pods.end(), [&](const victim_pod& gone) {
                // A uid begins with the pod's name and a dot.
                return gone.uid == pod
                       || (gone.uid.starts_with(pod) && gone.uid[pod.size()] == '.');
              });
            });
}

std::string decisions_missing(const absl::Status& why) {
  return fmt::format("what was decided can't be read at present: {}", std::string(why.message()));
}

/// Finds decisions. Where the owners can't be asked the store may not answer either: nobody waits
/// long for it then.
template <class F>
void look_for_decisions(self_pointer self, const confirmation& sure, head_filter coarse,
                        decision_filter fine, F done) {
  const auto time = sure.how.ok() ? answer_time : short_answer_time;
  find_decisions(self, self->state.serving->store, std::move(coarse), std::move(fine),
                 most_decisions, std::move(done), time);
}

/// Adds what was decided about the workload, and answers.
void answer_with_decisions(self_pointer self, const describe_request& wanted,
                           const confirmation& sure, promise<describe_result> answer,
                           std::shared_ptr<description> result) {
  if (wanted.kind != object_kind::workload) {
    answer.deliver(describe_result(std::move(*result)));
    return;
  }
  look_for_decisions(
    self, sure, concerning(wanted.name), {},
    [sure, result, answer](absl::StatusOr<std::vector<decision>> decisions) mutable {
      if (!decisions.ok() && sure.how.ok()) {
        answer.deliver(describe_result(decisions.status()));
        return;
      }
      if (decisions.ok())
        result->decisions = *std::move(decisions);
      else
        result->missing = decisions_missing(decisions.status());
      answer.deliver(describe_result(std::move(*result)));
    });
}

void describe_confirmed(self_pointer self, const describe_request& wanted, const confirmation& sure,
                        promise<describe_result> answer) {
  auto& state = self->state;
  auto found = look_up(state, get_request{wanted.kind, wanted.name, {}, {}}, {});
  if (!found.ok()) { // it may be there by now, where nobody can say
    answer.deliver(describe_result(sure.how.ok() ? found.status() : sure.how));
    return;
  }
  auto result = std::make_shared<description>();
  result->what = std::move(found->front());
  result->pods = pods_of(state, wanted.kind, wanted.name);
  result->age = sure.age;
  self->request(state.serving->events, answer_time, read_events{0, wanted.name})
    .then(
      [self, wanted, sure, result, answer](event_list& events) mutable {
        result->events = std::move(events);
        answer_with_decisions(self, wanted, sure, answer, result);
      },
      [answer](caf::error& error) mutable { answer.deliver(describe_result(to_status(error))); });
}

/// Adds why the workload waits, and answers.
void answer_with_reason(self_pointer self, const std::string& workload,
                        promise<explain_result> answer, explanation result) {
  const auto record = self->state.workloads.find(workload);
  const auto* group = record == self->state.workloads.end()
                        ? nullptr
                        : group_named(self->state, record->second->spec->resource_group);
  if (group == nullptr) {
    answer.deliver(explain_result(std::move(result)));
    return;
  }
  if (!group->coordinator) {
    result.pending_reason = "its resource group's coordinator is starting";
    answer.deliver(explain_result(std::move(result)));
    return;
  }
  const bool sure = result.age == duration{0};
  self
    ->request(group->coordinator,
              sure ? caf::duration{answer_time} : caf::duration{short_answer_time},
              why_pending{workload})
    .then(
      [answer, result](std::string& reason) mutable {
        result.pending_reason = std::move(reason);
        answer.deliver(explain_result(std::move(result)));
      },
      [answer, result, sure](caf::error& error) mutable {
        if (sure)
          answer.deliver(explain_result(to_status(error)));
        else
          answer.deliver(explain_result(std::move(result)));
      });
}

/// What an explanation is asked of.
struct subject {
  std::string name; ///< in words
  head_filter coarse;
  decision_filter fine;
  std::vector<asked_object> about; ///< whose owners have to be there still
};

subject subject_of(const explain_request& wanted) {
  if (!wanted.decision.empty())
    return {"decision " + wanted.decision,
            [id = wanted.decision](const decision_head& head) { return head.summary.id == id; },
            {},
            {}};
  if (!wanted.workload.empty())
    return {"workload " + wanted.workload,
            concerning(wanted.workload),
            {},
            {{object_kind::workload, wanted.workload}}};
  // A pod's name begins with its workload's.
  const auto of_its_workload = [pod = wanted.pod](const decision_head& head) {
    const auto owns = [&](const std::string& workload) { return pod.starts_with(workload); };
    return std::any_of(head.summary.workloads.begin(), head.summary.workloads.end(), owns)
           || std::any_of(head.evicted.begin(), head.evicted.end(), owns);
  };
  return {"pod " + wanted.pod,
          of_its_workload,
          [pod = wanted.pod](const decision& d) { return mentions(d, pod); },
          {{object_kind::pod, wanted.pod}}};
}

void explain_confirmed(self_pointer self, const explain_request& wanted, const subject& of,
                       const confirmation& sure, promise<explain_result> answer) {
  look_for_decisions(self, sure, of.coarse, of.fine,
                     [self, answer, wanted, sure,
                      name = of.name](absl::StatusOr<std::vector<decision>> found) mutable {
                       const bool is_known = self->state.workloads.contains(wanted.workload);
                       explanation result;
                       result.age = sure.age;
                       const bool read = found.ok();
                       if (read)
                         result.decisions = *std::move(found);
                       else if (!sure.how.ok() && is_known)
                         result.missing = decisions_missing(found.status());
                       else {
                         answer.deliver(explain_result(found.status()));
                         return;
                       }
                       if (read && result.decisions.empty() && !is_known)
                         answer.deliver(explain_result(
                           sure.how.ok()
                             ? absl::NotFoundError(fmt::format("nothing is known of {}", name))
                             : sure.how));
                       else
                         answer_with_reason(self, wanted.workload, answer, std::move(result));
                     });
}

} // namespace

caf::result<describe_result> describe(self_pointer self, const describe_request& wanted) {
  auto& state = self->state;
  if (!state.serving || !state.known)
    return describe_result(starting());
  auto answer = promise_from<describe_result>(self);
  confirm(self, {{wanted.kind, wanted.name}},
          [self, wanted, answer](const confirmation& sure) mutable {
            describe_confirmed(self, wanted, sure, answer);
          });
  return answer;
}

caf::result<explain_result> explain(self_pointer self, const explain_request& wanted) {
  auto& state = self->state;
  if (!state.serving || !state.known)
    return explain_result(starting());
  auto answer = promise_from<explain_result>(self);
  auto of = subject_of(wanted);
  // A decision is what the store says it is.
  if (of.about.empty()) {
    explain_confirmed(self, wanted, of, {}, answer);
    return answer;
  }
  confirm(self, of.about, [self, wanted, of, answer](const confirmation& sure) mutable {
    explain_confirmed(self, wanted, of, sure, answer);
  });
  return answer;
}

} // namespace reprieve
