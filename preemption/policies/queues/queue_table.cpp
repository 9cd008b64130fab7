#include "preemption/policies/queues/queue_table.hpp"

#include "preemption/problem/apportion.hpp"

#include <algorithm>

namespace reprieve {

namespace {

bool some_of(const resources& amounts) {
  return std::ranges::any_of(amounts, [](const auto& one) { return one.second > 0; });
}

queue_names queues_with_pods(const queue_stage_input& in) {
  queue_names names;
  for (const auto& p : in.pods)
    if (takes_room(p.phase))
      names.insert(p.queue);
  for (const auto& [name, total] : in.totals)
    if (some_of(total.staying) || some_of(total.leaving))
      names.insert(name);
  for (const auto& [name, asked] : in.pending)
    if (some_of(asked))
      names.insert(name);
  return names;
}

} // namespace

queue_table::queue_table(const queue_stage_input& in)
    : in_(in), tree_(tree_of(in.queues, queues_with_pods(in))), pods_(tree_.leaves.size()) {
  for (const auto& [name, amount] : in.capacity)
    columns_.push_back(name);
  by_name<std::size_t> row_of;
  for (std::size_t row = 0; row < rows(); ++row)
    row_of[leaf(row).spec.name] = row;
  for (const auto& p : in.pods)
    if (takes_room(p.phase)) {
      const auto* row = find(row_of, p.queue);
      (row == nullptr ? outside_ : pods_[*row]).push_back(&p);
    }
  for (const auto& [name, total] : in.totals)
    if (!row_of.contains(name))
      totals_outside_.push_back(&total);
}

std::int64_t queue_table::used_outside(std::size_t column) const {
  wide_int used = 0;
  for (const auto* p : outside_)
    used += taken_of(*p, columns_[column]);
  for (const auto* total : totals_outside_)
    used += static_cast<wide_int>(amount_of(total->staying, columns_[column]))
            + amount_of(total->leaving, columns_[column]);
  return narrowed(used);
}

std::vector<queue_account> queue_table::accounts(std::size_t column) const {
  const auto& name = columns_[column];
  std::vector<queue_account> made(rows());
  for (std::size_t row = 0; row < rows(); ++row) {
    wide_int used = 0;
    wide_int staying = 0;
    for (const auto* p : pods_[row]) {
      const auto taken = taken_of(*p, name);
      used += taken;
      staying += p->leaving() ? 0 : taken;
    }
    if (const auto* total = find(in_.totals, leaf(row).spec.name)) {
      const auto stays = amount_of(total->staying, name);
      used += static_cast<wide_int>(stays) + amount_of(total->leaving, name);
      staying += stays;
    }
    made[row].used = narrowed(used);
    made[row].staying = narrowed(staying);
    made[row].allocated = previous(leaf(row), &queue_status::allocated, name);
    made[row].preempting = previous(leaf(row), &queue_status::preempting, name);
  }
  return made;
}

std::vector<std::int64_t> queue_table::demand(std::size_t column,
                                              std::span<const queue_account> accounts) const {
  std::vector<std::int64_t> demand(tree_.vertices.size());
  for (std::size_t row = 0; row < rows(); ++row) {
    wide_int asked = accounts[row].used;
    if (const auto* again = find(in_.again, leaf(row).spec.name))
      asked -=
        std::min(amount_of(*again, columns_[column]), accounts[row].used - accounts[row].staying);
    if (const auto* pending = find(in_.pending, leaf(row).spec.name))
      asked += std::max<std::int64_t>(amount_of(*pending, columns_[column]), 0);
    demand[tree_.leaves[row]] = narrowed(asked);
  }
  return demand;
}

std::int64_t queue_table::previous(const queue_vertex& leaf, resources queue_status::*which,
                                   std::string_view resource) const {
  const auto amount = [&](const queue_vertex& of) -> wide_int {
    const auto* status = find(in_.previous, of.spec.name);
    return status == nullptr ? 0 : amount_of(status->*which, resource);
  };
  auto had = amount(leaf);
  // The status of a queue with children is a sum: its own pods had what its children had not.
  if (leaf.own_pods)
    for (const auto v : tree_.vertices[leaf.parent].children)
      if (const auto& child = tree_.vertices[v]; !child.own_pods)
        had -= amount(child);
  return narrowed(std::max<wide_int>(had, 0));
}

} // namespace reprieve
