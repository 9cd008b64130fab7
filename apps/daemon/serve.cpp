#include "apps/daemon/serve.hpp"

#include "apps/daemon/data.hpp"
#include "apps/daemon/fail.hpp"
#include "apps/daemon/machines.hpp"
#include "apps/daemon/peers.hpp"
#include "protocol/api/api_server.hpp"
#include "protocol/peers/peer_role.hpp"
#include "state/files/private_file.hpp"

#include <caf/scoped_actor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

namespace reprieve {

namespace {

constexpr std::chrono::seconds stop_time{3};

void set_threads(caf::actor_system_config& config) {
  // More than that there are not so many actors for that work at the same time.
  config.set("scheduler.max-threads",
             std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 16));
  // Threads that have nothing to do sleep until they have; those that steal work look for it.
  config.set("scheduler.policy", caf::atom("sharing"));
}

/// What the options say of the replica; the others, the machines and the store are still to come.
replica_settings settings_of(const daemon_options& options, ending& end) {
  replica_settings settings;
  settings.name = options.replica;
  settings.lease_time = lease_time(options);
  settings.nodes_per_replica = options.peers.nodes_per_replica;
  if (!options.storage.etcd.empty())
    settings.keep_history = std::chrono::seconds{options.storage.history_seconds};
  settings.archive = {std::chrono::seconds{options.decision_seconds}, options.decision_bytes};
  settings.api = options.listen;
  settings.node_shards = options.node_shards;
  settings.workload_shards = options.workload_shards;
  settings.clock = wall_clock::of_this_process();
  settings.lost = [&end](const std::string& why) { end.lost(why); };
  settings.say = options.api.say;
  return settings;
}

absl::Status start(const caf::scoped_actor& self, const replica_actor& ours) {
  absl::Status ready;
  self->request(ours, caf::infinite, start_serving{})
    .receive([&](const absl::Status& how) { ready = how; },
             [&](const caf::error& error) { ready = to_status(error); });
  return ready;
}

/// Others take over at once what is given up; if that takes too long, when the lease ends.
void give_up(const caf::scoped_actor& self, const replica_actor& ours) {
  self->request(ours, stop_time, stop_serving{})
    .receive([](const absl::Status&) {}, [](const caf::error&) {});
}

void tell_address(const daemon_options& options, const std::string& address) {
  fmt::print("reprieved {} serves on {}\n", options.replica, address);
  std::fflush(stdout);
  if (!options.address_file.empty())
    if (auto told = replace_file(options.address_file, address + "\n"); !told.ok())
      options.api.say(std::string(told.message()));
}

/// Serves the API of a replica that has started, and waits for the end; the exit code.
int serve_api(const caf::scoped_actor& self, const daemon_options& options,
              const replica_actor& ours, const gateway_actor& front, ending& end) {
  self->send(ours, follow_directory{front});
  auto server = api_server::start(options.listen, self->system(), front, options.api);
  if (!server.ok())
    return fail(server.status());
  tell_address(options, (*server)->address());
  end.serves();
  const int code = end.wait();
  (*server)->stop();
  give_up(self, ours);
  return code;
}

} // namespace

int serve(const daemon_options& options, ending& end) {
  if (auto whole = check_peer_files(options.peers.tls); !whole.ok())
    return fail(whole);
  if (auto prepared = prepare_data(options); !prepared.ok())
    return fail(prepared);
  if (auto usable = check_machines(options); !usable.ok())
    return fail(usable);
  file_watch store_files;
  auto opened = open_data(options, store_files);
  if (!opened.ok())
    return fail(opened.status());

  caf::actor_system_config config;
  set_threads(config);
  caf::actor_system system{config};
  auto settings = settings_of(options, end);
  auto peers_in = connect_peers(system, options, *opened, settings);
  if (!peers_in.ok())
    return fail(peers_in.status());
  // Only the replica keeps the store. One that speaks to etcd keeps threads of gRPC alive; they
  // have served the API, and the actor system waits at its end for all that have used it.
  settings.behind = *std::move(opened);
  // From here on nothing returns before the actors are told to end.
  const auto cluster = start_machines(system, options, settings.clock);
  settings.cluster = cluster;
  const auto ours = system.spawn(replica, std::move(settings));
  const auto front = system.spawn(limited_gateway, options.limits);

  caf::scoped_actor self{system};
  const auto ready = start(self, ours);
  const int code = ready.ok() ? serve_api(self, options, ours, front, end) : fail(ready);
  if (*peers_in)
    (*peers_in)->stop();
  self->send_exit(front, caf::exit_reason::user_shutdown);
  self->send_exit(ours, caf::exit_reason::user_shutdown);
  self->send_exit(cluster, caf::exit_reason::user_shutdown);
  return code;
}

} // namespace reprieve
