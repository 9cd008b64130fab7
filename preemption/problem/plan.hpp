#pragma once

#include "preemption/problem/candidate_terms.hpp"
#include "state/model/decision.hpp"
#include "state/model/resource_group.hpp"
#include "state/records/workload_record.hpp"
#include "state/view/cluster_view.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// The node that a pod is bound to, and since when the pod waits for room there
/// (docs/policies.md#required-node).
struct reservation {
  std::string node;
  time_point since = no_time;

  bool operator==(const reservation&) const = default;
};

/// What the reasons of a plan are told from, in rows of the view that it was made on: good for as
/// long as that does not change. To keep it costs next to nothing; to tell it costs words.
struct trail {
  std::vector<node_row> nodes;            ///< that the preemptor gets, each once, in order
  std::vector<portion_row> victims;       ///< in the plan's order
  std::set<portion_row> kept_for_budgets; ///< put back first
  candidate_terms terms;                  ///< by which others were candidates or not

  bool operator==(const trail&) const = default;
};

/// What the engine says of one preemptor.
struct plan {
  enum class outcome {
    placed,    ///< fits in what is free now; nobody goes
    waits,     ///< fits once those have gone who are leaving anyway; nobody new goes
    preempts,  ///< fits once `victims` have gone
    reserves,  ///< does not fit, and nobody goes for it before `look_again`
    infeasible ///< does not fit even then; `why` says what fell short
  };

  outcome result = outcome::infeasible;
  std::string policy; ///< by which victims were looked for; empty where none were
  std::vector<assignment> assignments;
  std::vector<victim> victims;
  score scored;
  reasoning why;
  trail followed;
  std::optional<reservation> reserve; ///< to be kept until the pod has its room
  time_point look_again = no_time;    ///< when time alone changes the outcome

  bool operator==(const plan&) const = default;
};

/// Where the preemptor is put, as far as the threshold leaves a choice.
enum class placing_rule {
  cheapest, ///< where the victims cost least (docs/policies.md#workload-aware)
  plain     ///< on the first nodes that fit once all candidates have gone, as kube-scheduler does
};

/// How much of the reasoning a plan carries.
enum class depth {
  nothing, ///< for whoever wants the bare plan
  summary, ///< a sentence; `explain` tells the rest
  chosen,  ///< why each victim goes and others on the same nodes stay; domains where they are few
  all      ///< and what came of every domain
};

/// The group of a workload that pods were made from, and how it would wait if they came back.
struct pod_origin {
  const pod_group* group = nullptr;
  resolved_priority standing;
  bool comes_back = true; ///< rather than be over when they are preempted
};

/// Nothing where the workload has no such group.
inline std::optional<pod_origin> origin_in(const workload_record& record, const portion_id& of,
                                           time_point now) {
  const auto at = group_position(*record.spec, of.group);
  if (!at || *at >= record.status.by_group.size())
    return std::nullopt;
  return pod_origin{&record.spec->groups[*at], record.status.by_group[*at],
                    would_come_back(record, of, now)};
}

/// Who knows what pods were made from. Plans that were made by different ones may still be the
/// same.
struct origin_source {
  /// Nothing where it is not known.
  std::function<std::optional<pod_origin>(const portion_id& of)> find;

  std::optional<pod_origin> of(const portion_id& some) const {
    return find ? find(some) : std::nullopt;
  }
  bool operator==(const origin_source&) const {
    return true;
  }
};

/// What is in force when a plan is made.
struct plan_settings {
  resource_group group;
  time_point now = no_time;
  /// How many preemptions each workload had in the last hour, where there were any.
  std::map<std::string, std::int32_t, std::less<>> recent_preemptions;
  placing_rule placing = placing_rule::cheapest;
  depth explained = depth::all;
  bool tells_failure = true; ///< false where nobody asked why there is no plan
  origin_source origins;     ///< tells where and over whom victims could run again

  std::int32_t times_preempted(std::string_view workload) const {
    const auto lately = recent_preemptions.find(workload);
    return lately == recent_preemptions.end() ? 0 : lately->second;
  }
  bool operator==(const plan_settings&) const = default;
};

} // namespace reprieve
