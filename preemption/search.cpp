#include "preemption/search.hpp"

#include "preemption/assembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace reprieve {

namespace {

/// A domain that may be feasible, and the level that it costs at least.
struct prospect {
  const domain* where = nullptr;
  std::int64_t at_least = nobody_goes;
};

class search {
public:
  search(const problem& given, policy& rules)
      : given_(given), policy_(rules), domains_(rules.domains()), explain_(given) {}

  plan run() {
    for (const auto& [where, at_least] : prospects())
      if (can_not_win(at_least))
        pass_by(*where, at_least);
      else
        consider(*where, policy_.try_domain(*where));
    auto made = best_ ? plan_of(given_, explain_, *best_) : no_plan();
    if (given_.settings.explain)
      tell(made.why);
    return made;
  }

private:
  /// The domains worth a closer look, the most promising first.
  std::vector<prospect> prospects() {
    std::vector<prospect> found;
    for (const auto& where : domains_.all())
      if (const auto level = policy_.least_level(where))
        found.push_back({&where, *level});
      else
        consider(where, policy_.ruled_out(where));
    std::ranges::stable_sort(found, {}, &prospect::at_least);
    return found;
  }

  bool can_not_win(std::int64_t at_least) const {
    return best_ && best_->scored.budget_violations == 0
           && at_least > best_->scored.highest_victim_priority;
  }

  void pass_by(const domain& where, std::int64_t at_least) {
    if (!given_.settings.explain)
      return;
    auto& outcome = outcomes_.emplace_back();
    outcome.domain = where.name;
    outcome.feasible = true;
    outcome.threshold = static_cast<std::int32_t>(at_least);
    outcome.reason =
      fmt::format("costs a victim of priority {} or above; {} costs none above {}", at_least,
                  best_domain_.name, best_->scored.highest_victim_priority);
  }

  void consider(const domain& where, attempt made) {
    if (made.lacking && made.lacking->nearest != no_row)
      ++short_of_[made.lacking->resource];
    if (!made.feasible && (given_.settings.explain || domains_.all().size() == 1))
      last_failure_ = explain_.why_infeasible(made);
    if (given_.settings.explain)
      record(where, made);
    if (made.feasible && wins(where, made)) {
      best_ = std::move(made);
      best_domain_ = where;
    }
  }

  bool wins(const domain& where, const attempt& made) const {
    const auto minimised = given_.settings.group.minimised;
    if (!best_ || better(made.scored, best_->scored, minimised))
      return true;
    return !better(best_->scored, made.scored, minimised) && where.name < best_domain_.name;
  }

  void record(const domain& where, const attempt& made) {
    auto& outcome = outcomes_.emplace_back();
    outcome.domain = where.name;
    outcome.feasible = made.feasible;
    outcome.threshold = made.threshold;
    outcome.victims = std::ssize(made.victims);
    outcome.scored = made.scored;
    if (!made.feasible)
      outcome.reason = last_failure_;
    if (made.lacking && made.lacking->nearest != no_row) {
      outcome.short_resource = given_.view.resource_name(made.lacking->resource);
      outcome.short_by = made.lacking->by;
    }
  }

  plan no_plan() const {
    plan none;
    none.why.summary = fmt::format("{} does not fit{}", explain_.preemptor_name(), why_none());
    return none;
  }

  std::string why_none() const {
    const auto count = domains_.all().size();
    if (count == 0)
      return ": " + explain_.why_no_node();
    if (count == 1)
      return fmt::format(" in {}: {}", domains_.all().front().name, last_failure_);
    if (short_of_.empty())
      return fmt::format(" in any of {} domains", count);
    const auto most =
      std::ranges::max_element(short_of_, {}, [](const auto& one) { return one.second; });
    return fmt::format(": {} of {} domains are short of {} even with all candidates gone",
                       most->second, count, explain_.what_is_lacking(most->first));
  }

  void tell(reasoning& why) {
    if (best_)
      explain_.tell_who_stays(policy_.rules(), *best_, why);
    else if (domains_.all().size() == 1)
      explain_.tell_who_may_not_go(policy_.rules(), domains_.all().front(), why);
    if (!given_.who.gang)
      explain_.tell_unsuitable_nodes(outcomes_);
    std::ranges::sort(outcomes_, {}, &domain_outcome::domain);
    for (auto& outcome : outcomes_)
      if (outcome.feasible && outcome.reason.empty())
        tell_why_won_or_lost(outcome);
    why.domains = std::move(outcomes_);
  }

  void tell_why_won_or_lost(domain_outcome& outcome) const {
    outcome.chosen = outcome.domain == best_domain_.name;
    outcome.reason = outcome.chosen
                       ? "costs least"
                       : why_worse(outcome.scored, best_->scored, given_.settings.group.minimised);
    if (outcome.reason.empty())
      outcome.reason = fmt::format("costs the same; {} comes first by name", best_domain_.name);
  }

  const problem& given_;
  policy& policy_;
  domain_set domains_;
  explainer explain_;
  std::optional<attempt> best_;
  domain best_domain_;
  std::vector<domain_outcome> outcomes_;
  std::map<resource_column, std::int64_t> short_of_; ///< how many domains lack it
  std::string last_failure_;
};

} // namespace

plan search_victims(const problem& given, policy& rules) {
  return search{given, rules}.run();
}

} // namespace reprieve
