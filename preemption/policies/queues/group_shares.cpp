#include "preemption/policies/queues/group_shares.hpp"

#include "preemption/policies/queues/queue_shares.hpp"
#include "preemption/problem/apportion.hpp"
#include "state/quantities/quantity.hpp"
#include "state/quantities/resource_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace reprieve {

namespace {

/// Of what a quota says nothing about there can be as much as there is.
constexpr auto no_limit = std::numeric_limits<std::int64_t>::max();

bool has_any(const group_shares::amounts_by_column& amounts) {
  return std::ranges::any_of(amounts, [](std::int64_t one) { return one > 0; });
}

} // namespace

resources capacity_to_share(const cluster_view& view) {
  std::vector<wide_int> sum(view.width());
  const auto count_pods = [&](std::span<const pod_row> pods) {
    for (const auto p : pods)
      for (std::size_t c = 0; c < sum.size(); ++c)
        sum[c] += view.requests(p)[c];
  };
  for (node_row n = 0; n < view.node_rows(); ++n) {
    if (!view.present(n))
      continue;
    if (!view.usable(n)) {
      count_pods(view.pods_on(n));
      count_pods(view.leaving_on(n));
      continue;
    }
    // Not by what is free now: room that is held beside those who leave is no overuse.
    const auto has = view.capacity(n);
    const auto left = view.promised(n);
    for (std::size_t c = 0; c < sum.size(); ++c)
      sum[c] += static_cast<wide_int>(has[c]) - std::min<std::int64_t>(left[c], 0);
  }
  resources total;
  for (std::size_t c = 0; c < sum.size(); ++c) {
    const auto name = view.resource_name(static_cast<resource_column>(c));
    // A node that does not say how many pods it takes takes any number.
    if (name != resource::pods || sum[c] < unlimited_pods)
      total[std::string(name)] = static_cast<std::int64_t>(std::min<wide_int>(sum[c], largest_sum));
  }
  return total;
}

group_shares::group_shares(const queue_stage_input& in) {
  const queue_table table{in};
  tree_ = table.tree();
  columns_.assign(table.columns().begin(), table.columns().end());
  capacity_ = columns_of(in.capacity);
  const auto vertices = tree_.vertices.size();
  const amounts_by_column none(columns_.size());
  deserved_.assign(vertices, none);
  staying_.assign(vertices, none);
  used_.assign(vertices, none);
  reserved_.assign(vertices, none);
  limits_.resize(vertices);
  for (std::size_t v = 0; v < vertices; ++v) {
    const auto& limit = tree_.vertices[v].spec.limit;
    if (limit.empty())
      continue;
    limits_[v].assign(columns_.size(), no_limit);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (const auto most = limit.find(columns_[c]); most != limit.end())
        limits_[v][c] = most->second;
  }
  for (const auto v : tree_.leaves)
    leaf_of_[tree_.vertices[v].spec.name] = v;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto accounts = table.accounts(c);
    units_.push_back(unit_of(in, columns_[c]));
    const auto demand = table.demand(c, accounts);
    wide_int asked = 0;
    for (const auto v : tree_.leaves)
      asked += demand[v];
    scarce_.push_back(asked > capacity_[c]);
    const auto shares = deserved_shares(tree_, columns_[c], capacity_[c], demand, units_[c]);
    for (std::size_t v = 0; v < vertices; ++v)
      deserved_[v][c] = shares.deserved[v];
    for (std::size_t row = 0; row < accounts.size(); ++row)
      used_[tree_.leaves[row]][c] = accounts[row].used;
    for (std::size_t row = 0; row < accounts.size(); ++row)
      for (auto v = tree_.leaves[row]; v != no_vertex; v = tree_.vertices[v].parent)
        staying_[v][c] += accounts[row].staying;
    std::vector<std::int64_t> below(vertices);
    for (auto v = vertices; v-- > 0;) {
      reserved_[v][c] = reserve_of(v, c, tree_.vertices[v].leaf() ? staying_[v][c] : below[v]);
      if (const auto parent = tree_.vertices[v].parent; parent != no_vertex)
        below[parent] += reserved_[v][c];
    }
  }
}

group_shares::amounts_by_column group_shares::columns_of(const resources& amounts) const {
  amounts_by_column found;
  found.reserve(columns_.size());
  for (const auto& name : columns_)
    found.push_back(amount_of(amounts, name));
  return found;
}

std::size_t group_shares::leaf_of(std::string_view queue) const {
  const auto* found = find(leaf_of_, queue);
  return found == nullptr ? no_vertex : *found;
}

/// A queue that is not capped by its demand keeps all that it deserves; others what they are
/// guaranteed.
std::int64_t group_shares::reserve_of(std::size_t vertex, std::size_t column,
                                      std::int64_t below) const {
  const auto& spec = tree_.vertices[vertex].spec;
  const auto deserved = deserved_[vertex][column];
  const auto own = spec.cap_by_demand
                     ? std::min(amount_of(spec.guaranteed, columns_[column]), deserved)
                     : deserved;
  return std::max(own, below);
}

bool group_shares::is_alone(std::size_t leaf) const {
  for (auto v = leaf; v != no_vertex; v = tree_.vertices[v].parent) {
    if (!tree_.vertices[v].spec.cap_by_demand)
      return false;
    const auto parent = tree_.vertices[v].parent;
    const auto& siblings = parent == no_vertex ? tree_.top : tree_.vertices[parent].children;
    // One that is not capped by its demand has its part of whatever comes to those above it.
    for (const auto other : siblings)
      if (other != v
          && (!tree_.vertices[other].spec.cap_by_demand || has_any(reserved_[other])
              || has_any(deserved_[other])))
        return false;
  }
  return true;
}

bool group_shares::is_entitled(std::size_t leaf, const amounts_by_column& more) const {
  if (is_alone(leaf))
    return is_within_limits(leaf, more);
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (more[c] > 0 && staying_[leaf][c] + more[c] > deserved_[leaf][c])
      return false;
  return is_within_limits(leaf, more);
}

bool group_shares::could_deserve(std::size_t leaf, const amounts_by_column& all) const {
  if (is_alone(leaf))
    return true;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (all[c] > deserved_[leaf][c])
      return false;
  return true;
}

bool group_shares::leaves_room_for_others(std::size_t leaf, std::size_t column,
                                          std::int64_t more) const {
  // What the way up to the top reserves with so much more; everything beside it stays.
  auto grows = more;
  for (auto v = leaf; v != no_vertex; v = tree_.vertices[v].parent) {
    const auto& spec = tree_.vertices[v].spec;
    if (!spec.cap_by_demand && staying_[v][column] + more > deserved_[v][column])
      return false;
    auto below = staying_[v][column] + more;
    if (!tree_.vertices[v].leaf()) {
      below = grows;
      for (const auto child : tree_.vertices[v].children)
        below += reserved_[child][column];
    }
    grows = reserve_of(v, column, below) - reserved_[v][column];
    // A queue that keeps what it deserves keeps it for all below it.
    if (!tree_.vertices[v].leaf() && !spec.cap_by_demand && below > deserved_[v][column])
      return false;
  }
  wide_int all = grows;
  for (const auto v : tree_.top)
    all += reserved_[v][column];
  return all <= capacity_[column];
}

/// Whether the queue stage would leave everybody what they have now, and the leaf so much more, if
/// nobody else asked for anything (`kept_shares`): now, when pods that leave count as they do
/// there, and when they have gone.
bool group_shares::may_be_kept(std::size_t leaf, std::size_t column, std::int64_t more) const {
  wide_int leaving = 0;
  for (const auto v : tree_.leaves)
    leaving += used_[v][column] - staying_[v][column];
  return may_be_kept_of(used_, leaf, column, more)
         && (leaving == 0 || may_be_kept_of(staying_, leaf, column, more));
}

bool group_shares::may_be_kept_of(const std::vector<amounts_by_column>& by, std::size_t leaf,
                                  std::size_t column, std::int64_t more) const {
  wide_int all = more;
  wide_int leaving = 0;
  bool plain = true;
  for (const auto& one : tree_.vertices)
    plain = plain && one.spec.cap_by_demand;
  std::vector<std::int64_t> used(tree_.vertices.size());
  for (const auto v : tree_.leaves) {
    used[v] = by[v][column];
    all += used[v];
    leaving += used[v] - staying_[v][column];
  }
  // Where there is enough for all, nobody is brought down, and limits are looked at by themselves.
  if (plain && all <= capacity_[column])
    return true;
  const auto twice = std::clamp<wide_int>(all - more - capacity_[column], 0, leaving);
  const auto kept_now = [&] {
    return kept_shares(tree_, columns_[column], narrowed(capacity_[column] + twice), used,
                       units_[column]);
  };
  const auto before = kept_now();
  used[leaf] += more;
  const auto after = kept_now();
  return std::ranges::all_of(tree_.leaves, [&](std::size_t v) {
    const auto stays = staying_[v][column];
    const auto deserved = deserved_[v][column];
    if (v == leaf)
      return stays + more <= std::max(after[v], deserved);
    return !tree_.vertices[v].spec.cap_by_demand || stays <= std::max(after[v], deserved)
           || stays > std::max(before[v], deserved);
  });
}

/// As the queue stage would find it: while pods leave, the more of what it keeps with them and
/// without them.
std::int64_t group_shares::keeps(std::size_t leaf, std::size_t column) const {
  const auto deserved = deserved_[leaf][column];
  const auto stays = staying_[leaf][column];
  if (stays <= deserved || !tree_.vertices[leaf].spec.cap_by_demand)
    return deserved;
  std::vector<std::int64_t> used(tree_.vertices.size());
  auto staying = used;
  wide_int all = 0;
  wide_int leaving = 0;
  for (const auto v : tree_.leaves) {
    used[v] = used_[v][column];
    staying[v] = staying_[v][column];
    all += used[v];
    leaving += used[v] - staying[v];
  }
  const auto capacity = capacity_[column];
  const auto twice = std::clamp<wide_int>(all - capacity, 0, leaving);
  const auto kept = [&](wide_int more, const std::vector<std::int64_t>& by) {
    return kept_shares(tree_, columns_[column], narrowed(capacity + more), by, units_[column],
                       more > 0 ? share_rounding::upwards : share_rounding::exact)[leaf];
  };
  auto most = kept(twice, used);
  if (leaving > 0)
    most = std::max(most, kept(0, staying));
  return std::max(deserved, std::min(stays, most));
}

bool group_shares::may_borrow(std::size_t leaf, const amounts_by_column& more) const {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (more[c] > 0 && !leaves_room_for_others(leaf, c, more[c]))
      return false;
  if (tree_.vertices[leaf].spec.cap_by_demand)
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (more[c] > 0 && !may_be_kept(leaf, c, more[c]))
        return false;
  return is_within_limits(leaf, more);
}

std::int64_t group_shares::most_to_borrow(std::size_t leaf, std::size_t column,
                                          std::int64_t asked) const {
  amounts_by_column more(columns_.size());
  const auto unit = units_[column];
  std::int64_t may = 0;
  auto may_not = asked / unit + 1;
  while (may + 1 < may_not) {
    const auto half = may + (may_not - may) / 2;
    more[column] = half * unit;
    (may_borrow(leaf, more) ? may : may_not) = half;
  }
  return may * unit;
}

bool group_shares::leaves_others_their_share(std::size_t leaf,
                                             const amounts_by_column& more) const {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (more[c] == 0)
      continue;
    wide_int all = more[c];
    for (const auto v : tree_.leaves)
      all += v == leaf ? staying_[v][c] : std::max(staying_[v][c], deserved_[v][c]);
    if (all > capacity_[c])
      return false;
  }
  return true;
}

bool group_shares::has_room_for(const amounts_by_column& more) const {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    wide_int all = more[c];
    for (const auto v : tree_.top)
      all += staying_[v][c];
    if (more[c] > 0 && all > capacity_[c])
      return false;
  }
  return true;
}

std::vector<group_shares::obstacle>
group_shares::limits_in_the_way(std::size_t leaf, const amounts_by_column& more) const {
  std::vector<obstacle> found;
  for (auto v = leaf; v != no_vertex; v = tree_.vertices[v].parent)
    for (std::size_t c = 0; c < limits_[v].size(); ++c)
      if (exceeds_limit(v, c, more[c]))
        found.push_back({v, true, more[c] > limits_[v][c], c, limits_[v][c]});
  return found;
}

bool group_shares::is_within_limits(std::size_t leaf, const amounts_by_column& more) const {
  for (auto v = leaf; v != no_vertex; v = tree_.vertices[v].parent)
    for (std::size_t c = 0; c < limits_[v].size(); ++c)
      if (exceeds_limit(v, c, more[c]))
        return false;
  return true;
}

bool group_shares::exceeds_limit(std::size_t vertex, std::size_t column, std::int64_t more) const {
  const auto limit = limits_[vertex][column];
  return limit != no_limit && more > 0 && staying_[vertex][column] + more > limit;
}

bool group_shares::is_limited(std::size_t leaf) const {
  for (auto v = leaf; v != no_vertex; v = tree_.vertices[v].parent)
    if (!tree_.vertices[v].spec.limit.empty())
      return true;
  return false;
}

bool group_shares::is_within_limits_with_all(std::size_t leaf, const amounts_by_column& asked,
                                             const amounts_by_column* more) const {
  for (auto v = leaf; v != no_vertex; v = tree_.vertices[v].parent)
    for (std::size_t c = 0; c < limits_[v].size(); ++c) {
      if (limits_[v][c] == no_limit || asked[c] == 0)
        continue;
      wide_int all = more == nullptr ? 0 : (*more)[c];
      for (const auto other : tree_.leaves)
        if (is_below(other, v))
          all += used_[other][c];
      if (all > limits_[v][c])
        return false;
    }
  return true;
}

std::optional<group_shares::obstacle>
group_shares::share_in_the_way(std::size_t leaf, const amounts_by_column& more) const {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (more[c] > 0 && staying_[leaf][c] + more[c] > deserved_[leaf][c])
      return obstacle{leaf, false, false, c, std::max(deserved_[leaf][c], staying_[leaf][c])};
  return std::nullopt;
}

std::vector<group_shares::obstacle>
group_shares::all_in_the_way(std::size_t leaf, const amounts_by_column& more) const {
  auto found = limits_in_the_way(leaf, more);
  found.erase(std::ranges::unique(found, {}, &obstacle::vertex).begin(), found.end());
  if (found.empty() && (is_entitled(leaf, more) || may_borrow(leaf, more)))
    return found;
  if (const auto share = share_in_the_way(leaf, more))
    found.push_back(*share);
  return found;
}

group_shares::amounts_by_column group_shares::allowed_at(const obstacle& one) const {
  if (!one.limit)
    return deserved_[one.vertex];
  const auto& limits = limits_[one.vertex];
  return limits.empty() ? amounts_by_column(columns_.size(), no_limit) : limits;
}

group_shares::amounts_by_column group_shares::left_at(const obstacle& one) const {
  auto left = allowed_at(one);
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (left[c] < no_limit)
      left[c] -= staying_[one.vertex][c];
  return left;
}

bool group_shares::grew_since(const obstacle& one, const amounts_by_column& allowed,
                              const amounts_by_column& left) const {
  if (allowed.size() != columns_.size() || left.size() != columns_.size())
    return true;
  const auto& limits = limits_[one.vertex];
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto now = !one.limit ? deserved_[one.vertex][c] : !limits.empty() ? limits[c] : no_limit;
    const auto left_now = now < no_limit ? now - staying_[one.vertex][c] : now;
    if (now > allowed[c] || left_now > left[c])
      return true;
  }
  return false;
}

std::string group_shares::sentence_of(const obstacle& one, const amounts_by_column& more) const {
  const auto& name = tree_.vertices[one.vertex].spec.name;
  const auto& resource = columns_[one.column];
  const auto amount = [&](std::int64_t of) { return format_quantity(of, resource); };
  if (one.for_ever)
    return fmt::format("queue {} has a limit of {} {} here, and {} are asked for at once", name,
                       amount(one.allowed), resource, amount(more[one.column]));
  return fmt::format("queue {} {} {} {} here, {} are taken and {} more are asked for", name,
                     one.limit ? "has a limit of" : "deserves",
                     amount(one.limit ? one.allowed : deserved_[one.vertex][one.column]), resource,
                     amount(staying_[one.vertex][one.column]), amount(more[one.column]));
}

bool group_shares::uses_too_much(std::size_t leaf, const amounts_by_column& of) const {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (of[c] > 0 && staying_[leaf][c] > deserved_[leaf][c])
      return true;
  return false;
}

bool group_shares::anybody_uses_too_much(const amounts_by_column& of) const {
  return std::ranges::any_of(tree_.leaves,
                             [&](std::size_t leaf) { return uses_too_much(leaf, of); });
}

bool group_shares::anybody_uses_too_much() const {
  return anybody_uses_too_much(amounts_by_column(columns_.size(), 1));
}

std::vector<std::int64_t> group_shares::excess() const {
  std::vector<std::int64_t> found;
  found.reserve(tree_.leaves.size() * columns_.size());
  for (const auto leaf : tree_.leaves)
    for (std::size_t c = 0; c < columns_.size(); ++c)
      found.push_back(std::max<std::int64_t>(staying_[leaf][c] - deserved_[leaf][c], 0));
  return found;
}

group_shares::amounts_by_column group_shares::leaving() const {
  amounts_by_column found(columns_.size());
  for (const auto leaf : tree_.leaves)
    for (std::size_t c = 0; c < columns_.size(); ++c)
      found[c] += used_[leaf][c] - staying_[leaf][c];
  return found;
}

bool group_shares::others_have_pods(std::size_t leaf) const {
  return std::ranges::any_of(tree_.leaves, [&](std::size_t other) {
    return other != leaf
           && std::ranges::any_of(staying_[other], [](std::int64_t used) { return used > 0; });
  });
}

bool group_shares::is_below(std::size_t vertex, std::size_t ancestor) const {
  for (auto v = vertex; v != no_vertex; v = tree_.vertices[v].parent)
    if (v == ancestor)
      return true;
  return false;
}

std::int64_t group_shares::guaranteed(std::size_t vertex, std::size_t column) const {
  return amount_of(tree_.vertices[vertex].spec.guaranteed, columns_[column]);
}

void group_shares::add(std::size_t leaf, const amounts_by_column& amounts, std::int64_t sign) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (amounts[c] == 0)
      continue;
    used_[leaf][c] += sign > 0 ? amounts[c] : 0; // who leaves is there until it has gone
    for (auto v = leaf; v != no_vertex; v = tree_.vertices[v].parent) {
      staying_[v][c] += sign * amounts[c];
      auto below = staying_[v][c];
      if (!tree_.vertices[v].leaf()) {
        below = 0;
        for (const auto child : tree_.vertices[v].children)
          below += reserved_[child][c];
      }
      reserved_[v][c] = reserve_of(v, c, below);
    }
  }
}

void group_shares::release(std::size_t leaf, const amounts_by_column& amounts) {
  add(leaf, amounts, -1);
  for (std::size_t c = 0; c < columns_.size(); ++c)
    used_[leaf][c] -= amounts[c];
}

bool guarantee_keeper::lets_go(std::size_t leaf, const group_shares::amounts_by_column& holds) {
  if (leaf == own_)
    return true;
  std::vector<group_shares::amounts_by_column*> changed;
  for (auto v = leaf; v != no_vertex && !shares_.is_below(own_, v); v = shares_.at(v).parent) {
    auto& left = left_.try_emplace(v, shares_.staying(v)).first->second;
    for (std::size_t c = 0; c < left.size(); ++c)
      if (holds[c] > 0 && left[c] - holds[c] < shares_.guaranteed(v, c))
        return false;
    changed.push_back(&left);
  }
  for (auto* left : changed)
    for (std::size_t c = 0; c < left->size(); ++c)
      (*left)[c] -= holds[c];
  return true;
}

} // namespace reprieve
