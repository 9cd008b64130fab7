#include "protocol/messages/convert_decision.hpp"
#include "protocol/messages/convert_disruption_budget.hpp"
#include "protocol/messages/convert_placement.hpp"
#include "protocol/messages/convert_queue.hpp"
#include "protocol/peers/messages/peer_conversions.hpp"
#include "protocol/peers/messages/peer_messages.hpp"
#include "protocol/records/records.hpp"

#include <reprieve/v1/peer.pb.h>

#include <memory>

// What a coordinator tells for a snapshot.

namespace reprieve {

static v1::ReadGroup to_proto(const read_group&) {
  return {};
}

static absl::StatusOr<read_group> from_proto(const v1::ReadGroup&) {
  return read_group{};
}

static v1::StandingDecision to_proto(const standing_decision& from) {
  v1::StandingDecision to;
  to.set_id(from.id);
  to.set_phase(to_proto(from.phase));
  to.set_told(from.told);
  to.mutable_workloads()->Assign(from.workloads.begin(), from.workloads.end());
  write_all(from.places, *to.mutable_places());
  write_all(from.victims, *to.mutable_victims());
  return to;
}

static absl::StatusOr<standing_decision> from_proto(const v1::StandingDecision& from) {
  standing_decision to;
  field_reader read;
  to.id = from.id();
  read.one("phase", from.phase(), to.phase, from_proto);
  to.told = from.told();
  to.workloads.assign(from.workloads().begin(), from.workloads().end());
  read.all("places", from.places(), to.places, from_proto);
  read.all("victims", from.victims(), to.victims, from_proto);
  return read.result(std::move(to));
}

static v1::NodeReservation to_proto(const node_reservation& from) {
  v1::NodeReservation to;
  to.set_uid(from.uid);
  to.set_node(from.node);
  to.set_since(to_nanoseconds(from.since));
  return to;
}

static absl::StatusOr<node_reservation> from_proto(const v1::NodeReservation& from) {
  node_reservation to;
  field_reader read;
  to.uid = from.uid();
  to.node = from.node();
  read.time("since", from.since(), to.since);
  return read.result(std::move(to));
}

template <class Record>
static absl::StatusOr<std::shared_ptr<const Record>> record_from(const std::string& bytes) {
  auto record = decode<Record>(bytes);
  if (!record.ok())
    return record.status();
  return std::make_shared<const Record>(*std::move(record));
}

static v1::GroupSnapshot to_proto(const read_group_result& from) {
  v1::GroupSnapshot to;
  if (!from.ok()) {
    *to.mutable_refused() = to_proto(from.status());
    return to;
  }
  to.set_name(from->name);
  to.set_taken(to_nanoseconds(from->taken));
  for (const auto& record : from->nodes)
    to.add_nodes(encode(*record));
  for (const auto& record : from->workloads)
    to.add_workloads(encode(*record));
  write_all(from->budgets, *to.mutable_budgets());
  to.set_knows_grants(from->status.grants.has_value());
  if (from->status.grants)
    for (const auto& [queue, amounts] : *from->status.grants)
      write_map(amounts, *(*to.mutable_grants())[queue].mutable_of());
  to.set_knows_queues(from->status.queues.has_value());
  if (from->status.queues)
    write_each(*from->status.queues, *to.mutable_queues());
  write_all(from->status.decisions, *to.mutable_decisions());
  write_all(from->status.reservations, *to.mutable_reservations());
  to.set_counting(from->status.counting);
  write_all(from->recounted, *to.mutable_recounted());
  return to;
}

static absl::StatusOr<read_group_result> from_proto(const v1::GroupSnapshot& from) {
  const auto refused = from_proto(from.refused());
  if (!refused.ok())
    return unreadable{refused.status()};
  if (!refused->ok())
    return read_group_result{*refused};
  group_snapshot to;
  field_reader read;
  to.name = from.name();
  read.time("taken", from.taken(), to.taken);
  read.all("nodes", from.nodes(), to.nodes, record_from<node_record>);
  read.all("workloads", from.workloads(), to.workloads, record_from<workload_record>);
  read.all("budgets", from.budgets(), to.budgets, from_proto);
  if (from.knows_grants()) {
    auto& grants = to.status.grants.emplace();
    for (const auto& [queue, amounts] : from.grants())
      read_map(amounts.of(), grants[queue]);
  }
  if (from.knows_queues())
    read.each("queues", from.queues(), to.status.queues.emplace(), from_proto);
  read.all("decisions", from.decisions(), to.status.decisions, from_proto);
  read.all("reservations", from.reservations(), to.status.reservations, from_proto);
  to.status.counting = from.counting();
  read.all("recounted", from.recounted(), to.recounted, from_proto);
  if (!read.status().ok())
    return unreadable{read.status()};
  return read_group_result{std::move(to)};
}

REPRIEVE_PEER_MESSAGE(read_group, v1::ReadGroup)
REPRIEVE_PEER_MESSAGE(read_group_result, v1::GroupSnapshot)

} // namespace reprieve
