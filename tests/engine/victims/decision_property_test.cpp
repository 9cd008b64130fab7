#include "preemption/pipeline/scoring.hpp"
#include "tests/engine/worlds/counted_cluster.hpp"
#include "tests/engine/worlds/plain_cluster.hpp"
#include "tests/engine/worlds/random_cluster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <regex>

/// What is promised of every decision, on some thousand clusters and computed again from the
/// objects: nobody goes who need not, no plainer way costs less, whatever is told is true, and the
/// order of what is given does not matter.
namespace reprieve::tests {

namespace {

constexpr int parts = 4;

/// In each part.
int clusters() {
  if (std::getenv("REPRIEVE_EMULATED") != nullptr)
    return 20;
  return std::getenv("REPRIEVE_LONG") != nullptr ? 50'000 : 5'000;
}

cluster_traits traits_of(std::uint64_t seed) {
  switch (seed % 4) {
  case 0:
    return {.immovable = false, .leaving = false};
  case 1:
    return {.budgets = false, .immovable = false, .leaving = false, .crowded = true};
  case 2:
    return {.immovable = false, .leaving = false, .most_nodes = 12, .most_pods = 60};
  default:
    return {.crowded = true};
  }
}

plan_settings settings_of(std::uint64_t seed) {
  auto settings = open_settings();
  settings.group.minimised = seed / 4 % 3 == 0 ? minimise::work : minimise::pods;
  return settings;
}

/// Everybody of a priority below the preemptor's may go, and nobody leaves.
bool is_countable(std::uint64_t seed) {
  return seed % 4 != 3;
}

/// Single nodes for a pod; for a gang all nodes, or those together that agree in its keys.
std::vector<node_names> domains_of(const random_case& drawn) {
  return counted_cluster{drawn.in, drawn.who, settings_of(0).now}.domains();
}

/// Whether all pods that are needed have a place in the room, by going through all ways.
class seat_finder {
public:
  seat_finder(const preemptor& who, const room_by_node& room, const node_names& on) : who_(who) {
    for (const auto& name : on)
      room_.push_back(room.at(name));
  }

  bool all_fit() {
    return fit_from(0, 0, who_.groups.front().needed);
  }

private:
  /// So many more of the group, on nodes from this one on.
  bool fit_from(std::size_t group, std::size_t at, std::int32_t lacking) {
    if (lacking == 0)
      return group + 1 == who_.groups.size()
             || fit_from(group + 1, 0, who_.groups[group + 1].needed);
    if (at == room_.size())
      return false;
    const auto& request = who_.groups[group].pods.front().requests;
    std::int32_t here = 0;
    for (; here < lacking && fits(room_[at], request); ++here)
      add(room_[at], request, -1);
    for (;; --here) {
      if (fit_from(group, at + 1, lacking - here))
        return true;
      if (here == 0)
        return false;
      add(room_[at], request, 1);
    }
  }

  const preemptor& who_;
  std::vector<resources> room_;
};

/// Says who could have stayed.
std::string who_need_not_go(const random_case& drawn, const plan& made) {
  const plain_cluster plain{drawn.in.all_nodes(), drawn.in.all_pods()};
  const auto all = portions_that_go(made);
  for (const auto& one : all) {
    auto others = all;
    others.erase(one);
    const auto room = plain.room_without(others);
    for (const auto& nodes : domains_of(drawn))
      if (seat_finder{drawn.who, room, nodes}.all_fit())
        return fmt::format("{} need not go: the others are enough", to_string(one));
  }
  return {};
}

std::string what_order_changes(const random_case& drawn, const plan_settings& settings,
                               const plan& made, std::uint64_t seed) {
  std::mt19937_64 chance{seed};
  const auto shuffled = [&](auto list) {
    std::ranges::shuffle(list, chance);
    return list;
  };
  auto again = decide(view_of(shuffled(drawn.in.all_nodes()), shuffled(drawn.in.all_pods()),
                              shuffled(drawn.in.all_budgets())),
                      drawn.who, settings);
  again.followed = made.followed; // in rows, which are numbered as things come
  return what_differs(made, again);
}

/// A decision counted again.
class recount {
public:
  recount(const random_case& drawn, const plan_settings& settings)
      : drawn_(drawn), minimised_(settings.group.minimised),
        counted_(drawn.in, drawn.who, settings.now) {}

  score cost_of(const plan& made) const {
    return counted_.score_of(ranks_of(made), seats_of(made));
  }

  bool is_better(const score& a, const score& b) const {
    return better(a, b, minimised_);
  }

  ranks ranks_of(const plan& made) const {
    const auto gone = portions_that_go(made);
    ranks victims;
    for (std::size_t rank = 0; rank < counted_.portions.size(); ++rank)
      if (gone.contains(portion_of(*counted_.portions[rank].front())))
        victims.insert(rank);
    return victims;
  }

  static seats seats_of(const plan& made) {
    seats taken;
    for (const auto& one : made.assignments)
      taken.emplace_back(one.placed.node, one.placed.requests);
    return taken;
  }

  const counted_cluster& counted() const {
    return counted_;
  }

private:
  const random_case& drawn_;
  minimise minimised_;
  counted_cluster counted_;
};

/// The sentences of a plan, one by one.
class told {
public:
  told(const random_case& drawn, const plan_settings& settings, const plan& made)
      : drawn_(drawn), settings_(settings), made_(made), count_(drawn, settings),
        room_(count_.counted().room_left(count_.ranks_of(made), recount::seats_of(made))) {
    for (const auto& pods : count_.counted().portions)
      pods_of_[to_string(portion_of(*pods.front()))] = pods;
  }

  /// Says which one is not true.
  std::string untrue() const {
    for (const auto& one : made_.victims)
      if (!is_true_of_victim(one))
        return fmt::format("of {}: {}", to_string(one.portion), one.reason);
    for (const auto& one : made_.why.reprieved)
      if (!is_true_of_reprieved(one))
        return fmt::format("of {}: {}", to_string(one.portion), one.reason);
    for (const auto& one : made_.why.passed_over)
      if (one.reason
          != fmt::format("its priority {} is not below {}", one.priority, drawn_.who.priority))
        return fmt::format("of {}: {}", to_string(one.portion), one.reason);
    for (const auto& one : made_.why.domains)
      if (!is_true_of_domain(one))
        return fmt::format("of {}: {}", one.domain, one.reason);
    return {};
  }

private:
  using pods = std::vector<const pod*>;

  static bool is_group(const pods& of) {
    return of.front()->disruption == disruption_mode::pod_group;
  }
  static time_point start_of(const pods& of) {
    return (*std::ranges::min_element(of, {}, &pod::started))->started;
  }
  static resources held_by(const pods& of) {
    resources held;
    for (const auto* p : of)
      add(held, p->requests, 1);
    return held;
  }
  static std::set<std::string> nodes_of(const pods& of) {
    std::set<std::string> nodes;
    for (const auto* p : of)
      nodes.insert(p->node);
    return nodes;
  }
  static bool look_the_same(const pods& a, const pods& b) {
    return nodes_of(a).size() == 1 && nodes_of(a) == nodes_of(b) && a.size() == b.size()
           && a.front()->priority == b.front()->priority && held_by(a) == held_by(b);
  }

  bool goes(const std::string& portion) const {
    return std::ranges::any_of(
      made_.victims, [&](const victim& one) { return to_string(one.portion) == portion; });
  }

  bool is_more_important(const std::string& a, const std::string& b) const {
    const auto& [first, second] = std::tie(pods_of_.at(a), pods_of_.at(b));
    return std::tuple{!is_group(first), start_of(first), a}
           < std::tuple{!is_group(second), start_of(second), b};
  }

  bool is_true_of_victim(const victim& one) const {
    static const std::regex form{"its priority (-?\\d+) is below (-?\\d+) and new does not fit on "
                                 "(.+) beside it(; this exceeds a disruption budget)?"
                                 "(; it goes rather than (.+), which (.+))?"};
    std::smatch is;
    if (!std::regex_match(one.reason, is, form))
      return false;
    const auto name = to_string(one.portion);
    const auto& own = pods_of_.at(name);
    const auto priority = own.front()->priority;
    if (std::stoi(is[1]) != priority || std::stoi(is[2]) != drawn_.who.priority
        || priority >= drawn_.who.priority || is[4].matched != one.violates_budget)
      return false;
    auto room = room_;
    bool is_in_the_way = false;
    for (const auto* p : own) {
      add(room[p->node], p->requests, -1);
      is_in_the_way = is_in_the_way || overdrawn(room[p->node]);
    }
    if (!is_in_the_way)
      return false;
    const auto has_equal = [&](auto which) {
      return std::ranges::any_of(pods_of_, [&](const auto& other) {
        return !goes(other.first) && look_the_same(own, other.second) && which(other.first);
      });
    };
    if (!is[5].matched)
      return !has_equal([&](const auto& other) {
        return is_more_important(other, name) || work_of(pods_of_.at(other)) > work_of(own);
      });
    const std::string rather = is[6];
    const auto& stays = pods_of_.at(rather);
    if (!has_equal([&](const auto& other) { return other == rather; }))
      return false;
    if (is[7] == "would lose more work")
      return work_of(stays) > work_of(own);
    return is_more_important(rather, name) && is[7] == why_it_stays(stays, own);
  }

  std::int64_t work_of(const pods& of) const {
    std::int64_t lost = 0;
    for (const auto* p : of)
      lost += amount_of(p->requests, resource::gpu)
              * std::chrono::floor<std::chrono::seconds>(settings_.now - p->started).count();
    return lost;
  }

  static std::string why_it_stays(const pods& one, const pods& goes) {
    if (is_group(one) != is_group(goes))
      return "is a group";
    return start_of(one) != start_of(goes) ? "started earlier" : "comes before it by name";
  }

  bool is_true_of_reprieved(const spared& one) const {
    const auto name = to_string(one.portion);
    if (goes(name))
      return false;
    const auto& own = pods_of_.at(name);
    if (one.reason.starts_with("a disruption budget counts on it"))
      return std::ranges::any_of(drawn_.in.all_budgets(), [&](const auto& budget) {
        return std::ranges::any_of(
          own, [&](const pod* p) { return matches(budget.match_labels, p->labels); });
      });
    if (one.reason.starts_with("its priority"))
      return made_.why.threshold && one.priority > *made_.why.threshold
             && one.reason
                  == fmt::format("its priority {} is above the threshold {}", one.priority,
                                 *made_.why.threshold);
    return one.reason.starts_with("still fits on ");
  }

  /// What would be decided if there were no other domain.
  plan decide_in(const std::string& domain) const {
    auto nodes = drawn_.in.all_nodes();
    auto who = drawn_.who;
    const auto& keys = who.groups.front().topology_keys;
    if (who.gang && keys.empty())
      return made_;
    for (auto& n : nodes)
      n.labels["domain"] = who.gang ? n.labels.at(keys.front()) : n.name;
    for (auto& group : who.groups)
      group.node_selector["domain"] = who.gang ? domain.substr(domain.find('=') + 1) : domain;
    return decide(view_of(nodes, drawn_.in.all_pods(), drawn_.in.all_budgets()), who, settings_);
  }

  bool is_true_of_domain(const domain_outcome& one) const {
    const auto there = decide_in(one.domain);
    if (there.result != plan::outcome::preempts)
      return !one.feasible && !one.reason.empty();
    if (!who_need_not_go(drawn_, there).empty()) // others go there, or nobody
      return one.feasible || one.reason.starts_with("more would go than are enough in ");
    if (!one.feasible)
      return false;
    const auto alone = count_.cost_of(there);
    const auto& chosen = made_.scored;
    if (one.chosen)
      return one.reason == "costs least" && alone == chosen;
    if (count_.is_better(alone, chosen))
      return false;
    const bool equal = !count_.is_better(chosen, alone);
    const bool tells_equal = one.reason.starts_with("costs the same; ");
    if (tells_equal || one.reason.starts_with("can't cost less, and "))
      return !tells_equal || equal;
    const bool was_passed_by = one.scored.pods == 0;
    if (was_passed_by)
      return !equal
             && (one.reason.starts_with("can't cost as little as ")
                 || one.reason.starts_with("costs a victim of priority "));
    return alone == one.scored && one.reason == why_worse(alone, chosen, settings_.group.minimised);
  }

  const random_case& drawn_;
  const plan_settings& settings_;
  const plan& made_;
  recount count_;
  rooms room_;
  std::map<std::string, pods> pods_of_;
};

/// Whether first fit with all candidates gone would have cost less, and taken nobody in vain.
bool is_behind_the_plain_way(const random_case& drawn, plan_settings settings, const score& cost) {
  settings.placing = placing_rule::plain;
  const auto plain = decide(drawn.in.view(), drawn.who, settings);
  if (plain.result != plan::outcome::preempts)
    return false;
  const recount count{drawn, settings};
  return count.is_better(count.cost_of(plain), cost) && who_need_not_go(drawn, plain).empty();
}

class decision : public testing::TestWithParam<int> {};

} // namespace

TEST_P(decision, takes_nobody_who_is_not_needed_and_tells_the_truth) {
  int preempted = 0;
  int counted = 0;
  int behind = 0;
  for (int i = 0; i < clusters(); ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam()) * 1'000'000 + static_cast<unsigned>(i);
    auto drawn = case_of_seed(seed, traits_of(seed), draw_anyone);
    const auto settings = settings_of(seed);
    const auto made = decide(drawn.in.view(), drawn.who, settings);
    EXPECT_EQ(what_order_changes(drawn, settings, made, seed), "") << "seed " << seed;
    if (made.result != plan::outcome::preempts)
      continue;
    ++preempted;
    EXPECT_EQ(who_need_not_go(drawn, made), "") << "seed " << seed;
    if (!is_countable(seed))
      continue;
    ++counted;
    const auto cost = recount{drawn, settings}.cost_of(made);
    EXPECT_EQ(made.scored, cost) << "seed " << seed << (made.scored.cascades ? ", cascades" : "");
    EXPECT_EQ((told{drawn, settings, made}.untrue()), "") << "seed " << seed;
    if (is_behind_the_plain_way(drawn, settings, cost)) {
      ++behind;
      if (std::getenv("TELL") != nullptr)
        fmt::print("behind: {}\n", seed);
    }
  }
  fmt::print("{} preempted, {} counted again, {} cost more than the plain way\n", preempted,
             counted, behind);
  EXPECT_GT(preempted, clusters() / 4);
  EXPECT_EQ(behind, 0);
}

INSTANTIATE_TEST_SUITE_P(part, decision, testing::Range(0, parts));

} // namespace reprieve::tests
