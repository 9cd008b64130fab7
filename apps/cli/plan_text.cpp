#include "apps/cli/plan_text.hpp"

#include "apps/cli/explanation_text.hpp"
#include "apps/cli/text_table.hpp"
#include "preemption/policies/queues/queue_explain.hpp"
#include "state/quantities/quantity.hpp"
#include "state/text/counted.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace reprieve::cli {

namespace {

using json = nlohmann::ordered_json;

std::string_view word_for(plan::outcome result) {
  switch (result) {
  case plan::outcome::placed:
    return "placed";
  case plan::outcome::waits:
    return "waits";
  case plan::outcome::preempts:
    return "preempts";
  case plan::outcome::reserves:
    return "reserves";
  case plan::outcome::infeasible:
    break;
  }
  return "infeasible";
}

/// As decisions name it.
std::string policy_of(const plan& made) {
  return made.policy.empty() ? "placement" : made.policy;
}

json json_of(const portion_id& id) {
  json made{{"workload", id.workload}, {"group", id.group}, {"replica", id.replica}};
  if (id.index >= 0)
    made["index"] = id.index;
  return made;
}

json json_of(const score& s) {
  return {{"budgetViolations", s.budget_violations},
          {"highestVictimPriority", s.highest_victim_priority},
          {"cascades", s.cascades},
          {"prioritySum", s.priority_sum},
          {"pods", s.pods},
          {"mostImportant",
           {{"group", s.most_important.group},
            {"pods", s.most_important.pods},
            {"start", format_time(s.most_important.start)}}},
          {"workLostGpuSeconds", s.work_lost},
          {"earliestStartOfMostImportant", format_time(s.earliest_start_of_most_important)}};
}

json json_of(const victim& v) {
  json made{{"portion", json_of(v.portion)},
            {"priority", v.priority},
            {"violatesBudget", v.violates_budget},
            {"workLostGpuSeconds", v.work_lost},
            {"pods", json::array()},
            {"reason", v.reason}};
  for (const auto& p : v.pods)
    made["pods"].push_back({{"uid", p.uid}, {"node", p.node}});
  return made;
}

json json_of(const std::vector<victim>& victims) {
  auto made = json::array();
  for (const auto& v : victims)
    made.push_back(json_of(v));
  return made;
}

json json_of(const std::vector<spared>& list) {
  auto made = json::array();
  for (const auto& s : list)
    made.push_back(
      {{"portion", json_of(s.portion)}, {"priority", s.priority}, {"reason", s.reason}});
  return made;
}

json json_of(const domain_outcome& d) {
  json made{
    {"domain", d.domain}, {"feasible", d.feasible}, {"chosen", d.chosen}, {"reason", d.reason}};
  if (!d.short_resource.empty())
    made["short"] = {{"resource", d.short_resource},
                     {"by", format_quantity(d.short_by, d.short_resource)}};
  if (d.threshold)
    made["threshold"] = *d.threshold;
  if (d.victims > 0) {
    made["victims"] = d.victims;
    made["score"] = json_of(d.scored);
  }
  return made;
}

json json_of(const turn_taken& one) {
  const auto& [id, group, who, made, gives_up] = one;
  json told{{"preemptor", who.workload},
            {"priority", who.priority},
            {"resourceGroup", group},
            {"policy", policy_of(made)},
            {"outcome", word_for(made.result)},
            {"summary", made.why.summary},
            {"assignments", json::array()},
            {"victims", json_of(made.victims)},
            {"reprieved", json_of(made.why.reprieved)},
            {"passedOver", json_of(made.why.passed_over)},
            {"domains", json::array()},
            {"budgetReached", made.why.budget_reached}};
  for (const auto& a : made.assignments)
    told["assignments"].push_back(
      {{"pod", a.placed.name}, {"uid", a.placed.uid}, {"node", a.placed.node}});
  for (const auto& d : made.why.domains)
    told["domains"].push_back(json_of(d));
  if (!gives_up.empty())
    told["givenUp"] = json::array();
  for (const auto& up : gives_up)
    told["givenUp"].push_back({{"decision", up.decision}, {"reason", up.reason}});
  if (made.reserve)
    told["reservation"] = {{"node", made.reserve->node},
                           {"since", format_time(made.reserve->since)}};
  if (made.look_again != no_time)
    told["lookAgain"] = format_time(made.look_again);
  if (made.why.threshold)
    told["threshold"] = *made.why.threshold;
  if (!made.victims.empty()) {
    told["provedLeast"] = made.why.proved_least;
    if (!made.why.proved_least)
      told["fewestPods"] = made.why.fewest_pods;
    told["budgetViolations"] = made.scored.budget_violations;
    told["score"] = json_of(made.scored);
  }
  return told;
}

json json_of(const resources& amounts) {
  auto made = json::object();
  for (const auto& [name, amount] : amounts)
    made[name] = format_quantity(amount, name);
  return made;
}

json json_of(const queue_outcome& q) {
  json made{{"queue", q.queue},
            {"ownPods", q.own_pods},
            {"deserved", json_of(q.status.deserved)},
            {"allocated", json_of(q.status.allocated)},
            {"used", json_of(q.status.used)},
            {"preempting", json_of(q.status.preempting)},
            {"cases", json::array()},
            {"victims", json_of(q.victims)},
            {"reprieved", json_of(q.reprieved)},
            {"passedOver", json_of(q.passed_over)}};
  for (const auto& line : q.lines)
    made["cases"].push_back(
      {{"resource", line.resource}, {"case", number_of(line.stands)}, {"reason", why_moved(line)}});
  return made;
}

json json_of(const lifecycle_plan& made) {
  json all{{"matches", json::array()},           {"scaleDowns", json::array()},
           {"forceDeletes", made.force_deletes}, {"awaited", json::array()},
           {"unmatched", json::array()},         {"passedOver", json::array()}};
  for (const auto& m : made.matches) {
    json told{{"deployment", m.deployment},
              {"replica", m.replica},
              {"cluster", m.cluster},
              {"node", m.node},
              {"victims", json::array()}};
    for (const auto& v : m.victims)
      told["victims"].push_back({{"uid", v.uid},
                                 {"deployment", v.deployment},
                                 {"stage", to_string(v.stage)},
                                 {"priority", v.priority},
                                 {"reason", v.reason}});
    all["matches"].push_back(std::move(told));
  }
  for (const auto& s : made.scale_downs)
    all["scaleDowns"].push_back({{"placement", s.placement},
                                 {"deployment", s.deployment},
                                 {"cluster", s.cluster},
                                 {"from", s.from},
                                 {"to", s.to}});
  for (const auto& p : made.awaited)
    all["awaited"].push_back({{"uid", p.uid}, {"node", p.node}, {"stage", to_string(p.stage)}});
  for (const auto& u : made.unmatched)
    all["unmatched"].push_back(
      {{"deployment", u.deployment}, {"pods", u.pods}, {"reason", u.reason}});
  for (const auto& p : made.passed_over)
    all["passedOver"].push_back({{"preemptor", p.preemptor}, {"uid", p.uid}, {"reason", p.reason}});
  return all;
}

std::string quantities(const resources& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_quantity(amount, name), name);
  return text.empty() ? "-" : text;
}

std::string plan_story(const turn_taken& one) {
  decision told;
  told.workloads = {one.who.workload};
  told.resource_group = one.resource_group;
  told.policy = policy_of(one.made);
  told.assignments = one.made.assignments;
  told.victims = one.made.victims;
  told.why = one.made.why;
  told.scored = one.made.scored;
  auto text =
    fmt::format("{} {}\n{}", one.who.workload, word_for(one.made.result), plan_lines(told));
  for (const auto& up : one.gives_up)
    text += fmt::format("  gives up    {}: {}\n", up.decision, up.reason);
  return text;
}

std::string queue_story(const queue_stage_result& result) {
  text_table table{{"QUEUE", "DESERVED", "ALLOCATED", "USED", "PREEMPTING"}};
  std::string reasons;
  for (const auto& q : result.queues) {
    table.add({q.own_pods ? q.queue + " (its own pods)" : q.queue, quantities(q.status.deserved),
               quantities(q.status.allocated), quantities(q.status.used),
               quantities(q.status.preempting)});
    for (const auto& line : q.lines)
      reasons += fmt::format("  {}, {}: {}\n", q.queue, line.resource, why_moved(line));
    for (const auto& v : q.victims)
      reasons += fmt::format("  {}: {} goes: {}\n", q.queue, to_string(v.portion), v.reason);
  }
  return table.text() + reasons;
}

std::string lifecycle_story(const lifecycle_plan& made) {
  std::string text;
  for (const auto& m : made.matches) {
    text += fmt::format("{} gets replica {} on {} of {}{}\n", m.deployment, m.replica, m.node,
                        m.cluster, m.victims.empty() ? ", which is free" : " from:");
    for (const auto& v : m.victims)
      text += fmt::format("  {} of {}, {}, priority {}: {}\n", v.uid, v.deployment,
                          to_string(v.stage), v.priority, v.reason);
  }
  for (const auto& s : made.scale_downs)
    text += fmt::format("scale {} of {} in {} down from {} to {}\n", s.placement, s.deployment,
                        s.cluster, s.from, s.to);
  for (const auto& uid : made.force_deletes)
    text += fmt::format("force-delete {}\n", uid);
  for (const auto& p : made.awaited)
    text += fmt::format("wait for {} on {}, {}\n", p.uid, p.node, to_string(p.stage));
  for (const auto& u : made.unmatched)
    text +=
      fmt::format("nothing for {} of {}: {}\n", counted(u.pods, "pod"), u.deployment, u.reason);
  return text.empty() ? "nobody lacks a replica\n" : text;
}

std::string replicas_story(const std::string& group, const lifecycle_outcome& counted) {
  auto text = fmt::format("Replicas in resource group {}\n", group);
  for (const auto& step : counted.steps) {
    text += fmt::format("  {}\n", step.why.summary);
    for (const auto& one : step.victims)
      text += fmt::format("    {}: {}\n", to_string(one.portion), one.reason);
  }
  for (const auto& [deployment, why] : counted.waiting)
    text += fmt::format("  {} waits: {}\n", deployment, why);
  if (counted.steps.empty() && counted.waiting.empty())
    text += "  nobody lacks a replica\n";
  return text;
}

json json_of(const std::string& group, const lifecycle_outcome& counted) {
  json all{{"resourceGroup", group}, {"steps", json::array()}, {"waiting", counted.waiting}};
  for (const auto& step : counted.steps) {
    json told{{"summary", step.why.summary},
              {"deployments", step.deployments},
              {"counts", json::array()},
              {"victims", json::array()},
              {"forceDeletes", json::array()}};
    for (const auto& one : step.counts)
      told["counts"].push_back({{"placement", one.placement},
                                {"deployment", one.deployment},
                                {"from", one.from},
                                {"to", one.to}});
    for (const auto& one : step.victims)
      told["victims"].push_back({{"uid", one.pods.front().uid},
                                 {"node", one.pods.front().node},
                                 {"deployment", one.portion.workload},
                                 {"priority", one.priority},
                                 {"reason", one.reason}});
    for (const auto& one : step.force_deletes)
      told["forceDeletes"].push_back(one.uid);
    all["steps"].push_back(std::move(told));
  }
  return all;
}

} // namespace

std::string decided_story(const decided& made) {
  std::string text;
  for (const auto& one : made.turns)
    text += plan_story(one) + "\n";
  if (made.lifecycle)
    text += lifecycle_story(*made.lifecycle);
  for (const auto& [group, counted] : made.replicas)
    text += replicas_story(group, counted);
  for (const auto& [group, result] : made.queues) {
    if (made.queues.size() > 1)
      text += fmt::format("Queues in resource group {}\n", group);
    text += queue_story(result);
  }
  return text;
}

std::string decided_json(const decided& made) {
  json all{{"plans", json::array()}};
  for (const auto& one : made.turns)
    all["plans"].push_back(json_of(one));
  if (made.lifecycle)
    all["lifecycle"] = json_of(*made.lifecycle);
  for (const auto& [group, counted] : made.replicas)
    all["replicas"].push_back(json_of(group, counted));
  if (!made.queues.empty())
    all["queues"] = json::array();
  for (const auto& [group, result] : made.queues) {
    for (const auto& q : result.queues) {
      all["queues"].push_back(json_of(q));
      all["queues"].back()["resourceGroup"] = group;
    }
    all["unassigned"][group] = json_of(result.unassigned);
  }
  return all.dump(2) + "\n";
}

} // namespace reprieve::cli
