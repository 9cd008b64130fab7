#include "protocol/messages/convert_decision.hpp"
#include "protocol/messages/convert_object.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "protocol/messages/convert_priority_class.hpp"
#include "protocol/messages/convert_queue.hpp"
#include "protocol/messages/convert_reasoning.hpp"
#include "protocol/messages/convert_resource_group.hpp"
#include "protocol/peers/messages/peer_conversions.hpp"
#include "protocol/peers/messages/peer_messages.hpp"
#include "protocol/peers/messages/peer_set_aside.hpp"

#include <reprieve/v1/peer.pb.h>

#include <memory>

// What the queue shard is told and tells.

namespace reprieve {

// -- the catalog ----------------------------------------------------------------------------------

static v1::PutCatalog to_proto(const put_catalog& from) {
  v1::PutCatalog to;
  write_all(from.objects, *to.mutable_objects());
  to.set_unfinished(from.unfinished);
  for (const auto one : from.told)
    to.add_told(static_cast<int>(one));
  return to;
}

static absl::StatusOr<put_catalog> from_proto(const v1::PutCatalog& from) {
  put_catalog to;
  field_reader read;
  read.all("objects", from.objects(), to.objects, from_proto);
  to.unfinished = from.unfinished();
  for (const auto one : from.told())
    to.told.push_back(static_cast<apply_outcome>(one));
  return read.result(std::move(to));
}

static v1::RemoveCatalog to_proto(const remove_catalog& from) {
  v1::RemoveCatalog to;
  to.set_kind(to_proto(from.kind));
  to.mutable_names()->Assign(from.names.begin(), from.names.end());
  return to;
}

static absl::StatusOr<remove_catalog> from_proto(const v1::RemoveCatalog& from) {
  remove_catalog to;
  field_reader read;
  read.one("kind", from.kind(), to.kind, from_proto);
  to.names.assign(from.names().begin(), from.names().end());
  return read.result(std::move(to));
}

static v1::CatalogUpdate to_proto(const catalog_update& from) {
  v1::CatalogUpdate to;
  write_each(from.known->classes, *to.mutable_classes());
  write_each(from.known->queues, *to.mutable_queues());
  write_each(from.known->groups, *to.mutable_groups());
  to.mutable_unfinished()->Assign(from.unfinished.begin(), from.unfinished.end());
  to.set_at(from.at);
  to.set_of_bundle(from.of_bundle);
  write_all(from.aside, *to.mutable_aside());
  return to;
}

static absl::StatusOr<catalog_update> from_proto(const v1::CatalogUpdate& from) {
  catalog to;
  field_reader read;
  read.each("classes", from.classes(), to.classes, from_proto);
  read.each("queues", from.queues(), to.queues, from_proto);
  read.each("groups", from.groups(), to.groups, from_proto);
  std::vector<set_aside> aside;
  read.all("aside", from.aside(), aside, from_proto);
  return read.result(catalog_update{std::make_shared<const catalog>(std::move(to)),
                                    {from.unfinished().begin(), from.unfinished().end()},
                                    from.at(),
                                    from.of_bundle(),
                                    std::move(aside)});
}

// -- quota ----------------------------------------------------------------------------------------

static v1::QuotaWish to_proto(const quota_wish& from) {
  v1::QuotaWish to;
  to.set_priority(from.priority);
  to.set_since(to_nanoseconds(from.since));
  write_map(from.each, *to.mutable_each());
  to.set_count(from.count);
  return to;
}

static absl::StatusOr<quota_wish> from_proto(const v1::QuotaWish& from) {
  quota_wish to;
  field_reader read;
  to.priority = from.priority();
  read.time("since", from.since(), to.since);
  read_map(from.each(), to.each);
  to.count = from.count();
  return read.result(std::move(to));
}

static v1::QuotaNeed to_proto(const quota_need& from) {
  v1::QuotaNeed to;
  write_map(from.used.staying, *to.mutable_staying());
  write_map(from.used.leaving, *to.mutable_leaving());
  write_map(from.pending, *to.mutable_pending());
  write_map(from.blocked, *to.mutable_blocked());
  write_all(from.wishes, *to.mutable_wishes());
  return to;
}

static absl::StatusOr<quota_need> from_proto(const v1::QuotaNeed& from) {
  quota_need to;
  field_reader read;
  read_map(from.staying(), to.used.staying);
  read_map(from.leaving(), to.used.leaving);
  read_map(from.pending(), to.pending);
  read_map(from.blocked(), to.blocked);
  read.all("wishes", from.wishes(), to.wishes, from_proto);
  return read.result(std::move(to));
}

static v1::QuotaReport to_proto(const quota_report& from) {
  v1::QuotaReport to;
  to.set_resource_group(from.resource_group);
  write_each(from.queues, *to.mutable_queues());
  write_map(from.capacity, *to.mutable_capacity());
  to.set_nodes(from.nodes);
  to.set_epoch(from.epoch);
  write_each(from.standing, *to.mutable_standing());
  return to;
}

static absl::StatusOr<quota_report> from_proto(const v1::QuotaReport& from) {
  quota_report to;
  field_reader read;
  to.resource_group = from.resource_group();
  read.each("queues", from.queues(), to.queues, from_proto);
  read_map(from.capacity(), to.capacity);
  to.nodes = from.nodes();
  to.epoch = from.epoch();
  read.each("standing", from.standing(), to.standing, from_proto);
  return read.result(std::move(to));
}

using amounts_by_queue = google::protobuf::Map<std::string, v1::Amounts>;

static void write_amounts(const by_name<resources>& from, amounts_by_queue& to) {
  for (const auto& [queue, amounts] : from)
    write_map(amounts, *to[queue].mutable_of());
}

static void read_amounts(const amounts_by_queue& from, by_name<resources>& to) {
  for (const auto& [queue, amounts] : from)
    read_map(amounts.of(), to[queue]);
}

static v1::QuotaGrants to_proto(const quota_grants& from) {
  v1::QuotaGrants to;
  write_amounts(from.queues, *to.mutable_queues());
  write_amounts(from.asked_down, *to.mutable_asked_down());
  to.set_epoch(from.epoch);
  to.set_number(from.number);
  return to;
}

static absl::StatusOr<quota_grants> from_proto(const v1::QuotaGrants& from) {
  quota_grants to;
  read_amounts(from.queues(), to.queues);
  read_amounts(from.asked_down(), to.asked_down);
  to.epoch = from.epoch();
  to.number = from.number();
  return to;
}

static v1::LowerGrants to_proto(const lower_grants& from) {
  v1::LowerGrants to;
  write_amounts(from.queues, *to.mutable_queues());
  write_amounts(from.used, *to.mutable_used());
  return to;
}

static absl::StatusOr<lower_grants> from_proto(const v1::LowerGrants& from) {
  lower_grants to;
  read_amounts(from.queues(), to.queues);
  read_amounts(from.used(), to.used);
  return to;
}

// -- how the queues stand -------------------------------------------------------------------------

static v1::ReadQueues to_proto(const read_queues&) {
  return {};
}

static absl::StatusOr<read_queues> from_proto(const v1::ReadQueues&) {
  return read_queues{};
}

static v1::QueueStatuses to_proto(const by_name<queue_status>& from) {
  v1::QueueStatuses to;
  write_each(from, *to.mutable_queues());
  return to;
}

static absl::StatusOr<by_name<queue_status>> from_proto(const v1::QueueStatuses& from) {
  by_name<queue_status> to;
  field_reader read;
  read.each("queues", from.queues(), to, from_proto);
  return read.result(std::move(to));
}

REPRIEVE_PEER_MESSAGE(put_catalog, v1::PutCatalog)
REPRIEVE_PEER_MESSAGE(remove_catalog, v1::RemoveCatalog)
REPRIEVE_PEER_MESSAGE(catalog_update, v1::CatalogUpdate)
REPRIEVE_PEER_MESSAGE(quota_report, v1::QuotaReport)
REPRIEVE_PEER_MESSAGE(quota_grants, v1::QuotaGrants)
REPRIEVE_PEER_MESSAGE(lower_grants, v1::LowerGrants)
REPRIEVE_PEER_MESSAGE(read_queues, v1::ReadQueues)
REPRIEVE_PEER_MESSAGE(by_name<queue_status>, v1::QueueStatuses)

} // namespace reprieve
