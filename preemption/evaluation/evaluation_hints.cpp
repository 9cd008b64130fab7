#include "preemption/evaluation/evaluation_hints.hpp"

#include "preemption/evaluation/score_bounds.hpp"
#include "preemption/pipeline/domains.hpp"
#include "preemption/pipeline/scoring.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

namespace reprieve {

namespace {

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

evaluation_hints over_domains(const problem& given, std::span<const shard_evaluation> answers) {
  const auto& asked = given.asked.groups;
  evaluation_hints seen;
  for (const auto& [name, sums] : sum_up(answers, given.who.groups.size())) {
    std::vector<capacity_curve> curves;
    for (const auto& group : asked)
      curves.push_back(sums[static_cast<std::size_t>(group.wanted - given.who.groups.data())]);
    const auto threshold = least_threshold(given, curves);
    seen.domains[name] =
      threshold ? std::optional{bound_at(*threshold, given.settings.now)} : std::nullopt;
  }
  return seen;
}

} // namespace

bool evaluation_hints::by_promise::operator()(const promising_node& a,
                                              const promising_node& b) const {
  if (better(a.bound, b.bound, minimised))
    return true;
  return !better(b.bound, a.bound, minimised) && a.name < b.name;
}

const evaluation_hints* live_hints::on(const problem& given) {
  if (!shards_can_help(given.who, given.settings))
    return nullptr;
  if (!std::exchange(begun_, true))
    begin(given);
  if (seen_) {
    if (const auto changed = given.view.settled_since(as_of_))
      renew(given, *changed);
    else
      seen_.reset();
  }
  if (seen_ && is_used_up())
    look_for_more(given);
  as_of_ = given.view.settled();
  return seen_ ? &*seen_ : nullptr;
}

void live_hints::begin(const problem& given) {
  const auto answered_for =
    std::transform_reduce(answers_.begin(), answers_.end(), std::size_t{0}, std::plus{},
                          [](const shard_evaluation& answer) { return answer.nodes; });
  if (answers_.empty() || answered_for != given.view.node_count())
    return;
  if (given.who.gang)
    seen_ = over_domains(given, answers_);
  else
    add_answers(given);
  renew(given, touched_);
}

void live_hints::add_answers(const problem& given) {
  const auto& view = given.view;
  const auto minimised = given.settings.group.minimised;
  seen_.emplace().nodes = evaluation_hints::nodes_in_order{evaluation_hints::by_promise{minimised}};
  positions_.clear();
  for (const auto& answer : answers_) {
    for (const auto& [name, bound] : answer.listed)
      if (const auto n = view.find_node(name); n != no_row)
        positions_[n] = seen_->nodes.insert({n, view.node_name(n), bound}).first;
    if (answer.rest && (!seen_->rest || comes_before(*answer.rest, *seen_->rest, minimised)))
      seen_->rest = answer.rest;
  }
}

/// Whether nodes that were not listed come next.
bool live_hints::is_used_up() const {
  if (!seen_->rest)
    return false;
  if (seen_->nodes.empty())
    return true;
  const auto& first = *seen_->nodes.begin();
  return comes_before(*seen_->rest, {std::string(first.name), first.bound},
                      seen_->nodes.key_comp().minimised);
}

void live_hints::look_for_more(const problem& given) {
  constexpr std::size_t most = 256;
  used_up_ = true;
  answers_ = {evaluate(given.view, request_for(given.who, given.settings, most))};
  add_answers(given);
}

void live_hints::renew(const problem& given, std::span<const node_row> changed) {
  if (given.who.gang) {
    // Where a node has gone there is less room than was said, which leaves the bound valid.
    std::vector<node_row> present;
    std::ranges::copy_if(changed, std::back_inserter(present),
                         [&](node_row n) { return given.view.present(n); });
    const auto domains = domain_set::among(given, present);
    for (const auto& where : domains.all())
      seen_->domains.erase(std::string(where.name));
    return;
  }
  // Names are the view's: those of nodes that are gone must not be compared any more.
  forget(changed);
  look_at(given, changed);
}

void live_hints::forget(std::span<const node_row> nodes) {
  for (const auto n : nodes)
    if (const auto known = positions_.find(n); known != positions_.end()) {
      seen_->nodes.erase(known->second);
      positions_.erase(known);
    }
}

void live_hints::look_at(const problem& given, std::span<const node_row> nodes) {
  for (const auto n : nodes)
    if (given.view.present(n) && !positions_.contains(n))
      if (const auto bound = bound_on_node(given, n))
        positions_[n] =
          seen_->nodes.insert({n, given.view.node_name(n), lasting(*bound, given.settings.now)})
            .first;
}

} // namespace reprieve
