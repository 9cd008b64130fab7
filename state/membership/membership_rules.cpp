#include "state/membership/membership_rules.hpp"

#include <algorithm>
#include <ranges>

namespace reprieve {

namespace {

/// Who joined first.
const std::string* oldest(const membership& known) {
  const auto found = std::ranges::min_element(known.members, {}, [](const auto& one) {
    return std::pair{one.second.joined, one.first};
  });
  return found == known.members.end() ? nullptr : &found->first;
}

} // namespace

std::string membership::owner_of(std::string_view shard) const {
  const auto found = std::ranges::find_if(
    members, [&](const auto& one) { return one.second.owned.contains(std::string(shard)); });
  return found == members.end() ? std::string{} : found->first;
}

ownership_steps next_steps(const membership& known, const std::string& replica, bool leaving) {
  ownership_steps steps;
  const auto me = known.members.find(replica);
  if (me == known.members.end())
    return steps;
  const auto& owned = me->second.owned;
  if (leaving) {
    steps.stop = owned;
    return steps;
  }
  const std::string tree(queue_tree_shard);
  const auto* first = oldest(known);
  if (*first == replica && known.owner_of(tree).empty())
    steps.take.insert(tree);
  for (const auto& [shard, owner] : known.wanted)
    if (owner == replica && known.owner_of(shard).empty())
      steps.take.insert(shard);
  for (const auto& shard : owned) {
    const auto wanted = known.wanted.find(shard);
    if (shard != tree
        && (wanted == known.wanted.end()
            || (wanted->second != replica && known.members.contains(wanted->second))))
      steps.stop.insert(shard);
  }
  if (!std::ranges::all_of(known.members, [](const auto& one) { return one.second.readable; }))
    steps.take.clear();
  return steps;
}

std::set<std::string> able_members(const membership& known) {
  std::set<std::string> able;
  for (const auto& [name, one] : known.members)
    if (one.schema >= known.schema)
      able.insert(name);
  return able;
}

std::int32_t schema_to_use(const membership& known) {
  if (known.members.empty())
    return known.schema;
  const auto least =
    std::ranges::min(known.members | std::views::values
                     | std::views::transform([](const member& one) { return one.schema; }));
  return std::max(known.schema, least);
}

} // namespace reprieve
