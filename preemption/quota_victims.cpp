#include "preemption/quota_victims.hpp"

#include "state/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace reprieve {

namespace {

using column_amounts = group_shares::amounts_by_column;

/// Whether a queue that has given `given` has too much of something that the portion holds.
bool still_has_too_much(const group_shares& shares, std::size_t leaf, const column_amounts& asked,
                        const column_amounts& given, const queue_portion& portion,
                        reclaims down_to) {
  bool too_much = false;
  for (std::size_t c = 0; c < asked.size(); ++c) {
    if (asked[c] == 0 || portion.holds[c] == 0)
      continue;
    const auto more = shares.staying(leaf)[c] - given[c] - shares.deserved(leaf)[c];
    if (down_to == reclaims::to_the_share && portion.holds[c] > more)
      return false;
    too_much = too_much || more > 0;
  }
  return too_much;
}

void add(column_amounts& sum, const queue_portion& portion) {
  for (std::size_t c = 0; c < sum.size(); ++c)
    sum[c] += portion.holds[c];
}

std::string why_reclaimed(const group_shares& shares, std::size_t leaf,
                          const column_amounts& asked) {
  std::string amounts;
  for (std::size_t c = 0; c < asked.size(); ++c) {
    const auto used = shares.staying(leaf)[c];
    const auto deserved = shares.deserved(leaf)[c];
    const auto& name = shares.columns()[c];
    if (asked[c] > 0 && used > deserved)
      amounts += fmt::format("{}{} {} and deserves {}", amounts.empty() ? "" : ", ",
                             format_quantity(used, name), name, format_quantity(deserved, name));
  }
  return fmt::format("its queue {} uses {},", shares.at(leaf).spec.name, amounts);
}

} // namespace

std::shared_ptr<const victim_scope>
scope_of_reclaim(const group_shares& shares, std::span<const lavish_queue> queues,
                 const column_amounts& asked, const cluster_view& view, reclaim_rules rules) {
  auto scope = std::make_shared<victim_scope>();
  scope->policy = "queues";
  scope->why_others_stay = "its queue uses no more than it deserves, or others of it go first";
  for (const auto& one : queues) {
    const auto reason = scope->reasons.size();
    scope->reasons.push_back(why_reclaimed(shares, one.leaf, asked));
    std::map<std::string_view, column_amounts> given; // by node, or all of it by none
    for (const auto& portion : one.in_order) {
      bool may_go = false;
      std::set<std::string_view> nodes;
      if (rules.by_node)
        for (const auto& p : portion.pods)
          nodes.insert(p.node);
      else
        nodes.insert("");
      for (const auto node : nodes) {
        auto& so_far = given.try_emplace(node, column_amounts(asked.size())).first->second;
        if (!still_has_too_much(shares, one.leaf, asked, so_far, portion, rules.down_to))
          continue;
        may_go = true;
        add(so_far, portion);
      }
      if (const auto row = may_go ? view.find_portion(portion.id) : no_row; row != no_row)
        scope->portions.emplace(row, reason);
    }
  }
  return scope;
}

bool takes_only_what_is_too_much(const group_shares& shares, std::span<const lavish_queue> queues,
                                 const column_amounts& asked, std::span<const victim> victims,
                                 reclaims down_to) {
  std::set<portion_id> going;
  for (const auto& one : victims)
    going.insert(one.portion);
  for (const auto& one : queues) {
    column_amounts given(asked.size());
    for (const auto& portion : one.in_order) {
      if (!going.contains(portion.id))
        continue;
      if (!still_has_too_much(shares, one.leaf, asked, given, portion, down_to))
        return false;
      add(given, portion);
    }
  }
  return true;
}

} // namespace reprieve
