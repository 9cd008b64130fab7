// The daemon: wires the store, the cluster, the actors and the API together.

#include "actors/gateway/gateway.hpp"
#include "actors/replica/replica.hpp"
#include "actors/simulated/simulated_cluster.hpp"
#include "apps/daemon/api_options.hpp"
#include "apps/daemon/peer_options.hpp"
#include "apps/daemon/privileges.hpp"
#include "apps/daemon/store_options.hpp"
#include "observability/tracing.hpp"
#include "protocol/access/secret.hpp"
#include "protocol/api/api_server.hpp"
#include "protocol/limits/descriptor_limit.hpp"
#include "protocol/peers/peer_network.hpp"
#include "protocol/peers/peer_stream.hpp"
#include "protocol/peers/remote_machines.hpp"
#include "protocol/transport/grpc_log.hpp"
#include "state/files/private_file.hpp"
#include "state/membership/shard_placement.hpp"

#include <CLI/CLI.hpp>
#include <caf/scoped_actor.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace {

using namespace reprieve;

struct daemon_options {
  std::string data = "reprieve-data";
  std::string listen = "127.0.0.1:7420";
  std::string replica = "replica-0";
  std::string trace = "none";
  std::string address_file;
  std::string user;
  std::uint32_t node_shards = 4;
  std::uint32_t workload_shards = 2;
  store_options storage;
  peer_options peers;
  api_settings api;
  gateway_limits limits;
  std::int64_t decision_seconds = archive_limits{}.age / std::chrono::seconds{1};
  std::int64_t decision_bytes = archive_limits{}.bytes;
};

constexpr std::chrono::seconds stop_time{3};

int fail(const absl::Status& why) {
  fmt::print(stderr, "reprieved: {}\n", std::string(why.message()));
  return 1;
}

/// `none`, `stdout`, `file:PATH`, `otlp-grpc:ENDPOINT` or `otlp-http:ENDPOINT`.
absl::StatusOr<tracing_options> parse_trace(const std::string& text) {
  using exporter = tracing_options::exporter;
  tracing_options options;
  const auto colon = text.find(':');
  const auto kind = text.substr(0, colon);
  const auto rest = colon == std::string::npos ? std::string{} : text.substr(colon + 1);
  if (kind == "none") {
    options.to = exporter::none;
  } else if (kind == "stdout") {
    options.to = exporter::stdout_text;
  } else if (kind == "file") {
    options.to = exporter::file;
    options.path = rest;
  } else if (kind == "otlp-grpc") {
    options.to = exporter::otlp_grpc;
    options.endpoint = rest;
  } else if (kind == "otlp-http") {
    options.to = exporter::otlp_http;
    options.endpoint = rest;
  } else {
    return absl::InvalidArgumentError(
      fmt::format("--trace is '{}'; give none, stdout, file:PATH, otlp-grpc:ENDPOINT or "
                  "otlp-http:ENDPOINT",
                  text));
  }
  return options;
}

/// Waits for SIGINT or SIGTERM, or until `lost` says that the replica can't go on. Who asks for the
/// end gets it in any case: at once while the replica does not serve yet, and soon if something
/// keeps it from ending by itself, as a store that does not answer or a log that nobody reads. What
/// was acknowledged is in the store, and its leases end.
class ending {
public:
  ending() {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    // Before any thread starts, so that none of them takes the signal.
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    signals_ = signalfd(-1, &ends, SFD_CLOEXEC);
    ended_ = eventfd(0, EFD_CLOEXEC);
    watch_ = std::thread([this] { watch(); });
  }

  ~ending() {
    (void)eventfd_write(ended_, 1);
    watch_.join();
    close(ended_);
    close(signals_);
  }

  ending(const ending&) = delete;
  ending& operator=(const ending&) = delete;

  void lost(const std::string& why) {
    fmt::print(stderr, "reprieved: {}\n", why);
    lost_ = true;
    kill(getpid(), SIGTERM);
  }

  /// From now on there is something to end.
  void serves() {
    serves_ = true;
  }

  /// The exit code.
  int wait() {
    pollfd waited{signals_, POLLIN, 0};
    while (poll(&waited, 1, -1) < 0) {
    }
    return lost_ ? 1 : 0;
  }

private:
  static constexpr std::chrono::milliseconds most_to_end{8000};

  void watch() {
    std::array<pollfd, 2> waited{{{ended_, POLLIN, 0}, {signals_, POLLIN, 0}}};
    while (poll(waited.data(), waited.size(), -1) < 0) {
    }
    if (waited[0].revents != 0)
      return;
    if (!serves_)
      std::_Exit(lost_ ? 1 : 0);
    if (poll(waited.data(), 1, static_cast<int>(most_to_end.count())) == 0)
      std::_Exit(1);
  }

  int signals_ = -1;
  int ended_ = -1;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> serves_ = false;
  std::thread watch_;
};

/// Where the machines that are played here keep what they did.
std::string journal_of(const daemon_options& options) {
  return options.data + "/simulated-cluster.jsonl";
}

/// What runs the pods: machines that are played here, or elsewhere for all replicas.
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

/// Tells of files that should be secret and are not.
void warn_of_open_files(const daemon_options& options) {
  for (const auto& path :
       {options.data, options.api.callers, options.api.tls.key, options.peers.tls.key,
        options.storage.tls.key, options.storage.password_file})
    if (const auto open = openness_of(path); !open.empty())
      options.api.say("warning: " + open);
}

int serve(const daemon_options& options, ending& end) {
  if (auto whole = check_peer_files(options.peers.tls); !whole.ok())
    return fail(whole);
  std::error_code created;
  std::filesystem::create_directories(options.data, created);
  if (created)
    return fail(absl::UnavailableError(
      fmt::format("can't make the data directory {}: {}; give another with --data", options.data,
                  created.message())));
  warn_of_open_files(options);
  if (options.peers.machines.empty())
    if (auto usable = simulated_journal::check(journal_of(options)); !usable.ok())
      return fail(usable);
  file_watch store_files;
  const duration lease = std::chrono::milliseconds{options.peers.lease_milliseconds};
  auto storage = options.storage;
  storage.call_timeout = std::min(storage.call_timeout, lease);
  auto opened = open_store(storage, options.data, store_files, options.api.say);
  if (!opened.ok())
    return fail(opened.status());

  caf::actor_system_config config;
  // More than that there are not so many actors for that work at the same time.
  config.set("scheduler.max-threads",
             std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 16));
  // Threads that have nothing to do sleep until they have; those that steal work look for it.
  config.set("scheduler.policy", caf::atom("sharing"));
  caf::actor_system system{config};
  const auto clock = wall_clock::of_this_process();

  replica_settings settings;
  std::unique_ptr<peer_server> peers_in;
  const auto peers_say = limited(options.api.say); // others can make it say as much as they like
  if (!options.peers.listen.empty()) {
    // Others read it in the store, which only replicas can: so nobody else gets in.
    if (options.peers.tls.empty())
      settings.secret = new_secret();
    auto host = std::make_shared<peer_host>(position_of(*opened), peers_say);
    auto started = peer_server::start(
      [&system, host](std::shared_ptr<peer_wire> wire) -> wire_end_actor {
        return system.spawn(peer_session, host, std::move(wire));
      },
      {options.peers.listen, options.peers.tls, options.api.insecure, settings.secret, peers_say});
    if (!started.ok())
      return fail(started.status());
    peers_in = *std::move(started);
    settings.address =
      options.peers.advertise.empty() ? peers_in->address() : options.peers.advertise;
    settings.others = std::make_shared<peer_network>(
      system, std::move(host),
      [&options, peers_say](const std::string& replica, const member& whom) {
        return dial_over_grpc({options.peers.tls, peer_role::replica, options.replica, replica,
                               whom.secret, peers_say});
      });
  }
  settings.name = options.replica;
  settings.lease_time = lease;
  settings.nodes_per_replica = options.peers.nodes_per_replica;
  if (!options.storage.etcd.empty())
    settings.keep_history = std::chrono::seconds{options.storage.history_seconds};
  settings.archive = {std::chrono::seconds{options.decision_seconds}, options.decision_bytes};
  settings.api = options.listen;
  settings.node_shards = options.node_shards;
  settings.workload_shards = options.workload_shards;
  // Only the replica keeps the store. One that speaks to etcd keeps threads of gRPC alive; they
  // have served the API, and the actor system waits at its end for all that have used it.
  settings.behind = *std::move(opened);
  // From here on nothing returns before `stop_actors` is called.
  const auto cluster = start_machines(system, options, clock);
  settings.cluster = cluster;
  settings.clock = clock;
  settings.lost = [&end](const std::string& why) { end.lost(why); };
  settings.say = options.api.say;
  const auto ours = system.spawn(replica, std::move(settings));
  const auto front = system.spawn(limited_gateway, options.limits);

  caf::scoped_actor self{system};
  absl::Status ready;
  self->request(ours, caf::infinite, start_serving{})
    .receive([&](const absl::Status& how) { ready = how; },
             [&](const caf::error& error) { ready = to_status(error); });
  const auto stop_actors = [&] {
    self->send_exit(front, caf::exit_reason::user_shutdown);
    self->send_exit(ours, caf::exit_reason::user_shutdown);
    self->send_exit(cluster, caf::exit_reason::user_shutdown);
  };
  int code = 1;
  if (!ready.ok()) {
    code = fail(ready);
  } else {
    self->send(ours, follow_directory{front});
    auto server = api_server::start(options.listen, system, front, options.api);
    if (!server.ok()) {
      code = fail(server.status());
    } else {
      fmt::print("reprieved {} serves on {}\n", options.replica, (*server)->address());
      std::fflush(stdout);
      if (!options.address_file.empty())
        if (auto told = replace_file(options.address_file, (*server)->address() + "\n"); !told.ok())
          options.api.say(std::string(told.message()));
      end.serves();
      code = end.wait();
      (*server)->stop();
      // Others take over at once what is given up; if that takes too long, when the lease ends.
      self->request(ours, stop_time, stop_serving{})
        .receive([](const absl::Status&) {}, [](const caf::error&) {});
    }
  }
  if (peers_in)
    peers_in->stop();
  stop_actors();
  return code;
}

} // namespace

int main(int argc, char** argv) {
  umask(S_IRWXG | S_IRWXO); // what it writes is for its owner alone
  daemon_options options;
  CLI::App app{"reprieved: the Reprieve scheduler"};
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
  CLI11_PARSE(app, argc, argv);
  // What is left is for files, the store and other replicas.
  constexpr std::int64_t other_descriptors = 1100;
  const auto descriptors = raise_descriptor_limit();
  options.api.limits.connections = std::min(
    options.api.limits.connections, std::max(descriptors - other_descriptors, descriptors / 2));
  // One address is to leave something for others, however few there may be.
  options.api.limits.connections_per_host =
    std::min(options.api.limits.connections_per_host,
             std::max<std::int64_t>(options.api.limits.connections / 2, 1));
  options.api.say = [](const std::string& what) { fmt::print(stderr, "reprieved: {}\n", what); };
  limit_grpc_log(options.api.say);
  if (!options.user.empty())
    if (auto changed = become(options.user, options.data); !changed.ok())
      return fail(changed);
  if (geteuid() == 0)
    options.api.say("warning: it runs as root; give --user with a user of its own");

  ending end;
  auto traced = parse_trace(options.trace);
  if (!traced.ok())
    return fail(traced.status());
  traced->instance = options.replica;
  if (auto started = start_tracing(*traced); !started.ok())
    return fail(started);
  const int code = serve(options, end);
  stop_tracing();
  return code;
}
