#include "state/containers/packed_text.hpp"
#include "state/view/cluster_view.hpp"
#include "state/view/group_key.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace reprieve {

namespace {

/// As budgets count it.
bool is_running(pod_phase phase, bool leaving) {
  return !leaving && (phase == pod_phase::bound || phase == pod_phase::running);
}

bool leaves(const pod& p) {
  return is_leaving(p.phase) || !p.evicted_by.empty();
}

/// Whether both stand at one place and are of one kind and portion.
bool differ_in_progress_only(const pod& a, const pod& b) {
  return a.uid == b.uid && a.node == b.node && a.index == b.index && a.replica == b.replica
         && a.priority == b.priority && a.disruption == b.disruption && a.daemon == b.daemon
         && a.opted_out == b.opted_out && a.protected_member == b.protected_member
         && a.minimum_runtime == b.minimum_runtime && a.group == b.group && a.workload == b.workload
         && a.owner == b.owner && a.requests == b.requests && a.labels == b.labels;
}

} // namespace

// -- nodes ---------------------------------------------------------------------------------------

node_row cluster_view::put_node(const node& n) {
  add_columns(n.capacity);
  auto row = find_node(n.name);
  if (row == no_row) {
    row = nodes_.take();
    nodes_[row].as_given.name = n.name;
    nodes_[row].present = true;
    node_amounts_.resize(nodes_.rows() * rows_per_node * width());
    nodes_by_name_.insert(hash_of(n.name), row, [&](node_row r) { return hash_of_node(r); });
  } else {
    count_capacity(row, -1);
  }
  auto& given = nodes_[row].as_given;
  given = n;
  given.capacity.clear();
  std::ranges::copy(row_of_node(n.capacity), amounts(row, capacity_row).begin());
  count_capacity(row, 1);
  mark_node(row);
  return row;
}

void cluster_view::remove_node(std::string_view name) {
  const auto row = find_node(name);
  if (row == no_row)
    return;
  auto& record = nodes_[row];
  for (const auto p : record.pods)
    if (pods_[p].node == row)
      drop(p);
  count_capacity(row, -1);
  nodes_by_name_.erase(hash_of_node(row), row, [&](node_row r) { return hash_of_node(r); });
  blocks_.erase(row);
  count_priorities(record, -1);
  const bool marked = record.stale;
  record = {};
  record.stale = marked;
  nodes_.give_back(row);
}

void cluster_view::mark_node(node_row n) {
  nodes_[n].only_held = false;
  if (!std::exchange(nodes_[n].stale, true))
    stale_nodes_.push_back(n);
}

/// A hold came to the node, which takes room and changes nothing else.
void cluster_view::mark_hold(node_row n) {
  if (std::exchange(nodes_[n].stale, true))
    return;
  nodes_[n].only_held = true;
  stale_nodes_.push_back(n);
}

// -- resources -----------------------------------------------------------------------------------

void cluster_view::add_columns(const resources& amounts) {
  std::vector<std::string> wide;
  for (const auto& [name, amount] : amounts)
    if (amount != 0 && !column_of(name))
      wide.push_back(name);
  if (wide.empty())
    return;
  wide.insert(wide.end(), columns_.begin(), columns_.end());
  std::ranges::sort(wide);

  std::vector<std::uint32_t> moved_to;
  for (const auto& name : columns_)
    moved_to.push_back(
      static_cast<std::uint32_t>(std::ranges::lower_bound(wide, name) - wide.begin()));
  std::vector<std::uint32_t> nodes_with(wide.size());
  for (std::size_t column = 0; column < moved_to.size(); ++column)
    nodes_with[moved_to[column]] = nodes_with_[column];

  node_amounts_ = widened(node_amounts_, moved_to, nodes_.rows() * rows_per_node, wide.size());
  shapes_.widen(moved_to, wide.size());
  nodes_with_ = std::move(nodes_with);
  columns_ = std::move(wide);
  gpu_column_ = column_of(resource::gpu);
  for (node_row n = 0; n < nodes_.rows(); ++n)
    mark_node(n);
}

std::vector<std::int64_t> cluster_view::row_of(const resources& amounts) const {
  std::vector<std::int64_t> row(width());
  for (const auto& [name, amount] : amounts)
    if (amount != 0)
      row[*column_of(name)] = amount;
  return row;
}

std::vector<std::int64_t> cluster_view::row_of_node(const resources& capacity) const {
  auto row = row_of(capacity);
  if (!capacity.contains(resource::pods))
    row[*column_of(resource::pods)] = unlimited_pods;
  return row;
}

std::vector<std::int64_t> cluster_view::row_of_pod(const resources& requests) const {
  auto row = row_of(requests);
  if (auto& pods = row[*column_of(resource::pods)]; pods < std::numeric_limits<std::int64_t>::max())
    ++pods;
  return row;
}

void cluster_view::count_capacity(node_row n, std::int32_t by) {
  const auto has = capacity(n);
  for (std::size_t column = 0; column < has.size(); ++column)
    if (has[column] != 0)
      nodes_with_[column] += static_cast<std::uint32_t>(by);
}

std::span<std::int64_t> cluster_view::amounts(node_row n, amounts_of_node which) {
  return {node_amounts_.data() + (std::size_t{n} * rows_per_node + which) * width(), width()};
}

// -- pods ----------------------------------------------------------------------------------------

pod_row cluster_view::put_pod(const pod& p, const pod* before) {
  if (before != nullptr && takes_room(p.phase) && differ_in_progress_only(*before, p))
    if (const auto known = come_further(p); known != no_row)
      return known;
  const auto n = takes_room(p.phase) ? find_node(p.node) : no_row;
  if (n == no_row) {
    remove_pod(p.uid);
    return no_row;
  }
  add_columns(p.requests);
  const auto id = reprieve::portion_of(p);
  const portion_key key{names_.intern(group_key(id.workload, id.group)), id.replica, id.index};
  // What the pod refers to now is interned before what it referred to is released, so that names
  // it keeps are not dropped in between.
  auto now = describe(p, n);
  const auto uid = pack(p.uid);
  auto row = find_packed(uid);

  if (row == no_row) {
    row = pods_.take();
    now.uid = uids_.put(uid);
    pods_[row] = now;
    pods_by_uid_.insert(hash_of(uid), row, [&](pod_row r) { return hash_of_pod(r); });
    nodes_[n].pods.push_back(row);
    join(row, key);
    if (p.phase == pod_phase::nominated && !now.leaving && !pods_[row].shares_portion) {
      mark_hold(n);
      return row;
    }
  } else {
    auto& record = pods_[row];
    const auto replaced = record;
    const bool same_portion = key_of(portion_of(row)) == key;
    if (!same_portion) {
      if (record.shares_portion)
        std::erase(shared_[record.home].pods, row);
      leave(row);
    }
    now.uid = replaced.uid;
    now.home = replaced.home;
    now.shares_portion = replaced.shares_portion;
    record = now;
    if (replaced.node != n) {
      std::erase(nodes_[replaced.node].pods, row);
      mark_node(replaced.node);
      nodes_[n].pods.push_back(row);
    }
    release(replaced);
    if (!same_portion) {
      join(row, key);
    } else {
      names_.release(key.series);
      if (record.shares_portion)
        mark_portion(record.home);
    }
  }
  mark_node(n);
  return row;
}

/// Takes in a pod that differs from what it was in its progress only; `no_row` where it does not
/// stand there.
pod_row cluster_view::come_further(const pod& p) {
  const auto row = find_pod(p.uid);
  if (row == no_row || node_name(pods_[row].node) != p.node)
    return no_row;
  auto& record = pods_[row];
  const bool ran = is_running(static_cast<pod_phase>(record.phase), record.leaving);
  record.phase = static_cast<std::uint32_t>(p.phase);
  record.leaving = leaves(p);
  record.created = p.created;
  record.started = p.started;
  record.checkpointed = p.checkpointed;
  if (const bool runs = is_running(p.phase, record.leaving); runs != ran)
    budgets_.count_running(kinds_[record.kind].labels, runs);
  if (record.shares_portion)
    mark_portion(record.home);
  mark_node(record.node);
  return row;
}

void cluster_view::remove_pod(std::string_view uid) {
  const auto row = find_pod(uid);
  if (row != no_row)
    drop(row);
}

void cluster_view::drop(pod_row p) {
  auto& record = pods_[p];
  pods_by_uid_.erase(hash_of_pod(p), p, [&](pod_row r) { return hash_of_pod(r); });
  uids_.drop(record.uid);
  leave(p);
  release(record);
  mark_node(record.node);
  record.node = no_row;
  removed_pods_.push_back(p);
}

cluster_view::pod_record cluster_view::describe(const pod& p, node_row n) {
  const bool leaving = leaves(p);
  const auto kind = kinds_.intern({.shape = shapes_.intern(row_of_pod(p.requests)),
                                   .labels = budgets_.add(p.labels, is_running(p.phase, leaving)),
                                   .owner = p.owner.empty() ? no_row : names_.intern(p.owner),
                                   .minimum_runtime = p.minimum_runtime,
                                   .priority = p.priority,
                                   .daemon = p.daemon,
                                   .opted_out = p.opted_out,
                                   .protected_member = p.protected_member});
  assert(kind < 1U << kind_bits);
  return {.started = p.started,
          .home = no_row,
          .kind = kind,
          .phase = static_cast<std::uint32_t>(p.phase),
          .leaving = leaving,
          .shares_portion = false,
          .node = n,
          .uid = no_row,
          .created = p.created,
          .checkpointed = p.checkpointed,
          .replica = p.replica,
          .index = p.index};
}

void cluster_view::release(const pod_record& record) {
  const auto& kind = kinds_[record.kind];
  shapes_.release(kind.shape);
  budgets_.drop(kind.labels, is_running(static_cast<pod_phase>(record.phase), record.leaving));
  if (kind.owner != no_row)
    names_.release(kind.owner);
  kinds_.release(record.kind);
}

// -- portions ------------------------------------------------------------------------------------

/// Puts the pod into the portion of this key, and takes over the reference to its series.
void cluster_view::join(pod_row p, const portion_key& key) {
  const auto hash = hash_of_key(key);
  const auto hash_again = [&](portion_row r) { return hash_of_portion(r); };
  const auto known = find_portion(key);
  auto& record = pods_[p];
  record.shares_portion = false;
  if (known == no_row && key.index >= 0) {
    record.home = key.series;
    portions_by_key_.insert(hash, p, hash_again);
    return;
  }

  auto shared = known & ~shared_bit;
  if (known == no_row || (known & shared_bit) == 0) {
    shared = shared_.take();
    shared_[shared].key = key;
    shared_[shared].card = {.group = key.index < 0};
  }
  auto& portion = shared_[shared];
  if (known == no_row) {
    portions_by_key_.insert(hash, shared | shared_bit, hash_again);
  } else {
    names_.release(key.series);
    if ((known & shared_bit) == 0) {
      portions_by_key_.replace(hash, known, shared | shared_bit);
      pods_[known].home = shared;
      pods_[known].shares_portion = true;
      portion.pods.push_back(known);
    }
  }
  record.home = shared;
  record.shares_portion = true;
  portion.pods.push_back(p);
  mark_portion(shared);
}

/// A shared portion keeps the pod in its list until it is settled.
void cluster_view::leave(pod_row p) {
  const auto& record = pods_[p];
  if (record.shares_portion) {
    mark_portion(record.home);
    return;
  }
  portions_by_key_.erase(hash_of_portion(p), p, [&](portion_row r) { return hash_of_portion(r); });
  names_.release(record.home);
}

void cluster_view::mark_portion(std::uint32_t shared) {
  if (!std::exchange(shared_[shared].stale, true))
    stale_portions_.push_back(shared);
}

// -- keys ----------------------------------------------------------------------------------------

std::uint64_t cluster_view::hash_of_node(node_row n) const {
  return hash_of(node_name(n));
}

std::uint64_t cluster_view::hash_of_pod(pod_row p) const {
  return hash_of(packed_uid(p));
}

std::uint64_t cluster_view::hash_of_portion(portion_row p) const {
  return hash_of_key(key_of(p));
}

std::uint64_t cluster_view::hash_of_key(const portion_key& key) {
  const auto number = [](std::int32_t n) { return static_cast<std::uint32_t>(n); };
  return mix(mix(key.series, number(key.replica)), number(key.index));
}

std::uint64_t cluster_view::pod_kind::hash() const {
  const auto flags = (daemon ? 1U : 0U) | (opted_out ? 2U : 0U) | (protected_member ? 4U : 0U);
  auto all = mix(mix(mix(mix(shape, labels), owner), static_cast<std::uint32_t>(priority)), flags);
  return minimum_runtime.count() == 0
           ? all
           : mix(all, static_cast<std::uint64_t>(minimum_runtime.count()));
}

// -- budgets -------------------------------------------------------------------------------------

void cluster_view::put_budget(const disruption_budget& budget) {
  budgets_.put(budget);
}

void cluster_view::remove_budget(std::string_view name) {
  budgets_.remove(name);
}

void cluster_view::expect(const string_map& labels, std::int64_t pods) {
  budgets_.expect(labels, pods);
}

} // namespace reprieve
