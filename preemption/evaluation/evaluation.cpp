#include "preemption/evaluation/evaluation.hpp"

#include "preemption/evaluation/score_bounds.hpp"
#include "preemption/pipeline/domains.hpp"
#include "preemption/pipeline/scoring.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

/// The shard's nodes for a lone pod, best first, as many as are asked for and one more.
class shortlist {
public:
  shortlist(const problem& given, std::size_t most)
      : given_(given), minimised_(given.settings.group.minimised), most_(most) {}

  void fill() {
    const auto& blocks = given_.view.blocks();
    std::vector<std::pair<score, const node_block*>> found;
    for (std::size_t b = 0; b < blocks.count(); ++b)
      if (const auto bound = bound_on_block(given_, blocks.at(b)))
        found.emplace_back(lasting(*bound, given_.settings.now), &blocks.at(b));
    std::ranges::stable_sort(
      found, [&](const auto& a, const auto& b) { return better(a.first, b.first, minimised_); });
    for (const auto& [bound, block] : found) {
      if (worst_ && better(worst_->bound, bound, minimised_))
        break;
      for (const auto n : block->nodes)
        look_at(n);
    }
  }

  void hand_over(shard_evaluation& answer) {
    std::ranges::sort(best_, before{minimised_});
    if (best_.size() > most_) {
      answer.rest = std::move(best_[most_]);
      best_.resize(most_);
    }
    answer.listed = std::move(best_);
  }

private:
  void look_at(node_row n) {
    if (!given_.view.usable(n))
      return;
    auto bound = bound_on_node(given_, n);
    if (bound)
      bound = lasting(*bound, given_.settings.now);
    if (!bound || (worst_ && better(worst_->bound, *bound, minimised_))
        || !given_.filter.suits_any_group(n))
      return;
    best_.push_back({std::string(given_.view.node_name(n)), *bound});
    if (best_.size() > 2 * (most_ + 1))
      keep_the_best();
  }

  /// Now and then is enough, so that a long list costs no more than a short one.
  void keep_the_best() {
    const auto last = best_.begin() + static_cast<std::ptrdiff_t>(most_);
    std::ranges::nth_element(best_, last, before{minimised_});
    best_.resize(most_ + 1);
    worst_ = best_.back();
  }

  struct before {
    minimise minimised;
    bool operator()(const node_prospect& a, const node_prospect& b) const {
      return comes_before(a, b, minimised);
    }
  };

  const problem& given_;
  minimise minimised_;
  std::size_t most_;
  std::vector<node_prospect> best_;    ///< and some more
  std::optional<node_prospect> worst_; ///< none that comes after it is wanted
};

std::vector<domain_curves> curves_by_domain(const problem& given) {
  const auto* first = given.who.groups.data();
  const candidate_rules rules{given};
  const auto set = domain_set::for_gang(given);
  std::vector<domain_curves> all;
  for (const auto& where : set.all()) {
    auto& one = all.emplace_back(std::string(where.name));
    one.curves.resize(given.who.groups.size());
    auto curves = curves_of(given, rules, where.nodes);
    for (std::size_t g = 0; g < curves.size(); ++g)
      one.curves[static_cast<std::size_t>(given.asked.groups[g].wanted - first)] =
        std::move(curves[g]);
  }
  return all;
}

bool asks_alike(const wanted_group& a, const wanted_group& b) {
  return a.needed == b.needed && a.pods.empty() == b.pods.empty()
         && (a.pods.empty() || a.pods.front().requests == b.pods.front().requests)
         && a.node_selector == b.node_selector && a.tolerations == b.tolerations
         && a.topology_keys == b.topology_keys && a.required_node == b.required_node;
}

/// Groups that ask for something which no node of the shard has find no seat there, but others may.
/// Their topology keys still tell domains apart.
preemptor without_unknown_resources(const cluster_view& own, preemptor who) {
  for (auto& group : who.groups)
    if (!group.pods.empty() && !own.columns(group.pods.front().requests))
      group.pods.clear();
  return who;
}

} // namespace

evaluation_request request_for(const preemptor& who, const plan_settings& settings,
                               std::size_t most) {
  evaluation_request asked{{}, settings, most};
  asked.who.priority = who.priority;
  asked.who.may_preempt = who.may_preempt;
  asked.who.gang = who.gang;
  for (const auto& from : who.groups) {
    auto& group = asked.who.groups.emplace_back();
    group.needed = from.needed;
    group.node_selector = from.node_selector;
    group.tolerations = from.tolerations;
    group.topology_keys = from.topology_keys;
    group.required_node = from.required_node;
    if (!from.pods.empty())
      group.pods.emplace_back().requests = from.pods.front().requests;
  }
  return asked;
}

bool is_for(const evaluation_request& asked, const preemptor& who) {
  const auto& of = asked.who;
  return of.priority == who.priority && of.may_preempt == who.may_preempt && of.gang == who.gang
         && std::ranges::equal(of.groups, who.groups, asks_alike);
}

bool shards_can_help(const preemptor& who, const plan_settings& settings) {
  if (!who.may_preempt || is_bound_to_a_node(who)
      || settings.group.policy == group_policy::sessions)
    return false;
  if (!who.gang)
    return settings.explained != depth::all;
  return settings.explained < depth::chosen && !settings.group.limits.search_budget;
}

bool comes_before(const node_prospect& a, const node_prospect& b, minimise minimised) {
  if (better(a.bound, b.bound, minimised))
    return true;
  return !better(b.bound, a.bound, minimised) && a.node < b.node;
}

shard_evaluation evaluate(const cluster_view& own, const evaluation_request& asked) {
  shard_evaluation answer;
  answer.nodes = own.node_count();
  if (!shards_can_help(asked.who, asked.settings))
    return answer;
  const auto who = without_unknown_resources(own, asked.who);
  const problem given{own, who, asked.settings};
  if (given.asked.groups.empty())
    return answer;
  if (who.gang) {
    answer.domains = curves_by_domain(given);
    return answer;
  }
  shortlist best{given, asked.most};
  best.fill();
  best.hand_over(answer);
  return answer;
}

} // namespace reprieve
