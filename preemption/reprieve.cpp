#include "preemption/reprieve.hpp"

#include "preemption/budgets.hpp"
#include "preemption/seating.hpp"

#include <algorithm>

namespace reprieve {

namespace {

/// The portion's pods on nodes of the preemptor; elsewhere nothing is in their way.
std::vector<pod_row> pods_in_the_way(const cluster_view& view, const trial& tried, portion_row p) {
  auto pods = view.pods_of(p);
  std::erase_if(pods, [&](pod_row one) { return !tried.claimed(view.node_of(one)); });
  return pods;
}

/// All of them come back, or none.
bool put_back(const cluster_view& view, trial& tried, std::span<const pod_row> pods) {
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const auto n = view.node_of(pods[i]);
    if (!tried.fits_beside(n, view.requests(pods[i]))) {
      for (const auto undone : pods.first(i))
        tried.give(view.node_of(undone), view.requests(undone));
      return false;
    }
    tried.take(n, view.requests(pods[i]));
  }
  return true;
}

bool is_opened(const cluster_view& view, const trial& tried, node_row n, std::int32_t priority) {
  const auto step = tried.opened(n);
  return step < view.steps(n).size() && priority <= view.steps(n)[step].priority;
}

void keep_everywhere(const cluster_view& view, trial& tried, portion_row p) {
  for (const auto one : view.pods_of(p)) {
    const auto n = view.node_of(one);
    const auto pods = view.pods_on(n);
    const auto position = std::ranges::find(pods, one) - pods.begin();
    tried.keep(n, static_cast<std::uint32_t>(position));
  }
}

} // namespace

std::set<portion_row> reprieve_for_budgets(const cluster_view& view, const candidate_rules& rules,
                                           trial& tried, std::span<const node_row> domain) {
  const auto candidates = rules.candidates_with_budgets_on(domain);
  const auto over_budget = pods_over_budget(view, candidates);
  for (const auto n : tried.claimed_nodes())
    tried.open(n, first_step_below(view, n, rules.preemptor_priority()));
  std::set<portion_row> kept;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (over_budget[i] > 0 && put_back(view, tried, pods_in_the_way(view, tried, candidates[i])))
      kept.insert(candidates[i]);
  for (const auto p : kept)
    keep_everywhere(view, tried, p);
  return kept;
}

std::vector<portion_row> reprieve_who_fits(const cluster_view& view, const candidate_rules& rules,
                                           trial& tried,
                                           const std::set<portion_row>& kept_for_budgets) {
  struct gone_portion {
    portion_row portion;
    std::vector<pod_row> pods;
  };
  std::vector<gone_portion> gone;
  for (const auto p : rules.candidates_on(tried.claimed_nodes())) {
    if (kept_for_budgets.contains(p))
      continue;
    const auto priority = view.card(p).priority;
    auto pods = pods_in_the_way(view, tried, p);
    const auto opened = [&](pod_row one) {
      return is_opened(view, tried, view.node_of(one), priority);
    };
    if (std::ranges::none_of(pods, opened))
      continue;
    // It goes whole, so also from nodes that were not opened as far as its priority.
    for (const auto one : pods)
      if (!opened(one))
        tried.give(view.node_of(one), view.requests(one));
    gone.push_back({p, std::move(pods)});
  }
  std::vector<portion_row> victims;
  for (const auto& [portion, pods] : gone)
    if (!put_back(view, tried, pods))
      victims.push_back(portion);
  for (const auto p : victims)
    for (const auto one : view.pods_of(p))
      if (const auto n = view.node_of(one); !tried.claimed(n))
        tried.give(n, view.requests(one));
  return victims;
}

} // namespace reprieve
