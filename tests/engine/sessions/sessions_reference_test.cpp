#include "tests/engine/worlds/plain_cluster.hpp"
#include "tests/engine/worlds/random_cluster.hpp"
#include "tests/support/plain_room.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <optional>

/// The sessions policy against Backend.AI's rules taken literally: one by one, with a look for a
/// placement after each.
namespace reprieve::tests {

namespace {

using outcome = plan::outcome;

plan_settings drawn_settings() {
  auto settings = session_settings();
  settings.group.preemptible_priority = *rc::gen::inRange(0, 7);
  settings.group.order = *rc::gen::element(preemption_order::oldest, preemption_order::newest);
  return settings;
}

class one_by_one {
public:
  one_by_one(const cluster& in, const preemptor& who, const resource_group& group)
      : plain_(in.all_nodes(), in.all_pods()), wanted_(who.groups.front()),
        request_(wanted_.pods.front().requests) {
    for (const auto& one : plain_.portions())
      if (one.movable && one.priority < who.priority && one.priority <= group.preemptible_priority)
        line_.push_back(&one);
    for (const auto* one : line_)
      all_.insert(one->id);
    std::erase_if(line_, [&](const plain_portion* one) { return !helps(*one); });
    const bool oldest = group.order == preemption_order::oldest;
    std::ranges::sort(line_, [&](const plain_portion* a, const plain_portion* b) {
      if (a->priority != b->priority)
        return a->priority < b->priority;
      if (a->start != b->start)
        return oldest == (a->start < b->start);
      return a->id < b->id;
    });
  }

  /// Those that go, or nothing where all are not enough.
  std::optional<std::set<portion_id>> victims() const {
    std::set<portion_id> gone;
    for (const auto* one : line_) {
      if (enough(gone))
        break;
      gone.insert(one->id);
    }
    return enough(gone) ? std::optional{gone} : std::nullopt;
  }

  /// Whether it is enough if everybody goes who may, of help or not.
  bool possible() const {
    return enough(all_);
  }

private:
  bool enough(const std::set<portion_id>& gone) const {
    return seat_count(plain_.room_without(gone), request_, wanted_.needed) == wanted_.needed;
  }

  /// Whether it is on a node that could take a pod, and holds something that may be short there.
  bool helps(const plain_portion& one) const {
    const auto now = plain_.room_without({});
    const auto then = plain_.room_without(all_);
    return std::ranges::any_of(one.pods, [&](const pod* p) {
      if (!fits(then.at(p->node), request_))
        return false;
      const auto asked = taken_by(request_);
      return std::ranges::any_of(taken_by(p->requests), [&](const auto& held) {
        return held.second > 0
               && amount_of(now.at(p->node), held.first)
                    < amount_of(asked, held.first) * wanted_.needed;
      });
    });
  }

  plain_cluster plain_;
  const wanted_group& wanted_;
  const resources& request_;
  std::vector<const plain_portion*> line_;
  std::set<portion_id> all_; ///< who may go
};

preemptor draw_one_template() {
  return *rc::gen::arbitrary<bool>() ? draw_lone_pod() : draw_gang_of_one_template();
}

} // namespace

TEST(sessions_reference, victims_are_those_of_going_one_by_one) {
  int preempted = 0;
  int refused = 0;
  for_random_cases({}, draw_one_template, [&](const cluster& in, const preemptor& who) {
    const auto settings = drawn_settings();
    const auto made = decide(in.view(), who, settings);
    if (made.result == outcome::placed || made.result == outcome::waits)
      return;

    const one_by_one reference{in, who, settings.group};
    const auto expected = reference.victims();

    RC_ASSERT((made.result == outcome::preempts) == expected.has_value());
    RC_ASSERT((made.result == outcome::preempts) == reference.possible());
    if (!expected) {
      ++refused;
      return;
    }
    ++preempted;
    RC_ASSERT(portions_that_go(made) == *expected);
  });
  EXPECT_GT(preempted, 100);
  EXPECT_GT(refused, 50);
}

TEST(sessions_reference, every_plan_leaves_room_for_all_who_come_and_takes_whole_portions) {
  int preempted = 0;
  for_random_cases(
    {}, draw_gang_of_several_templates, [&](const cluster& in, const preemptor& who) {
      const auto settings = drawn_settings();
      const plain_cluster plain{in.all_nodes(), in.all_pods()};

      const auto made = decide(in.view(), who, settings);

      if (made.result != outcome::preempts)
        return;
      ++preempted;
      auto room = plain.room_without(portions_that_go(made));
      for (const auto& one : made.assignments)
        add(room[one.placed.node], one.placed.requests, -1);
      for (const auto& [name, left] : room)
        for (const auto& [resource, value] : left)
          RC_ASSERT(value >= 0);
      for (const auto& group : who.groups)
        RC_ASSERT(std::ranges::count(made.assignments, group.name,
                                     [](const assignment& one) { return one.placed.group; })
                  >= group.needed);
      for (const auto& one : made.victims) {
        const auto& was = *std::ranges::find(plain.portions(), one.portion, &plain_portion::id);
        RC_ASSERT(was.movable);
        RC_ASSERT(one.pods.size() == was.pods.size());
        RC_ASSERT(one.priority <= settings.group.preemptible_priority);
        RC_ASSERT(one.priority < who.priority);
      }
    });
  EXPECT_GT(preempted, 100);
}

TEST(sessions_reference, neither_the_order_things_became_known_in_nor_explaining_matters) {
  for_random_cases({}, draw_one_template, [](const cluster& in, const preemptor& who) {
    auto settings = drawn_settings();
    auto nodes = in.all_nodes();
    auto pods = in.all_pods();
    std::ranges::reverse(nodes);
    std::ranges::reverse(pods);

    auto made = decide(in.view(), who, settings);
    RC_ASSERT(same(made, decide(view_of(nodes, pods, in.all_budgets()), who, settings)));

    settings.explained = depth::summary;
    const auto silent = decide(in.view(), who, settings);
    RC_ASSERT(made.why.summary == silent.why.summary);
    made.why = silent.why;
    RC_ASSERT(same(made, silent));
  });
}

} // namespace reprieve::tests
