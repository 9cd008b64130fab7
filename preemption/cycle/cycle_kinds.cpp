#include "preemption/cycle/cycle.hpp"
#include "preemption/cycle/leaf_finder.hpp"

#include <algorithm>
#include <limits>
#include <utility>

// Kinds for which a cycle has nothing: why they are set aside, and what brings them back.

namespace reprieve {

namespace {

/// Whose going costs least changes as they lose more work: others may go then who have room again.
constexpr std::chrono::seconds until_others_cost_less{30};

/// How many times the room is enough for the request, and no more than `most`.
template <class Room>
std::int64_t times_in(amounts request, Room room, std::int64_t most) {
  for (std::size_t c = 0; c < request.size() && most > 0; ++c)
    if (request[c] > 0)
      most = std::min(most, std::max<std::int64_t>(room(c), 0) / request[c]);
  return most;
}

/// How many pods with the request the node has room for, up to `most`, once everybody up to the
/// level has gone, and whoever is promised room there has given it up.
std::int64_t most_taken(const cluster_view& view, node_row n, amounts request, std::int64_t level,
                        std::int64_t most) {
  const auto promised = view.promised(n);
  const auto now = times_in(
    request, [&](std::size_t c) { return promised[c]; }, most);
  if (level == nobody_goes || now == most)
    return now;
  const auto steps = view.steps(n);
  const auto first = std::ranges::find_if(
    steps, [&](const priority_step& step) { return std::int64_t{step.priority} <= level; });
  const auto has = view.capacity(n);
  const auto then = [&](std::size_t c) {
    auto room = has[c];
    if (!steps.empty())
      room -= view.held_from(n, 0)[c];
    if (first != steps.end())
      room += view.held_from(n, static_cast<std::size_t>(first - steps.begin()))[c];
    return room;
  };
  return std::max(now, times_in(request, then, most));
}

bool could_take(const cluster_view& view, node_row n, amounts request, std::int64_t level) {
  return most_taken(view, n, request, level, 1) > 0;
}

/// Likewise of all nodes together: whether they have room for so many.
bool all_could_take(const cluster_view& view, amounts request, std::int64_t level,
                    std::int64_t pods) {
  for (node_row n = 0; n < view.node_rows() && pods > 0; ++n)
    if (view.present(n) && view.usable(n))
      pods -= most_taken(view, n, request, level, pods);
  return pods <= 0;
}

bool any_grew(const std::vector<std::int64_t>& now, const std::vector<std::int64_t>& before) {
  return now.size() != before.size() || !std::ranges::equal(now, before, std::ranges::less_equal{});
}

bool any_fell(const std::vector<std::int64_t>& now, const std::vector<std::int64_t>& before) {
  return !before.empty() && any_grew(before, now);
}

} // namespace

bool scheduling_cycle::sets_kinds_aside() const {
  return settings_.group.policy != group_policy::sessions && port_.sets_aside();
}

void scheduling_cycle::set_aside(const std::string& key, const waiting_line::kind& of) {
  const auto known = lines_.find(of.queue);
  if (known != lines_.end() && known->second.leaf != no_vertex)
    known->second.aside.push_back({key, asked_of(of)});
}

void scheduling_cycle::wake_kinds(const turn_of* behind) {
  const auto changed = port_.take_changes();
  const auto excess = shares_->excess();
  const auto scarce = shares_->scarce();
  const auto leaving = shares_->leaving();
  const auto before = std::exchange(entitled_, {});
  const auto over = port_.decisions_over();
  auto& waiting = port_.line();
  const auto settled = waiting.settled();
  leaf_finder leaves{*shares_};
  const auto woken = waiting.wake([&](const waiting_line::kind& of) {
    const auto leaf = leaves.of(of.queue);
    if (leaf == no_vertex || changed.rules)
      return true;
    const auto& asked = asked_of(of);
    const auto& was = *of.aside;
    if (behind == nullptr && was.others_promised)
      return true;
    const bool entitled = shares_->is_entitled(leaf, asked);
    if (entitled)
      entitled_.push_back({&of, leaf, *waiting_line::last_of(of)});
    if (behind == nullptr && was.behind_kept)
      return true;
    const bool crowded = entitled && shares_->anybody_uses_too_much(asked);
    if ((entitled && !was.entitled)
        || (crowded && (any_grew(excess, was.excess) || any_fell(scarce, was.scarce)))
        || (entitled && was.crowded && !crowded)) // less important ones may go by now
      return true;
    if (!was.may_borrow
        && (quota_eased(of, shares_->all_in_the_way(leaf, asked), changed)
            || (was.others_had_pods && !shares_->others_have_pods(leaf))
            || any_fell(leaving, was.leaving)))
      return true;
    // Less important ones below a limit may go for whoever is beyond it.
    if (was.may_borrow && !shares_->is_within_limits(leaf, asked))
      return true;
    if (was.others_lacked_room && (!changed.freed.empty() || settings_.now >= was.look_again))
      return true;
    if (!was.left_of_share.empty()
        && (shares_->leaves_others_their_share(leaf, asked)
            || shares_->left_at({leaf}) != was.left_of_share))
      return true;
    return could_help(of, changed.freed)
           || (was.decisions > settled && could_help(of, changed.arrived));
  });
  waiting.settle(over);
  if (behind == nullptr)
    return;
  for (auto& [queue, line] : lines_)
    line.nobody_entitled = false;
  line_up_passed_over(*behind);
  for (const auto& key : woken) {
    const auto& of = port_.line().all_kinds().find(key)->second;
    const auto leaf = shares_->leaf_of(of.queue);
    const auto& first = *of.units.begin();
    // Whoever is within what its queue deserves since somebody made room has its turn yet.
    const bool entitled =
      leaf == no_vertex || std::ranges::find(before, &of, &entitled_kind::of) != before.end();
    const auto own = entitled ? precedence::is_entitled
                     : std::ranges::any_of(before,
                                           [&](const entitled_kind& one) {
                                             return one.leaf == leaf && first.first < one.last;
                                           })
                       ? precedence::has_entitled
                       : precedence::others;
    const service_place* after = own == behind->before ? &behind->place : nullptr;
    const auto known = lines_.find(of.queue);
    const bool was_served = known != lines_.end() && known->second.passed == behind->place;
    if (own > behind->before && !was_served) {
      // Its turn would have been before, but for those who come after others of their queue.
      if (known == lines_.end() || known->second.heap.empty()) {
        port_.look_again(settings_.now);
        continue;
      }
      after = &known->second.heap.front().place;
    }
    auto& line = lines_[of.queue];
    // Those have had their turn that come before others of their queue which had theirs.
    if (line.passed && (after == nullptr || *after < *line.passed))
      after = &*line.passed;
    auto next =
      after != nullptr ? waiting_line::next_of(of, *after) : std::optional<placed_unit>{first};
    if (next) {
      line.leaf = leaf;
      line.heap.push_back({next->first, next->second, key});
      std::push_heap(line.heap.begin(), line.heap.end());
      look_at_front(line);
    } else {
      port_.look_again(settings_.now);
    }
  }
}

/// Whether one of the queue behind that place is within what it deserves, set aside or not.
bool scheduling_cycle::is_any_entitled(std::string_view queue, std::size_t leaf,
                                       const service_place& behind) {
  const auto is_entitled = [&](const service_place& last, const auto& asked) {
    return behind < last && shares_->is_entitled(leaf, asked);
  };
  for (const auto& [key, of] : port_.line().kinds_in(queue))
    if (const auto* last = waiting_line::last_of(of);
        last != nullptr && is_entitled(*last, asked_of(of)))
      return true;
  const auto& fresh = port_.line().fresh();
  const auto units = fresh.find(queue);
  return units != fresh.end() && std::ranges::any_of(units->second, [&](const auto& one) {
           return is_entitled(one.first, asked_by(*shares_, *one.second.who));
         });
}

/// Whether one of the nodes could take a pod of the kind once all have gone whom it may take.
bool scheduling_cycle::could_help(const waiting_line::kind& of,
                                  std::span<const node_row> nodes) const {
  if (nodes.empty())
    return false;
  const auto& view = port_.nodes();
  const auto& who = *of.units.begin()->second.who;
  const auto level = !who.may_preempt     ? nobody_goes
                     : of.aside->entitled ? std::numeric_limits<std::int64_t>::max()
                                          : std::int64_t{who.priority} - 1;
  const auto one_could = [&](amounts asked) {
    return std::ranges::any_of(nodes, [&](node_row n) {
      return n < view.node_rows() && view.present(n) && view.usable(n)
             && could_take(view, n, asked, level);
    });
  };
  const bool known = of.judged_on == port_.nodes_seen();
  const auto any_of_its_groups = [&](auto could) {
    for (std::size_t i = 0; i < who.groups.size(); ++i) {
      if (known && of.found.groups[i].size() == view.width()) {
        if (could(amounts{of.found.groups[i]}, who.groups[i]))
          return true;
        continue;
      }
      const auto asked = view.columns(who.groups[i].pods.front().requests);
      if (asked && could(amounts{*asked}, who.groups[i]))
        return true;
    }
    return false;
  };
  if (!any_of_its_groups([&](amounts asked, const wanted_group&) { return one_could(asked); }))
    return false;
  // A large gang costs much to plan: first all nodes are to have room for that many.
  return !any_of_its_groups([&](amounts asked, const wanted_group& group) {
    return group.needed > 1 && !all_could_take(view, asked, level, group.needed);
  });
}

/// Whether the quotas in the way are others by now, or one of them leaves more, or somebody could
/// give some of it back.
bool scheduling_cycle::quota_eased(const waiting_line::kind& of,
                                   std::span<const group_shares::obstacle> obstacles,
                                   const cycle_port::changes& changed) const {
  const auto& was = *of.aside;
  // Of a larger quota of which less is left, less important ones have the rest, who may go.
  const auto as_before = [&](const group_shares::obstacle& now,
                             const parked_reason::obstacle& before) {
    return now.limit == before.limit && shares_->at(now.vertex).spec.name == before.queue
           && !shares_->grew_since(now, before.allowed, before.left);
  };
  if (obstacles.empty() || !std::ranges::equal(obstacles, was.in_the_way, as_before))
    return true;
  const auto shares_it = [&](std::string_view queue) {
    const auto leaf = shares_->leaf_of(queue);
    return leaf != no_vertex && std::ranges::any_of(obstacles, [&](const auto& one) {
             return shares_->is_below(leaf, one.vertex);
           });
  };
  if (std::ranges::any_of(changed.lighter, shares_it))
    return true;
  if (was.decisions <= port_.line().settled())
    return false; // whoever came since then took what was free, and gives back no more
  const auto& who = *of.units.begin()->second.who;
  return std::ranges::any_of(changed.arrivals, [&](const auto& one) {
    return one.second < who.priority && shares_it(one.first);
  });
}

bool scheduling_cycle::may_park(const waiting_unit& unit) const {
  return sets_kinds_aside() && unit.record && !is_bound_to_a_node(*unit.who);
}

parked_reason scheduling_cycle::reason_to_park(const waiting_unit& unit,
                                               const judgement& made) const {
  const auto asked = asked_by(*shares_, *unit.who);
  parked_reason why;
  why.entitled = made.entitled;
  why.may_borrow = made.may_borrow;
  why.others_lacked_room = made.others_lack_room;
  if (made.others_lack_room) {
    why.look_again = settings_.now + until_others_cost_less;
    port_.look_again(why.look_again);
  }
  why.crowded = shares_->anybody_uses_too_much(asked);
  if (made.entitled) {
    why.excess = shares_->excess();
    why.scarce = shares_->scarce();
  }
  why.decisions = port_.decisions_made();
  if (const auto leaf = shares_->leaf_of(unit.queue()); leaf != no_vertex) {
    if (made.goes_with_more)
      why.left_of_share = shares_->left_at({leaf});
    why.others_had_pods = shares_->others_have_pods(leaf);
    if (!made.may_borrow)
      why.leaving = shares_->leaving();
    const auto obstacles = shares_->all_in_the_way(leaf, asked);
    why.behind_kept = made.entitled ? !kept_.empty() : is_kept_below(obstacles);
    for (const auto& one : obstacles)
      why.in_the_way.push_back({shares_->at(one.vertex).spec.name, one.limit,
                                shares_->allowed_at(one), shares_->left_at(one)});
  }
  why.others_promised = could_take_promised(unit, why);
  return why;
}

bool scheduling_cycle::is_kept_below(std::span<const group_shares::obstacle> obstacles) const {
  return std::ranges::any_of(kept_, [&](const kept_part& kept) {
    const auto leaf = shares_->leaf_of(kept.queue);
    return leaf != no_vertex && std::ranges::any_of(obstacles, [&](const auto& one) {
             return shares_->is_below(leaf, one.vertex);
           });
  });
}

void scheduling_cycle::note_promised(const waiting_unit& unit) {
  const auto [at, first] = promised_.try_emplace(std::string(unit.queue()), unit.who->priority);
  at->second = std::min(at->second, unit.who->priority);
}

/// Whoever is within what its queue deserves may take the room of others where no queue uses too
/// much; else of those who share a quota with it.
bool scheduling_cycle::could_take_promised(const waiting_unit& unit,
                                           const parked_reason& why) const {
  if (promised_.empty() || !unit.who->may_preempt)
    return false;
  const auto own = shares_->leaf_of(unit.queue());
  std::vector<std::size_t> quotas{own};
  if (own != no_vertex)
    for (const auto& one : shares_->limits_in_the_way(own, asked_by(*shares_, *unit.who)))
      quotas.push_back(one.vertex);
  return std::ranges::any_of(promised_, [&](const auto& one) {
    const auto leaf = shares_->leaf_of(one.first);
    return one.second < unit.who->priority
           && ((why.entitled && !why.crowded)
               || std::ranges::any_of(quotas, [&](std::size_t quota) {
                    return leaf != no_vertex && shares_->is_below(leaf, quota);
                  }));
  });
}

} // namespace reprieve
