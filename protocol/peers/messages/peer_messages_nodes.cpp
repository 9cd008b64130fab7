#include "protocol/messages/convert_decision.hpp"
#include "protocol/messages/convert_node.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "protocol/peers/messages/peer_conversions.hpp"
#include "protocol/peers/messages/peer_messages.hpp"
#include "protocol/peers/messages/peer_set_aside.hpp"
#include "protocol/records/records.hpp"

#include <reprieve/v1/peer.pb.h>

#include <memory>
#include <vector>

// What node shards are told and tell, evaluation apart.

namespace reprieve {

static v1::PutNodes to_proto(const put_nodes& from) {
  v1::PutNodes to;
  write_all(from.nodes, *to.mutable_nodes());
  for (const auto one : from.told)
    to.add_told(static_cast<int>(one));
  return to;
}

static absl::StatusOr<put_nodes> from_proto(const v1::PutNodes& from) {
  put_nodes to;
  field_reader read;
  read.all("nodes", from.nodes(), to.nodes, from_proto);
  for (const auto one : from.told())
    to.told.push_back(static_cast<apply_outcome>(one));
  return read.result(std::move(to));
}

static v1::RemoveNodes to_proto(const remove_nodes& from) {
  v1::RemoveNodes to;
  to.mutable_names()->Assign(from.names.begin(), from.names.end());
  to.set_force(from.force);
  return to;
}

static absl::StatusOr<remove_nodes> from_proto(const v1::RemoveNodes& from) {
  return remove_nodes{{from.names().begin(), from.names().end()}, from.force()};
}

static v1::StopPods to_proto(const stop_pods& from) {
  v1::StopPods to;
  write_all(from.pods, *to.mutable_pods());
  to.set_reason(from.reason);
  return to;
}

static absl::StatusOr<stop_pods> from_proto(const v1::StopPods& from) {
  stop_pods to;
  field_reader read;
  read.all("pods", from.pods(), to.pods, from_proto);
  to.reason = from.reason();
  return read.result(std::move(to));
}

static v1::DropVotes to_proto(const drop_votes& from) {
  v1::DropVotes to;
  to.set_before(from.before);
  for (const auto& id : from.open)
    to.add_open(id);
  return to;
}

static absl::StatusOr<drop_votes> from_proto(const v1::DropVotes& from) {
  return drop_votes{from.before(), {from.open().begin(), from.open().end()}};
}

static v1::UseGroupLimits to_proto(const use_group_limits& from) {
  v1::UseGroupLimits to;
  to.set_force_delete_after(from.force_delete_after.count());
  to.set_heartbeat_timeout(from.heartbeat_timeout.count());
  to.set_own_scheduler(from.own_scheduler);
  to.set_lost_node_timeout(from.lost_node_timeout.count());
  return to;
}

static absl::StatusOr<use_group_limits> from_proto(const v1::UseGroupLimits& from) {
  return use_group_limits{duration{from.force_delete_after()}, duration{from.heartbeat_timeout()},
                          from.own_scheduler(), duration{from.lost_node_timeout()}};
}

// -- the two-phase commit -------------------------------------------------------------------------

static v1::NodePart to_proto(const node_part& from) {
  v1::NodePart to;
  to.set_node(from.node);
  to.mutable_placed()->Reserve(static_cast<int>(from.placed.size()));
  for (const auto& p : from.placed.shared())
    to.add_placed(bytes_of(*p));
  to.mutable_victims()->Assign(from.victims.begin(), from.victims.end());
  to.mutable_forced()->Assign(from.forced.begin(), from.forced.end());
  return to;
}

static absl::StatusOr<node_part> from_proto(const v1::NodePart& from) {
  node_part to;
  std::vector<pod_list::pointer> placed;
  field_reader read;
  to.node = from.node();
  read.all("placed", from.placed(), placed, shared_pod_from);
  to.placed = pod_list::of(std::move(placed));
  to.victims.assign(from.victims().begin(), from.victims().end());
  to.forced.assign(from.forced().begin(), from.forced().end());
  return read.result(std::move(to));
}

static v1::PrepareNodes to_proto(const prepare<node_parts>& from) {
  v1::PrepareNodes to;
  to.set_decision(from.decision);
  to.set_resource_group(from.resource_group);
  write_all(from.parts, *to.mutable_parts());
  to.set_at_once(from.at_once);
  return to;
}

static absl::StatusOr<prepare<node_parts>> from_proto(const v1::PrepareNodes& from) {
  prepare<node_parts> to;
  field_reader read;
  to.decision = from.decision();
  to.resource_group = from.resource_group();
  read.all("parts", from.parts(), to.parts, from_proto);
  to.at_once = from.at_once();
  return read.result(std::move(to));
}

static v1::ApplyNodes to_proto(const apply_parts<node_parts>& from) {
  v1::ApplyNodes to;
  to.set_decision(from.decision);
  write_all(from.parts, *to.mutable_parts());
  to.set_at_once(from.at_once);
  to.set_recovered(from.recovered);
  return to;
}

static absl::StatusOr<apply_parts<node_parts>> from_proto(const v1::ApplyNodes& from) {
  apply_parts<node_parts> to;
  field_reader read;
  to.decision = from.decision();
  read.all("parts", from.parts(), to.parts, from_proto);
  to.at_once = from.at_once();
  to.recovered = from.recovered();
  return read.result(std::move(to));
}

static v1::ReleaseHold to_proto(const release_hold& from) {
  v1::ReleaseHold to;
  to.set_decision(from.decision);
  return to;
}

static absl::StatusOr<release_hold> from_proto(const v1::ReleaseHold& from) {
  return release_hold{from.decision()};
}

static v1::StartPods to_proto(const start_pods& from) {
  v1::StartPods to;
  to.set_decision(from.decision);
  return to;
}

static absl::StatusOr<start_pods> from_proto(const v1::StartPods& from) {
  return start_pods{from.decision(), {}};
}

static v1::Withdraw to_proto(const withdraw& from) {
  v1::Withdraw to;
  to.set_decision(from.decision);
  write_all(from.told, *to.mutable_told());
  write_all(from.reprieved, *to.mutable_reprieved());
  return to;
}

static absl::StatusOr<withdraw> from_proto(const v1::Withdraw& from) {
  withdraw to;
  field_reader read;
  to.decision = from.decision();
  read.all("told", from.told(), to.told, from_proto);
  read.all("reprieved", from.reprieved(), to.reprieved, from_proto);
  return read.result(std::move(to));
}

static v1::RoomFree to_proto(const room_free& from) {
  v1::RoomFree to;
  to.set_decision(from.decision);
  to.set_shard(from.shard);
  return to;
}

static absl::StatusOr<room_free> from_proto(const v1::RoomFree& from) {
  return room_free{from.decision(), from.shard()};
}

// -- records --------------------------------------------------------------------------------------

static v1::NodeDelta to_proto(const node_delta& from) {
  v1::NodeDelta to;
  to.set_shard(from.shard);
  to.set_number(from.number);
  to.mutable_changed()->Reserve(static_cast<int>(from.changed.size()));
  for (const auto& record : from.changed)
    to.add_changed(encode(*record));
  to.mutable_removed()->Assign(from.removed.begin(), from.removed.end());
  to.set_everything(from.everything);
  to.set_of_bundle(from.of_bundle);
  write_all(from.aside, *to.mutable_aside());
  return to;
}

static absl::StatusOr<std::shared_ptr<const node_record>> record_from(const std::string& bytes) {
  auto record = decode<node_record>(bytes);
  if (!record.ok())
    return record.status();
  return std::make_shared<const node_record>(*std::move(record));
}

static absl::StatusOr<node_delta> from_proto(const v1::NodeDelta& from) {
  node_delta to;
  field_reader read;
  to.shard = from.shard();
  to.number = from.number();
  read.all("changed", from.changed(), to.changed, record_from);
  to.removed.assign(from.removed().begin(), from.removed().end());
  to.everything = from.everything();
  to.of_bundle = from.of_bundle();
  read.all("aside", from.aside(), to.aside, from_proto);
  return read.result(std::move(to));
}

REPRIEVE_PEER_MESSAGE(put_nodes, v1::PutNodes)
REPRIEVE_PEER_MESSAGE(remove_nodes, v1::RemoveNodes)
REPRIEVE_PEER_MESSAGE(stop_pods, v1::StopPods)
REPRIEVE_PEER_MESSAGE(drop_votes, v1::DropVotes)
REPRIEVE_PEER_MESSAGE(use_group_limits, v1::UseGroupLimits)
REPRIEVE_PEER_MESSAGE(prepare<node_parts>, v1::PrepareNodes)
REPRIEVE_PEER_MESSAGE(apply_parts<node_parts>, v1::ApplyNodes)
REPRIEVE_PEER_MESSAGE(release_hold, v1::ReleaseHold)
REPRIEVE_PEER_MESSAGE(start_pods, v1::StartPods)
REPRIEVE_PEER_MESSAGE(withdraw, v1::Withdraw)
REPRIEVE_PEER_MESSAGE(room_free, v1::RoomFree)
REPRIEVE_PEER_MESSAGE(node_delta, v1::NodeDelta)

} // namespace reprieve
