#include "preemption/cycle/cycle.hpp"
#include "preemption/cycle/leaf_finder.hpp"
#include "preemption/problem/apportion.hpp"
#include "preemption/waiting/ever_runs.hpp"
#include "preemption/waiting/wait_reason.hpp"
#include "state/model/queue_limits.hpp"

#include <deque>
#include <utility>

// What a cycle shares out: the demand of those whom limits and nodes could ever admit.

namespace reprieve {

namespace {

void add_demand(by_name<resources>& to, const by_name<resources>& more) {
  for (const auto& [queue, amounts] : more)
    add_to(to[queue], amounts);
}

} // namespace

/// What waits, by queue, as far as its own queue and the nodes could ever admit it: nothing else
/// counts as demand (docs/policies.md#queues). A unit that is larger than all that its queue would
/// deserve deserves it in vain: others may have it. What the queue's pods use does not matter here,
/// as shares would change with who runs, and whoever gained by it would have to go again. Where
/// queues share, they are shared out by it afterwards.
by_name<resources> scheduling_cycle::real_demand(queue_stage_input& in) {
  shares_.reset();
  auto& line = port_.line();
  const auto beside = in.pending;
  if (line.asked().empty() || in.queues.size() < 2) {
    add_demand(in.pending, line.asked());
    return in.pending;
  }
  std::vector<std::string> columns;
  for (const auto& [name, amount] : in.capacity)
    columns.push_back(name);
  const auto by_column = [&](const resources& amounts) {
    group_shares::amounts_by_column found;
    for (const auto& name : columns)
      found.push_back(amount_of(amounts, name));
    return found;
  };
  line.judge_kinds(port_.nodes_seen(), columns, [&](const waiting_line::kind& of) {
    const auto& who = *of.units.begin()->second.who;
    const auto& view = port_.nodes();
    waiting_line::kind::finding found{
      could_ever_run(view, who), asked_by(columns, who), by_column(of.wanted), {}};
    for (const auto& group : who.groups)
      found.groups.push_back(
        view.columns(group.pods.front().requests).value_or(std::vector<std::int64_t>{}));
    return found;
  });
  std::vector<wish> wishes;
  std::deque<group_shares::amounts_by_column> kept;
  const auto wish_of = [&](const waiting_unit& unit, const resources& each, std::int64_t units) {
    const auto& asked = kept.emplace_back(asked_by(columns, *unit.who));
    wishes.push_back({unit.queue(), &asked, &kept.emplace_back(by_column(each)), units});
  };
  for (const auto& [queue, units] : line.fresh())
    for (const auto& [place, unit] : units)
      if (!queue.empty() && ever_runs(unit))
        wish_of(unit, demand_of(*unit.who), unit.run ? unit.run->size() : 1);
  for (const auto& [key, kind] : line.all_kinds())
    if (!kind.units.empty() && kind.found.ever_runs)
      wishes.push_back({kind.queue, &kind.found.asked, &kind.found.wanted, kind.count});
  line.each_asleep([&](const waiting_unit& unit, const resources& each, std::int64_t units) {
    if (unit.record && ever_runs(unit))
      wish_of(unit, each, units);
  });
  for (bool changed = true; changed;) {
    in.pending = beside;
    add_wishes(in.pending, columns, wishes);
    shares_.emplace(in);
    leaf_finder leaves{*shares_};
    const auto in_vain = [&](const wish& one) {
      const auto leaf = leaves.of(one.queue);
      return leaf == no_vertex || !shares_->could_deserve(leaf, *one.asked);
    };
    changed = std::erase_if(wishes, in_vain) > 0;
  }
  return in.pending;
}

void scheduling_cycle::add_wishes(by_name<resources>& to, std::span<const std::string> columns,
                                  std::span<const wish> wishes) {
  std::vector<wide_int> sum(columns.size());
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const auto& one = wishes[i];
    for (std::size_t c = 0; c < sum.size(); ++c)
      sum[c] += static_cast<wide_int>((*one.each)[c]) * one.units;
    if (i + 1 < wishes.size() && wishes[i + 1].queue == one.queue)
      continue;
    auto& total = to[std::string(one.queue)];
    for (std::size_t c = 0; c < sum.size(); ++c)
      if (const auto more = std::exchange(sum[c], 0); more > 0)
        add_to(total, resources{{columns[c], narrowed(more)}});
  }
}

bool scheduling_cycle::ever_runs(const waiting_unit& unit) const {
  auto key = kind_of(unit);
  if (!key)
    return could_ever_run(port_.nodes(), *unit.who);
  const auto [at, fresh] = ever_runs_.try_emplace(*std::move(key), false);
  if (fresh)
    at->second = could_ever_run(port_.nodes(), *unit.who);
  return at->second;
}

const group_shares::amounts_by_column& scheduling_cycle::asked_of(const waiting_line::kind& of) {
  if (of.judged_on == port_.nodes_seen() && of.found.asked.size() == shares_->columns().size())
    return of.found.asked;
  asked_ = asked_by(*shares_, *of.units.begin()->second.who);
  return asked_;
}

void scheduling_cycle::share_out(queue_stage_input& in) {
  in.pending = demand_;
  shares_.emplace(in);
}

} // namespace reprieve
