#include "apps/cli/machines.hpp"

#include "actors/simulated/simulated_cluster.hpp"
#include "protocol/peers/peer_stream.hpp"
#include "protocol/peers/remote_machines.hpp"
#include "protocol/transport/grpc_log.hpp"
#include "state/files/private_file.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <csignal>
#include <cstdio>

namespace reprieve::cli {

int play_machines(const machines_request& wanted) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr); // before any thread starts

  const line_writer say = [](const std::string& what) {
    fmt::print(stderr, "reprieve machines: {}\n", what);
  };
  limit_grpc_log(say);
  if (auto usable = simulated_journal::check(wanted.journal); !usable.ok()) {
    say(std::string(usable.message()));
    return 1;
  }
  caf::actor_system_config config;
  config.set("scheduler.max-threads", std::size_t{1});
  config.set("scheduler.policy", caf::atom("sharing"));
  caf::actor_system system{config};
  simulated_cluster_settings simulated;
  simulated.journal = wanted.journal;
  simulated.adopts = wanted.adopt;
  simulated.clock = wall_clock::of_this_process();
  simulated.say = limited(say);
  const cluster_actor machines = system.spawn(simulated_cluster, simulated);
  auto server = peer_server::start(
    [&](std::shared_ptr<peer_wire> wire) -> wire_end_actor {
      return system.spawn(machine_session, machines, std::move(wire));
    },
    {wanted.listen, wanted.tls, wanted.insecure, {}, limited(say)});
  int code = 0;
  if (!server.ok()) {
    fmt::print(stderr, "reprieve machines: {}\n", std::string(server.status().message()));
    code = 1;
  } else {
    fmt::print("the machines take orders on {}\n", (*server)->address());
    std::fflush(stdout);
    if (!wanted.address_file.empty())
      if (auto told = replace_file(wanted.address_file, (*server)->address() + "\n"); !told.ok())
        fmt::print(stderr, "reprieve machines: {}\n", std::string(told.message()));
    int signal = 0;
    sigwait(&ends, &signal);
    (*server)->stop();
  }
  caf::anon_send_exit(machines, caf::exit_reason::user_shutdown);
  return code;
}

} // namespace reprieve::cli
