#include "state/admission/admission_rules.hpp"
#include "state/model/object_size.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace reprieve::rules {

namespace {

/// Follows the parents as they would be with the batch applied. Of a cycle only its members are
/// refused, not what hangs below it.
void check_ancestors(findings& out, const prospect& cluster, const queue& q) {
  const auto& queues = cluster.after.queues;
  std::vector<std::string_view> above{q.name};
  for (std::string_view next = q.parent; !next.empty();) {
    if (next == q.name) {
      out.refuse("spec.parent",
                 "is {}, which makes a cycle: {} -> {}; one of these must be at the top",
                 in_quotes(q.parent), fmt::join(above, " -> "), next);
      return;
    }
    if (std::find(above.begin(), above.end(), next) != above.end())
      return;
    const auto* parent = find(queues, next);
    if (parent == nullptr)
      break;
    if (above.size() > most_queues_above) {
      out.refuse("spec.parent", "is {}, which puts more than {} queues above this one; move it up",
                 in_quotes(q.parent), most_queues_above);
      return;
    }
    above.push_back(next);
    next = parent->parent;
  }
  const auto below = cluster.levels_below.find(q.name);
  if (below != cluster.levels_below.end() && above.size() - 1 + below->second > most_queues_above)
    out.refuse("spec.parent",
               "is {}, which puts more than {} queues above one that is below this one; move it up",
               in_quotes(q.parent), most_queues_above);
}

void check_guaranteed(findings& out, const queue& q) {
  for (const auto& [name, limit] : q.limit) {
    const auto guaranteed = amount_of(q.guaranteed, name);
    if (limit >= 0 && guaranteed > limit)
      out.refuse(fmt::format("spec.guaranteed.{}", name),
                 "is {}; it must be at most the queue's limit, {}",
                 format_quantity(guaranteed, name), format_quantity(limit, name));
  }
}

/// What is guaranteed under a queue must fit in its limit. The parent is told where the batch has
/// it, else those of its children that the batch has.
void check_children(findings& out, const prospect& cluster, const queue& q) {
  const auto exceeds = [&](const queue& parent, std::string_view name, std::int64_t limit) {
    const auto found = cluster.guaranteed_below.find(parent.name);
    return limit >= 0 && found != cluster.guaranteed_below.end()
           && amount_of(found->second, name) > limit;
  };
  for (const auto& [name, limit] : q.limit)
    if (exceeds(q, name, limit))
      out.refuse(fmt::format("spec.limit.{}", name),
                 "is {}; it must be at least {}, which the queues under it are guaranteed",
                 format_quantity(limit, name),
                 format_quantity(amount_of(cluster.guaranteed_below.at(q.name), name), name));
  const auto* parent = find(cluster.after.queues, q.parent);
  if (parent == nullptr || cluster.queues.contains(q.parent))
    return;
  for (const auto& [name, limit] : parent->limit)
    if (amount_of(q.guaranteed, name) > 0 && exceeds(*parent, name, limit))
      out.refuse(fmt::format("spec.guaranteed.{}", name),
                 "is {}, and with it the queues under {} are guaranteed {} in all; they must stay "
                 "within its limit, {}",
                 format_quantity(amount_of(q.guaranteed, name), name), in_quotes(parent->name),
                 format_quantity(amount_of(cluster.guaranteed_below.at(parent->name), name), name),
                 format_quantity(limit, name));
}

} // namespace

std::map<std::string_view, resources> sum_guaranteed_by_parent(const by_name<queue>& queues) {
  std::map<std::string_view, resources> sums;
  for (const auto& [name, q] : queues) {
    if (q.parent.empty())
      continue;
    auto& sum = sums[q.parent];
    for (const auto& [resource, amount] : q.guaranteed)
      if (auto& total = sum[resource]; __builtin_add_overflow(total, amount, &total))
        total = std::numeric_limits<std::int64_t>::max();
  }
  return sums;
}

std::map<std::string_view, std::size_t>
count_levels_below(const by_name<queue>& queues,
                   const std::map<std::string_view, const queue*>& batch) {
  std::map<std::string_view, std::size_t> levels;
  for (const auto& [name, q] : queues) {
    if (batch.contains(name))
      continue;
    // In a cycle, too, it ends.
    std::size_t below = 0;
    for (const auto* parent = find(queues, q.parent);
         parent != nullptr && ++below <= most_queues_above + 1;
         parent = find(queues, parent->parent))
      if (batch.contains(parent->name)) {
        auto& known = levels[parent->name];
        known = std::max(known, below);
        break;
      }
  }
  return levels;
}

void check_grants(findings& out, std::string_view field, const queue& q, std::size_t groups) {
  constexpr std::size_t name_of_group = 80;
  const auto bytes = (bytes_of(q.limit) + name_of_group) * groups;
  if (bytes > record_limits::record_bytes)
    out.refuse(std::string{field},
               "leaves queue {} with a limit of {} resources in {} resource groups, and what these "
               "are granted of it takes {} bytes in one record, which may take {}; let the queue "
               "limit fewer resources, or have fewer groups",
               in_quotes(q.name), q.limit.size(), groups, bytes, record_limits::record_bytes);
}

std::size_t depth_of(const queue& q, const by_name<queue>& queues) {
  std::size_t depth = 0;
  for (const auto* parent = find(queues, q.parent); parent != nullptr;
       parent = find(queues, parent->parent))
    ++depth;
  return depth;
}

void check(findings& out, const prospect& cluster, const queue& q) {
  check_dns_label(out, "metadata.name", q.name);
  if (find(cluster.after.queues, q.parent) != nullptr)
    check_ancestors(out, cluster, q);
  else if (!q.parent.empty())
    out.refuse("spec.parent",
               "is {}, and there is no queue of that name; create it, or leave the parent out",
               in_quotes(q.parent));
  if (q.weight < 1 || q.weight > largest_weight)
    out.refuse("spec.weight", "is {}; it must be 1 to {}", q.weight, largest_weight);
  check_amounts(out, "spec.guaranteed", q.guaranteed);
  check_amounts(out, "spec.limit", q.limit);
  check_object_count(out, cluster.before.queues, cluster.after.queues, q.name, "queues",
                     record_limits::queues);
  check_grants(out, "spec.limit", q, cluster.after.groups.size());
  check_guaranteed(out, q);
  check_children(out, cluster, q);
  check_ceilings(out, q);
}

} // namespace reprieve::rules
