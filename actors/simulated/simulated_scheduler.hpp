#pragma once

#include "actors/interfaces/cluster.hpp"
#include "actors/simulated/simulated_journal.hpp"
#include "state/containers/name_map.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What an annotation of the pod says that tells the simulation how long something takes.
duration annotated(const pod& p, std::string_view key, duration otherwise);

/// The plain scheduler that the simulated machines of a resource group have where its policy is
/// Lifecycle (docs/policies.md#lifecycle). It knows counts and no preemption: where a deployment
/// has too many replicas, those go that are expected to, then those on machines that are not ready,
/// then the newest, as soon as there have been too many for as long as the annotation
/// `simulation/scale-down-takes` says; where it has too few, one after another is put on the first
/// node by name that suits it and has room, those of higher priority first.
class simulated_scheduler {
public:
  using life = simulated_journal::entry;

  // -- what it is told ----------------------------------------------------------------------------

  /// The nodes of a shard, in place of those that it had.
  void watch(const watch_nodes& order);
  /// False where somebody with a newer epoch has said otherwise.
  bool count(const count_order& order);
  void count(const count_only& order);

  // -- what becomes of pods -----------------------------------------------------------------------

  /// The pod takes room on its node from now on, and is a replica of its deployment.
  void came(const life& p);
  /// It is not a replica any more, and takes its room still.
  void leaves(const life& p);
  /// It is a replica again.
  void returns(const life& p);
  /// It was ordered to stop. The lower count that goes with that may be on its way still: nothing
  /// takes its place until a count is told, or for a second.
  void ordered_away(const life& p, time_point now);
  void gone(const life& p);

  // -- what it does -------------------------------------------------------------------------------

  struct moves {
    std::vector<life> placed;
    std::vector<std::string> stopped; ///< uids
    time_point look_again = no_time;  ///< when something is due that is not yet

    void look_at(time_point due) {
      look_again = look_again == no_time ? due : std::min(look_again, due);
    }
  };
  /// What is to be done by now. Placed pods count from then on as if they had come.
  moves decide(time_point now);

  /// The pod as its node's shard is to know it; null where its deployment is not counted here.
  pod_list::pointer pod_of(const life& p) const;
  /// The replicas of a deployment.
  std::vector<std::string> replicas_of(const std::string& workload) const;
  bool knows_any() const {
    return !counted_.empty();
  }
  bool is_counted(std::string_view workload) const {
    return counted_.contains(workload);
  }

private:
  struct machine {
    node spec;
    std::string shard;
  };
  struct vacancy {
    std::int32_t places = 0;
    time_point until = no_time;
  };
  struct replica {
    time_point created = no_time;
    std::int32_t ordinal = 0;
    std::string node;
  };

  /// Whether nobody with a newer epoch has spoken for the group.
  bool is_newest(const std::string& resource_group, revision epoch);
  bool suits(const machine& one, const count_order& order) const;
  bool is_down(const std::string& node) const;
  void stop_those_too_many(const count_order& order, time_point now, moves& made);
  /// How many replicas there may be by now.
  std::int32_t wanted(const count_order& order, time_point now, moves& made);
  void take(const std::string& node, const resources& requests, std::int64_t sign);

  std::map<std::string, machine, std::less<>> machines_;    ///< by node
  std::map<std::string, count_order, std::less<>> counted_; ///< by workload
  std::map<std::string, std::map<std::string, replica>, std::less<>>
    replicas_;                                                    ///< by workload and uid
  std::map<std::string, time_point, std::less<>> too_many_since_; ///< by workload
  std::map<std::string, vacancy, std::less<>> vacant_;            ///< by workload
  std::map<std::string, std::int32_t, std::less<>> next_ordinal_; ///< by workload
  std::map<std::string, resources, std::less<>> used_;            ///< by node
  std::map<std::string, revision, std::less<>> newest_epoch_;     ///< by resource group
};

} // namespace reprieve
