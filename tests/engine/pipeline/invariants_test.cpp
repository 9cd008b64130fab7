#include "state/records/node_record.hpp"
#include "tests/engine/worlds/plan_reading.hpp"
#include "tests/engine/worlds/random_cluster.hpp"
#include "tests/support/plain_room.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

/// What must hold of every plan, judged from the objects that went in, not from the view.
namespace reprieve::tests {

namespace {

using outcome = plan::outcome;
using room_by_node = std::map<std::string, resources>;

bool leaves(const pod& p) {
  return !p.evicted_by.empty() || is_leaving(p.phase);
}

void add(resources& to, const resources& requests, std::int64_t sign) {
  for (const auto& [name, value] : taken_by(requests))
    to[name] += sign * value;
}

bool fits(const resources& room, const resources& request) {
  return std::ranges::all_of(taken_by(request), [&](const auto& one) {
    return one.second <= 0 || one.second <= amount_of(room, one.first);
  });
}

std::set<std::string> victim_uids(const plan& made) {
  std::set<std::string> uids;
  for (const auto& one : made.victims)
    for (const auto& p : one.pods)
      uids.insert(p.uid);
  return uids;
}

/// The room with everybody in place for whom `stays` holds.
room_by_node room_with(const cluster& in, auto stays) {
  room_by_node room;
  for (const auto& n : in.all_nodes())
    room[n.name] = room_of(n);
  for (const auto& p : in.all_pods())
    if (stays(p))
      add(room[p.node], p.requests, -1);
  return room;
}

/// The room that the plan leaves once all who leave have left.
room_by_node room_after(const cluster& in, const plan& made) {
  const auto gone = victim_uids(made);
  auto room = room_with(in, [&](const pod& p) {
    return !gone.contains(p.uid) && (made.result == outcome::placed || !leaves(p));
  });
  for (const auto& one : made.assignments)
    add(room[one.placed.node], one.placed.requests, -1);
  return room;
}

/// How many pods of one size fit.
std::int64_t seats(const room_by_node& room, const resources& request) {
  std::int64_t count = 0;
  for (auto [name, left] : room)
    for (; count < 100 && fits(left, request); ++count)
      add(left, request, -1);
  return count;
}

/// A portion's priority is the highest of its pods'.
std::map<portion_id, std::int32_t> priorities(const cluster& in) {
  std::map<portion_id, std::int32_t> highest;
  for (const auto& p : in.all_pods())
    if (!leaves(p)) {
      auto [at, fresh] = highest.try_emplace(portion_of(p), p.priority);
      at->second = std::max(at->second, p.priority);
    }
  return highest;
}

bool immovable(const cluster& in, const portion_id& portion) {
  return std::ranges::any_of(in.all_pods(), [&](const pod& p) {
    return portion_of(p) == portion && !leaves(p) && (p.daemon || p.protected_member);
  });
}

/// The room if all portions that may go, at or below the priority, were gone.
room_by_node room_without(const cluster& in, std::int32_t at_or_below) {
  const auto priority = priorities(in);
  return room_with(in, [&](const pod& p) {
    return !leaves(p) && (immovable(in, portion_of(p)) || priority.at(portion_of(p)) > at_or_below);
  });
}

void no_node_is_overcommitted(const cluster& in, const plan& made) {
  for (const auto& [name, left] : room_after(in, made))
    for (const auto& [resource, value] : left)
      RC_ASSERT(value >= 0);
}

/// What the plan saw, the nodes' own records see, too, once those who leave were told.
void every_node_votes_for(const cluster& in, const plan& made) {
  for (const auto& part : parts_of(shared_pods(made.assignments), made.victims)) {
    const auto spec = std::ranges::find(in.all_nodes(), part.node, &node::name);
    node_record record{*spec, {}};
    for (const auto& p : in.all_pods())
      if (p.node == part.node) {
        auto there = p;
        if (!there.evicted_by.empty())
          there.phase = pod_phase::terminating;
        put_pod(record, there);
      }
    const auto vote = can_promise(record, {}, part);
    if (!vote.ok())
      RC_FAIL(vote.ToString());
  }
}

void everybody_who_is_needed_comes(const preemptor& who, const plan& made) {
  for (const auto& group : who.groups) {
    const auto placed = std::ranges::count_if(
      made.assignments, [&](const assignment& a) { return a.placed.group == group.name; });
    if (made.result == outcome::infeasible)
      RC_ASSERT(placed == 0);
    else
      RC_ASSERT(placed >= group.needed);
  }
}

void victims_are_whole_portions_below(const cluster& in, const preemptor& who, const plan& made) {
  RC_ASSERT(made.victims.empty() == (made.result != outcome::preempts));
  const auto priority = priorities(in);
  for (const auto& one : made.victims) {
    RC_ASSERT(one.priority == priority.at(one.portion));
    RC_ASSERT(one.priority < who.priority);
    RC_ASSERT(!immovable(in, one.portion));
    std::set<std::string> all;
    for (const auto& p : in.all_pods())
      if (portion_of(p) == one.portion && !leaves(p))
        all.insert(p.uid);
    std::set<std::string> told;
    for (const auto& p : one.pods)
      told.insert(p.uid);
    RC_ASSERT(told == all);
    RC_ASSERT(!one.reason.empty());
  }
}

/// With any one victim put back, the preemptor would not have its room.
void no_victim_could_stay(const cluster& in, const plan& made) {
  for (const auto& one : made.victims) {
    auto room = room_after(in, made);
    bool fits_everywhere = true;
    for (const auto& p : in.all_pods())
      if (portion_of(p) == one.portion && !leaves(p)) {
        fits_everywhere = fits_everywhere && fits(room[p.node], p.requests);
        add(room[p.node], p.requests, -1);
      }
    RC_ASSERT(!fits_everywhere);
  }
}

void who_is_reprieved_stays(const plan& made) {
  for (const auto& kept : made.why.reprieved)
    for (const auto& one : made.victims)
      RC_ASSERT(one.portion != kept.portion);
}

void check(const cluster& in, const preemptor& who, const plan& made) {
  no_node_is_overcommitted(in, made);
  every_node_votes_for(in, made);
  everybody_who_is_needed_comes(who, made);
  victims_are_whole_portions_below(in, who, made);
  who_is_reprieved_stays(made);
}

bool same(const plan& a, const plan& b) {
  return a.result == b.result && a.assignments == b.assignments && a.victims == b.victims
         && a.scored == b.scored && a.why == b.why;
}

} // namespace

TEST(invariants, hold_for_every_plan) {
  std::map<outcome, int> seen;
  for_random_cases({}, draw_anyone, [&](const cluster& in, const preemptor& who) {
    const auto made = decide(in.view(), who, open_settings());

    check(in, who, made);
    ++seen[made.result];
  });
  for (const auto result :
       {outcome::placed, outcome::waits, outcome::preempts, outcome::infeasible})
    EXPECT_GT(seen[result], 10) << "cases must not all end the same way";
}

TEST(invariants, no_victim_could_be_put_back) {
  for_random_cases({}, draw_anyone, [](const cluster& in, const preemptor& who) {
    // Who comes along beyond those needed may use what victims leave over.
    auto all_needed = who;
    for (auto& group : all_needed.groups)
      group.needed = static_cast<std::int32_t>(group.pods.size());

    no_victim_could_stay(in, decide(in.view(), all_needed, open_settings()));
  });
}

TEST(invariants, no_victim_of_a_gang_of_one_template_could_be_left_out) {
  for_random_cases({}, draw_gang_of_one_template, [](const cluster& in, const preemptor& who) {
    const auto& group = who.groups.front();
    const auto made = decide(in.view(), who, open_settings());
    std::set<portion_id> victims;
    for (const auto& one : made.victims)
      victims.insert(one.portion);
    for (const auto& left_out : victims) {
      const auto room = room_with(in, [&](const pod& p) {
        return !leaves(p) && (portion_of(p) == left_out || !victims.contains(portion_of(p)));
      });
      RC_ASSERT(seats(room, group.pods.front().requests) < group.needed);
    }
  });
}

TEST(invariants, nobody_goes_for_what_fits) {
  const auto of_one_template = [] {
    return *rc::gen::arbitrary<bool>() ? draw_lone_pod() : draw_gang_of_one_template();
  };
  for_random_cases({}, of_one_template, [](const cluster& in, const preemptor& who) {
    const auto& group = who.groups.front();
    const auto& request = group.pods.front().requests;
    const auto now = room_with(in, [](const pod&) { return true; });
    const auto later = room_with(in, [](const pod& p) { return !leaves(p); });

    const auto made = decide(in.view(), who, open_settings());

    RC_ASSERT((made.result == outcome::placed) == (seats(now, request) >= group.needed));
    if (made.result != outcome::placed)
      RC_ASSERT((made.result == outcome::waits) == (seats(later, request) >= group.needed));
  });
}

TEST(invariants, a_gang_of_one_template_fits_if_and_only_if_there_are_seats) {
  for_random_cases({}, draw_gang_of_one_template, [](const cluster& in, const preemptor& who) {
    const auto& group = who.groups.front();

    const auto made = decide(in.view(), who, open_settings());

    const auto possible = seats(room_without(in, who.priority - 1), group.pods.front().requests);
    RC_ASSERT((made.result != outcome::infeasible) == (possible >= group.needed));
  });
}

TEST(invariants, the_threshold_is_the_lowest_at_which_a_gang_fits) {
  int preempted = 0;
  for_random_cases({.budgets = false}, draw_gang_of_one_template,
                   [&](const cluster& in, const preemptor& who) {
                     const auto& group = who.groups.front();
                     const auto made = decide(in.view(), who, open_settings());
                     if (made.result != outcome::preempts)
                       return;
                     ++preempted;

                     const auto& request = group.pods.front().requests;
                     RC_ASSERT(made.why.threshold.has_value());
                     const auto threshold = *made.why.threshold;
                     RC_ASSERT(seats(room_without(in, threshold), request) >= group.needed);
                     RC_ASSERT(seats(room_without(in, threshold - 1), request) < group.needed);
                     RC_ASSERT(made.scored.highest_victim_priority == threshold);
                   });
  EXPECT_GT(preempted, 100);
}

TEST(invariants, the_order_in_which_things_became_known_does_not_matter) {
  const auto shuffled = [](auto list) {
    for (std::size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[*rc::gen::inRange<std::size_t>(0, i)]);
    return list;
  };
  for_random_cases({}, draw_anyone, [&](const cluster& in, const preemptor& who) {
    const auto made = decide(in.view(), who, open_settings());
    const auto again =
      decide(view_of(shuffled(in.all_nodes()), shuffled(in.all_pods()), shuffled(in.all_budgets())),
             who, open_settings());

    RC_ASSERT(same(made, again));
  });
}

TEST(invariants, what_came_and_went_does_not_matter) {
  for_random_cases({}, draw_anyone, [&](const cluster& in, const preemptor& who) {
    auto worn = view_of(in.all_nodes(), in.all_pods(), in.all_budgets());
    for (const auto& p : in.all_pods()) {
      worn.remove_pod(p.uid);
      if (*rc::gen::arbitrary<bool>())
        worn.settle();
      worn.put_pod(p);
      worn.settle();
    }

    RC_ASSERT(same(decide(in.view(), who, open_settings()), decide(worn, who, open_settings())));
  });
}

TEST(invariants, a_gang_with_a_topology_key_sits_in_one_domain) {
  for_random_cases({}, draw_anyone, [](const cluster& in, const preemptor& drawn) {
    auto who = drawn;
    for (auto& group : who.groups)
      group.topology_keys = {"zone"};

    const auto made = decide(in.view(), who, open_settings());

    std::set<std::string> zones;
    for (const auto& n : in.all_nodes())
      if (pods_by_node(made).contains(n.name))
        zones.insert(n.labels.at("zone"));
    RC_ASSERT(zones.size() <= 1u);
    check(in, who, made);
  });
}

TEST(invariants, asking_for_no_explanation_changes_no_decision) {
  for_random_cases({}, draw_anyone, [](const cluster& in, const preemptor& who) {
    auto silent = open_settings();
    silent.explained = depth::summary;

    auto made = decide(in.view(), who, open_settings());
    const auto again = decide(in.view(), who, silent);

    // What keeps a pod off each node is told only where every node is to be told of.
    if (made.result != plan::outcome::infeasible)
      RC_ASSERT(made.why.summary == again.why.summary);
    RC_ASSERT(!again.why.summary.empty());
    made.why = again.why;
    for (auto& one : made.victims)
      one.reason.clear();
    RC_ASSERT(same(made, again));
  });
}

TEST(invariants, reasons_asked_for_later_are_those_told_at_once) {
  for_random_cases({}, draw_anyone, [](const cluster& in, const preemptor& who) {
    auto settings = open_settings();
    settings.explained = depth::summary;
    auto later = decide(in.view(), who, settings);
    explain(in.view(), who, settings, later);

    settings.explained = depth::all;
    const auto at_once = decide(in.view(), who, settings);

    RC_ASSERT(later.victims == at_once.victims);
    RC_ASSERT(later.why.reprieved == at_once.why.reprieved);
    if (at_once.result != plan::outcome::infeasible) // then who may not go is told where it failed
      RC_ASSERT(later.why.passed_over == at_once.why.passed_over);
  });
}

TEST(invariants, looking_for_weaker_kin_changes_nothing_where_there_is_none) {
  for_random_cases({}, draw_anyone, [](const cluster& in, const preemptor& who) {
    auto looks = who;
    looks.may_have_weaker_kin = true;

    RC_ASSERT(
      same(decide(in.view(), who, open_settings()), decide(in.view(), looks, open_settings())));
  });
}

TEST(invariants, no_more_victims_go_than_a_decision_may_have) {
  for_random_cases({}, draw_anyone, [](const cluster& in, const preemptor& who) {
    auto settings = open_settings();
    settings.group.limits.victims_per_decision = 1;
    const auto made = decide(in.view(), who, settings);
    const auto unlimited = decide(in.view(), who, open_settings());

    RC_ASSERT(made.victims.size() <= 1U);
    if (unlimited.victims.size() <= 1U)
      RC_ASSERT(made.result == unlimited.result);
  });
}

} // namespace reprieve::tests
