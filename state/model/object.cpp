#include "state/model/object.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace reprieve {

namespace {

struct kind_name {
  object_kind kind;
  std::string_view name;
  std::string_view plural;
};

constexpr std::array kind_names{
  kind_name{object_kind::node, "Node", "nodes"},
  kind_name{object_kind::queue, "Queue", "queues"},
  kind_name{object_kind::priority_class, "PriorityClass", "priorityclasses"},
  kind_name{object_kind::resource_group, "ResourceGroup", "resourcegroups"},
  kind_name{object_kind::workload, "Workload", "workloads"},
  kind_name{object_kind::placement, "Placement", "placements"},
  kind_name{object_kind::disruption_budget, "DisruptionBudget", "disruptionbudgets"},
  kind_name{object_kind::pod, "Pod", "pods"},
};

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

} // namespace

object_kind kind_of(const object& o) {
  return static_cast<object_kind>(o.index());
}

const std::string& name_of(const object& o) {
  return std::visit([](const auto& alternative) -> const std::string& { return alternative.name; },
                    o);
}

std::string_view to_string(object_kind kind) {
  return kind_names[static_cast<std::size_t>(kind)].name;
}

std::optional<object_kind> kind_from(std::string_view text) {
  for (const auto& known : kind_names)
    if (same_ignoring_case(text, known.name) || same_ignoring_case(text, known.plural))
      return known.kind;
  return std::nullopt;
}

} // namespace reprieve
