#include "actors/gateway/gateway_explanation.hpp"

#include "actors/durability/decision_archive.hpp"
#include "actors/gateway/gateway_admission.hpp"
#include "actors/gateway/gateway_confirmation.hpp"
#include "actors/gateway/gateway_lookup.hpp"
#include "actors/gateway/gateway_notes.hpp"
#include "actors/gateway/gateway_routes.hpp"
#include "actors/gateway/gateway_turns.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

/// For a store of which nobody knows whether it answers.
constexpr std::chrono::seconds short_answer_time{1};

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

/// What can't be told of somebody who was there at `since`, as it is not kept; empty for nothing.
/// The archive knows whole seconds.
std::string decisions_let_go(const archive_record& archive, time_point since) {
  if (archive.let_go_until == no_time
      || std::chrono::floor<std::chrono::seconds>(since) > archive.let_go_until)
    return {};
  return fmt::format("decisions that ended by {} are not kept any more: {}",
                     format_time(archive.let_go_until),
                     archive.made_room ? "they would take more room than --decision-bytes allows"
                                       : "they are older than --decision-age");
}

/// Finds decisions. Where the owners can't be asked the store may not answer either: nobody waits
/// long for it then.
template <class F>
void look_for_decisions(self_pointer self, const confirmation& sure, decisions_wanted wanted,
                        F done) {
  const caf::duration time{sure.how.ok() ? answer_time : short_answer_time};
  find_decisions(
    [self, time, store = self->state.serving->store](range_request range, auto then) {
      self->request(store, time, std::move(range))
        .then([then](range_answer& answer) { then(std::move(answer)); },
              [then](caf::error& error) { then(to_status(error)); });
    },
    std::move(wanted), std::move(done));
}

/// When the workload came; the epoch where nobody knows.
time_point submission_of(const gateway_state& state, const std::string& workload) {
  const auto found = state.workloads.find(workload);
  return found == state.workloads.end() ? no_time : found->second->status.submitted;
}

/// Adds what was decided about the workload, and answers.
void answer_with_decisions(self_pointer self, const describe_request& wanted,
                           const confirmation& sure, promise<describe_result> answer,
                           std::shared_ptr<description> result) {
  if (wanted.kind != object_kind::workload) {
    answer.deliver(describe_result(std::move(*result)));
    return;
  }
  const auto since = submission_of(self->state, wanted.name);
  look_for_decisions(self, sure, {{}, {wanted.name}},
                     [sure, result, answer, since](absl::StatusOr<decisions_found> found) mutable {
                       if (!found.ok() && sure.how.ok()) {
                         answer.deliver(describe_result(found.status()));
                         return;
                       }
                       if (found.ok()) {
                         if (!found->more)
                           result->missing = decisions_let_go(found->archive, since);
                         result->decisions = std::move(found->decisions);
                       } else {
                         result->missing = decisions_missing(found.status());
                       }
                       answer.deliver(describe_result(std::move(*result)));
                     });
}

/// Adds what happened to it, and answers.
void answer_with_events(self_pointer self, const describe_request& wanted, const confirmation& sure,
                        promise<describe_result> answer, std::shared_ptr<description> result) {
  self->request(self->state.serving->events, answer_time, read_events{0, wanted.name})
    .then(
      [self, wanted, sure, result, answer](event_list& events) mutable {
        result->events = std::move(events);
        answer_with_decisions(self, wanted, sure, answer, result);
      },
      [answer](caf::error& error) mutable { answer.deliver(describe_result(to_status(error))); });
}

/// The others are in lists of pods, which come page by page.
constexpr std::size_t most_pods_described = 1000;

void describe_confirmed(self_pointer self, const describe_request& wanted, const confirmation& sure,
                        promise<describe_result> answer) {
  auto& state = self->state;
  if (wanted.name.empty()) { // which would be all of them
    answer.deliver(describe_result(absl::InvalidArgumentError(
      fmt::format("describe needs the name of one {}", to_string(wanted.kind)))));
    return;
  }
  auto found = look_up(state, get_request{wanted.kind, wanted.name, {}, {}}, {});
  if (!found.ok()) { // it may be there by now, where nobody can say
    answer.deliver(describe_result(sure.how.ok() ? found.status() : sure.how));
    return;
  }
  auto result = std::make_shared<description>();
  result->what = std::move(found->front());
  result->age = sure.age;
  const auto pods = std::make_shared<first_pods>(wanted.kind, wanted.name, most_pods_described);
  read_in_turn(self, [self, wanted, sure, answer, result, pods] {
    if (!pods->look(self->state))
      return false;
    result->pods_in_all = pods->in_all();
    result->pods = std::move(*pods).take();
    answer_with_events(self, wanted, sure, answer, result);
    return true;
  });
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
  auto full = note_on_full_nodes(self->state, record->second->spec->resource_group);
  self
    ->request(group->coordinator,
              sure ? caf::duration{answer_time} : caf::duration{short_answer_time},
              why_pending{workload})
    .then(
      [answer, result, full = std::move(full)](std::string& reason) mutable {
        result.pending_reason = std::move(reason);
        if (!result.pending_reason.empty() && !full.empty())
          result.notes.push_back(std::move(full));
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
  decisions_wanted decisions;
  std::vector<asked_object> about; ///< whose owners have to be there still
};

subject subject_of(const explain_request& wanted) {
  if (!wanted.decision.empty())
    return {"decision " + wanted.decision, {wanted.decision, {}}, {}};
  if (!wanted.workload.empty())
    return {"workload " + wanted.workload,
            {{}, {wanted.workload}},
            {{object_kind::workload, wanted.workload}}};
  return {"pod " + wanted.pod,
          {{},
           possible_owners(wanted.pod),
           [pod = wanted.pod](const decision& d) { return mentions(d, pod); }},
          {{object_kind::pod, wanted.pod}}};
}

/// What of the past can't be told beside what was found; empty for nothing.
std::string gaps_in(const decisions_found& found, const subject& of, time_point since) {
  if (!of.decisions.id.empty())
    return {};
  if (!found.more)
    return decisions_let_go(found.archive, since);
  if (of.decisions.fine && found.decisions.size() < of.decisions.most)
    return "only the newest decisions about its workload were looked at";
  return {};
}

/// Nothing was found of somebody who is not there either.
absl::Status nothing_known(const subject& of, const archive_record& archive) {
  auto text = fmt::format("nothing is known of {}", of.name);
  if (const auto gone = decisions_let_go(archive, no_time); !gone.empty())
    text += "; " + gone;
  return absl::NotFoundError(text);
}

void explain_found(self_pointer self, const explain_request& wanted, const subject& of,
                   const confirmation& sure, promise<explain_result> answer,
                   absl::StatusOr<decisions_found> found) {
  const bool is_known = self->state.workloads.contains(wanted.workload);
  if (const auto* aside = find_aside(self->state, object_kind::workload, wanted.workload)) {
    answer.deliver(explain_result(cannot_be_read(*aside)));
    return;
  }
  explanation result;
  result.age = sure.age;
  result.notes = notes_on_losses(self->state, wanted);
  if (!found.ok()) {
    if (sure.how.ok() || !is_known) {
      answer.deliver(explain_result(found.status()));
      return;
    }
    result.missing = decisions_missing(found.status());
  } else if (found->decisions.empty() && result.notes.empty() && !is_known) {
    answer.deliver(explain_result(sure.how.ok() ? nothing_known(of, found->archive) : sure.how));
    return;
  } else {
    result.missing = gaps_in(*found, of, submission_of(self->state, wanted.workload));
    result.decisions = std::move(found->decisions);
  }
  answer_with_reason(self, wanted.workload, answer, std::move(result));
}

void explain_confirmed(self_pointer self, const explain_request& wanted, const subject& of,
                       const confirmation& sure, promise<explain_result> answer) {
  look_for_decisions(self, sure, of.decisions,
                     [self, answer, wanted, sure, of](absl::StatusOr<decisions_found> found) {
                       const auto kept =
                         std::make_shared<absl::StatusOr<decisions_found>>(std::move(found));
                       // The notes are on many nodes and pods.
                       read_in_turn(self, [self, answer, wanted, sure, of, kept] {
                         explain_found(self, wanted, of, sure, answer, std::move(*kept));
                         return true;
                       });
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
