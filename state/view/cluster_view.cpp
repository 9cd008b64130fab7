#include "state/view/cluster_view.hpp"

#include "state/containers/heap_size.hpp"
#include "state/containers/packed_text.hpp"
#include "state/records/workload_record.hpp"
#include "state/view/group_key.hpp"

#include <algorithm>

namespace reprieve {

namespace {

/// Of a node without its capacity.
std::size_t heap_size_of(const node& n) {
  auto bytes =
    heap_size(n.name) + heap_size(n.resource_group) + heap_size(n.labels) + heap_size(n.taints);
  for (const auto& t : n.taints)
    bytes += heap_size(t.key) + heap_size(t.value);
  return bytes;
}

} // namespace

cluster_view::cluster_view() {
  add_columns({{std::string(resource::pods), unlimited_pods}});
}

// -- resources -----------------------------------------------------------------------------------

std::string_view cluster_view::resource_name(resource_column column) const {
  return columns_[column];
}

std::optional<resource_column> cluster_view::column_of(std::string_view resource) const {
  const auto found = std::ranges::lower_bound(columns_, resource);
  if (found == columns_.end() || *found != resource)
    return std::nullopt;
  return static_cast<resource_column>(found - columns_.begin());
}

std::optional<std::vector<std::int64_t>> cluster_view::columns(const resources& requests) const {
  for (const auto& [name, amount] : requests)
    if (const auto column = column_of(name); amount != 0 && (!column || nodes_with_[*column] == 0))
      return std::nullopt;
  return row_of_pod(requests);
}

// -- nodes ---------------------------------------------------------------------------------------

std::size_t cluster_view::node_count() const {
  return nodes_.taken();
}

node_row cluster_view::find_node(std::string_view name) const {
  return nodes_by_name_.find(hash_of(name), [&](node_row n) { return node_name(n) == name; });
}

std::string_view cluster_view::node_name(node_row n) const {
  return nodes_[n].as_given.name;
}

const node& cluster_view::node_at(node_row n) const {
  return nodes_[n].as_given;
}

// -- pods ----------------------------------------------------------------------------------------

std::size_t cluster_view::pod_count() const {
  return pods_.taken() - removed_pods_.size();
}

std::int64_t cluster_view::pods_below(std::int32_t priority) const {
  std::int64_t below = 0;
  for (const auto& [present, pods] : pods_by_priority_) {
    if (present >= priority)
      break;
    below += pods;
  }
  return below;
}

pod_row cluster_view::find_pod(std::string_view uid) const {
  return find_packed(pack(uid));
}

pod_row cluster_view::find_packed(std::u16string_view uid) const {
  return pods_by_uid_.find(hash_of(uid), [&](pod_row p) { return packed_uid(p) == uid; });
}

std::string cluster_view::pod_uid(pod_row p) const {
  return unpack(packed_uid(p));
}

std::u16string_view cluster_view::packed_uid(pod_row p) const {
  return uids_.at(pods_[p].uid);
}

std::strong_ordering cluster_view::compare_uids(pod_row a, pod_row b) const {
  return order_of_texts(packed_uid(a), packed_uid(b));
}

std::int32_t cluster_view::index_of(pod_row p) const {
  return pods_[p].index;
}

bool cluster_view::is_daemon(pod_row p) const {
  return kind_of(p).daemon;
}

bool cluster_view::opted_out(pod_row p) const {
  return kind_of(p).opted_out;
}

time_point cluster_view::created(pod_row p) const {
  return pods_[p].created;
}

time_point cluster_view::started(pod_row p) const {
  return pods_[p].started;
}

time_point cluster_view::checkpointed(pod_row p) const {
  return pods_[p].checkpointed;
}

std::string cluster_view::owner(pod_row p) const {
  const auto name = kind_of(p).owner;
  return name == no_row ? std::string{} : names_.text(name);
}

bool cluster_view::is_owner(pod_row p) const {
  // Series have a NUL in them, so a text like the uid or the name was given by those who refer to
  // it.
  const auto is_named = [&](const std::string& text) {
    const auto name = names_.find(text);
    return name != no_row && names_.references(name) > (kind_of(p).owner == name ? 1U : 0U);
  };
  const auto id = id_of(portion_of(p));
  return is_named(pod_uid(p))
         || is_named(pod_name(id.workload, {id.group, id.replica, index_of(p)}));
}

// -- portions ------------------------------------------------------------------------------------

portion_row cluster_view::find_portion(const portion_id& id) const {
  const auto series = names_.find(group_key(id.workload, id.group));
  return series == no_row ? no_row : find_portion(portion_key{series, id.replica, id.index});
}

portion_row cluster_view::find_portion(const portion_key& key) const {
  return portions_by_key_.find(hash_of_key(key), [&](portion_row p) { return key_of(p) == key; });
}

portion_id cluster_view::id_of(portion_row p) const {
  const auto key = key_of(p);
  const auto series = names_.text(key.series);
  const auto [workload, group] = split_group_key(series);
  return {std::string(workload), std::string(group), key.replica, key.index};
}

cluster_view::portion_key cluster_view::key_of(portion_row p) const {
  if ((p & shared_bit) != 0)
    return shared_[p & ~shared_bit].key;
  const auto& alone = pods_[p];
  return {alone.home, alone.replica, alone.index};
}

bool cluster_view::more_important(portion_row a, portion_row b) const {
  const auto order = by_importance(card(a), card(b));
  return order != 0 ? order < 0 : compare_ids(a, b) < 0;
}

std::strong_ordering cluster_view::compare_ids(portion_row a, portion_row b) const {
  const auto mine = key_of(a);
  const auto other = key_of(b);
  if (mine.series != other.series)
    return names_.order(mine.series, other.series);
  if (mine.replica != other.replica)
    return mine.replica <=> other.replica;
  return mine.index <=> other.index;
}

std::strong_ordering by_importance(const portion_card& a, const portion_card& b) {
  if (a.priority != b.priority)
    return b.priority <=> a.priority;
  if (a.group != b.group)
    return b.group <=> a.group;
  if (a.pods != b.pods)
    return b.pods <=> a.pods;
  const auto start = [](const portion_card& c) {
    return c.earliest_start == no_time ? time_point::max() : c.earliest_start;
  };
  return start(a) <=> start(b);
}

// -- budgets -------------------------------------------------------------------------------------

std::size_t cluster_view::budget_rows() const {
  return budgets_.rows();
}

const disruption_budget& cluster_view::budget_at(std::uint32_t row) const {
  return budgets_.at(row);
}

std::int64_t cluster_view::disruptions_allowed(std::uint32_t row) const {
  return budgets_.allowed(row);
}

// -- memory --------------------------------------------------------------------------------------

std::size_t cluster_view::memory() const {
  auto bytes = heap_size(columns_) + heap_size(nodes_with_) + nodes_.memory()
               + heap_size(node_amounts_) + nodes_by_name_.memory() + blocks_.memory()
               + pods_.memory() + uids_.memory() + pods_by_uid_.memory() + kinds_.memory()
               + shapes_.memory() + budgets_.memory() + names_.memory() + shared_.memory()
               + portions_by_key_.memory() + heap_size(stale_nodes_) + heap_size(settled_)
               + heap_size(stale_portions_) + heap_size(removed_pods_);
  for (const auto& name : columns_)
    bytes += heap_size(name);
  for (node_row n = 0; n < nodes_.rows(); ++n) {
    const auto& record = nodes_[n];
    bytes += heap_size_of(record.as_given) + heap_size(record.pods) + heap_size(record.steps)
             + heap_size(record.held);
  }
  constexpr std::size_t link_and_hash = 2 * sizeof(void*);
  bytes +=
    heap_block(elsewhere_.bucket_count() * sizeof(void*))
    + elsewhere_.size() * heap_block(link_and_hash + sizeof(decltype(elsewhere_)::value_type));
  for (std::uint32_t s = 0; s < shared_.rows(); ++s)
    bytes += heap_size(shared_[s].pods);
  return bytes + sizeof(*this);
}

} // namespace reprieve
