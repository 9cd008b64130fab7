#pragma once

#include "actors/interfaces/cluster.hpp"
#include "actors/simulated/simulated_journal.hpp"
#include "actors/simulated/simulated_scheduler.hpp"
#include "state/containers/name_map.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

struct simulated_cluster_settings {
  std::string journal; ///< a file that outlives the process; empty for none
  /// Whether pods that it is asked about and does not know run there since before it began: for
  /// records that nobody came to by starting pods.
  bool adopts = false;
  duration start_takes{std::chrono::milliseconds{200}};
  duration stop_takes{std::chrono::milliseconds{500}};
  wall_clock clock;
  /// Is told of every step in the life of a pod.
  std::function<void(const simulated_journal::entry&)> watched;
  /// Is told of every pod that its machine has forgotten, by uid.
  std::function<void(const std::string&)> forgot;
  /// Is told of orders that are refused, and what can be done about that: for people.
  std::function<void(const std::string&)> say;
};

/// The simulation's reminder to itself that some pod's next change is due.
struct simulation_step {};

/// The machine of a node begins anew without its memory: nothing runs there, and it knows neither
/// what did nor whose orders it has seen. Replicas that the cluster's own scheduler counts stay.
struct forget_machine {
  std::string node;
  bool tells = true; ///< whoever was to hear of its pods hears that it came back
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::simulation_step)
REPRIEVE_MESSAGE(reprieve::forget_machine)

namespace reprieve {

/// A cluster of no machines that plays the lives of pods: they start, run (for as long as the
/// annotation `simulation/run-for` says, else until they are stopped), and end within their grace
/// period (annotation `simulation/stop-takes`; past the grace and force periods they are killed,
/// unless `simulation/stuck-for` says that their machine does not even do that for so long).
/// Like a real one it goes on without the scheduler: its journal tells a new process what it did.
/// Resource groups with the lifecycle policy have a plain scheduler of their own here: replicas of
/// deployments are made, placed and stopped by it as the counts say that it is told.
using simulated_cluster_actor = cluster_actor::extend<handles<void(simulation_step)>,
                                                      /// From tests.
                                                      handles<void(forget_machine)>>;

struct simulated_cluster_state {
  static inline const char* name = "simulated_cluster";

  struct simulated_pod {
    simulated_journal::entry life;
    time_point due = no_time; ///< when its stage ends by itself; not at all where there is none
    pod_observer_actor observer;
  };

  simulated_cluster_settings settings;
  std::unique_ptr<simulated_journal> journal;
  name_map<simulated_pod> pods;                     ///< by uid, ended ones too
  std::set<std::pair<time_point, std::string>> due; ///< uids of pods
  time_point next_step = no_time;                   ///< for which a reminder is under way
  time_point next_look = no_time;                   ///< of the scheduler, likewise
  /// To be sent when all is done that is due, by observer. Observers of several processes may meet
  /// here in a simulation, and their ids be the same: they are told apart by what they are.
  std::vector<std::pair<pod_observer_actor, pod_reports>> reports;
  name_map<revision> newest_epoch; ///< by node: its agent has seen orders of that
  simulated_scheduler scheduler;
  name_map<pod_observer_actor> watchers; ///< by node: who hears of pods that the scheduler places
  name_map<revision> newest_watch;       ///< by shard: whose list of nodes that was
};

simulated_cluster_actor::behavior_type
simulated_cluster(simulated_cluster_actor::stateful_pointer<simulated_cluster_state> self,
                  simulated_cluster_settings settings);

} // namespace reprieve
