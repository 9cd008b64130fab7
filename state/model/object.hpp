#pragma once

#include "state/model/disruption_budget.hpp"
#include "state/model/group_status.hpp"
#include "state/model/node.hpp"
#include "state/model/placement.hpp"
#include "state/model/pod.hpp"
#include "state/model/priority_class.hpp"
#include "state/model/queue.hpp"
#include "state/model/resource_group.hpp"
#include "state/model/workload.hpp"
#include "state/model/workload_course.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace reprieve {

/// The kinds of object that users give and ask for; `pod` only in snapshots.
enum class object_kind {
  node,
  queue,
  priority_class,
  resource_group,
  workload,
  placement,
  disruption_budget,
  pod
};

/// One object, alternatives in the order of `object_kind`.
using object = std::variant<node, queue, priority_class, resource_group, workload, placement,
                            disruption_budget, pod>;

/// What has come of an object, for kinds where it matters.
using object_status =
  std::variant<std::monostate, queue_status, workload_course, node_status, group_status>;

object_kind kind_of(const object& o);
const std::string& name_of(const object& o);

/// The name of a kind as manifests spell it, such as `PriorityClass`.
std::string_view to_string(object_kind kind);

/// The kind that a user means by `Node`, `node`, `nodes`, and likewise for the others.
std::optional<object_kind> kind_from(std::string_view text);

} // namespace reprieve
