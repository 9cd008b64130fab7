#include "tests/engine/queues/random_queues.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

/// What must hold of every run of the queue stage, judged from what went in.
namespace reprieve::tests {

namespace {

template <class T>
std::vector<T> shuffled(std::vector<T> list) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[*rc::gen::inRange<std::size_t>(0, i)]);
  return list;
}

bool is_parent(const queue_stage_input& in, const queue_outcome& one) {
  return !one.own_pods && std::ranges::any_of(in.queues, [&](const auto& entry) {
    return entry.second.parent == one.queue;
  });
}

/// Those that hold something: queues without children, and own pods.
std::vector<const queue_outcome*> leaves(const queue_stage_input& in,
                                         const queue_stage_result& result) {
  std::vector<const queue_outcome*> found;
  for (const auto& one : result.queues)
    if (!is_parent(in, one))
      found.push_back(&one);
  return found;
}

std::int64_t sum(const queue_stage_input& in, const queue_stage_result& result,
                 std::string_view resource, std::int64_t queue_line::*field) {
  std::int64_t total = 0;
  for (const auto* one : leaves(in, result))
    for (const auto& line : one->lines)
      if (line.resource == resource)
        total += line.*field;
  return total;
}

std::set<std::string> victim_uids(const queue_outcome& one) {
  std::set<std::string> uids;
  for (const auto& chosen : one.victims)
    for (const auto& p : chosen.pods)
      uids.insert(p.uid);
  return uids;
}

bool has_room(const queue_pod& p) {
  return takes_room(p.phase);
}

/// What pods of the queue take for which `counts` holds.
std::int64_t taken(const queue_stage_input& in, std::string_view queue, std::string_view resource,
                   auto counts) {
  std::int64_t total = 0;
  for (const auto& p : in.pods)
    if (p.queue == queue && has_room(p) && counts(p))
      total += amount_of(p.requests, resource);
  return total;
}

/// What the queues are allocated or use beyond, together, above what there is for them.
std::int64_t overfull(const queue_stage_input& in, const queue_stage_result& result,
                      std::string_view resource, std::int64_t queue_line::*allocated) {
  auto total = amount_of(result.used_outside, resource) - amount_of(in.capacity, resource);
  for (const auto* one : leaves(in, result))
    for (const auto& line : one->lines)
      if (line.resource == resource)
        total += std::max(line.*allocated, line.used);
  return total;
}

/// Whether the queue, or one above it, is capped by its demand.
bool is_capped(const queue_stage_input& in, const std::string& queue) {
  for (const auto* at = find(in.queues, queue); at != nullptr; at = find(in.queues, at->parent))
    if (at->cap_by_demand)
      return true;
  return false;
}

} // namespace

TEST(queue_properties, nothing_is_created_or_lost) {
  for_random_inputs([](const queue_stage_input& in) {
    const auto result = run_queue_stage(in);

    for (const auto& [resource, capacity] : in.capacity) {
      const auto unassigned = amount_of(result.unassigned, resource);
      RC_ASSERT(unassigned >= 0);
      RC_ASSERT(sum(in, result, resource, &queue_line::allocated)
                  + sum(in, result, resource, &queue_line::preempting) + unassigned
                == capacity);
    }
    for (const auto& one : result.queues)
      for (const auto& line : one.lines) {
        RC_ASSERT(line.allocated >= 0);
        RC_ASSERT(line.preempting >= 0);
      }
  });
}

TEST(queue_properties, nothing_becomes_allocated_while_pods_of_others_use_it) {
  for_random_inputs([](const queue_stage_input& in) {
    const auto result = run_queue_stage(in);

    for (const auto& [resource, capacity] : in.capacity) {
      const auto before = overfull(in, result, resource, &queue_line::allocated_before);
      const auto after = overfull(in, result, resource, &queue_line::allocated);
      RC_ASSERT(after <= std::max<std::int64_t>(before, 0));
    }
  });
}

TEST(queue_properties, everybody_has_or_is_promised_what_it_deserves) {
  std::map<queue_case, int> seen;
  for_random_inputs([&](const queue_stage_input& in) {
    const auto result = run_queue_stage(in);

    for (const auto* one : leaves(in, result))
      for (const auto& line : one->lines) {
        ++seen[line.stands];
        RC_ASSERT(line.allocated + line.preempting == line.deserved);
      }
  });
  for (const auto stands : {queue_case::surplus_unused, queue_case::surplus_used,
                            queue_case::constant, queue_case::lacking})
    EXPECT_GT(seen[stands], 100) << "cases must not all be the same";
}

TEST(queue_properties, pods_that_stay_use_no_more_than_they_may_unless_nobody_else_may_go) {
  int queues_with_victims = 0;
  for_random_inputs([&](const queue_stage_input& in) {
    const auto result = run_queue_stage(in);

    for (const auto* one : leaves(in, result)) {
      const auto gone = victim_uids(*one);
      queues_with_victims += gone.empty() ? 0 : 1;
      for (const auto& line : one->lines) {
        const auto may = line.may_use;
        const auto stays = taken(in, one->queue, line.resource, [&](const queue_pod& p) {
          return !p.leaving() && !gone.contains(p.uid);
        });
        RC_ASSERT(stays <= may + line.not_freed);
        if (line.not_freed == 0)
          continue;
        // All others that hold some of it must be named, with the reason why they may not go.
        for (const auto& p : in.pods)
          if (p.queue == one->queue && has_room(p) && !p.leaving() && !gone.contains(p.uid)
              && amount_of(p.requests, line.resource) > 0)
            RC_ASSERT(std::ranges::any_of(one->passed_over, [&](const spared& s) {
              return s.portion == p.portion && !s.reason.empty();
            }));
      }
    }
  });
  EXPECT_GT(queues_with_victims, 300);
}

TEST(queue_properties, no_victim_could_be_put_back) {
  for_random_inputs([](const queue_stage_input& in) {
    const auto result = run_queue_stage(in);

    for (const auto* one : leaves(in, result)) {
      const auto gone = victim_uids(*one);
      for (const auto& chosen : one->victims) {
        bool needed = false;
        for (const auto& line : one->lines) {
          const auto holds = taken(in, one->queue, line.resource, [&](const queue_pod& p) {
            return !p.leaving() && p.portion == chosen.portion;
          });
          const auto with_it = taken(in, one->queue, line.resource, [&](const queue_pod& p) {
            return !p.leaving() && (!gone.contains(p.uid) || p.portion == chosen.portion);
          });
          needed = needed || (holds > 0 && with_it > line.may_use);
        }
        RC_ASSERT(needed);
        RC_ASSERT(!chosen.reason.empty());
      }
    }
  });
}

TEST(queue_properties, victims_are_whole_portions_that_may_go) {
  for_random_inputs([](const queue_stage_input& in) {
    const auto result = run_queue_stage(in);

    const auto& limits = in.limits.at("default");
    for (const auto* one : leaves(in, result)) {
      const auto gone = victim_uids(*one);
      for (const auto& chosen : one->victims) {
        std::size_t pods = 0;
        for (const auto& p : in.pods)
          if (p.portion == chosen.portion && has_room(p) && !p.leaving()) {
            ++pods;
            RC_ASSERT(gone.contains(p.uid));
            RC_ASSERT(p.queue == one->queue);
            RC_ASSERT(!p.daemon && !p.protected_member && p.phase != pod_phase::nominated);
            RC_ASSERT(!(limits.opt_out_is_veto && p.opted_out));
            RC_ASSERT(p.started == no_time
                      || in.now - p.started >= std::max(limits.minimum_runtime, p.minimum_runtime));
          }
        RC_ASSERT(chosen.pods.size() == pods);
      }
    }
  });
}

namespace {

/// Whether some of its portions go in the stead of more important ones of another queue.
bool gives_way_below_a_limit(const queue_outcome& one) {
  return std::ranges::any_of(one.victims, [](const victim& v) {
    return v.reason.find("is more important and within the same limit") != std::string::npos;
  });
}

} // namespace

TEST(queue_properties, nobody_goes_from_a_queue_that_uses_no_more_than_it_has_and_deserves) {
  for_random_inputs([](const queue_stage_input& in) {
    const auto result = run_queue_stage(in);

    for (const auto* one : leaves(in, result))
      for (const auto& line : one->lines) {
        const auto stays = line.used - line.leaving;
        RC_ASSERT(line.to_free == std::max<std::int64_t>(stays - line.may_use, 0));
        if (!one->own_pods && !is_capped(in, one->queue))
          RC_ASSERT(line.may_use == std::min(line.allocated_before, line.allocated));
        if (stays <= std::min(line.allocated_before, line.deserved)
            && !gives_way_below_a_limit(*one))
          RC_ASSERT(line.to_free == 0);
      }
  });
}

TEST(queue_properties, nobody_is_allocated_or_promised_more_than_its_limit) {
  int at_their_limit = 0;
  for_random_inputs([&](const queue_stage_input& in) {
    const auto result = run_queue_stage(in);

    for (const auto& one : result.queues)
      for (const auto& line : one.lines)
        if (const auto limit = in.queues.at(one.queue).limit.find(line.resource);
            limit != in.queues.at(one.queue).limit.end()) {
          RC_ASSERT(line.allocated + line.preempting <= limit->second);
          at_their_limit += line.allocated == limit->second ? 1 : 0;
        }
  });
  EXPECT_GT(at_their_limit, 100);
}

TEST(queue_properties, running_again_while_victims_leave_changes_nothing) {
  for_random_inputs([](const queue_stage_input& in) {
    const auto first = run_queue_stage(in);
    const auto leaving = with_victims_leaving(in, first);

    const auto second = run_queue_stage(leaving);

    // Where more is guaranteed than there is, each has its part by what it uses of that.
    if (first.cuts.empty())
      RC_ASSERT(all_victims(second).empty());
    // Those who leave are no demand any more.
    if (all_victims(first).empty() || std::ranges::none_of(in.queues, [](const auto& one) {
          return one.second.cap_by_demand;
        }))
      RC_ASSERT(settle_queues(leaving) == statuses_of(first));
  });
}

TEST(queue_properties, running_again_when_victims_are_gone_chooses_nobody) {
  for_random_inputs([](const queue_stage_input& drawn) {
    // What is deserved must not change by that.
    auto in = drawn;
    for (auto& [name, q] : in.queues)
      q.cap_by_demand = false;
    for (auto& p : in.pods)
      if (in.queues.contains(p.queue) && std::ranges::any_of(in.queues, [&](const auto& one) {
            return one.second.parent == p.queue;
          }))
        p.queue.clear();
    in.pending.clear();
    const auto first = run_queue_stage(in);

    const auto second = run_queue_stage(with_victims_gone(in, first));

    RC_ASSERT(all_victims(second).empty());
  });
}

namespace {

queue_stage_input with_totals_for_pods(queue_stage_input in) {
  for (const auto& p : in.pods)
    if (takes_room(p.phase)) {
      auto& total = in.totals[p.queue];
      for (const auto& [resource, capacity] : in.capacity)
        (p.leaving() ? total.leaving : total.staying)[resource] += taken_of(p, resource);
    }
  in.pods.clear();
  return in;
}

bool frees_something(const queue_stage_result& result) {
  return std::ranges::any_of(result.queues, [](const queue_outcome& one) {
    return std::ranges::any_of(one.lines, [](const queue_line& line) { return line.to_free > 0; });
  });
}

} // namespace

TEST(queue_properties, totals_instead_of_pods_give_the_same_where_nobody_has_to_go) {
  int nobody_goes = 0;
  for_random_inputs([&](const queue_stage_input& drawn) {
    auto in = drawn;
    in.capacity["pods"] = 30;
    const auto listed = run_queue_stage(in);

    const auto summed = run_queue_stage(with_totals_for_pods(in));

    RC_ASSERT(frees_something(summed) == frees_something(listed));
    if (frees_something(listed))
      return;
    ++nobody_goes;
    RC_ASSERT(summed == listed);
  });
  EXPECT_GT(nobody_goes, 50);
}

TEST(queue_properties, the_order_of_the_pods_does_not_matter) {
  for_random_inputs([](const queue_stage_input& in) {
    auto other = in;
    other.pods = shuffled(in.pods);

    RC_ASSERT(run_queue_stage(other) == run_queue_stage(in));
    RC_ASSERT(settle_queues(other) == settle_queues(in));
  });
}

TEST(queue_properties, a_parent_has_the_sums_of_its_children) {
  for_random_inputs([](const queue_stage_input& in) {
    const auto result = run_queue_stage(in);

    for (const auto& parent : result.queues) {
      if (!is_parent(in, parent))
        continue;
      queue_status sums;
      std::int64_t deserved = 0;
      for (const auto& child : result.queues) {
        const bool own = child.own_pods && child.queue == parent.queue;
        if (!own && (child.own_pods || in.queues.at(child.queue).parent != parent.queue))
          continue;
        for (const auto& [resource, capacity] : in.capacity) {
          sums.allocated[resource] += amount_of(child.status.allocated, resource);
          sums.used[resource] += amount_of(child.status.used, resource);
          sums.preempting[resource] += amount_of(child.status.preempting, resource);
        }
        deserved += amount_of(child.status.deserved, "cpu");
      }
      RC_ASSERT(parent.status.allocated == sums.allocated);
      RC_ASSERT(parent.status.used == sums.used);
      RC_ASSERT(parent.status.preempting == sums.preempting);
      RC_ASSERT(deserved <= amount_of(parent.status.deserved, "cpu"));
    }
  });
}

} // namespace reprieve::tests
