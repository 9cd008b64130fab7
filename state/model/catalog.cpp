#include "state/model/catalog.hpp"

#include <algorithm>

namespace reprieve {

catalog initial_catalog() {
  catalog start;
  for (const auto* built_in : {&system_node_critical(), &system_cluster_critical()})
    put_in(start, *built_in);
  // Nobody asked for this queue, so it takes no share from others beyond what it needs.
  auto& shared = start.queues[std::string{default_queue}];
  shared.name = default_queue;
  shared.cap_by_demand = true;
  start.groups[std::string{default_group}].name = default_group;
  return start;
}

const priority_class* global_default(const catalog& known) {
  const auto found = std::find_if(known.classes.begin(), known.classes.end(),
                                  [](const auto& entry) { return entry.second.global_default; });
  return found == known.classes.end() ? nullptr : &found->second;
}

void put_in(catalog& known, const object& o) {
  if (const auto* priority = std::get_if<priority_class>(&o))
    known.classes.insert_or_assign(priority->name, *priority);
  else if (const auto* share = std::get_if<queue>(&o))
    known.queues.insert_or_assign(share->name, *share);
  else if (const auto* group = std::get_if<resource_group>(&o))
    known.groups.insert_or_assign(group->name, *group);
}

void remove_from(catalog& known, object_kind kind, const std::string& name) {
  if (kind == object_kind::priority_class)
    known.classes.erase(name);
  else if (kind == object_kind::queue)
    known.queues.erase(name);
  else if (kind == object_kind::resource_group)
    known.groups.erase(name);
}

} // namespace reprieve
