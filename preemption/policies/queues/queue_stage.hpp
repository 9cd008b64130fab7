#pragma once

#include "preemption/policies/queues/queue_shares.hpp"
#include "preemption/policies/queues/queue_victims.hpp"
#include "state/model/catalog.hpp"
#include "state/model/decision.hpp"
#include "state/model/queue.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What pods of a queue use that are not listed one by one, of `pods` their number included.
struct queue_totals {
  resources staying;
  resources leaving;

  bool operator==(const queue_totals&) const = default;
};

/// All that the queue stage looks at. Only those resources are shared that the capacity names.
struct queue_stage_input {
  by_name<queue> queues;
  by_name<queue_status> previous; ///< as the last run left it; one that is absent has nothing
  std::vector<queue_pod> pods;    ///< of all queues, in any order
  /// By queue, what other pods use. It counts as what those listed use, but has no victims: where
  /// a line has something `to_free`, the queue's pods have to be listed.
  by_name<queue_totals> totals;
  by_name<resources> pending; ///< by queue, what its pods without a node would take
  /// By queue, of what pods use that leave, what their workloads wait for again already: it is one
  /// demand, not two.
  by_name<resources> again;
  resources capacity;
  std::set<std::string, std::less<>> divisible; ///< resources that are shared in fractions, too
  by_name<guards> limits;                       ///< by resource group
  /// How many preemptions each workload had in the last hour, where there were any.
  by_name<std::int32_t> recent_preemptions;
  time_point now = no_time;
};

/// How a queue stands to what it deserves of one resource (docs/policies.md#queues).
enum class queue_case : std::uint8_t {
  surplus_unused, ///< 01.1: deserved < allocated, used <= deserved
  surplus_used,   ///< 01.2: deserved < allocated, used > deserved
  constant,       ///< 02: deserved = allocated
  lacking,        ///< 03: deserved > allocated
};

/// One resource of one queue: how it stood, what moved, and how it stands. Of a queue with
/// children, all but the case and what it deserves are sums.
struct queue_line {
  std::string resource;
  queue_case stands = queue_case::constant;
  std::int64_t deserved = 0;
  std::int64_t used = 0;
  std::int64_t leaving = 0; ///< of that, by pods that leave already
  /// When the case was judged: after what had been waited for came in from pods that have gone.
  std::int64_t allocated_before = 0;
  std::int64_t preempting_before = 0;
  std::int64_t overused = 0;      ///< then, above allocated, by pods that did not leave
  std::int64_t given_unused = 0;  ///< moved at once
  std::int64_t given_used = 0;    ///< moves when its pods have gone
  std::int64_t given_waiting = 0; ///< what it waited for beyond what it deserves
  std::int64_t received = 0;      ///< at once, or to be waited for
  std::int64_t allocated = 0;
  std::int64_t preempting = 0;
  std::int64_t may_use = 0;   ///< by pods that stay
  std::int64_t to_free = 0;   ///< what victims have to free
  std::int64_t not_freed = 0; ///< of that, what nobody may free in this run

  bool operator==(const queue_line&) const = default;
};

/// What the stage found and did for one queue.
struct queue_outcome {
  std::string queue;
  bool own_pods = false; ///< stands for the own pods of a queue that has children
  queue_status status;
  std::vector<queue_line> lines;   ///< in order of resource
  std::vector<victim> victims;     ///< in the order in which they go; budgets are not looked at
  std::vector<spared> reprieved;   ///< chosen at first, and not needed in the end
  std::vector<spared> passed_over; ///< may not go, or would not help

  bool operator==(const queue_outcome&) const = default;
};

struct queue_stage_result {
  std::vector<queue_outcome> queues; ///< in order of name; a queue before its own pods
  resources unassigned;              ///< allocated to no queue, and no queue waits for it
  resources used_outside;            ///< by pods of queues that do not exist; they are let be
  std::vector<guarantee_cut> cuts;   ///< what could not be guaranteed in full

  bool operator==(const queue_stage_result&) const = default;
};

/// The least amount of the resource that is shared: a whole unit where it can't be divided.
std::int64_t unit_of(const queue_stage_input& in, std::string_view resource);

/// Runs the stage (docs/policies.md#queues): what was waited for and has become free is allocated;
/// queues that use more than they may keep lose pods; then each gives and receives by what it
/// deserves. What a queue gives because others that are capped by their demand ask for it moves
/// when their pods are placed, one by one, with victims that make room for each: no victims are
/// chosen for that here, as nobody can tell by amounts alone who makes room for whom.
///
/// Over all leaf queues (own pods included) allocated plus preempting, plus what is unassigned, is
/// the capacity. What victims free beyond what was asked for stays with their queue: it is part of
/// its allocated. Running again with the victims leaving chooses nobody and moves nothing.
/// Where there are more of one resource group in a queue than a decision may have
/// (docs/policies.md#guards), the rest stays for now; a run after the others have gone goes on with
/// it.
///
/// Costs the number of pods and of queues, each by its logarithm and by the number of resources.
queue_stage_result run_queue_stage(const queue_stage_input& in);

/// Only the step when pods have gone: preempting becomes allocated as far as its room is free.
/// What the queues deserve stays as it was, and nobody is chosen.
by_name<queue_status> settle_queues(const queue_stage_input& in);

/// The statuses to keep until the next run.
by_name<queue_status> statuses_of(const queue_stage_result& result);

/// Adds what the pod takes: what it asks for, and of `pods` one besides.
void add_taken(resources& to, const pod& p);

/// Adds pods of one resource group as node records have them. `queue_of` names the queue of each
/// workload; pods of others stand outside all queues.
void add_pods(queue_stage_input& to, std::span<const pod> pods, std::string_view resource_group,
              const by_name<std::string>& queue_of);

/// Adds a pod of the queue that has no node: what it asks for, and one of `pods`.
void add_pending(queue_stage_input& to, std::string_view queue, const resources& requests);

} // namespace reprieve
