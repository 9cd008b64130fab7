#pragma once

#include <cstddef>
#include <cstdint>

/// How much each record may hold, so that every write of one fits a transaction of the store
/// (`store_limits`) with room to spare. Admission refuses what would exceed them; what pods bring
/// to a node is refused by a vote. They stand in README.md, "Limits of objects".
namespace reprieve::record_limits {

// -- what a manifest may have ---------------------------------------------------------------------

inline constexpr std::size_t labels = 64; ///< of an object, a template or a selector
inline constexpr std::size_t annotations = 256;
inline constexpr std::size_t tolerations = 64; ///< likewise taints
inline constexpr std::size_t resources = 64;   ///< named in one set of amounts
inline constexpr std::size_t topology_keys = 8;
inline constexpr std::size_t protected_members = 4096;
inline constexpr std::size_t pod_groups = 128;
inline constexpr std::int64_t pods = 1'000'000; ///< of one workload
/// Of those, the ones of gangs and of groups that are bound to a node.
inline constexpr std::int64_t pods_looked_at = 100'000;
inline constexpr std::size_t template_bytes = 64 * 1024;
inline constexpr std::size_t workload_bytes = 512 * 1024;
inline constexpr std::size_t priority_classes = 10'000;
inline constexpr std::size_t queues = 10'000;
inline constexpr std::size_t resource_groups = 1000;
/// That a guard may allow in an hour: as many are remembered of each workload.
inline constexpr std::int32_t preemptions_per_hour = 1000;

// -- what records come to -------------------------------------------------------------------------

/// What a record of any kind may take in the store. A third of a transaction is left for what goes
/// with it.
inline constexpr std::size_t record_bytes = 1'000'000;

/// What the pods that stay on a node may take in its record; and with them those who leave, whose
/// places others get before they have gone.
inline constexpr std::size_t staying_pods_bytes = 600'000;
inline constexpr std::size_t all_pods_bytes = 1'200'000;
/// What a pod's part of a record may grow by: times, and the decision that takes it.
inline constexpr std::size_t pod_growth_bytes = 200;

/// What a placement remembers of who makes room for it.
inline constexpr std::size_t nominations_bytes = 500'000;

/// How many workloads that lose something stand in the key of a decision, to find it by.
inline constexpr std::size_t evicted_told = 8000;

} // namespace reprieve::record_limits
