#pragma once

#include "state/membership/shard_placement.hpp"
#include "state/model/decision.hpp"
#include "state/model/disruption_budget.hpp"
#include "state/model/placement.hpp"
#include "state/model/priority_class.hpp"
#include "state/model/queue.hpp"
#include "state/model/resource_group.hpp"
#include "state/records/decision_archive_keys.hpp"
#include "state/records/node_record.hpp"
#include "state/records/quota_record.hpp"
#include "state/records/workload_record.hpp"
#include "state/store/store.hpp"

#include <absl/status/statusor.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// The newest version of the records that this program knows. It reads all earlier ones, and writes
/// what the store's version says until every replica knows a newer one.
///
/// 1: the first. 2: placements may start with their commit, which a shard's sequence record tells.
/// 3: names of what belongs to resource groups have a key of their own. 4: decisions change what
/// placements have committed, and placements remember who makes room for whom. 5: finished
/// decisions are indexed by workload, in the order in which they ended, and slots of large
/// workloads stand in pages of their own. 6: what is too large for one transaction may be promised
/// first, which a shard's sequence record tells.
inline constexpr std::int32_t schema_version = 6;
inline constexpr std::int32_t first_schema_version = 1;
inline constexpr std::int32_t schema_with_starts_at_once = 2;
inline constexpr std::int32_t schema_with_names = 3;
inline constexpr std::int32_t schema_with_counts = 4;
inline constexpr std::int32_t schema_with_archive = 5;
inline constexpr std::int32_t schema_with_slot_pages = 5;
inline constexpr std::int32_t schema_with_promises = 6;

/// What is fixed when a cluster is created.
struct schema_record {
  std::int32_t version = schema_version;
  std::string cluster;
  time_point created = no_time;
  std::uint32_t node_shards = 1;     ///< of each resource group
  std::uint32_t workload_shards = 1; ///< likewise
  /// Added to epochs wherever they are remembered outside of the store: in orders, uids and ids of
  /// decisions. A restored store counts its revisions from the start, and these must not repeat.
  revision epoch_base = 0;
};

/// Why a program that knows `known` does not touch a store of `version`.
std::string too_new(std::int32_t version, std::int32_t known);

/// One replica, and what it owns; its modification revision is the epoch of all of that.
struct owner_record {
  std::string replica;
  std::string address; ///< for the other replicas
  std::string api;     ///< for everybody
  time_point started = no_time;
  std::set<std::string> owned; ///< shards and coordinators, such as `n/default.3` and `c/default`
  std::int32_t schema = first_schema_version; ///< the newest that its program knows
  std::string secret{}; ///< to be shown by replicas that dial it, where they show no certificate
};

/// What `place_shards` came to.
struct owners_record {
  shard_owners owners;
  std::map<std::string, std::int64_t> nodes; ///< of resource groups, by which they were placed
};

/// The newest batch that a shard's ledger wrote.
struct sequence_record {
  std::int64_t number = 0;
  std::string writer;
  std::set<std::string> carried_out; ///< open decisions that must not be carried out once more
  std::uint32_t promised = 0;        ///< chunks of writes that this batch stands for
};

/// Such a chunk.
struct promised_writes {
  std::vector<operation> writes;
};

/// A decision as its key holds it: all but what its chunks hold.
struct decision_head {
  decision summary;
  std::uint32_t chunks = 0;
  std::vector<std::string> evicted; ///< workloads that lose something, to find it by
};

/// The head of a decision whose content is in that many chunks, and nothing of that content.
decision_head head_of(const decision& d, std::uint32_t chunks);

/// The place in the archive of a decision that has ended, whose chunks and head have `content`
/// bytes.
archive_entry entry_of(const decision_head& head, std::int64_t content);

// Records are Protobuf; these turn them into the store's bytes and back. Decoding refuses what it
// can't read with a sentence.
std::string encode(const schema_record& r);
std::string encode(const owner_record& r);
std::string encode(const owners_record& r);
std::string encode(const sequence_record& r);
std::string encode(const promised_writes& r);
std::string encode(const node_record& r);
std::string encode(const left_pods& r);
std::string encode(const workload_record& r); ///< with all slots in it
/// Likewise, but with those slots only that stand in no page of their own.
std::string encode_without_pages(const workload_record& r);
std::string encode(const slot_page& r);
std::string encode(const disruption_budget& r);
std::string encode(const placement& r);
std::string encode(const queue& r);
std::string encode(const quota_record& r);
std::string encode(const priority_class& r);
std::string encode(const resource_group& r);
std::string encode(const decision_head& r);
std::string encode(const archived_decision& r);
std::string encode(const archive_total& r);
std::string encode(const archive_record& r);

template <class Record>
absl::StatusOr<Record> decode(std::string_view bytes);

/// How many bytes a pod takes in the record of its node.
std::size_t bytes_in_record(const shared_pod& p);

/// The decision's placements, victims and reasoning in chunks of at most about `chunk_bytes`.
std::vector<std::string> encode_bodies(const decision& d, std::span<const pod_list::pointer> placed,
                                       std::size_t chunk_bytes = 256 * 1024);

/// Puts one chunk's content back into the decision; chunks come in order.
absl::Status add_body(decision& d, std::string_view bytes);

} // namespace reprieve
