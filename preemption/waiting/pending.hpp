#pragma once

#include "preemption/problem/preemptor.hpp"
#include "state/records/workload_record.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// The pods that one workload still lacks, in units that are placed as one
/// (docs/policies.md#workload-aware): replica k of all its gang groups together, every other pod by
/// itself. `stands` tells which of its pods have or will have a node. A gang that has its minimum
/// already asks pod by pod.
///
/// `node_of` gives the node of a pod that stands. With it, what a replica of a gang lacks keeps to
/// the topology domain that the rest of the replica is in.
std::vector<preemptor> lacking_units(const workload_record& record,
                                     const std::function<bool(const pod&)>& stands,
                                     const std::function<const node*(const pod&)>& node_of = {});

/// Likewise of one replica of its gangs alone.
std::vector<preemptor>
lacking_units_of_replica(const workload_record& record, std::int32_t replica,
                         const std::function<bool(const pod&)>& stands,
                         const std::function<const node*(const pod&)>& node_of);

/// The unit that asks for the pod at that place alone.
preemptor single_unit(const workload_record& record, const wanted_slot& at);

/// The unit that asks for all pods of a gang's replica.
preemptor unit_of_replica(const workload_record& record, std::int32_t replica);

/// Whether the workload asks for a pod in the place of this one, be it for the next.
bool wants_place_of(const workload_record& record, const pod& p);

/// How a pod on its node decides whether more of its workload may be asked for.
struct restlessness {
  bool unsettled = false; ///< it comes or goes, and more of a gang may wait for it
  bool doomed = false;    ///< its replica goes as a whole before the workload knows of it
  bool taken = false;     ///< its place is wanted for the next, and it is still there

  bool any() const {
    return unsettled || doomed || taken;
  }
  bool operator==(const restlessness&) const = default;
};

restlessness restlessness_of(const workload_record* owner, const pod& p);

/// Replicas of a workload's groups that have pods which come or go, as far as that decides whether
/// more of them may be asked for.
class restless_replicas {
public:
  /// Looks at a pod on its node.
  void add(const workload_record* owner, const pod& p) {
    count(p, restlessness_of(owner, p), 1);
  }
  /// The pod is there as well, or not any more.
  void count(const pod& p, const restlessness& how, int sign);

  bool empty() const {
    return unsettled_.empty() && doomed_.empty() && taken_.empty();
  }
  bool is_doomed(std::string_view group, std::int32_t replica) const {
    return doomed_.contains(replica_view{group, replica});
  }
  bool is_taken(const pod_slot& slot) const {
    return taken_.contains(slot);
  }

  /// Takes the units out that have to wait: more of a gang comes when those that it needs are there
  /// to stay, as the decision that places them may be given up; nobody joins those who go; and
  /// nobody comes back before he has gone. Returns what they will ask for, but for those who would
  /// join others: it is demand all the while.
  resources take_out_held_back(std::vector<preemptor>& units) const;

private:
  bool is_doomed(const preemptor& unit) const;
  bool is_unsettled(const preemptor& unit) const;
  bool is_still_there(const preemptor& unit) const;

  using replica = std::pair<std::string, std::int32_t>; ///< of the group of that name
  using replica_view = std::pair<std::string_view, std::int32_t>;
  struct by_value {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return replica_view(a) < replica_view(b);
    }
  };
  using counted_replicas = std::map<replica, std::int32_t, by_value>; ///< by how many pods

  counted_replicas unsettled_;
  counted_replicas doomed_;
  std::map<pod_slot, std::int32_t> taken_;
};

/// Which of two workloads is served first: higher priority, earlier submission, name.
bool served_before(const workload_record& a, const workload_record& b);

} // namespace reprieve
