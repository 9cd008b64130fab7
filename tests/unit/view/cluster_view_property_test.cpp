#include "tests/support/plain_room.hpp"
#include "tests/unit/view/view_history.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace reprieve {
namespace {

// -- portraits: all that can be read, by name ----------------------------------------------------

using portrait = std::map<std::string, std::string>;

std::string text_of(const resources& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts)
    if (amount != 0)
      text += fmt::format("{}={} ", name, amount);
  return text;
}

std::string text_of(const portion_card& c) {
  return fmt::format("priority {} pods {} start {} group {} evictable {}", c.priority, c.pods,
                     c.earliest_start.time_since_epoch().count(), c.group, c.evictable);
}

std::string text_of(time_point created, time_point started, time_point checkpointed) {
  return fmt::format("{} {} {}", created.time_since_epoch().count(),
                     started.time_since_epoch().count(), checkpointed.time_since_epoch().count());
}

/// Recomputes everything from plain objects, the slow and obvious way.
portrait draw(const plain_cluster& cluster) {
  const auto leaving = [](const pod& p) { return is_leaving(p.phase) || !p.evicted_by.empty(); };
  std::map<portion_id, std::vector<const pod*>> portions;
  for (const auto& [uid, p] : cluster.pods) {
    auto& of_portion = portions[portion_of(p)];
    if (!leaving(p))
      of_portion.push_back(&p);
  }
  std::map<portion_id, portion_card> cards;
  for (auto& [id, pods] : portions) {
    std::ranges::sort(pods, {}, [](const pod* p) { return std::tie(p->node, p->index, p->uid); });
    auto& card = cards[id];
    card.group = id.whole_replica();
    card.pods = static_cast<std::uint32_t>(pods.size());
    std::vector<time_point> starts;
    for (const auto* p : pods) {
      card.priority = p == pods.front() ? p->priority : std::max(card.priority, p->priority);
      card.evictable = card.evictable && !p->protected_member;
      if (p->started != no_time)
        starts.push_back(p->started);
    }
    if (!starts.empty())
      card.earliest_start = std::ranges::min(starts);
  }
  const auto rank = [&](const portion_id& id) {
    const auto& c = cards.at(id);
    const auto start = c.earliest_start == no_time ? time_point::max() : c.earliest_start;
    return std::tuple(-std::int64_t{c.priority}, !c.group, -std::int64_t{c.pods}, start, id);
  };

  portrait drawn;
  drawn["counts"] = fmt::format("{} nodes {} pods", cluster.nodes.size(), cluster.pods.size());
  for (const auto& [name, n] : cluster.nodes) {
    std::vector<const pod*> on;
    auto free = room_of(n);
    auto promised = room_of(n);
    std::string leave;
    for (const auto& [uid, p] : cluster.pods) {
      if (p.node != name)
        continue;
      for (const auto& [resource, amount] : taken_by(p.requests)) {
        free[resource] -= amount;
        promised[resource] -= leaving(p) ? 0 : amount;
      }
      if (leaving(p))
        leave += uid + " ";
      else if (p.phase != pod_phase::nominated)
        on.push_back(&p);
    }
    std::ranges::sort(on, {}, [&](const pod* p) {
      return std::tuple(rank(portion_of(*p)), std::string_view(p->uid));
    });
    std::string order;
    std::string steps;
    for (std::size_t first = 0; first < on.size(); ++first) {
      order += on[first]->uid + " ";
      const auto priority = cards.at(portion_of(*on[first])).priority;
      if (first > 0 && cards.at(portion_of(*on[first - 1])).priority == priority)
        continue;
      resources held;
      for (const auto* p : on)
        if (cards.at(portion_of(*p)).priority <= priority)
          for (const auto& [resource, amount] : taken_by(p->requests))
            held[resource] += amount;
      steps += fmt::format("[{} from {}: {}]", priority, first, text_of(held));
    }
    drawn["room of " + name] = fmt::format("{}/ {}/ {}/ usable {}", text_of(room_of(n)),
                                           text_of(free), text_of(promised), n.ready);
    drawn["pods on " + name] = order + "/ leaving: " + leave + "/ " + steps;
  }
  for (const auto& [uid, p] : cluster.pods) {
    std::string budgets;
    for (const auto& [name, b] : cluster.budgets)
      if (matches(b.match_labels, p.labels))
        budgets += name + " ";
    drawn["pod " + uid] = fmt::format(
      "{} {}/{} {} phase {} {} {} {} {} {} '{}' budgets {}", p.node, to_string(portion_of(p)),
      p.index, text_of(taken_by(p.requests)), static_cast<int>(p.phase), leaving(p), p.priority,
      p.daemon, p.opted_out, text_of(p.created, p.started, p.checkpointed), p.owner, budgets);
  }
  std::vector<portion_id> by_rank;
  for (const auto& [id, pods] : portions) {
    std::string uids;
    for (const auto* p : pods)
      uids += p->uid + " ";
    drawn["portion " + to_string(id)] = text_of(cards.at(id)) + ": " + uids;
    by_rank.push_back(id);
  }
  std::ranges::sort(by_rank, {}, rank);
  for (const auto& id : by_rank)
    drawn["portions in order"] += to_string(id) + " ";
  for (const auto& [name, b] : cluster.budgets) {
    std::int64_t expected = 0;
    std::int64_t running = 0;
    for (const auto& [uid, p] : cluster.pods) {
      if (!matches(b.match_labels, p.labels))
        continue;
      ++expected;
      running += !leaving(p) && (p.phase == pod_phase::running || p.phase == pod_phase::bound);
    }
    for (const auto& [labels, pods] : cluster.waiting)
      expected += matches(b.match_labels, labels) ? pods : 0;
    drawn["budget " + name] = std::to_string(disruptions_allowed(b, expected, running));
  }
  return drawn;
}

/// Reads everything from a settled view; the names to ask for come from the cluster.
portrait draw(const cluster_view& view, const plain_cluster& cluster) {
  const auto by_name = [&](std::span<const std::int64_t> row) {
    resources amounts;
    for (resource_column c = 0; c < view.width(); ++c)
      amounts.emplace(view.resource_name(c), row[c]);
    return text_of(amounts);
  };
  const auto uids = [&](std::span<const pod_row> rows) {
    std::string text;
    for (const auto p : rows)
      text += fmt::format("{} ", view.pod_uid(p));
    return text;
  };

  portrait drawn;
  drawn["counts"] = fmt::format("{} nodes {} pods", view.node_count(), view.pod_count());
  for (node_row n = 0; n < view.node_rows(); ++n) {
    if (!view.present(n))
      continue;
    const std::string name(view.node_name(n));
    RC_ASSERT(view.find_node(name) == n);
    std::string steps;
    for (std::size_t s = 0; s < view.steps(n).size(); ++s)
      steps += fmt::format("[{} from {}: {}]", view.steps(n)[s].priority, view.steps(n)[s].first,
                           by_name(view.held_from(n, s)));
    drawn["room of " + name] =
      fmt::format("{}/ {}/ {}/ usable {}", by_name(view.capacity(n)), by_name(view.free(n)),
                  by_name(view.promised(n)), view.usable(n));
    drawn["pods on " + name] =
      uids(view.pods_on(n)) + "/ leaving: " + uids(view.leaving_on(n)) + "/ " + steps;
  }
  std::vector<portion_row> portions;
  for (const auto& [uid, given] : cluster.pods) {
    const auto p = view.find_pod(uid);
    RC_ASSERT(p != no_row);
    portions.push_back(view.portion_of(p));
    std::string budgets;
    for (const auto b : view.budgets_of(p))
      budgets += view.budget_at(b).name + " ";
    drawn["pod " + uid] = fmt::format(
      "{} {}/{} {} phase {} {} {} {} {} {} '{}' budgets {}", view.node_name(view.node_of(p)),
      to_string(view.id_of(view.portion_of(p))), view.index_of(p), by_name(view.requests(p)),
      static_cast<int>(view.phase(p)), view.leaving(p), view.priority(p), view.is_daemon(p),
      view.opted_out(p), text_of(view.created(p), view.started(p), view.checkpointed(p)),
      view.owner(p), budgets);
  }
  std::ranges::sort(portions);
  portions.erase(std::ranges::unique(portions).begin(), portions.end());
  std::ranges::sort(portions,
                    [&](portion_row a, portion_row b) { return view.more_important(a, b); });
  for (const auto p : portions) {
    const auto id = view.id_of(p);
    RC_ASSERT(view.find_portion(id) == p);
    drawn["portion " + to_string(id)] = text_of(view.card(p)) + ": " + uids(view.pods_of(p));
    drawn["portions in order"] += to_string(id) + " ";
  }
  for (std::uint32_t b = 0; b < view.budget_rows(); ++b)
    drawn["budget " + view.budget_at(b).name] = std::to_string(view.disruptions_allowed(b));
  return drawn;
}

/// The first difference, so that a failure can be read.
void must_agree(const portrait& view, const portrait& plain) {
  for (const auto& [what, value] : plain) {
    const auto found = view.find(what);
    RC_ASSERT(found != view.end());
    if (found->second != value)
      RC_FAIL(fmt::format("{}: is '{}', should be '{}'", what, found->second, value));
  }
  RC_ASSERT(view.size() == plain.size());
}

TEST(view_property, reads_as_if_computed_from_scratch_after_any_changes) {
  ASSERT_TRUE(rc::check([] {
    cluster_view view;
    plain_cluster plain;
    for (const auto& step : *any_history()) {
      std::visit(changes_of{view, plain}, step);
      std::visit(plain, step);
      if (std::holds_alternative<settling>(step))
        must_agree(draw(view, plain), draw(plain));
    }
    view.settle();
    must_agree(draw(view, plain), draw(plain));
  }));
}

TEST(view_property, does_not_depend_on_the_order_in_which_things_came) {
  ASSERT_TRUE(rc::check([] {
    cluster_view changed;
    plain_cluster plain;
    for (const auto& step : *any_history()) {
      std::visit(changes_of{changed, plain}, step);
      std::visit(plain, step);
    }
    changed.settle();

    std::vector<operation> nodes;
    for (const auto& [name, n] : plain.nodes)
      nodes.emplace_back(n);
    std::vector<operation> others;
    for (const auto& [uid, p] : plain.pods)
      others.emplace_back(p);
    for (const auto& [name, b] : plain.budgets)
      others.emplace_back(b);
    for (const auto& [labels, pods] : plain.waiting)
      others.emplace_back(expectation{labels, pods});
    for (auto* list : {&nodes, &others}) {
      const auto keys =
        *rc::gen::container<std::vector<int>>(list->size(), rc::gen::arbitrary<int>());
      std::vector<std::pair<int, std::size_t>> shuffled;
      for (std::size_t i = 0; i < keys.size(); ++i)
        shuffled.emplace_back(keys[i], i);
      std::ranges::sort(shuffled);
      std::vector<operation> result;
      for (const auto& [key, i] : shuffled)
        result.push_back((*list)[i]);
      *list = std::move(result);
    }
    cluster_view fresh;
    for (const auto& list : {nodes, others})
      for (const auto& step : list)
        std::visit(changes_of{fresh, plain}, step);
    fresh.settle();
    must_agree(draw(fresh, plain), draw(changed, plain));
  }));
}

} // namespace
} // namespace reprieve
