#include "apps/daemon/peers.hpp"

#include "protocol/access/secret.hpp"
#include "protocol/peers/peer_dialing.hpp"
#include "protocol/peers/peer_host.hpp"
#include "protocol/peers/peer_network.hpp"
#include "protocol/peers/peer_session.hpp"
#include "state/text/line_limit.hpp"

#include <utility>

namespace reprieve {

absl::StatusOr<std::unique_ptr<peer_server>> connect_peers(caf::actor_system& system,
                                                           const daemon_options& options,
                                                           const std::shared_ptr<store>& behind,
                                                           replica_settings& settings) {
  if (options.peers.listen.empty())
    return nullptr;
  const auto say = limited(options.api.say); // others can make it say as much as they like
  // Others read it in the store, which only replicas can: so nobody else gets in.
  if (options.peers.tls.empty())
    settings.secret = new_secret();
  auto host = std::make_shared<peer_host>(position_of(behind), say);
  auto server = peer_server::start(
    [&system, host](std::shared_ptr<peer_wire> wire) -> wire_end_actor {
      return system.spawn(peer_session, host, std::move(wire));
    },
    {options.peers.listen, options.peers.tls, options.api.insecure, settings.secret, say});
  if (!server.ok())
    return server.status();
  settings.address =
    options.peers.advertise.empty() ? (*server)->address() : options.peers.advertise;
  settings.others = std::make_shared<peer_network>(
    system, std::move(host),
    [tls = options.peers.tls, own = options.replica, say](const std::string& replica,
                                                          const member& whom) {
      return dial_over_grpc({tls, peer_role::replica, own, replica, whom.secret, say});
    });
  return server;
}

} // namespace reprieve
