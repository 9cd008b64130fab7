#include "preemption/limit_exchange.hpp"

#include "preemption/apportion.hpp"
#include "preemption/group_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace reprieve {

namespace {

using amounts_by_column = group_shares::amounts_by_column;

constexpr auto no_limit = std::numeric_limits<std::int64_t>::max();

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

/// Who stays and who goes while portions are exchanged.
class exchange {
public:
  exchange(const queue_stage_input& in, const queue_table& table, std::vector<queue_choice>& by_row)
      : in_(in), table_(table), by_row_(by_row), shares_(in) {
    for (std::size_t row = 0; row < table_.rows(); ++row)
      for (auto& one : portions_in_order(table_.pods(row), table_.columns())) {
        auto id = one.id;
        portions_.emplace(std::move(id), known_portion{row, portions_.size(), std::move(one)});
      }
    for (const auto& choice : by_row_)
      for (const auto& one : choice.victims)
        going_.insert(one.portion);
  }

  std::set<std::size_t> run() && {
    std::vector<const known_portion*> in_turn;
    for (const auto& id : going_)
      in_turn.push_back(&portions_.at(id));
    std::ranges::sort(in_turn, [](const known_portion* a, const known_portion* b) {
      return std::pair(-std::int64_t{a->is.priority}, b->number)
             < std::pair(-std::int64_t{b->is.priority}, a->number);
    });
    for (const auto* one : in_turn)
      if (is_capped(one->row) && !lacks(by_row_[one->row]))
        spare(*one);
    return std::move(changed_);
  }

private:
  struct known_portion {
    std::size_t row = 0;
    std::size_t number = 0; ///< in the order in which those of a row go
    queue_portion is;
  };

  bool is_capped(std::size_t row) const {
    return table_.leaf(row).spec.cap_by_demand;
  }
  std::size_t leaf_of(std::size_t row) const {
    return table_.tree().leaves[row];
  }

  void spare(const known_portion& one) {
    const auto& vertices = table_.tree().vertices;
    for (auto v = vertices[leaf_of(one.row)].parent; v != no_vertex; v = vertices[v].parent)
      if (is_exceeded(v) && spare_below(v, one))
        return;
  }

  amounts_by_column limit_of(std::size_t vertex) const {
    amounts_by_column most;
    for (const auto& name : table_.columns()) {
      const auto& limit = table_.tree().vertices[vertex].spec.limit;
      const auto at = limit.find(name);
      most.push_back(at == limit.end() ? no_limit : at->second);
    }
    return most;
  }

  bool is_exceeded(std::size_t vertex) const {
    return !std::ranges::equal(shares_.staying(vertex), limit_of(vertex),
                               std::ranges::less_equal{});
  }

  /// Whether the portion stays, as others below the vertex go.
  bool spare_below(std::size_t vertex, const known_portion& one) {
    auto then = shares_;
    for (const auto& id : going_)
      if (id != one.is.id)
        leave(then, portions_.at(id));
    const auto others = choose_instead(vertex, one, then);
    if (!others)
      return false;
    for (const auto& victim : others->victims)
      leave(then, portions_.at(victim.portion));
    leave(then, one);
    if (!may_use(then, one))
      return false;
    take(vertex, one, *others);
    return true;
  }

  void leave(group_shares& shares, const known_portion& one) const {
    shares.release(leaf_of(one.row), one.is.holds);
  }

  std::optional<queue_choice> choose_instead(std::size_t vertex, const known_portion& one,
                                             const group_shares& then) const {
    std::vector<const queue_pod*> pods;
    for (std::size_t row = 0; row < table_.rows(); ++row)
      if (is_capped(row) && is_below(table_.tree(), leaf_of(row), vertex))
        pods.insert(pods.end(), table_.pods(row).begin(), table_.pods(row).end());
    auto candidates = portions_in_order(pods, table_.columns());
    auto left = then;
    std::erase_if(candidates, [&](const queue_portion& other) {
      return other.priority >= one.is.priority || going_.contains(other.id)
             || !keeps_guarantee(left, one.row, portions_.at(other.id));
    });
    auto on_their_way = count_on_their_way(pods);
    for (const auto& id : going_)
      if (id != one.is.id)
        ++on_their_way[portions_.at(id).is.resource_group];
    const amounts_by_column nothing(table_.columns().size());
    const quota_preemptor who{one.is.id.workload, one.is.priority, nothing, true};
    auto choice = choose_victims({.queue = table_.tree().vertices[vertex].spec.name,
                                  .resources = table_.columns(),
                                  .staying = then.staying(vertex),
                                  .allowed = limit_of(vertex),
                                  .limits = in_.limits,
                                  .preempted_lately = in_.preempted_lately,
                                  .on_their_way = on_their_way,
                                  .now = in_.now,
                                  .made_for = &who},
                                 candidates);
    if (lacks(choice))
      return std::nullopt;
    return choice;
  }

  /// Whether another queue has what it is guaranteed once the portion and those before it have
  /// gone, which counts as gone then.
  bool keeps_guarantee(group_shares& left, std::size_t own, const known_portion& other) const {
    const auto leaf = leaf_of(other.row);
    if (other.row != own)
      for (std::size_t c = 0; c < other.is.holds.size(); ++c)
        if (other.is.holds[c] > 0
            && left.staying(leaf)[c] - other.is.holds[c] < left.guaranteed(leaf, c))
          return false;
    leave(left, other);
    return true;
  }

  /// Whether its queue may use what the portion holds, beside those who stay.
  bool may_use(const group_shares& then, const known_portion& one) const {
    const auto leaf = leaf_of(one.row);
    const auto& holds = one.is.holds;
    if (then.is_entitled(leaf, holds))
      return true;
    for (std::size_t c = 0; c < holds.size(); ++c) // of what is borrowed, a part may be taken back
      if (const auto base = then.staying(leaf)[c], share = then.deserved(leaf)[c];
          base < share && share < base + holds[c] && !then.leaves_others_their_share(leaf, holds))
        return false;
    return then.may_borrow(leaf, holds);
  }

  void take(std::size_t vertex, const known_portion& one, const queue_choice& others) {
    auto& own = by_row_[one.row];
    std::erase_if(own.victims, [&](const victim& v) { return v.portion == one.is.id; });
    going_.erase(one.is.id);
    own.reprieved.insert(own.reprieved.begin(),
                         {one.is.id, one.is.priority,
                          fmt::format("less important ones go below the limit of queue {}",
                                      table_.tree().vertices[vertex].spec.name)});
    change(own, one, -1);
    for (const auto& victim : others.victims) {
      const auto& other = portions_.at(victim.portion);
      auto& choice = by_row_[other.row];
      choice.victims.push_back(victim);
      going_.insert(victim.portion);
      std::erase_if(choice.reprieved, [&](const spared& s) { return s.portion == victim.portion; });
      std::erase_if(choice.passed_over,
                    [&](const spared& s) { return s.portion == victim.portion; });
      change(choice, other, 1);
      std::ranges::sort(choice.victims, {},
                        [&](const auto& v) { return portions_.at(v.portion).number; });
    }
  }

  void change(queue_choice& of, const known_portion& one, int sign) {
    of.freed.resize(table_.columns().size());
    of.lacked.resize(table_.columns().size());
    for (std::size_t c = 0; c < of.freed.size(); ++c)
      of.freed[c] += sign * one.is.holds[c];
    changed_.insert(one.row);
  }

  const queue_stage_input& in_;
  const queue_table& table_;
  std::vector<queue_choice>& by_row_;
  const group_shares shares_;
  std::map<portion_id, known_portion> portions_; ///< that do not leave
  std::set<portion_id> going_;
  std::set<std::size_t> changed_;
};

bool has_limit_above(const queue_table& table, std::size_t row) {
  const auto& vertices = table.tree().vertices;
  for (auto v = table.leaf(row).parent; v != no_vertex; v = vertices[v].parent)
    if (!vertices[v].spec.limit.empty())
      return true;
  return false;
}

} // namespace

std::set<std::size_t> exchange_below_limits(const queue_stage_input& in, const queue_table& table,
                                            std::vector<queue_choice>& by_row) {
  bool any = false;
  for (std::size_t row = 0; row < table.rows(); ++row)
    any = any || (!by_row[row].victims.empty() && has_limit_above(table, row));
  if (!any)
    return {};
  return exchange{in, table, by_row}.run();
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
