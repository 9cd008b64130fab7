#include "apps/daemon/peer_options.hpp"

#include <CLI/CLI.hpp>

namespace reprieve {

void add_peer_options(CLI::App& app, peer_options& options) {
  app.add_option("--peer-listen", options.listen,
                 "address for the other replicas, which need --etcd; port 0 takes a free one");
  app.add_option("--peer-advertise", options.advertise,
                 "address that the other replicas are told; else the one it listens on");
  app.add_option("--peer-cert", options.tls.certificate,
                 "certificate shown to other replicas, who must show one as well; followed when it "
                 "changes");
  app.add_option("--peer-key", options.tls.key, "key of that certificate; likewise");
  app.add_option("--peer-ca", options.tls.authority,
                 "certificates that those of other replicas are checked by; likewise");
  app
    .add_option("--lease", options.lease_milliseconds,
                "milliseconds after which a replica that is not heard of counts as lost")
    ->check(CLI::Range(500, 600'000))
    ->capture_default_str();
  app
    .add_option("--nodes-per-replica", options.nodes_per_replica,
                "nodes of one resource group from which on it spills over to other replicas")
    ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}))
    ->capture_default_str();
  app.add_option("--machines", options.machines,
                 "address of `reprieve machines`, which plays the machines for all replicas; "
                 "without it each replica plays its own");
}

} // namespace reprieve
