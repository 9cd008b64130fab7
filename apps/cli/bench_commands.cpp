#include "apps/cli/bench_commands.hpp"

#include "apps/cli/bench_archive.hpp"
#include "apps/cli/bench_cluster.hpp"
#include "apps/cli/bench_decide.hpp"
#include "apps/cli/bench_heartbeats.hpp"
#include "apps/cli/bench_replicas.hpp"
#include "apps/cli/bench_waiting.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace reprieve::cli {

namespace {

void add_bench_decide(CLI::App& bench, command_line& line) {
  const auto given = std::make_shared<bench_request>();
  auto& command = *bench.add_subcommand("decide", "how long decisions take");
  command.add_option("--nodes", given->nodes)->capture_default_str();
  command.add_option("--pods-per-node", given->pods_per_node)->capture_default_str();
  command.add_option("--gang", given->gang, "pods of each preemptor")->capture_default_str();
  command
    .add_option("--groups", given->groups, "pods of each workload that runs, which goes whole")
    ->capture_default_str();
  command.add_option("--preemptors", given->preemptors)->capture_default_str();
  line.set_action(command, [given](output as) { return bench_decide(*given, as); });
}

void add_bench_cluster(CLI::App& bench, command_line& line) {
  const auto given = std::make_shared<bench_cluster_request>();
  auto& command =
    *bench.add_subcommand("cluster", "how many decisions a whole replica carries out, in memory");
  command.add_option("--shards", given->shards, "of nodes, and as many of workloads")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  command.add_option("--threads", given->threads, "that run the actors")->capture_default_str();
  command.add_option("--nodes", given->nodes)->capture_default_str();
  command.add_option("--pods-per-node", given->pods_per_node)->capture_default_str();
  command
    .add_option("--pods-per-workload", given->workload_size,
                "of those that run, which go one by one")
    ->capture_default_str();
  command.add_option("--preemptions", given->preemptions, "of one pod by one pod")
    ->capture_default_str();
  command.add_option("--placements", given->placements, "of one pod in room that is free")
    ->capture_default_str();
  line.set_action(command, [given](output as) { return bench_cluster(*given, as); });
}

void add_bench_heartbeats(CLI::App& bench, command_line& line) {
  const auto given = std::make_shared<bench_heartbeats_request>();
  auto& command = *bench.add_subcommand(
    "heartbeats", "what heartbeats cost, and an idle server; how long `get` takes meanwhile");
  command.add_option("--shards", given->shards, "of nodes, and as many of workloads")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  command.add_option("--threads", given->threads, "that run the actors")->capture_default_str();
  command.add_option("--nodes", given->nodes)->capture_default_str();
  command.add_option("--pods-per-node", given->pods_per_node)->capture_default_str();
  command.add_option("--per-second", given->per_second, "heartbeats of all nodes together")
    ->capture_default_str();
  command.add_option("--nodes-per-message", given->per_message, "that an agent speaks for at once")
    ->capture_default_str();
  command.add_option("--agents", given->agents, "each with a connection of its own")
    ->capture_default_str();
  command.add_option("--seconds", given->seconds, "of each part of the measurement")
    ->capture_default_str();
  line.set_action(command, [given](output as) { return bench_heartbeats(*given, as); });
}

void add_bench_replicas(CLI::App& bench, command_line& line) {
  const auto given = std::make_shared<bench_replicas_request>();
  auto& command = *bench.add_subcommand(
    "replicas", "submissions, preemptions and takeover on a three-member etcd, beside plain puts");
  command
    .add_option("--etcd", given->etcd,
                "HOST:PORT of its members, with commas; else three are started")
    ->delimiter(',');
  command
    .add_option("--rounds", given->rounds, "of which medians are told; 0 for the takeover alone")
    ->capture_default_str();
  command
    .add_option("--milliseconds", given->milliseconds,
                "of each measurement of puts and submissions")
    ->capture_default_str();
  command.add_option("--clients", given->clients, "that submit, one call at a time each")
    ->capture_default_str();
  command.add_option("--nodes", given->nodes, "of the cluster in which is preempted")
    ->capture_default_str();
  command.add_option("--pods-per-node", given->pods_per_node, "likewise")->capture_default_str();
  command.add_option("--preemptions", given->preemptions, "of each round")->capture_default_str();
  command
    .add_option("--takeover-nodes", given->takeover_nodes,
                "of the cluster that is taken over; 0 for none")
    ->capture_default_str();
  command.add_option("--takeover-pods-per-node", given->takeover_pods_per_node, "likewise")
    ->capture_default_str();
  command.add_option("--takeover-pods-per-workload", given->takeover_workload_size, "likewise")
    ->capture_default_str();
  line.set_action(command, [given](output as) { return bench_replicas(*given, as); });
}

void add_bench_archive(CLI::App& bench, command_line& line) {
  const auto given = std::make_shared<bench_archive_request>();
  auto& command = *bench.add_subcommand(
    "archive", "explanations and takeover beside few finished decisions and many, on etcd");
  command
    .add_option("--etcd", given->etcd, "HOST:PORT of its members, with commas; else one is started")
    ->delimiter(',');
  command.add_option("--few", given->few, "finished decisions")->capture_default_str();
  command.add_option("--many", given->many, "finished decisions")->capture_default_str();
  command.add_option("--workloads", given->workloads, "that they are about")->capture_default_str();
  command.add_option("--nodes", given->nodes, "of the cluster that is taken over")
    ->capture_default_str();
  command.add_option("--pods-per-node", given->pods_per_node, "likewise")->capture_default_str();
  line.set_action(command, [given](output as) { return bench_archive(*given, as); });
}

void add_bench_waiting(CLI::App& bench, command_line& line) {
  const auto given = std::make_shared<bench_waiting_request>();
  auto& command = *bench.add_subcommand(
    "waiting", "what a placement costs beside work that waits in vain, and without it");
  command.add_option("--shards", given->shards, "of nodes, and as many of workloads")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  command.add_option("--threads", given->threads, "that run the actors")->capture_default_str();
  command.add_option("--nodes", given->nodes)->capture_default_str();
  command.add_option("--pods-per-node", given->pods_per_node)->capture_default_str();
  command.add_option("--waiting", given->waiting, "workloads that wait in vain")
    ->capture_default_str();
  command.add_option("--kinds", given->kinds, "of them, that ask for different amounts")
    ->capture_default_str();
  command.add_option("--queues", given->queues, "in which they wait")->capture_default_str();
  command.add_option("--placements", given->placements, "at once")->capture_default_str();
  command.add_option("--one-by-one", given->one_by_one, "placements one after another")
    ->capture_default_str();
  command.add_option("--pods-of-each", given->pods_of_each, "of those workloads that wait")
    ->capture_default_str();
  command.add_flag("--gangs", given->gangs, "these start together or not at all");
  command.add_option("--running", given->running, "pods of one workload that run beside them")
    ->capture_default_str();
  command.add_option("--at-most", given->most_times, "times what it costs without them")
    ->capture_default_str();
  command.add_option("--rounds", given->rounds, "of which medians are told")->capture_default_str();
  line.set_action(command, [given](output as) { return bench_waiting(*given, as); });
}

} // namespace

void add_bench_commands(CLI::App& program, command_line& line) {
  auto& bench = *program.add_subcommand("bench", "measure on a cluster that is made up");
  bench.require_subcommand(1);
  add_bench_decide(bench, line);
  add_bench_cluster(bench, line);
  add_bench_heartbeats(bench, line);
  add_bench_replicas(bench, line);
  add_bench_archive(bench, line);
  add_bench_waiting(bench, line);
}

} // namespace reprieve::cli
