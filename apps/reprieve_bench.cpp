// The benchmarks: measures decisions, replicas and takeovers on clusters that are made up.

#include "apps/bench/archive.hpp"
#include "apps/bench/cluster.hpp"
#include "apps/bench/decide.hpp"
#include "apps/bench/heartbeats.hpp"
#include "apps/bench/replicas.hpp"
#include "apps/bench/waiting.hpp"
#include "apps/cli/one_of.hpp"
#include "apps/cli/output.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace reprieve::bench {

namespace {

CLI::App* add_decide(CLI::App& app, decide_request& wanted) {
  auto* command = app.add_subcommand("decide", "how long decisions take");
  command->add_option("--nodes", wanted.nodes)->capture_default_str();
  command->add_option("--pods-per-node", wanted.pods_per_node)->capture_default_str();
  command->add_option("--gang", wanted.gang, "pods of each preemptor")->capture_default_str();
  command
    ->add_option("--groups", wanted.groups, "pods of each workload that runs, which goes whole")
    ->capture_default_str();
  command->add_option("--preemptors", wanted.preemptors)->capture_default_str();
  return command;
}

CLI::App* add_cluster(CLI::App& app, cluster_request& wanted) {
  auto* command =
    app.add_subcommand("cluster", "how many decisions a whole replica carries out, in memory");
  command->add_option("--shards", wanted.shards, "of nodes, and as many of workloads")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  command->add_option("--threads", wanted.threads, "that run the actors")->capture_default_str();
  command->add_option("--nodes", wanted.nodes)->capture_default_str();
  command->add_option("--pods-per-node", wanted.pods_per_node)->capture_default_str();
  command
    ->add_option("--pods-per-workload", wanted.workload_size,
                 "of those that run, which go one by one")
    ->capture_default_str();
  command->add_option("--preemptions", wanted.preemptions, "of one pod by one pod")
    ->capture_default_str();
  command->add_option("--placements", wanted.placements, "of one pod in room that is free")
    ->capture_default_str();
  return command;
}

CLI::App* add_heartbeats(CLI::App& app, heartbeats_request& wanted) {
  auto* command = app.add_subcommand(
    "heartbeats", "what heartbeats cost, and an idle server; how long `get` takes meanwhile");
  command->add_option("--shards", wanted.shards, "of nodes, and as many of workloads")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  command->add_option("--threads", wanted.threads, "that run the actors")->capture_default_str();
  command->add_option("--nodes", wanted.nodes)->capture_default_str();
  command->add_option("--pods-per-node", wanted.pods_per_node)->capture_default_str();
  command->add_option("--per-second", wanted.per_second, "heartbeats of all nodes together")
    ->capture_default_str();
  command->add_option("--nodes-per-message", wanted.per_message, "that an agent speaks for at once")
    ->capture_default_str();
  command->add_option("--agents", wanted.agents, "each with a connection of its own")
    ->capture_default_str();
  command->add_option("--seconds", wanted.seconds, "of each part of the measurement")
    ->capture_default_str();
  return command;
}

CLI::App* add_replicas(CLI::App& app, replicas_request& wanted) {
  auto* command = app.add_subcommand(
    "replicas", "submissions, preemptions and takeover on a three-member etcd, beside plain puts");
  command
    ->add_option("--etcd", wanted.etcd,
                 "HOST:PORT of its members, with commas; else three are started")
    ->delimiter(',');
  command
    ->add_option("--rounds", wanted.rounds, "of which medians are told; 0 for the takeover alone")
    ->capture_default_str();
  command
    ->add_option("--milliseconds", wanted.milliseconds,
                 "of each measurement of puts and submissions")
    ->capture_default_str();
  command->add_option("--clients", wanted.clients, "that submit, one call at a time each")
    ->capture_default_str();
  command->add_option("--nodes", wanted.nodes, "of the cluster in which is preempted")
    ->capture_default_str();
  command->add_option("--pods-per-node", wanted.pods_per_node, "likewise")->capture_default_str();
  command->add_option("--preemptions", wanted.preemptions, "of each round")->capture_default_str();
  command
    ->add_option("--takeover-nodes", wanted.takeover_nodes,
                 "of the cluster that is taken over; 0 for none")
    ->capture_default_str();
  command->add_option("--takeover-pods-per-node", wanted.takeover_pods_per_node, "likewise")
    ->capture_default_str();
  command->add_option("--takeover-pods-per-workload", wanted.takeover_workload_size, "likewise")
    ->capture_default_str();
  return command;
}

CLI::App* add_archive(CLI::App& app, archive_request& wanted) {
  auto* command = app.add_subcommand(
    "archive", "explanations and takeover beside few finished decisions and many, on etcd");
  command
    ->add_option("--etcd", wanted.etcd,
                 "HOST:PORT of its members, with commas; else one is started")
    ->delimiter(',');
  command->add_option("--few", wanted.few, "finished decisions")->capture_default_str();
  command->add_option("--many", wanted.many, "finished decisions")->capture_default_str();
  command->add_option("--workloads", wanted.workloads, "that they are about")
    ->capture_default_str();
  command->add_option("--nodes", wanted.nodes, "of the cluster that is taken over")
    ->capture_default_str();
  command->add_option("--pods-per-node", wanted.pods_per_node, "likewise")->capture_default_str();
  return command;
}

CLI::App* add_waiting(CLI::App& app, waiting_request& wanted) {
  auto* command = app.add_subcommand(
    "waiting", "what a placement costs beside work that waits in vain, and without it");
  command->add_option("--shards", wanted.shards, "of nodes, and as many of workloads")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  command->add_option("--threads", wanted.threads, "that run the actors")->capture_default_str();
  command->add_option("--nodes", wanted.nodes)->capture_default_str();
  command->add_option("--pods-per-node", wanted.pods_per_node)->capture_default_str();
  command->add_option("--waiting", wanted.waiting, "workloads that wait in vain")
    ->capture_default_str();
  command->add_option("--kinds", wanted.kinds, "of them, that ask for different amounts")
    ->capture_default_str();
  command->add_option("--queues", wanted.queues, "in which they wait")->capture_default_str();
  command->add_option("--placements", wanted.placements, "at once")->capture_default_str();
  command->add_option("--one-by-one", wanted.one_by_one, "placements one after another")
    ->capture_default_str();
  command->add_option("--pods-of-each", wanted.pods_of_each, "of those workloads that wait")
    ->capture_default_str();
  command->add_flag("--gangs", wanted.gangs, "these start together or not at all");
  command->add_option("--running", wanted.running, "pods of one workload that run beside them")
    ->capture_default_str();
  command->add_option("--at-most", wanted.most_times, "times what it costs without them")
    ->capture_default_str();
  command->add_option("--rounds", wanted.rounds, "of which medians are told")
    ->capture_default_str();
  return command;
}

int run(int argc, char** argv) {
  CLI::App app{"reprieve-bench: measures on a cluster that is made up"};
  app.require_subcommand(1);
  app.fallthrough();
  auto as = cli::output::table;
  app
    .add_option_function<std::string>(
      "-o,--output",
      [&](const std::string& word) {
        as = word == "json" ? cli::output::json : cli::output::table;
      },
      "table or json")
    ->check(cli::one_of({"table", "json"}));

  decide_request decisions;
  auto* decide_asked = add_decide(app, decisions);
  cluster_request whole;
  auto* cluster_asked = add_cluster(app, whole);
  heartbeats_request beats;
  auto* heartbeats_asked = add_heartbeats(app, beats);
  replicas_request replicated;
  auto* replicas_asked = add_replicas(app, replicated);
  archive_request archived;
  auto* archive_asked = add_archive(app, archived);
  waiting_request in_vain;
  add_waiting(app, in_vain);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cli::done : cli::bad_input;
  }
  if (*decide_asked)
    return decide(decisions, as);
  if (*cluster_asked)
    return cluster(whole, as);
  if (*heartbeats_asked)
    return heartbeats(beats, as);
  if (*replicas_asked)
    return replicas(replicated, as);
  if (*archive_asked)
    return archive(archived, as);
  return waiting(in_vain, as);
}

} // namespace

} // namespace reprieve::bench

int main(int argc, char** argv) {
  return reprieve::bench::run(argc, argv);
}
