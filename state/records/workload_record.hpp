#pragma once

#include "state/containers/shared_value.hpp"
#include "state/model/pod.hpp"
#include "state/model/slot_list.hpp"
#include "state/model/workload.hpp"
#include "state/model/workload_course.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// What should exist of a workload (docs/architecture.md#state-in-the-store); where its pods run is
/// in the node records.
struct workload_record {
  shared_value<workload> spec;
  workload_status status;
  slot_list slots;
  bool deleting = false; ///< its pods are to stop, then it goes

  bool operator==(const workload_record&) const = default;
};

/// What has come of the workload, as its record tells.
workload_course course_of(const workload_record& record);

/// The slot's record, or what it stands for where there is none.
slot_record slot_at(const workload_record& record, const pod_slot& slot);

/// What a workload's pod is called, whichever of those that stood there it is.
std::string pod_name(std::string_view workload, const pod_slot& slot);

/// The uid of the pod that fills a place of the workload for the `incarnation`-th time.
std::string pod_uid(std::string_view workload, std::string_view workload_uid, const pod_slot& slot,
                    std::uint32_t incarnation);

/// Whether one of these pods, by uid, is the last that was asked for at a place of the portion.
/// Where none is, they have ended or gone already, and others may have come in their stead.
bool takes_any_of(const workload_record& record, const portion_id& portion,
                  const std::set<std::string, std::less<>>& pods);

/// Gives the record another spec. Of replicas that have fewer places from now on, or go, the last
/// place is recorded: as long as pods stand there, those who evict the replica take them as well,
/// and whoever comes there later must be another pod.
void put_spec(workload_record& record, workload next);

/// Records that the decision takes these portions of the workload: their pods come back in new
/// incarnations, or not at all, as `resume` says. Doing it again changes nothing.
void evict(workload_record& record, std::span<const portion_id> portions, std::string_view decision,
           time_point now);

/// Whether the portion's pods would come back if it were evicted now, rather than be over.
bool would_come_back(const workload_record& record, const portion_id& portion, time_point now);

/// Records that the decision takes replicas that the workload's cluster counts: no place of it goes
/// with them. Doing it again changes nothing.
void lose_replicas(workload_record& record, std::string_view decision, time_point now);

/// Takes an eviction by that decision back (nobody was told). With the last portion of it, the
/// decision no longer counts among those that preempted the workload.
void reprieve_portions(workload_record& record, std::span<const portion_id> portions,
                       std::string_view decision);

/// How many decisions preempted the workload within the last hour (docs/policies.md#guards).
std::int32_t recent_preemptions(const workload_status& status, time_point now);

/// Records how the pod of one incarnation ended; an older or repeated report changes nothing. One
/// that was not wanted any more leaves its place as `wanted`: should it be filled again, then by
/// another pod. The end of one that a decision takes counts as well, should it be given up.
void end_slot(workload_record& record, const pod_slot& slot, std::uint32_t incarnation,
              slot_state how);

/// Records that pods at these places, of these incarnations, were lost with their node: they come
/// back in new ones, or not at all, as `resume` says, without that counting as a preemption. A
/// replica that goes whole, or that is left with fewer than it needs, goes with them. Doing it
/// again changes nothing.
void lose_slots(workload_record& record, std::span<const std::pair<pod_slot, std::uint32_t>> lost,
                time_point now);

/// Which pods should exist, by group position, replica and index.
struct wanted_slot {
  std::size_t group = 0;
  std::int32_t replica = 0;
  std::int32_t index = 0;
  std::uint32_t incarnation = 0;
};
std::vector<wanted_slot> wanted_slots(const workload_record& record);
/// Likewise of some of its groups alone.
std::vector<wanted_slot> wanted_slots(const workload_record& record,
                                      const std::function<bool(const pod_group&)>& groups);

/// Whether the workload still asks for this very pod.
bool wants(const workload_record& record, const pod& p);
/// Likewise of the pod that fills a place for the `incarnation`-th time.
bool wants(const workload_record& record, const pod_slot& at, std::uint32_t incarnation);

/// Puts the condition in place of one of its type; `since` stays where nothing else changed.
void set_condition(workload_status& status, condition c);
void clear_condition(workload_status& status, std::string_view type);

/// Shows by the condition `PodsNotMatchingPriority` that pods say another priority than the one
/// that counts for them, their group's or else their workload's (docs/architecture.md#the-model);
/// hides it otherwise.
void note_own_priorities(workload_record& record, time_point now);

} // namespace reprieve
