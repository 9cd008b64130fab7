#include "preemption/policies/lifecycle/lifecycle.hpp"

#include "preemption/policies/lifecycle/lifecycle_explain.hpp"
#include "preemption/policies/lifecycle/lifecycle_match.hpp"
#include "preemption/problem/node_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace reprieve {

namespace {

class lifecycle_phase {
public:
  lifecycle_phase(const cluster_view& view, const lifecycle_input& given)
      : view_(view), given_(given), stock_(view, given), explain_(stock_, given),
        preempted_before_(given.before.preempted.begin(), given.before.preempted.end()) {
    for (const auto& one : given.before.nominations)
      nominations_[one.deployment].push_back(&one);
  }

  lifecycle_plan run() && {
    std::vector<const lifecycle_deployment*> turns;
    for (const auto& one : given_.deployments)
      turns.push_back(&one);
    std::ranges::sort(turns, [](const auto* a, const auto* b) { return goes_first(*a, *b); });
    // Those of the same priority first get back what they were matched to before: the room that is
    // made for one of them is not for the others (docs/policies.md#delayed-actuation).
    for (auto at = turns.begin(); at != turns.end();) {
      const auto lower = std::find_if(
        at, turns.end(), [&](const auto* one) { return one->priority < (*at)->priority; });
      std::for_each(at, lower, [this](const auto* who) { match_as_before(*who); });
      std::for_each(at, lower, [this](const auto* who) { take_turn(*who); });
      at = lower;
    }
    finish();
    return std::move(plan_);
  }

private:
  /// What a deployment has been matched to so far.
  struct progress {
    std::int32_t found = 0;
    std::set<node_row> used;
  };

  void match_as_before(const lifecycle_deployment& who) {
    const auto before = nominations_.find(who.name);
    if (before == nominations_.end() || !why_no_turn(who).empty())
      return;
    const auto wanted = one_pod_of(who);
    const auto asked = demand_of(view_, wanted);
    if (!asked.unknown_resource.empty())
      return;
    const node_filter filter{view_, asked};
    auto& done = progress_[who.name];
    for (const auto* one : before->second)
      if (done.found < who.lacking)
        if (const auto n = view_.find_node(one->node); n != no_row && suits(who, filter, n))
          match_as_before(*one, n, {who, asked.groups.front().request}, done);
  }

  /// As long as nobody new has to go for that.
  void match_as_before(const lifecycle_nomination& one, node_row n, const lifecycle_demand& asked,
                       progress& done) {
    std::vector<pod_row> victims;
    for (const auto& uid : one.victims)
      victims.push_back(view_.find_pod(uid));
    if (const auto again = match_again(stock_, asked, n, victims))
      record(*again, asked, done);
  }

  void take_turn(const lifecycle_deployment& who) {
    if (who.lacking <= 0)
      return;
    if (auto reason = why_no_turn(who); !reason.empty()) {
      plan_.unmatched.push_back({who.name, who.lacking, std::move(reason)});
      return;
    }
    const auto wanted = one_pod_of(who);
    const auto asked = demand_of(view_, wanted);
    if (!asked.unknown_resource.empty()) {
      plan_.unmatched.push_back(
        {who.name, who.lacking, fmt::format("no node has any {}", asked.unknown_resource)});
      return;
    }
    const auto nodes = nodes_for(who, node_filter{view_, asked});
    find_matches({who, asked.groups.front().request}, nodes);
  }

  /// Whoever was preempted gets nothing: its pods have to go first, or nothing would change in its
  /// clusters and it might find what was taken from it elsewhere (docs/policies.md#lifecycle).
  std::string why_no_turn(const lifecycle_deployment& who) const {
    if (const auto taken = preempted_.find(who.name); taken != preempted_.end())
      return "gets nothing until its pod has gone that makes room for " + taken->second;
    if (preempted_before_.contains(who.name) && stock_.victims().is_going(who.name))
      return "gets nothing while pods of it go that it lost to others before";
    return {};
  }

  std::vector<node_row> nodes_for(const lifecycle_deployment& who,
                                  const node_filter& filter) const {
    std::vector<node_row> nodes;
    for (node_row n = 0; n < view_.node_rows(); ++n)
      if (suits(who, filter, n))
        nodes.push_back(n);
    return nodes;
  }

  bool suits(const lifecycle_deployment& who, const node_filter& filter, node_row n) const {
    return view_.present(n) && who.scores.contains(view_.node_at(n).resource_group)
           && filter.suits(0, n);
  }

  void find_matches(const lifecycle_demand& asked, const std::vector<node_row>& nodes) {
    const auto& who = asked.who;
    auto& done = progress_[who.name];
    bool budget_reached = false;
    if (done.found < who.lacking) {
      node_search search{stock_, asked, nodes};
      while (done.found < who.lacking) {
        const auto best = search.next();
        if (!best)
          break;
        record(*best, asked, done);
      }
      budget_reached = search.budget_reached();
    }

    if (done.found < who.lacking)
      plan_.unmatched.push_back({who.name, who.lacking - done.found,
                                 budget_reached ? "the search budget ended before room was found"
                                                : why_unmatched(asked, nodes)});
    if (given_.explain)
      tell_who_stays(who, nodes, done.used,
                     done.found < who.lacking && !budget_reached && who.may_preempt);
  }

  void record(const node_match& best, const lifecycle_demand& asked, progress& done) {
    stock_.settle(best, asked);
    const auto& who = asked.who;
    auto& match = plan_.matches.emplace_back();
    match.deployment = who.name;
    match.replica = done.found++;
    done.used.insert(best.node);
    match.cluster = view_.node_at(best.node).resource_group;
    match.node = view_.node_name(best.node);
    for (const auto& one : best.victims) {
      const auto& owner = stock_.victims().owner(stock_.victims().share_of(one.entry).owner);
      match.victims.push_back({view_.pod_uid(one.pod), owner.name, one.stage, one.priority,
                               given_.explain ? explain_.why_victim(one, who) : ""});
      act_on(one);
      if (loses(owner, who))
        preempted_.try_emplace(owner.name, who.name);
    }
    auto& nominated = plan_.memory.nominations.emplace_back();
    nominated.deployment = who.name;
    nominated.node = match.node;
    for (const auto& one : match.victims)
      nominated.victims.push_back(one.uid);
  }

  /// Only to a more important one: what leaves a deployment anyway, others of its priority or below
  /// may wait for, and it must not have to wait because of that. If it lost some before, it stays
  /// so, even where its priority rose by the loss.
  bool loses(const lifecycle_owner& owner, const lifecycle_deployment& to) const {
    if (owner.given == nullptr)
      return owner.placed; // otherwise it is not a deployment
    return owner.given->priority < to.priority || preempted_before_.contains(owner.name);
  }

  /// What is done now about a matched pod; scale-downs are counted by placement.
  void act_on(const lifecycle_candidate& one) {
    if (one.stage == victim_stage::committed)
      return;
    const auto over =
      one.stage == victim_stage::terminating ? stock_.victims().grace_over(one.pod) : no_time;
    if (over != no_time && over <= given_.now) {
      plan_.force_deletes.push_back(view_.pod_uid(one.pod));
      return;
    }
    plan_.awaited.push_back({view_.pod_uid(one.pod),
                             std::string(view_.node_name(view_.node_of(one.pod))), one.stage,
                             over});
    if (over != no_time && (plan_.look_again == no_time || over < plan_.look_again))
      plan_.look_again = over;
  }

  std::string why_unmatched(const lifecycle_demand& asked,
                            const std::vector<node_row>& nodes) const {
    if (nodes.empty())
      return "no node in its clusters suits it";
    if (!asked.who.may_preempt)
      return "no node has room, and its priority class never preempts";
    return given_.explain ? explain_.why_no_room(asked, nodes)
                          : "no node has room even once all have gone who may";
  }

  void tell_who_stays(const lifecycle_deployment& who, const std::vector<node_row>& nodes,
                      const std::set<node_row>& used, bool all) {
    std::vector<node_row> matched{used.begin(), used.end()};
    std::vector<node_row> others;
    if (all)
      std::ranges::set_difference(nodes, matched, std::back_inserter(others));
    auto told = explain_.who_stays(who, matched);
    auto refused = explain_.who_may_not_go(who, others);
    std::ranges::move(refused, std::back_inserter(told));
    std::ranges::sort(told, {}, &passed_over_pod::uid);
    std::ranges::move(told, std::back_inserter(plan_.passed_over));
  }

  void finish() {
    for (const auto& share : stock_.victims().shares())
      if (share.scaled_down > 0)
        plan_.scale_downs.push_back({share.given->name, share.given->deployment,
                                     share.given->cluster, share.given->committed,
                                     share.left.committed});
    std::ranges::sort(plan_.scale_downs, {},
                      [](const scale_down& s) { return std::tie(s.deployment, s.cluster); });
    std::ranges::sort(plan_.force_deletes);
    std::ranges::sort(plan_.awaited, {}, &awaited_pod::uid);
    for (const auto& [name, by] : preempted_)
      plan_.memory.preempted.push_back(name);
  }

  const cluster_view& view_;
  const lifecycle_input& given_;
  lifecycle_stock stock_;
  lifecycle_explainer explain_;
  std::map<std::string_view, std::vector<const lifecycle_nomination*>>
    nominations_; ///< of the cycle before
  std::set<std::string, std::less<>> preempted_before_;
  std::map<std::string_view, progress> progress_;             ///< by deployment
  std::map<std::string, std::string, std::less<>> preempted_; ///< to whom
  lifecycle_plan plan_;
};

} // namespace

std::string_view to_string(victim_stage stage) {
  switch (stage) {
  case victim_stage::force_deleting:
    return "force-deleting";
  case victim_stage::terminating:
    return "terminating";
  case victim_stage::surplus:
    return "surplus";
  case victim_stage::committed:
    break;
  }
  return "committed";
}

bool goes_first(const lifecycle_deployment& a, const lifecycle_deployment& b) {
  const auto rank = [](const lifecycle_deployment& d) {
    const auto submitted = d.submitted == no_time ? time_point::max() : d.submitted;
    return std::tuple(-std::int64_t{d.priority}, submitted, std::string_view(d.name));
  };
  return rank(a) < rank(b);
}

preemptor one_pod_of(const lifecycle_deployment& who) {
  pod wanted;
  wanted.requests = who.pods.requests;
  preemptor made;
  made.workload = who.name;
  made.priority = who.priority;
  made.groups.push_back({.name = "",
                         .pods = {std::move(wanted)},
                         .needed = 1,
                         .node_selector = who.pods.node_selector,
                         .tolerations = who.pods.tolerations,
                         .topology_keys = {},
                         .required_node = ""});
  return made;
}

lifecycle_pod lifecycle_pod_of(const pod& p) {
  lifecycle_pod made{p.uid, p.name, no_time};
  // One that a decision has told to go was told when it is taken away by force, too.
  if (p.stop_told == no_time || (!p.evicted_by.empty() && p.evicted_by != not_wanted))
    return made;
  // Whatever does not fit a time point lasts for ever.
  const wide_int over = wide_int{p.stop_told.time_since_epoch().count()} + p.checkpoint_time.count()
                        + p.grace_period.count();
  made.grace_over = over > time_point::max().time_since_epoch().count()
                      ? time_point::max()
                      : time_point{duration{static_cast<duration::rep>(over)}};
  return made;
}

lifecycle_plan preempt_by_lifecycle(const cluster_view& view, const lifecycle_input& given) {
  const bool anybody_lacks = std::ranges::any_of(
    given.deployments, [](const lifecycle_deployment& one) { return one.lacking > 0; });
  return anybody_lacks ? lifecycle_phase{view, given}.run() : lifecycle_plan{};
}

} // namespace reprieve
