#include "apps/daemon/daemon_options.hpp"

#include "apps/daemon/api_options.hpp"
#include "state/membership/shard_placement.hpp"

#include <CLI/CLI.hpp>

namespace reprieve {

void add_daemon_options(CLI::App& app, daemon_options& options) {
  app.add_option("--data", options.data, "directory of the embedded store and of other files")
    ->capture_default_str();
  app.add_option("--listen", options.listen, "address of the API; port 0 takes a free one")
    ->capture_default_str();
  app.add_option("--address-file", options.address_file, "file to write the API's address to");
  app.add_option("--user", options.user,
                 "user to go on as, where root starts it; all files must be that user's to read");
  app.add_option("--replica", options.replica, "name of this replica")->capture_default_str();
  app
    .add_option("--trace", options.trace,
                "none, stdout, file:PATH, otlp-grpc:ENDPOINT or otlp-http:ENDPOINT")
    ->capture_default_str();
  app
    .add_option("--node-shards", options.node_shards,
                "virtual node shards of each resource group; counts when a cluster is created")
    ->check(CLI::Range(1, most_shards))
    ->capture_default_str();
  app
    .add_option("--workload-shards", options.workload_shards,
                "virtual workload shards of each resource group; likewise")
    ->check(CLI::Range(1, most_shards))
    ->capture_default_str();
  app
    .add_option("--decision-age", options.decision_seconds,
                "seconds for which finished decisions are kept, for `explain`")
    ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
    ->capture_default_str();
  app
    .add_option("--decision-bytes", options.decision_bytes,
                "bytes of finished decisions that are kept in the store; the oldest go first")
    ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 50))
    ->capture_default_str();
  add_store_options(app, options.storage);
  add_peer_options(app, options.peers);
  add_api_options(app, options.api, options.limits);
}

} // namespace reprieve
