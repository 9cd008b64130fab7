#include "protocol/convert_placement.hpp"

#include "protocol/convert_fields.hpp"

namespace reprieve {

v1::Placement to_proto(const placement& from) {
  v1::Placement to;
  to.set_name(from.name);
  to.set_deployment(from.deployment);
  to.set_cluster(from.cluster);
  to.set_committed(from.committed);
  to.set_assigned(from.assigned);
  to.set_score(from.score);
  return to;
}

absl::StatusOr<placement> from_proto(const v1::Placement& from) {
  placement to;
  field_reader read;
  to.name = from.name();
  to.deployment = from.deployment();
  to.cluster = from.cluster();
  read.count("committed", from.committed(), to.committed);
  read.count("assigned", from.assigned(), to.assigned);
  to.score = from.score();
  return read.result(std::move(to));
}

} // namespace reprieve
