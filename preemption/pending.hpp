#pragma once

#include "preemption/preemptor.hpp"
#include "state/workload_record.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace reprieve {

/// The pods that one workload still lacks, in units that are placed as one (DESIGN 3.1): replica k
/// of all its gang groups together, every other pod by itself. `stands` tells which of its pods
/// have or will have a node. A gang that has its minimum already asks pod by pod.
///
/// `node_of` gives the node of a pod that stands. With it, what a replica of a gang lacks keeps to
/// the topology domain that the rest of the replica is in.
std::vector<preemptor> lacking_units(const workload_record& record,
                                     const std::function<bool(const pod&)>& stands,
                                     const std::function<const node*(const pod&)>& node_of = {});

/// Whether the workload asks for a pod in the place of this one, be it for the next.
bool wants_place_of(const workload_record& record, const pod& p);

/// Whether a pod that the workload asks for does not stand, which costs less to find out.
bool lacks_pods(const workload_record& record,
                const std::function<bool(const std::string& uid)>& stands);

/// Replicas of a workload's groups that have pods which come or go, as far as that decides whether
/// more of them may be asked for. Keeps no names: the pods must stay where they are.
class restless_replicas {
public:
  /// Looks at a pod on its node.
  void add(const workload_record* owner, const pod& p);

  /// Takes the units out that have to wait: more of a gang comes when those that it needs are there
  /// to stay, as the decision that places them may be given up; nobody joins those who go; and
  /// nobody comes back before he has gone. Returns what they will ask for, but for those who would
  /// join others: it is demand all the while.
  resources take_out_held_back(const workload_record& owner, std::vector<preemptor>& units) const;

private:
  bool is_doomed(const preemptor& unit) const;
  bool is_unsettled(const workload_record& owner, const preemptor& unit) const;
  bool is_still_there(const preemptor& unit) const;

  using replica = std::pair<std::string_view, std::int32_t>; ///< of the group of that name

  std::set<replica> unsettled_; ///< with pods that come or go
  std::set<replica> doomed_;    ///< that go as a whole before their workload knows of it
  /// Places whose former pods are still there.
  std::set<std::tuple<std::string_view, std::int32_t, std::int32_t>> taken_;
};

/// Which of two workloads is served first: higher priority, earlier submission, name.
bool served_before(const workload_record& a, const workload_record& b);

} // namespace reprieve
