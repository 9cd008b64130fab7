#include "preemption/outlook.hpp"

#include "preemption/bounds.hpp"
#include "preemption/domains.hpp"
#include "preemption/scoring.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace reprieve {

namespace {

/// Those of the touched nodes that are still there.
std::vector<node_row> rows_of(const cluster_view& view, const touched_nodes& touched) {
  std::vector<node_row> rows;
  for (const auto& name : touched)
    if (const auto n = view.find_node(name); n != no_row)
      rows.push_back(n);
  return rows;
}

outlook over_nodes(const problem& given, std::span<const shard_evaluation> answers,
                   const touched_nodes& touched) {
  const auto& view = given.view;
  const auto minimised = given.settings.group.minimised;
  outlook seen;
  for (const auto& answer : answers) {
    for (const auto& [name, bound] : answer.listed)
      if (!touched.contains(name))
        if (const auto n = view.find_node(name); n != no_row)
          seen.nodes.push_back({n, bound});
    if (answer.rest && (!seen.rest || comes_before(*answer.rest, *seen.rest, minimised)))
      seen.rest = answer.rest;
  }
  for (const auto n : rows_of(view, touched))
    if (const auto bound = bound_on_node(given, n))
      seen.nodes.push_back({n, *bound});
  std::ranges::sort(seen.nodes, [&](const auto& a, const auto& b) {
    if (better(a.bound, b.bound, minimised))
      return true;
    return !better(b.bound, a.bound, minimised) && view.node_name(a.node) < view.node_name(b.node);
  });
  return seen;
}

/// By name of domain, for each of the preemptor's groups how many of its pods fit there.
using curves_by_domain = std::map<std::string, std::vector<capacity_curve>, std::less<>>;

curves_by_domain sum_up(std::span<const shard_evaluation> answers, std::size_t groups) {
  curves_by_domain sums;
  for (const auto& answer : answers)
    for (const auto& [name, curves] : answer.domains) {
      auto& sum = sums[name];
      sum.resize(groups);
      for (std::size_t g = 0; g < std::min(groups, curves.size()); ++g)
        sum[g] = sum_of(sum[g], curves[g]);
    }
  return sums;
}

/// Somebody of this priority or above goes, or nobody has to.
score bound_at(std::int64_t threshold, time_point now) {
  if (threshold == nobody_goes)
    return best_score();
  auto least = score_of_nobody(now);
  least.highest_victim_priority = static_cast<std::int32_t>(threshold);
  least.pods = 1;
  least.priority_sum = priority_weight({.priority = least.highest_victim_priority, .pods = 1});
  return least;
}

outlook over_domains(const problem& given, std::span<const shard_evaluation> answers,
                     const touched_nodes& touched) {
  const auto& asked = given.asked.groups;
  outlook seen;
  for (const auto& [name, sums] : sum_up(answers, given.who.groups.size())) {
    std::vector<capacity_curve> curves;
    for (const auto& group : asked)
      curves.push_back(sums[static_cast<std::size_t>(group.wanted - given.who.groups.data())]);
    const auto threshold = least_threshold(given, curves);
    seen.domains[name] =
      threshold ? std::optional{bound_at(*threshold, given.settings.now)} : std::nullopt;
  }
  const auto changed = domain_set::among(given, rows_of(given.view, touched));
  for (const auto& where : changed.all())
    seen.domains.erase(std::string(where.name));
  return seen;
}

} // namespace

std::optional<outlook> outlook_of(const problem& given, std::span<const shard_evaluation> answers,
                                  const touched_nodes& touched) {
  if (answers.empty() || !shards_can_help(given.who, given.settings))
    return std::nullopt;
  const auto answered_for =
    std::transform_reduce(answers.begin(), answers.end(), std::size_t{0}, std::plus{},
                          [](const shard_evaluation& answer) { return answer.nodes; });
  if (answered_for != given.view.node_count())
    return std::nullopt;
  return given.who.gang ? over_domains(given, answers, touched)
                        : over_nodes(given, answers, touched);
}

} // namespace reprieve
