#include "apps/daemon/machines.hpp"

#include "actors/simulated/simulated_cluster.hpp"
#include "protocol/peers/peer_dialing.hpp"
#include "protocol/peers/remote_machines.hpp"
#include "state/text/line_limit.hpp"

namespace reprieve {

/// Where the machines that are played here keep what they did.
static std::string journal_of(const daemon_options& options) {
  return options.data + "/simulated-cluster.jsonl";
}

absl::Status check_machines(const daemon_options& options) {
  if (!options.peers.machines.empty())
    return absl::OkStatus();
  return simulated_journal::check(journal_of(options));
}

cluster_actor start_machines(caf::actor_system& system, const daemon_options& options,
                             const wall_clock& clock) {
  if (!options.peers.machines.empty())
    return system.spawn(remote_machines, options.peers.machines,
                        dial_over_grpc({options.peers.tls,
                                        peer_role::machines,
                                        options.replica,
                                        {},
                                        {},
                                        limited(options.api.say)}));
  simulated_cluster_settings simulated;
  simulated.journal = journal_of(options);
  simulated.clock = clock;
  return system.spawn(simulated_cluster, simulated);
}

} // namespace reprieve
