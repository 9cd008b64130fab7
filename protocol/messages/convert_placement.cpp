#include "protocol/messages/convert_placement.hpp"

#include "protocol/messages/convert_fields.hpp"

namespace reprieve {

v1::NominatedRoom to_proto(const nominated_room& from) {
  v1::NominatedRoom to;
  to.set_node(from.node);
  to.mutable_victims()->Assign(from.victims.begin(), from.victims.end());
  return to;
}

absl::StatusOr<nominated_room> from_proto(const v1::NominatedRoom& from) {
  return nominated_room{from.node(), {from.victims().begin(), from.victims().end()}};
}

v1::Placement to_proto(const placement& from) {
  v1::Placement to;
  to.set_name(from.name);
  to.set_deployment(from.deployment);
  to.set_cluster(from.cluster);
  to.set_committed(from.committed);
  to.set_assigned(from.assigned);
  to.set_score(from.score);
  to.set_preempted(from.preempted);
  write_all(from.nominations, *to.mutable_nominations());
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
  to.preempted = from.preempted();
  read.all("nominations", from.nominations(), to.nominations, from_proto);
  return read.result(std::move(to));
}

} // namespace reprieve
