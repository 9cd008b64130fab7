#include "protocol/records/records.hpp"

#include "protocol/messages/convert_decision.hpp"
#include "protocol/messages/convert_disruption_budget.hpp"
#include "protocol/messages/convert_fields.hpp"
#include "protocol/messages/convert_node.hpp"
#include "protocol/messages/convert_placement.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "protocol/messages/convert_priority_class.hpp"
#include "protocol/messages/convert_queue.hpp"
#include "protocol/messages/convert_reasoning.hpp"
#include "protocol/messages/convert_resource_group.hpp"
#include "protocol/messages/convert_slot.hpp"
#include "protocol/messages/convert_workload.hpp"
#include "protocol/messages/convert_workload_status.hpp"
#include "protocol/messages/wire_writer.hpp"
#include "state/records/record_limits.hpp"

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <reprieve/v1/records.pb.h>

#include <algorithm>
#include <set>

namespace reprieve {

namespace {

/// The value as a message, made once.
template <class T>
const std::string& bytes_of(const shared_value<T>& value) {
  return value.shared().bytes([](const T& what) { return to_proto(what).SerializeAsString(); });
}

/// A message of a record of which there are many: all its parts are in one piece of memory, which
/// is on the stack for most.
template <class Message>
class parsed {
public:
  explicit parsed(std::string_view bytes)
      : arena_(space_, sizeof space_),
        message_(google::protobuf::Arena::CreateMessage<Message>(&arena_)),
        whole_(message_->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {}

  absl::Status status() const {
    if (whole_)
      return absl::OkStatus();
    return absl::DataLossError(message_->GetTypeName() + " expected, other bytes found");
  }

  const Message* operator->() const {
    return message_;
  }

private:
  alignas(8) char space_[8192];
  google::protobuf::Arena arena_;
  Message* message_;
  bool whole_;
};

} // namespace

/// A record that is one message of the model by itself.
template <class Message, class Record>
static absl::StatusOr<Record> decode_message(std::string_view bytes) {
  const auto message = parse_message<Message>(bytes);
  if (!message.ok())
    return message.status();
  return from_proto(*message);
}

decision_head head_of(const decision& d, std::uint32_t chunks) {
  decision_head head;
  auto& summary = head.summary;
  summary.id = d.id;
  summary.resource_group = d.resource_group;
  summary.workloads = d.workloads;
  summary.queue = d.queue;
  summary.priority = d.priority;
  summary.policy = d.policy;
  summary.phase = d.phase;
  summary.scored = d.scored;
  summary.decided = d.decided;
  summary.committed = d.committed;
  summary.ended = d.ended;
  summary.abort_reason = d.abort_reason;
  summary.victims_told = d.victims_told;
  summary.at_once = d.at_once;
  summary.trace = d.trace;
  head.chunks = chunks;
  std::set<std::string> evicted;
  for (const auto& one : d.victims)
    evicted.insert(one.portion.workload);
  // It has to fit a transaction; who is not among them is found in the content.
  for (const auto& name : evicted)
    if (head.evicted.size() < record_limits::evicted_told)
      head.evicted.push_back(name);
  return head;
}

archive_entry entry_of(const decision_head& head, std::int64_t content) {
  std::set<std::string> workloads(head.summary.workloads.begin(), head.summary.workloads.end());
  workloads.insert(head.evicted.begin(), head.evicted.end());
  archive_entry entry{head.summary.id,
                      std::chrono::floor<std::chrono::seconds>(head.summary.ended),
                      {0, head.summary.decided, {workloads.begin(), workloads.end()}}};
  entry.what.bytes = bytes_in_archive(entry, head.chunks, content);
  return entry;
}

std::string too_new(std::int32_t version, std::int32_t known) {
  return fmt::format("the store has schema version {}, this program knows versions up to {}; run a "
                     "newer reprieved",
                     version, known);
}

std::string encode(const schema_record& r) {
  v1::SchemaRecord to;
  to.set_version(r.version);
  to.set_cluster_id(r.cluster);
  to.set_created(to_nanoseconds(r.created));
  to.set_node_shards(static_cast<std::int32_t>(r.node_shards));
  to.set_workload_shards(static_cast<std::int32_t>(r.workload_shards));
  to.set_epoch_base(r.epoch_base);
  return to.SerializeAsString();
}

/// Of a later version, whose counts may mean something else, the version is what is refused.
static absl::Status check_shards(const v1::SchemaRecord& from) {
  if (from.version() > schema_version)
    return absl::OkStatus();
  for (const auto& [what, count] :
       {std::pair{"node", from.node_shards()}, std::pair{"workload", from.workload_shards()}})
    if (count < 1 || count > most_shards)
      return absl::DataLossError(fmt::format("it gives each resource group {} {} shards; there are "
                                             "1 to {} of them",
                                             count, what, most_shards));
  return absl::OkStatus();
}

template <>
absl::StatusOr<schema_record> decode(std::string_view bytes) {
  const auto from = parse_message<v1::SchemaRecord>(bytes);
  if (!from.ok())
    return from.status();
  if (auto counts = check_shards(*from); !counts.ok())
    return counts;
  return schema_record{from->version(),
                       from->cluster_id(),
                       time_point{duration{from->created()}},
                       static_cast<std::uint32_t>(from->node_shards()),
                       static_cast<std::uint32_t>(from->workload_shards()),
                       from->epoch_base()};
}

std::string encode(const owner_record& r) {
  v1::OwnerRecord to;
  to.set_replica(r.replica);
  to.set_address(r.address);
  to.set_api(r.api);
  to.set_started(to_nanoseconds(r.started));
  for (const auto& one : r.owned)
    to.add_owned(one);
  if (r.schema > first_schema_version)
    to.set_schema(r.schema);
  to.set_secret(r.secret);
  return to.SerializeAsString();
}

template <>
absl::StatusOr<owner_record> decode(std::string_view bytes) {
  const auto from = parse_message<v1::OwnerRecord>(bytes);
  if (!from.ok())
    return from.status();
  return owner_record{from->replica(),
                      from->address(),
                      from->api(),
                      time_point{duration{from->started()}},
                      {from->owned().begin(), from->owned().end()},
                      std::max(from->schema(), first_schema_version),
                      from->secret()};
}

std::string encode(const owners_record& r) {
  v1::OwnersRecord to;
  for (const auto& [what, replica] : r.owners)
    (*to.mutable_owners())[what] = replica;
  for (const auto& [group, nodes] : r.nodes)
    (*to.mutable_nodes())[group] = nodes;
  return to.SerializeAsString();
}

template <>
absl::StatusOr<owners_record> decode(std::string_view bytes) {
  const auto from = parse_message<v1::OwnersRecord>(bytes);
  if (!from.ok())
    return from.status();
  return owners_record{{from->owners().begin(), from->owners().end()},
                       {from->nodes().begin(), from->nodes().end()}};
}

std::string encode(const sequence_record& r) {
  v1::SequenceRecord to;
  to.set_number(r.number);
  to.set_writer(r.writer);
  to.mutable_carried_out()->Assign(r.carried_out.begin(), r.carried_out.end());
  to.set_promised(r.promised);
  return to.SerializeAsString();
}

template <>
absl::StatusOr<sequence_record> decode(std::string_view bytes) {
  const auto from = parse_message<v1::SequenceRecord>(bytes);
  if (!from.ok())
    return from.status();
  return sequence_record{from->number(),
                         from->writer(),
                         {from->carried_out().begin(), from->carried_out().end()},
                         from->promised()};
}

std::string encode(const promised_writes& r) {
  v1::PromisedWrites to;
  for (const auto& one : r.writes) {
    auto& made = *to.add_writes();
    if (const auto* written = std::get_if<put>(&one)) {
      made.set_key(written->key);
      made.set_value(written->value);
    } else {
      made.set_key(std::get<erase>(one).range.begin);
      made.set_erase(true);
    }
  }
  return to.SerializeAsString();
}

template <>
absl::StatusOr<promised_writes> decode(std::string_view bytes) {
  const auto from = parse_message<v1::PromisedWrites>(bytes);
  if (!from.ok())
    return from.status();
  promised_writes to;
  for (const auto& one : from->writes())
    if (one.erase())
      to.writes.emplace_back(erase{just(one.key())});
    else
      to.writes.emplace_back(put{one.key(), one.value(), 0});
  return to;
}

std::string encode(const node_record& r) {
  // A message is the sequence of its fields, and most pods have not changed since the last time.
  const auto& spec = bytes_of(r.spec);
  const auto status =
    r.status == node_status{} ? std::string{} : to_proto(r.status).SerializeAsString();
  constexpr std::size_t tag_and_length = 6;
  auto size = spec.size() + status.size() + 2 * tag_and_length;
  for (const auto& p : r.pods.shared())
    size += bytes_of(*p).size() + tag_and_length;
  std::string bytes;
  bytes.reserve(size);
  wire_writer write{bytes};
  write.bytes(v1::NodeRecord::kNodeFieldNumber, spec);
  write.text(v1::NodeRecord::kStatusFieldNumber, status);
  for (const auto& p : r.pods.shared())
    write.bytes(v1::NodeRecord::kPodsFieldNumber, bytes_of(*p));
  return bytes;
}

template <>
absl::StatusOr<node_record> decode(std::string_view bytes) {
  const parsed<v1::NodeRecord> from(bytes);
  if (!from.status().ok())
    return from.status();
  field_reader read;
  node_record to;
  node spec;
  std::vector<pod> pods;
  std::vector<pod_list::pointer> shared;
  read.one("node", from->node(), spec, from_proto);
  to.spec = std::move(spec);
  read.one("status", from->status(), to.status, from_proto);
  read.all("pods", from->pods(), pods, from_proto);
  for (auto& p : pods)
    shared.push_back(std::make_shared<const shared_pod>(std::move(p)));
  to.pods = pod_list::of(std::move(shared));
  return read.result(std::move(to));
}

std::string encode(const left_pods& r) {
  v1::LeftBehindRecord to;
  to.mutable_pods()->Assign(r.uids.begin(), r.uids.end());
  return to.SerializeAsString();
}

template <>
absl::StatusOr<left_pods> decode(std::string_view bytes) {
  const auto from = parse_message<v1::LeftBehindRecord>(bytes);
  if (!from.ok())
    return from.status();
  return left_pods{{from->pods().begin(), from->pods().end()}};
}

static void add_slots(const slot_page& from,
                      google::protobuf::RepeatedPtrField<v1::SlotRecord>& to) {
  for (const auto& one : from.slots)
    *to.Add() = to_proto(one);
}

/// The record with the slots of those pages that `is_in` says.
template <class F>
static std::string encode_with_pages(const workload_record& r, bool paged, F is_in) {
  v1::WorkloadRecord to;
  *to.mutable_status() = to_proto(r.status);
  for (const auto& page : r.slots.pages())
    if (is_in(*page))
      add_slots(*page, *to.mutable_slots());
  to.set_deleting(r.deleting);
  to.set_paged(paged);
  auto bytes = to.SerializeAsString();
  wire_writer{bytes}.bytes(v1::WorkloadRecord::kWorkloadFieldNumber, bytes_of(r.spec));
  return bytes;
}

std::string encode(const workload_record& r) {
  return encode_with_pages(r, false, [](const slot_page&) { return true; });
}

std::string encode_without_pages(const workload_record& r) {
  return encode_with_pages(r, true, [](const slot_page& page) { return page.number == 0; });
}

std::string encode(const slot_page& r) {
  v1::SlotPage to;
  add_slots(r, *to.mutable_slots());
  return to.SerializeAsString();
}

template <>
absl::StatusOr<slot_page> decode(std::string_view bytes) {
  const parsed<v1::SlotPage> from(bytes);
  if (!from.status().ok())
    return from.status();
  field_reader read;
  slot_page to;
  read.all("slots", from->slots(), to.slots, from_proto);
  return read.result(std::move(to));
}

std::size_t bytes_in_record(const shared_pod& p) {
  constexpr std::size_t tag_and_length = 6;
  return bytes_of(p).size() + tag_and_length;
}

template <>
absl::StatusOr<workload_record> decode(std::string_view bytes) {
  const parsed<v1::WorkloadRecord> from(bytes);
  if (!from.status().ok())
    return from.status();
  field_reader read;
  workload_record to;
  workload spec;
  read.one("workload", from->workload(), spec, from_proto);
  to.spec = std::move(spec);
  read.one("status", from->status(), to.status, from_proto);
  std::vector<slot_record> slots;
  read.all("slots", from->slots(), slots, from_proto);
  if (from->paged())
    to.slots = slot_list::of_pages({{0, std::move(slots)}});
  else
    to.slots = std::move(slots);
  to.deleting = from->deleting();
  return read.result(std::move(to));
}

std::string encode(const disruption_budget& r) {
  v1::BudgetRecord to;
  *to.mutable_budget() = to_proto(r);
  return to.SerializeAsString();
}

template <>
absl::StatusOr<disruption_budget> decode(std::string_view bytes) {
  const auto from = parse_message<v1::BudgetRecord>(bytes);
  if (!from.ok())
    return from.status();
  return from_proto(from->budget());
}

std::string encode(const queue& r) {
  v1::QueueRecord to;
  *to.mutable_queue() = to_proto(r);
  return to.SerializeAsString();
}

template <>
absl::StatusOr<queue> decode(std::string_view bytes) {
  const auto from = parse_message<v1::QueueRecord>(bytes);
  if (!from.ok())
    return from.status();
  return from_proto(from->queue());
}

std::string encode(const quota_record& r) {
  v1::QuotaRecord to;
  write_map(r.allocated, *to.mutable_allocated());
  write_map(r.preempting, *to.mutable_preempting());
  for (const auto& [group, amounts] : r.grants)
    write_map(amounts, *(*to.mutable_grants())[group].mutable_of());
  return to.SerializeAsString();
}

template <>
absl::StatusOr<quota_record> decode(std::string_view bytes) {
  const auto from = parse_message<v1::QuotaRecord>(bytes);
  if (!from.ok())
    return from.status();
  quota_record to;
  field_reader read;
  read.amounts("allocated", from->allocated(), to.allocated);
  read.amounts("preempting", from->preempting(), to.preempting);
  for (const auto& [group, amounts] : from->grants())
    read.amounts("grants." + group, amounts.of(), to.grants[group]);
  return read.result(std::move(to));
}

std::string encode(const placement& r) {
  return to_proto(r).SerializeAsString();
}

template <>
absl::StatusOr<placement> decode(std::string_view bytes) {
  return decode_message<v1::Placement, placement>(bytes);
}

std::string encode(const priority_class& r) {
  return to_proto(r).SerializeAsString();
}

template <>
absl::StatusOr<priority_class> decode(std::string_view bytes) {
  return decode_message<v1::PriorityClass, priority_class>(bytes);
}

std::string encode(const resource_group& r) {
  return to_proto(r).SerializeAsString();
}

template <>
absl::StatusOr<resource_group> decode(std::string_view bytes) {
  return decode_message<v1::ResourceGroup, resource_group>(bytes);
}

std::string encode(const decision_head& r) {
  auto to = to_head(r.summary);
  to.set_chunks(static_cast<std::int32_t>(r.chunks));
  for (const auto& workload : r.evicted)
    to.add_evicted_workloads(workload);
  return to.SerializeAsString();
}

template <>
absl::StatusOr<decision_head> decode(std::string_view bytes) {
  const auto from = parse_message<v1::DecisionHead>(bytes);
  if (!from.ok())
    return from.status();
  auto summary = from_proto(*from);
  if (!summary.ok())
    return summary.status();
  return decision_head{*std::move(summary),
                       static_cast<std::uint32_t>(from->chunks()),
                       {from->evicted_workloads().begin(), from->evicted_workloads().end()}};
}

std::string encode(const archived_decision& r) {
  v1::ArchivedDecision to;
  to.set_bytes(r.bytes);
  to.set_decided(to_nanoseconds(r.decided));
  for (const auto& workload : r.workloads)
    to.add_workloads(workload);
  return to.SerializeAsString();
}

template <>
absl::StatusOr<archived_decision> decode(std::string_view bytes) {
  const auto from = parse_message<v1::ArchivedDecision>(bytes);
  if (!from.ok())
    return from.status();
  return archived_decision{from->bytes(),
                           time_point{duration{from->decided()}},
                           {from->workloads().begin(), from->workloads().end()}};
}

std::string encode(const archive_total& r) {
  v1::ArchiveTotal to;
  to.set_count(r.count);
  to.set_bytes(r.bytes);
  return to.SerializeAsString();
}

template <>
absl::StatusOr<archive_total> decode(std::string_view bytes) {
  const auto from = parse_message<v1::ArchiveTotal>(bytes);
  if (!from.ok())
    return from.status();
  return archive_total{from->count(), from->bytes()};
}

std::string encode(const archive_record& r) {
  v1::ArchiveRecord to;
  to.set_let_go_until(to_nanoseconds(r.let_go_until));
  to.set_made_room(r.made_room);
  to.set_settled(r.settled);
  return to.SerializeAsString();
}

template <>
absl::StatusOr<archive_record> decode(std::string_view bytes) {
  const auto from = parse_message<v1::ArchiveRecord>(bytes);
  if (!from.ok())
    return from.status();
  return archive_record{time_point{duration{from->let_go_until()}}, from->made_room(),
                        from->settled()};
}

/// How many pods of one victim stand together: a large gang is cut into several pieces.
static constexpr std::size_t pods_in_a_piece = 1000;

static std::vector<victim> in_pieces(const victim& whole) {
  constexpr auto most_pods = pods_in_a_piece;
  std::vector<victim> pieces;
  for (std::size_t from = 0; from == 0 || from < whole.pods.size(); from += most_pods) {
    auto& piece = pieces.emplace_back();
    piece.portion = whole.portion;
    piece.priority = whole.priority;
    piece.violates_budget = whole.violates_budget;
    piece.work_lost = whole.work_lost;
    piece.reason = whole.reason;
    piece.counted = whole.counted;
    piece.expected = whole.expected;
    const auto first = whole.pods.begin() + static_cast<std::ptrdiff_t>(from);
    piece.pods.assign(first,
                      first
                        + std::min(std::ssize(whole.pods) - static_cast<std::ptrdiff_t>(from),
                                   static_cast<std::ptrdiff_t>(most_pods)));
  }
  return pieces;
}

std::vector<std::string> encode_bodies(const decision& d, std::span<const pod_list::pointer> placed,
                                       std::size_t chunk_bytes) {
  using form = v1::DecisionBody;
  std::vector<std::string> chunks(1);
  const auto add = [&](std::uint32_t field, std::string_view message) {
    if (!chunks.back().empty() && chunks.back().size() + message.size() > chunk_bytes)
      chunks.emplace_back();
    wire_writer{chunks.back()}.bytes(field, message);
  };
  add(form::kWhyFieldNumber, to_proto(d.why).SerializeAsString());
  std::string assigned;
  for (const auto& p : placed) {
    assigned.clear();
    wire_writer{assigned}.bytes(v1::Assignment::kPlacedFieldNumber, bytes_of(*p));
    add(form::kAssignmentsFieldNumber, assigned);
  }
  for (const auto& one : d.victims)
    for (const auto& piece : in_pieces(one))
      add(form::kVictimsFieldNumber, to_proto(piece).SerializeAsString());
  for (const auto& one : d.counts)
    add(form::kCountsFieldNumber, to_proto(one).SerializeAsString());
  for (const auto& one : d.force_deletes)
    add(form::kForceDeletesFieldNumber, to_proto(one).SerializeAsString());
  return chunks;
}

/// Whether the second goes on where the first was cut off.
static bool continues(const victim& first, const victim& second) {
  return !first.pods.empty() && first.pods.size() % pods_in_a_piece == 0
         && first.portion == second.portion && first.reason == second.reason;
}

absl::Status add_body(decision& d, std::string_view bytes) {
  const auto from = parse_message<v1::DecisionBody>(bytes);
  if (!from.ok())
    return from.status();
  auto before = std::exchange(d.victims, {});
  if (auto added = add_body(*from, d); !added.ok())
    return added;
  auto pieces = std::exchange(d.victims, std::move(before));
  for (auto& one : pieces)
    if (!d.victims.empty() && continues(d.victims.back(), one))
      std::ranges::move(one.pods, std::back_inserter(d.victims.back().pods));
    else
      d.victims.push_back(std::move(one));
  return absl::OkStatus();
}

} // namespace reprieve
