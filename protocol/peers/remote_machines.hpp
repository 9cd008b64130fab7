#pragma once

#include "actors/interfaces/cluster.hpp"
#include "protocol/peers/peer_exchange.hpp"
#include "protocol/peers/peer_link.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>

/// Machines that run pods in a process of their own, so that they go on whatever becomes of the
/// replicas, and all replicas give orders to the same ones.
namespace reprieve {

/// A reminder to connect again.
struct connect_machines {};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::connect_machines)

namespace reprieve {

// -- the replica's side ---------------------------------------------------------------------------

/// Gives orders over a wire. Those that have not come to their end are given again whenever the
/// connection was lost: the machines know what they have done. They may have lost their memory
/// meanwhile, so that of pods that were started is only asked how they fare; and what a shard has
/// ordered that has ended here is for the next owner to order.
using remote_machines_actor =
  cluster_actor::extend<handles<void(wire_opened)>, handles<void(wire_arrived)>,
                        handles<void(wire_closed)>, handles<void(connect_machines)>>;

struct remote_machines_state {
  static inline const char* name = "remote_machines";

  remote_machines_state() = default;
  remote_machines_state(const remote_machines_state&) = delete;
  remote_machines_state& operator=(const remote_machines_state&) = delete;
  /// An open connection keeps itself, and with it threads of gRPC that have sent to actors: the
  /// actor system waits at its end for these.
  ~remote_machines_state() {
    if (wire)
      wire->close();
  }

  std::string address;
  wire_maker dial;
  std::shared_ptr<peer_wire> wire; ///< null while there is none
  bool open = false;
  using order = std::variant<start_order, pod_question, stop_order, delete_order>;
  /// The last order for each pod that has not ended; of one that was reported to run, a question.
  std::map<std::string, order> orders; ///< by uid
  /// What was said last to clusters with a scheduler of their own.
  std::map<std::string, watch_nodes> watched;                         ///< by shard
  std::map<std::pair<std::string, std::string>, count_order> counted; ///< by group and workload
  std::map<std::string, count_only> counted_only;                     ///< by group
  std::map<std::string, pod_observer_actor, std::less<>> watchers;    ///< by node
  std::set<caf::actor_addr> observers;                                ///< all who have ordered
};

remote_machines_actor::behavior_type
remote_machines(remote_machines_actor::stateful_pointer<remote_machines_state> self,
                std::string address, wire_maker dial);

// -- the machines' side ---------------------------------------------------------------------------

/// Takes one replica's orders to the machines, and their reports back.
using machine_session_actor =
  typed_actor<handles<void(wire_arrived)>, handles<void(wire_closed)>, handles<void(pod_reports)>>;

struct machine_session_state {
  static inline const char* name = "machine_session";

  std::shared_ptr<peer_exchange> exchange;
};

machine_session_actor::behavior_type
machine_session(machine_session_actor::stateful_pointer<machine_session_state> self,
                cluster_actor machines, std::shared_ptr<peer_wire> wire);

} // namespace reprieve
