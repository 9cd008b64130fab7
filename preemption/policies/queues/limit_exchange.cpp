#include "preemption/policies/queues/limit_exchange.hpp"

#include "preemption/problem/apportion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

namespace reprieve {

namespace {

constexpr auto no_limit = std::numeric_limits<std::int64_t>::max();
/// So many are looked at first who may go in the stead of one; more where they are not enough.
constexpr std::size_t looked_at_first = 32;

bool is_below(const queue_tree& tree, std::size_t vertex, std::size_t ancestor) {
  for (auto v = vertex; v != no_vertex; v = tree.vertices[v].parent)
    if (v == ancestor)
      return true;
  return false;
}

/// Whether more would have to go than may.
bool lacks(const queue_choice& of) {
  return std::ranges::any_of(of.lacked, [](std::int64_t amount) { return amount > 0; });
}

} // namespace

limit_exchange::changed_rows limit_exchange::run(std::vector<queue_choice>& by_row) {
  changed_.clear();
  bool any = false;
  for (std::size_t row = 0; row < table_.rows(); ++row)
    any = any || (!by_row[row].victims.empty() && has_limit_above(row));
  if (!any)
    return {};
  if (!shares_) {
    shares_.emplace(in_);
    find_exceeded();
  }
  if (exceeded_.empty())
    return {};
  begin(by_row);
  const auto& vertices = table_.tree().vertices;
  for (auto* one : going_in_turn(by_row))
    for (auto v = vertices[leaf_of(one->row)].parent; v != no_vertex; v = vertices[v].parent) {
      const auto limit = std::ranges::find(exceeded_, v, &exceeded_limit::vertex);
      if (limit != exceeded_.end() && spare_below(*limit, *one))
        break;
    }
  for (const auto& [row, gives_way] : changed_)
    rewrite(row, by_row[row]);
  return changed_;
}

bool limit_exchange::has_limit_above(std::size_t row) const {
  const auto& vertices = table_.tree().vertices;
  for (auto v = table_.leaf(row).parent; v != no_vertex; v = vertices[v].parent)
    if (!vertices[v].spec.limit.empty())
      return true;
  return false;
}

void limit_exchange::find_exceeded() {
  const auto& vertices = table_.tree().vertices;
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    if (vertices[v].spec.limit.empty() || vertices[v].leaf())
      continue;
    auto allowed = allowed_below(v);
    if (!std::ranges::equal(shares_->staying(v), allowed, std::less_equal{}))
      exceeded_.push_back({.vertex = v, .allowed = std::move(allowed)});
  }
}

limit_exchange::amounts_by_column limit_exchange::allowed_below(std::size_t vertex) const {
  const auto& limit = table_.tree().vertices[vertex].spec.limit;
  amounts_by_column most;
  for (const auto& name : table_.columns()) {
    const auto at = limit.find(name);
    most.push_back(at == limit.end() ? no_limit : at->second);
  }
  for (std::size_t row = 0; row < table_.rows(); ++row)
    if (is_below(table_.tree(), leaf_of(row), vertex))
      for (const auto* p : table_.pods(row))
        if (p->overdue && !p->leaving())
          for (std::size_t c = 0; c < most.size(); ++c)
            if (most[c] != no_limit)
              most[c] =
                narrowed(static_cast<wide_int>(most[c]) + taken_of(*p, table_.columns()[c]));
  return most;
}

/// Once a portion asks for them.
void limit_exchange::list_pods_below(exceeded_limit& of) {
  std::vector<const queue_pod*> pods;
  std::set<portion_id> overdue;
  for (std::size_t row = 0; row < table_.rows(); ++row)
    if (is_capped(row) && is_below(table_.tree(), leaf_of(row), of.vertex)) {
      portions(row);
      for (const auto* p : table_.pods(row)) {
        pods.push_back(p);
        if (p->overdue)
          overdue.insert(p->portion);
      }
    }
  of.on_their_way = count_on_their_way(pods);
  for (const auto& one : portions_in_order(pods, table_.columns()))
    if (!overdue.contains(one.id))
      of.in_order.push_back(by_id_.at(one.id));
}

std::vector<limit_exchange::known_portion>& limit_exchange::portions(std::size_t row) {
  const auto [at, fresh] = portions_.try_emplace(row);
  if (fresh) {
    for (auto& one : portions_in_order(table_.pods(row), table_.columns()))
      at->second.push_back({.is = std::move(one), .row = row, .number = at->second.size()});
    for (auto& one : at->second)
      by_id_.emplace(one.is.id, &one);
  }
  return at->second;
}

void limit_exchange::begin(const std::vector<queue_choice>& by_row) {
  after_ = shares_;
  going_.clear();
  for (auto& limit : exceeded_) {
    limit.first = 0;
    limit.in_vain.clear();
  }
  for (auto& [row, all] : portions_)
    for (auto& one : all) {
      one.told.reset();
      one.spared_by = no_vertex;
    }
  for (std::size_t row = 0; row < table_.rows(); ++row) {
    if (by_row[row].victims.empty())
      continue;
    portions(row);
    for (const auto& going : by_row[row].victims) {
      auto& one = *by_id_.at(going.portion);
      one.told = going;
      after_->release(leaf_of(row), one.is.holds);
      ++going_[one.is.resource_group];
    }
  }
}

/// Those who may be spared, the most important first; of equals those first who would go last.
std::vector<limit_exchange::known_portion*>
limit_exchange::going_in_turn(const std::vector<queue_choice>& by_row) {
  std::vector<known_portion*> found;
  for (auto& [row, all] : portions_)
    if (is_capped(row) && !lacks(by_row[row]))
      for (auto& one : all)
        if (one.told)
          found.push_back(&one);
  std::ranges::sort(found, [](const known_portion* a, const known_portion* b) {
    return std::tuple(b->is.priority, b->row, b->number)
           < std::tuple(a->is.priority, a->row, a->number);
  });
  return found;
}

/// Whether the portion stays, as others below the vertex go. What others of its row that hold as
/// much were refused is refused to it as well: it is no more important than they.
bool limit_exchange::spare_below(exceeded_limit& limit, known_portion& one) {
  if (limit.in_order.empty())
    list_pods_below(limit);
  auto& first = limit.first;
  while (first < limit.in_order.size() && limit.in_order[first]->told)
    ++first;
  if (first == limit.in_order.size() || limit.in_order[first]->is.priority >= one.is.priority
      || limit.in_vain.contains({one.row, one.is.holds}))
    return false;

  const auto leaf = leaf_of(one.row);
  after_->add(leaf, one.is.holds, 1);
  const auto others = choose_instead(limit, one);
  after_->release(leaf, one.is.holds);
  if (others) {
    for (const auto& going : others->victims) {
      const auto& other = *by_id_.at(going.portion);
      after_->release(leaf_of(other.row), other.is.holds);
    }
    if (may_use(one)) {
      after_->add(leaf, one.is.holds, 1);
      --going_[one.is.resource_group];
      one.told.reset();
      one.spared_by = limit.vertex;
      changed_.try_emplace(one.row, false);
      for (const auto& going : others->victims) {
        auto& other = *by_id_.at(going.portion);
        other.told = going;
        ++going_[other.is.resource_group];
        changed_[other.row] = true;
      }
      return true;
    }
    for (const auto& going : others->victims) {
      const auto& other = *by_id_.at(going.portion);
      after_->add(leaf_of(other.row), other.is.holds, 1);
    }
  }
  limit.in_vain.emplace(one.row, one.is.holds);
  return false;
}

std::optional<queue_choice> limit_exchange::choose_instead(const exceeded_limit& limit,
                                                           const known_portion& one) {
  auto on_their_way = limit.on_their_way;
  for (const auto& [group, portions] : going_)
    on_their_way[group] += portions;
  --on_their_way[one.is.resource_group];
  const amounts_by_column nothing(table_.columns().size());
  const quota_preemptor who{one.is.id.workload, one.is.priority, nothing, true};
  guarantee_keeper kept{*after_, leaf_of(one.row)};
  std::vector<queue_portion> some;
  auto next = limit.first;
  const auto are_left = [&] {
    return next < limit.in_order.size() && limit.in_order[next]->is.priority < one.is.priority;
  };
  for (auto most = looked_at_first;; most *= 4) {
    for (; are_left() && some.size() < most; ++next)
      if (const auto& other = *limit.in_order[next];
          !other.told && kept.lets_go(leaf_of(other.row), other.is.holds))
        some.push_back(other.is);
    auto choice = choose_victims({.queue = table_.tree().vertices[limit.vertex].spec.name,
                                  .resources = table_.columns(),
                                  .staying = after_->staying(limit.vertex),
                                  .allowed = limit.allowed,
                                  .limits = in_.limits,
                                  .recent_preemptions = in_.recent_preemptions,
                                  .on_their_way = on_their_way,
                                  .now = in_.now,
                                  .made_for = &who},
                                 some);
    if (!lacks(choice))
      return choice;
    if (!are_left())
      return std::nullopt;
  }
}

/// Whether its queue may use what the portion holds, beside those who stay.
bool limit_exchange::may_use(const known_portion& one) const {
  const auto leaf = leaf_of(one.row);
  const auto& holds = one.is.holds;
  if (after_->is_entitled(leaf, holds))
    return true;
  for (std::size_t c = 0; c < holds.size(); ++c) // of what is borrowed, a part may be taken back
    if (const auto base = after_->staying(leaf)[c], share = after_->deserved(leaf)[c];
        base < share && share < base + holds[c] && !after_->leaves_others_their_share(leaf, holds))
      return false;
  return after_->may_borrow(leaf, holds);
}

void limit_exchange::rewrite(std::size_t row, queue_choice& choice) const {
  choice.victims.clear();
  choice.freed.assign(table_.columns().size(), 0);
  choice.lacked.resize(table_.columns().size());
  std::vector<spared> stay;
  for (const auto& one : portions_.at(row)) {
    if (one.told) {
      choice.victims.push_back(*one.told);
      for (std::size_t c = 0; c < choice.freed.size(); ++c)
        choice.freed[c] += one.is.holds[c];
    } else if (one.spared_by != no_vertex) {
      stay.push_back({one.is.id, one.is.priority,
                      fmt::format("less important ones go below the limit of queue {}",
                                  table_.tree().vertices[one.spared_by].spec.name)});
    }
  }
  const auto goes = [&](const spared& one) { return by_id_.at(one.portion)->told.has_value(); };
  std::erase_if(choice.reprieved, goes);
  std::erase_if(choice.passed_over, goes);
  choice.reprieved.insert(choice.reprieved.begin(), stay.begin(), stay.end());
}

std::vector<std::string> with_who_share_limits(const queue_stage_input& in,
                                               std::span<const std::string> queues) {
  const queue_table table{in};
  const auto& tree = table.tree();
  std::set<std::string> found{queues.begin(), queues.end()};
  std::set<std::size_t> limited;
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (std::ranges::find(queues, table.leaf(row).spec.name) != queues.end())
      for (auto v = table.leaf(row).parent; v != no_vertex; v = tree.vertices[v].parent)
        if (!tree.vertices[v].spec.limit.empty())
          limited.insert(v);
  for (const auto v : limited)
    for (const auto leaf : tree.leaves)
      if (is_below(tree, leaf, v))
        found.insert(tree.vertices[leaf].spec.name);
  return {found.begin(), found.end()};
}

} // namespace reprieve
