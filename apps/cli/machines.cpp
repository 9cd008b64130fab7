#include "actors/simulated/simulated_cluster.hpp"
#include "apps/cli/commands.hpp"
#include "protocol/peers/peer_server.hpp"
#include "protocol/peers/remote_machines.hpp"
#include "protocol/transport/grpc_log.hpp"
#include "state/files/private_file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <memory>

namespace reprieve::cli {

namespace {

struct machines_request {
  std::string listen = "127.0.0.1:7422";
  std::string journal = "machines.jsonl";
  bool adopt = false; ///< what the records say that runs here, where it knows nothing of it
  std::string address_file;
  tls_files tls;
  bool insecure = false;
};

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

} // namespace

void add_machines_command(CLI::App& program, command_line& line) {
  const auto given = std::make_shared<machines_request>();
  auto& command = *program.add_subcommand(
    "machines", "play the machines of a cluster, for all replicas started with --machines");
  command
    .add_option("--listen", given->listen, "address for the replicas; port 0 takes a free one")
    ->capture_default_str();
  command.add_option("--journal", given->journal, "file that tells a restart what was done")
    ->capture_default_str();
  command.add_flag("--adopt", given->adopt,
                   "take pods that it does not know for running where the records say so");
  command.add_option("--address-file", given->address_file, "file to write the address to");
  command.add_option("--cert", given->tls.certificate, "certificate shown to the replicas");
  command.add_option("--key", given->tls.key, "key of that certificate");
  command.add_option("--ca", given->tls.authority,
                     "certificates that those of the replicas are checked by");
  command.add_flag("--insecure", given->insecure, "listen beyond this machine without encryption");
  line.set_action(command, [given](output) { return play_machines(*given); });
}

} // namespace reprieve::cli
