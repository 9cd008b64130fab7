#include "preemption/search/search.hpp"

#include "preemption/search/domain_comparison.hpp"
#include "preemption/search/plan_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace reprieve {

namespace {

/// Where a plan tells of every node and there are no more than this, each is tried, even if it
/// can't be the best: then what it would cost is known, and not only bounded.
constexpr std::size_t most_tried_to_tell = 256;

/// A domain, or a block of nodes that are domains, and the score that nothing in it is better than.
template <class Where>
struct prospect {
  const Where* where = nullptr;
  score bound;
};

class search {
public:
  search(const problem& given, policy& rules, const evaluation_hints* hints)
      : given_(given), minimised_(given.settings.group.minimised), policy_(rules), hints_(hints),
        explain_(given) {}

  plan run() {
    if (!policy_.node_by_node())
      try_domains();
    else if (!hints_ || !try_hinted_nodes())
      try_nodes();
    const bool budget_reached = is_budget_reached();
    if (!best_ && !given_.settings.tells_failure) {
      plan none;
      none.policy = policy_.name();
      return none;
    }
    auto made = best_ ? plan_of(given_, explain_, *best_) : no_plan();
    made.policy = policy_.name();
    made.why.budget_reached = budget_reached;
    if (best_ && !best_->victims.empty())
      tell_how_sure(made.why);
    if (budget_reached && given_.settings.explained != depth::nothing)
      made.why.summary += best_ ? " (best found so far, budget reached)" : " (budget reached)";
    made.followed.terms = policy_.rules().terms();
    if (given_.settings.explained >= depth::chosen)
      tell(made);
    return made;
  }

private:
  bool tells_all() const {
    return given_.settings.explained == depth::all;
  }

  /// The most promising first; by name where they are equal.
  template <class Where>
  void put_in_order(std::vector<prospect<Where>>& found) const {
    std::ranges::stable_sort(
      found, [&](const auto& a, const auto& b) { return better(a.bound, b.bound, minimised_); });
  }

  /// Whether a domain of this bound and name can be the best.
  bool can_win(const score& bound, std::string_view name) const {
    if (!best_ || better(bound, best_->scored, minimised_))
      return true;
    return !better(best_->scored, bound, minimised_) && name < best_domain_;
  }

  void try_domains() {
    domains_.emplace(policy_.domains());
    count_ = domains_->all().size();
    std::vector<prospect<domain>> found;
    std::vector<const domain*> infeasible;
    for (const auto& where : domains_->all())
      if (const auto bound = bound_of(where))
        found.push_back({&where, *bound});
      else
        infeasible.push_back(&where);
    // Why nothing fits there is told, or goes into the reason why it fits nowhere.
    const bool told = given_.settings.explained >= depth::chosen;
    if (told)
      consider_all(infeasible);
    put_in_order(found);
    for (const auto& [where, bound] : found)
      if (can_win(bound, where->name))
        consider(*where);
      else if (told)
        pass_by(where->name, bound);
    if (!told && !best_)
      consider_all(infeasible);
  }

  std::optional<score> bound_of(const domain& where) const {
    if (hints_)
      if (const auto known = hints_->domains.find(where.name); known != hints_->domains.end())
        return known->second;
    return policy_.bound(where);
  }

  void consider_all(const std::vector<const domain*>& some) {
    for (const auto* where : some)
      consider(*where);
  }

  /// Whether the best is sure to be among the nodes that are hints, which then are tried.
  bool try_hinted_nodes() {
    const auto& [nodes, rest, domains] = *hints_;
    for (const auto& [n, name, bound] : nodes) {
      const auto where = domain_of(given_.view, n);
      if (best_ && better(best_->scored, bound, minimised_))
        break;
      if (rest && comes_before(*rest, {std::string(where.name), bound}, minimised_))
        break;
      if (!can_win(bound, where.name) || !given_.view.usable(n)
          || !given_.filter.suits_any_group(n))
        continue;
      // What a shard could not know makes the bound closer, which costs less than to try the node.
      if (const auto closer = policy_.bound(where); closer && can_win(*closer, where.name)) {
        consider(where);
        tried_.insert(n);
      }
    }
    return !rest || !can_win(rest->bound, rest->node);
  }

  void try_nodes() {
    const auto& blocks = given_.view.blocks();
    std::vector<prospect<node_block>> found;
    for (std::size_t b = 0; b < blocks.count(); ++b)
      if (const auto bound = policy_.bound_on(blocks.at(b)))
        found.push_back({&blocks.at(b), *bound});
    put_in_order(found);
    for (const auto& [block, bound] : found) {
      if (best_ && better(best_->scored, bound, minimised_))
        break;
      if (can_win(bound, given_.view.node_name(block->nodes.front())))
        try_nodes_of(*block);
    }
    if (tells_all() && (best_ || given_.settings.tells_failure))
      tell_of_other_nodes();
  }

  static domain domain_of(const cluster_view& view, const node_row& n) {
    return {view.node_name(n), {&n, 1}};
  }

  void try_nodes_of(const node_block& block) {
    std::vector<prospect<node_row>> found;
    for (const auto& n : block.nodes) {
      if (!given_.view.usable(n) || tried_.contains(n))
        continue;
      if (const auto bound = policy_.bound(domain_of(given_.view, n));
          bound && can_win(*bound, given_.view.node_name(n)))
        found.push_back({&n, *bound});
    }
    put_in_order(found);
    for (const auto& [n, bound] : found)
      if (const auto where = domain_of(given_.view, *n);
          can_win(bound, where.name) && given_.filter.suits_any_group(*n)) {
        consider(where);
        tried_.insert(*n);
      }
  }

  /// Those that were not tried, and those that do not suit at all.
  void tell_of_other_nodes() {
    const auto all = domain_set::single_nodes(given_);
    count_ = all.all().size();
    for (const auto& where : all.all()) {
      if (tried_.contains(where.nodes.front()))
        continue;
      const auto bound = policy_.bound(where);
      if (bound && best_ && count_ > most_tried_to_tell)
        pass_by(where.name, *bound);
      else
        consider(where);
    }
    explain_.tell_unsuitable_nodes(outcomes_);
  }

  winner best() const {
    return {best_domain_, best_->scored, minimised_};
  }

  void pass_by(std::string_view name, const score& bound) {
    outcomes_.push_back(outcome_of_passed_by(name, bound, best()));
  }

  void consider(const domain& where) {
    auto made = policy_.try_domain(where);
    last_domain_ = where.name;
    if (made.feasible && !made.proved)
      unproved_.emplace_back(where.name, floor_of(made), policy_.bound(where));
    if (made.budget_reached)
      cut_short_.emplace_back(where.name, policy_.bound(where).value_or(best_score()));
    if (made.lacking && made.lacking->nearest != no_row)
      ++short_of_[made.lacking->resource];
    if (!made.feasible)
      last_failure_ = explain_.why_infeasible(made);
    if (tells_all() || (!policy_.node_by_node() && given_.settings.explained == depth::chosen)) {
      outcomes_.push_back(outcome_of(given_.view, where.name, made, last_failure_));
      if (made.lacking)
        outcomes_.back().reason += explain_.who_may_not_go(policy_.rules(), where);
    }
    if (made.feasible && wins(where.name, made)) {
      best_ = std::move(made);
      best_domain_ = where.name;
    }
  }

  /// What no victims of the domain score less than.
  static score floor_of(const attempt& made) {
    auto least = best_score();
    least.highest_victim_priority = made.scored.highest_victim_priority;
    least.priority_sum = made.floor;
    return least;
  }

  /// Likewise as below: only those count that are tried in any case.
  void tell_how_sure(reasoning& why) const {
    why.proved_least =
      best_->proved && !why.budget_reached && std::ranges::none_of(unproved_, [&](const auto& one) {
        const auto& [name, floor, bound] = one;
        return name != best_domain_ && can_win(floor, name) && (!bound || can_win(*bound, name));
      });
    const auto heaviest =
      priority_weight({.priority = best_->scored.highest_victim_priority, .pods = 1});
    if (!why.proved_least)
      why.fewest_pods = std::max<std::int64_t>((best_->floor + heaviest - 1) / heaviest, 1);
  }

  /// Only where the best may have been missed for it, so that it does not matter what else happened
  /// to be tried on the way.
  bool is_budget_reached() const {
    return std::ranges::any_of(cut_short_, [&](const auto& one) {
      return one.first == best_domain_ || can_win(one.second, one.first);
    });
  }

  bool wins(std::string_view name, const attempt& made) const {
    if (!best_ || better(made.scored, best_->scored, minimised_))
      return true;
    return !better(best_->scored, made.scored, minimised_) && name < best_domain_;
  }

  plan no_plan() const {
    plan none;
    none.why.summary = fmt::format("{} does not fit{}", explain_.preemptor_name(), why_none());
    return none;
  }

  std::string why_none() const {
    if (policy_.node_by_node() && !tells_all())
      return explain_.why_on_no_node();
    if (count_ == 0)
      return ": " + explain_.why_no_node();
    if (count_ == 1)
      return fmt::format(" in {}: {}", last_domain_, last_failure_);
    if (short_of_.empty())
      return fmt::format(" in any of {} domains", count_);
    const auto most =
      std::ranges::max_element(short_of_, {}, [](const auto& one) { return one.second; });
    return fmt::format(": {} of {} domains are short of {} even with all candidates gone",
                       most->second, count_, explain_.what_is_lacking(most->first));
  }

  void tell(plan& made) {
    if (best_)
      explain_.tell(policy_.rules(), made);
    else if (count_ == 1)
      tell_of_only_domain(made.why);
    std::ranges::sort(outcomes_, {}, &domain_outcome::domain);
    for (auto& outcome : outcomes_)
      if (outcome.feasible && outcome.reason.empty())
        tell_why_won_or_lost(outcome, best());
    made.why.domains = std::move(outcomes_);
  }

  void tell_of_only_domain(reasoning& why) const {
    const auto n = given_.view.find_node(last_domain_);
    explain_.tell_who_may_not_go(
      policy_.rules(), domains_ ? domains_->all().front() : domain_of(given_.view, n), why);
  }

  const problem& given_;
  minimise minimised_;
  policy& policy_;
  const evaluation_hints* hints_;
  explainer explain_;
  std::optional<domain_set> domains_;
  std::size_t count_ = 0; ///< of domains
  std::optional<attempt> best_;
  std::string_view best_domain_;
  /// Domains whose search ended before it was through, with their bounds.
  std::vector<std::pair<std::string_view, score>> cut_short_;
  /// Domains in which something better may not have been found, with what nothing there is better
  /// than, by the search and by the bound.
  std::vector<std::tuple<std::string_view, score, std::optional<score>>> unproved_;
  std::set<node_row> tried_;
  std::vector<domain_outcome> outcomes_;
  std::map<resource_column, std::int64_t> short_of_; ///< how many domains lack it
  std::string_view last_domain_;
  std::string last_failure_;
};

} // namespace

plan search_victims(const problem& given, policy& rules, const evaluation_hints* hints) {
  return search{given, rules, hints}.run();
}

} // namespace reprieve
