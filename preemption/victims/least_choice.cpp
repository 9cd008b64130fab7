#include "preemption/victims/least_choice.hpp"

#include "preemption/victims/least_cover.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace reprieve {

namespace {

/// Closer bounds may take that part of the steps that the search may take.
constexpr std::size_t part_to_sharpen = 8;

/// Candidates who are alike; among those the least important go.
struct kinds {
  std::vector<cover_item> items;
  std::vector<std::int64_t> losses;          ///< by item
  std::vector<std::vector<std::size_t>> who; ///< by item, the least important first
  /// By candidate: its item, and how many of the item go if it does.
  std::vector<std::pair<std::size_t, std::int64_t>> of;
};

kinds kinds_of(std::span<const cover_candidate> candidates) {
  kinds found;
  found.of.resize(candidates.size());
  std::map<std::tuple<std::int64_t, std::int64_t, std::vector<std::int64_t>>, std::size_t> known;
  for (auto i = candidates.size(); i-- > 0;) {
    const auto& [cost, gives, loss, like_before] = candidates[i];
    const auto [at, fresh] = known.try_emplace({cost, loss, gives}, found.items.size());
    if (fresh) {
      found.items.push_back({cost, 0, gives});
      found.losses.push_back(loss);
      found.who.emplace_back();
    }
    found.who[at->second].push_back(i);
    found.of[i] = {at->second, ++found.items[at->second].count};
  }
  return found;
}

/// Chooses stage by stage: each leaves those among which the next one chooses.
class chooser {
public:
  chooser(std::span<const cover_candidate> candidates, const std::vector<std::int64_t>& needs,
          std::size_t most_steps, const choice_rules& rules)
      : candidates_(candidates), alike_(kinds_of(candidates)), cover_(alike_.items, needs),
        needs_(needs), rules_(rules), most_steps_(most_steps), steps_(most_steps),
        most_(cover_.all()) {}

  std::optional<least_choice> run() {
    if (!cover_.covers(most_))
      return std::nullopt;
    auto to_sharpen = most_steps_ / part_to_sharpen;
    cover_.sharpen(to_sharpen);
    judge(cover_);
    auto found = cover_.cheapest(most_, std::min(rules_.most_cost, least_cover::any_cost), steps_);
    if (!found.taken && !(rules_.may_be && found.proved))
      return std::nullopt;
    chosen_ = {{}, found.proved, found.bound, 0};
    if (found.taken) {
      taken_ = *std::move(found.taken);
      cost_ = cover_.cost_of(taken_);
      if (rules_.then == then_counts::what_is_lost)
        lose_least();
      spare_the_most_important();
      if (rules_.then == then_counts::the_most_important)
        lose_least();
      spare_one_by_one();
      chosen_.who = who(taken_);
    }
    chosen_.steps = most_steps_ - steps_;
    return std::move(chosen_);
  }

private:
  void judge(least_cover& some) const {
    if (rules_.may_be)
      some.judge_by([this](const cover_counts& taken) { return rules_.may_be(who(taken)); });
  }

  std::vector<std::size_t> who(const cover_counts& taken) const {
    std::vector<std::size_t> all;
    for (std::size_t item = 0; item < taken.size(); ++item)
      all.insert(all.end(), alike_.who[item].begin(), alike_.who[item].begin() + taken[item]);
    std::ranges::sort(all);
    return all;
  }

  /// The most important of those who go stay if less important ones can go instead.
  void spare_the_most_important() {
    for (std::size_t first = 0; first < alike_.of.size();) {
      auto without = most_;
      auto last = first;
      do {
        const auto& [item, rank] = alike_.of[last];
        without[item] = std::min(without[item], rank - 1);
      } while (++last < alike_.of.size() && candidates_[last].like_before);
      if (!spare(std::move(without)))
        return;
      first = last;
    }
  }

  /// Likewise one by one, the most important first.
  void spare_one_by_one() {
    for (const auto& [item, rank] : alike_.of) {
      if (most_[item] < rank)
        continue;
      auto without = most_;
      without[item] = rank - 1;
      spare(std::move(without));
    }
  }

  /// Whether no more than these need to go.
  bool spare(cover_counts without) {
    if (!std::ranges::equal(taken_, without, std::less_equal{})) {
      if (steps_ == 0) {
        chosen_.proved = false;
        return false;
      }
      --steps_;
      auto other = cover_.any(without, cost_, steps_);
      chosen_.proved = chosen_.proved && (other.taken || other.proved);
      if (!other.taken)
        return false;
      taken_ = *std::move(other.taken);
    }
    most_ = std::move(without);
    return true;
  }

  /// Of those that cost as much.
  void lose_least() {
    if (loss_of(taken_) > 0) {
      auto items = alike_.items;
      std::vector<std::int64_t> costs;
      for (std::size_t i = 0; i < items.size(); ++i)
        costs.push_back(std::exchange(items[i].cost, alike_.losses[i]));
      least_cover by_loss{std::move(items), needs_};
      auto most = most_;
      if (cost_ > 0)
        by_loss.cap(costs, cost_);
      else
        forbid(costs, most);
      judge(by_loss);
      auto less = by_loss.cheapest(most, loss_of(taken_) - 1, steps_);
      chosen_.proved = chosen_.proved && less.proved;
      if (less.taken)
        taken_ = *std::move(less.taken);
    }
    if (const auto loss = loss_of(taken_); loss > 0)
      cover_.cap(alike_.losses, loss);
    else
      forbid(alike_.losses, most_);
  }

  /// Of items that have any.
  static void forbid(const std::vector<std::int64_t>& amounts, cover_counts& most) {
    for (std::size_t i = 0; i < most.size(); ++i)
      if (amounts[i] > 0)
        most[i] = 0;
  }

  std::int64_t loss_of(const cover_counts& taken) const {
    std::int64_t loss = 0;
    for (std::size_t i = 0; i < taken.size(); ++i)
      loss += alike_.losses[i] * taken[i];
    return loss;
  }

  std::span<const cover_candidate> candidates_;
  kinds alike_;
  least_cover cover_;
  const std::vector<std::int64_t>& needs_;
  const choice_rules& rules_;
  std::size_t most_steps_;
  std::size_t steps_; ///< that are left
  cover_counts most_; ///< of each item that may still go
  cover_counts taken_;
  std::int64_t cost_ = 0;
  least_choice chosen_;
};

} // namespace

std::optional<least_choice> choose_least(std::span<const cover_candidate> candidates,
                                         const std::vector<std::int64_t>& needs,
                                         std::size_t most_steps, const choice_rules& rules) {
  return chooser{candidates, needs, most_steps, rules}.run();
}

} // namespace reprieve
