#pragma once

#include "preemption/evaluation/evaluation_hints.hpp"
#include "preemption/problem/plan.hpp"
#include "preemption/problem/preemptor.hpp"

namespace reprieve {

/// Places the preemptor in what is free now, without victims: the allocation stage.
plan place(const cluster_view& view, const preemptor& who, const plan_settings& settings);

/// Likewise, or in what will be free once those have gone who leave anyway.
plan find_room(const cluster_view& view, const preemptor& who, const plan_settings& settings);

/// How much a plan for the preemptor should tell, where of at most so many domains each is told of.
/// Of a gang with more of them `explain` tells the rest.
depth depth_for(const cluster_view& view, const preemptor& who, std::size_t most_domains);

/// Places the preemptor, with victims where it can't be had without: by the rules for a required
/// node if it is bound to one (docs/policies.md#required-node), else by the policy of the resource
/// group (docs/policies.md#workload-aware, docs/policies.md#sessions). Deployments of a group with
/// the lifecycle policy are not for here: they go by replica counts (`preempt_by_lifecycle`),
/// whereas what else runs there goes by pods. Pure: the same view, preemptor and settings give the
/// same plan.
plan decide(const cluster_view& view, const preemptor& who, const plan_settings& settings);

/// The same plan, found sooner with the answers of all node shards (`evaluate`). The view is of all
/// nodes. Where the answers do not settle who is best, the view alone does.
plan decide(const cluster_view& view, const preemptor& who, const plan_settings& settings,
            live_hints& seen);

/// Places the preemptor, with victims of that scope alone where it can't be had without, by the
/// workload-aware rules.
plan decide_among(const cluster_view& view, const preemptor& who, const plan_settings& settings,
                  std::shared_ptr<const victim_scope> scope);

/// Tells of a plan with victims, from the trail that it carries, why each goes and who else on the
/// preemptor's nodes stays and why. The view, the preemptor and the settings are as they were.
void explain(const cluster_view& view, const preemptor& who, const plan_settings& settings,
             plan& made);

} // namespace reprieve
