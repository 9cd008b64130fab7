#include "protocol/messages/convert_disruption_budget.hpp"

#include "protocol/messages/convert_fields.hpp"

namespace reprieve {

v1::DisruptionBudget to_proto(const disruption_budget& from) {
  v1::DisruptionBudget to;
  to.set_name(from.name);
  to.set_resource_group(from.resource_group);
  write_map(from.match_labels, *to.mutable_match_labels());
  if (from.min_available)
    to.set_min_available(*from.min_available);
  if (from.max_unavailable)
    to.set_max_unavailable(*from.max_unavailable);
  return to;
}

absl::StatusOr<disruption_budget> from_proto(const v1::DisruptionBudget& from) {
  disruption_budget to;
  field_reader read;
  to.name = from.name();
  if (from.has_resource_group())
    to.resource_group = from.resource_group();
  read_map(from.match_labels(), to.match_labels);
  if (from.has_min_available())
    read.count("min_available", from.min_available(), to.min_available.emplace());
  if (from.has_max_unavailable())
    read.count("max_unavailable", from.max_unavailable(), to.max_unavailable.emplace());
  return read.result(std::move(to));
}

} // namespace reprieve
