#include "state/admission/admission_priority.hpp"

#include <optional>

namespace reprieve {

namespace {

std::optional<std::int32_t> named_or_given(const catalog& known, std::string_view class_name,
                                           const std::optional<std::int32_t>& number) {
  const auto* named = find(known.classes, class_name);
  return named != nullptr ? std::optional{named->value} : number;
}

bool allows_preemption(const priority_class* named) {
  return named == nullptr || named->policy != preemption_policy::never;
}

/// `priority` and `may_preempt` of a workload that is admitted for the first time.
resolved_priority first_priority(const workload& w, const catalog& known) {
  resolved_priority result;
  if (const auto given = named_or_given(known, w.priority_class, w.priority)) {
    result.priority = *given;
    result.may_preempt = allows_preemption(find(known.classes, w.priority_class));
    return result;
  }
  const auto* group = find(known.groups, w.resource_group);
  if (const auto* fallback = global_default(known)) {
    result.priority = fallback->value;
    result.may_preempt = allows_preemption(fallback);
  } else if (group != nullptr && group->policy == group_policy::sessions) {
    result.priority = default_session_priority;
  }
  return result;
}

} // namespace

resolved_priorities resolve_priorities(const workload& w, const catalog& known,
                                       const workload_status* existing) {
  const auto preemption = named_or_given(known, w.preemption_priority_class, w.preemption_priority);
  resolved_priorities result;
  result.whole = existing != nullptr ? existing->resolved : first_priority(w, known);
  result.whole.preemption_priority = preemption.value_or(result.whole.priority);
  result.by_group.reserve(w.groups.size());
  for (const auto& group : w.groups) {
    auto own = result.whole;
    if (const auto given = named_or_given(known, group.priority_class, group.priority)) {
      own.priority = *given;
      own.preemption_priority = preemption.value_or(*given);
      if (const auto* named = find(known.classes, group.priority_class))
        own.may_preempt = allows_preemption(named);
    }
    result.by_group.push_back(own);
  }
  return result;
}

} // namespace reprieve
