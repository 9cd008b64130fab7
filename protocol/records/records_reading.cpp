#include "protocol/records/records_reading.hpp"

#include "protocol/messages/convert_fields.hpp"
#include "protocol/messages/convert_node.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "state/model/catalog.hpp"
#include "state/quantities/resource_sums.hpp"
#include "state/records/keys.hpp"
#include "state/records/record_limits.hpp"
#include "state/text/printable.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <reprieve/v1/records.pb.h>

#include <algorithm>
#include <set>
#include <string>

namespace reprieve {

namespace {

using google::protobuf::io::CodedInputStream;

/// Earlier versions admitted more pods than there may be now, but not any number.
constexpr std::int64_t most_pods_ever = 16 * std::int64_t{record_limits::pods};

absl::Status check_name(std::string_view key, std::string_view name) {
  if (const auto wanted = keys::last_part(key); name != wanted)
    return absl::DataLossError(
      name.empty() ? "it does not say of which object it is"
                   : fmt::format("it is of {}, not of {}", printable(name), printable(wanted)));
  return absl::OkStatus();
}

absl::Status check_group(std::string_view key, std::string_view group) {
  if (const auto wanted = group_of_shard(keys::shard_of(key)); group != wanted)
    return absl::DataLossError(
      fmt::format("it is of resource group '{}', not of {}", printable(group), printable(wanted)));
  return absl::OkStatus();
}

absl::Status check_both(std::string_view key, std::string_view name, std::string_view group) {
  auto named = check_name(key, name);
  return named.ok() ? check_group(key, group) : named;
}

absl::Status check_pods(const workload& spec) {
  std::int64_t left = most_pods_ever;
  for (const auto& group : spec.groups) {
    if (group.count < 1 || group.replicas < 1)
      return absl::DataLossError(fmt::format("pod group '{}' has {} replicas of {} pods; there is "
                                             "at least one of each",
                                             printable(group.name), group.replicas, group.count));
    left -= std::min(left, std::int64_t{group.count} * group.replicas);
  }
  return left > 0
           ? absl::OkStatus()
           : absl::DataLossError(fmt::format("it asks for more than {} pods", most_pods_ever));
}

absl::Status check(std::string_view key, const node_record& record) {
  if (auto named = check_both(key, record.spec->name, record.spec->resource_group); !named.ok())
    return named;
  for (const auto& p : record.pods)
    if (p.uid.empty() || p.workload.empty() || p.node != record.spec->name)
      return absl::DataLossError(fmt::format(
        "pod '{}' has no uid, no workload, or stands on node '{}' by what it says itself",
        printable(p.name), printable(p.node)));
  return absl::OkStatus();
}

absl::Status check(std::string_view key, const workload_record& record) {
  if (auto named = check_both(key, record.spec->name, record.spec->resource_group); !named.ok())
    return named;
  if (record.status.uid.empty())
    return absl::DataLossError("status: it has no uid");
  const auto groups = record.spec->groups.size();
  if (const auto known = record.status.by_group.size(); known != groups)
    return absl::DataLossError(fmt::format(
      "status: it has the priorities of {} pod groups, and the workload {} groups", known, groups));
  return check_pods(record.spec);
}

absl::Status check(std::string_view key, const disruption_budget& record) {
  return check_both(key, record.name, record.resource_group);
}

absl::Status check(std::string_view key, const placement& record) {
  return check_both(key, record.name, record.cluster);
}

absl::Status check(std::string_view key, const queue& record) {
  return check_name(key, record.name);
}

absl::Status check(std::string_view key, const priority_class& record) {
  return check_name(key, record.name);
}

absl::Status check(std::string_view key, const resource_group& record) {
  return check_name(key, record.name);
}

absl::Status check(std::string_view key, const decision_head& record) {
  return check_name(key, record.summary.id);
}

absl::Status check(std::string_view, const left_pods&) {
  return absl::OkStatus();
}

absl::Status check(std::string_view, const slot_page&) {
  return absl::OkStatus();
}

absl::Status check(std::string_view, const quota_record&) {
  return absl::OkStatus();
}

absl::Status check(std::string_view, const sequence_record&) {
  return absl::OkStatus();
}

template <class Record>
absl::Status reads_as(std::string_view key, std::string_view value) {
  return read_record<Record>(key, value).status();
}

/// Calls `take` with the number and the bytes of each field that has bytes; false where the message
/// ends otherwise than it should.
template <class F>
bool each_field(std::string_view message, F take) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                      static_cast<int>(message.size()));
  constexpr std::uint32_t type_bits = 3;
  constexpr std::uint32_t varint = 0;
  constexpr std::uint32_t fixed_64 = 1;
  constexpr std::uint32_t with_length = 2;
  constexpr std::uint32_t fixed_32 = 5;
  while (const auto tag = in.ReadTag()) {
    std::uint64_t number = 0;
    std::uint32_t length = 0;
    switch (tag & ((1U << type_bits) - 1)) {
    case varint:
      if (!in.ReadVarint64(&number))
        return false;
      break;
    case fixed_64:
      if (!in.Skip(8))
        return false;
      break;
    case fixed_32:
      if (!in.Skip(4))
        return false;
      break;
    case with_length: {
      if (!in.ReadVarint32(&length))
        return false;
      const auto at = static_cast<std::size_t>(in.CurrentPosition());
      if (length > message.size() - at || !in.Skip(static_cast<int>(length)))
        return false;
      take(tag >> type_bits, message.substr(at, length));
      break;
    }
    default:
      return false;
    }
  }
  return static_cast<std::size_t>(in.CurrentPosition()) == message.size();
}

/// What a part of the record is, where that part can be read.
template <class Message, class Model>
bool read_part(std::string_view bytes, Model& to,
               absl::StatusOr<Model> (*convert)(const Message&)) {
  const auto message = parse_message<Message>(bytes);
  if (!message.ok())
    return false;
  auto read = convert(*message);
  if (read.ok())
    to = *std::move(read);
  return read.ok();
}

} // namespace

template <class Record>
absl::StatusOr<Record> read_record(std::string_view key, std::string_view value) {
  auto record = decode<Record>(value);
  if (record.ok())
    if (auto whole = check(key, *record); !whole.ok())
      return whole;
  return record;
}

template absl::StatusOr<node_record> read_record(std::string_view, std::string_view);
template absl::StatusOr<left_pods> read_record(std::string_view, std::string_view);
template absl::StatusOr<workload_record> read_record(std::string_view, std::string_view);
template absl::StatusOr<slot_page> read_record(std::string_view, std::string_view);
template absl::StatusOr<disruption_budget> read_record(std::string_view, std::string_view);
template absl::StatusOr<placement> read_record(std::string_view, std::string_view);
template absl::StatusOr<queue> read_record(std::string_view, std::string_view);
template absl::StatusOr<priority_class> read_record(std::string_view, std::string_view);
template absl::StatusOr<resource_group> read_record(std::string_view, std::string_view);
template absl::StatusOr<quota_record> read_record(std::string_view, std::string_view);
template absl::StatusOr<decision_head> read_record(std::string_view, std::string_view);
template absl::StatusOr<sequence_record> read_record(std::string_view, std::string_view);

absl::Status check_stored(std::string_view key, std::string_view value) {
  struct kind {
    std::string_view begins;
    std::string_view within; ///< that, too
    absl::Status (*check)(std::string_view, std::string_view);
  };
  static constexpr kind kinds[] = {
    {"n/", "", reads_as<node_record>},
    {"l/", "", reads_as<left_pods>},
    {"w/", "", reads_as<workload_record>},
    {"b/", "", reads_as<disruption_budget>},
    {"p/", "", reads_as<placement>},
    {keys::slot_pages, "", reads_as<slot_page>},
    {"q/", "/queue/", reads_as<queue>},
    {"q/", "/class/", reads_as<priority_class>},
    {"q/", "/group/", reads_as<resource_group>},
    {"q/", "/quota/", reads_as<quota_record>},
    {"seq/", "", reads_as<sequence_record>},
    {keys::open_decisions, "", reads_as<decision_head>},
  };
  for (const auto& [begins, within, check] : kinds)
    if (key.starts_with(begins) && key.find(within) != std::string_view::npos)
      return check(key, value);
  return absl::OkStatus();
}

salvaged_node salvage_node(std::string_view key, std::string_view value) {
  salvaged_node found;
  node spec;
  bool has_spec = false; ///< be it readable or not
  bool knows_spec = false;
  std::set<std::string> uids;
  const std::string name(keys::last_part(key));
  const bool whole = each_field(value, [&](std::uint32_t field, std::string_view bytes) {
    if (field == v1::NodeRecord::kNodeFieldNumber) {
      has_spec = true;
      knows_spec = read_part<v1::Node>(bytes, spec, from_proto);
    } else if (field == v1::NodeRecord::kStatusFieldNumber) {
      node_status status;
      if (read_part<v1::NodeStatus>(bytes, status, from_proto))
        found.record.status.left_behind = std::move(status.left_behind);
    } else if (field == v1::NodeRecord::kPodsFieldNumber) {
      pod p;
      if (!read_part<v1::Pod>(bytes, p, from_proto) || p.uid.empty() || p.workload.empty()) {
        found.hides_pods = true;
      } else if (p.phase != pod_phase::nominated && uids.insert(p.uid).second) {
        // What was only nominated has not begun; what its decision does now, is done elsewhere.
        p.node = name;
        p.daemon = true; // which nobody may preempt
        put_pod(found.record, std::move(p));
      }
    }
  });
  found.hides_pods = found.hides_pods || !whole || !has_spec;
  spec.name = name;
  spec.resource_group = group_of_shard(keys::shard_of(key));
  spec.schedulable = false;
  for (const auto& p : found.record.pods)
    if (!knows_spec)
      add_times(spec.capacity, p.requests, 1);
  found.record.spec = std::move(spec);
  return found;
}

workload_record salvage_workload(std::string_view key, std::string_view value) {
  workload spec;
  spec.name = keys::last_part(key);
  spec.resource_group = group_of_shard(keys::shard_of(key));
  workload_record to;
  to.status.uid = "unreadable";
  each_field(value, [&](std::uint32_t field, std::string_view bytes) {
    v1::Workload given;
    v1::WorkloadStatus status;
    if (field == v1::WorkloadRecord::kWorkloadFieldNumber
        && given.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))
        && !given.queue().empty())
      spec.queue = given.queue();
    else if (field == v1::WorkloadRecord::kStatusFieldNumber
             && status.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))
             && !status.uid().empty())
      to.status.uid = status.uid();
  });
  to.spec = std::move(spec);
  to.deleting = true;
  return to;
}

} // namespace reprieve
