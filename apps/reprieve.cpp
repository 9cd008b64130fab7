// The command line: reads manifests, calls the API, prints answers.

#include "apps/cli/admin.hpp"
#include "apps/cli/bench_archive.hpp"
#include "apps/cli/bench_cluster.hpp"
#include "apps/cli/bench_decide.hpp"
#include "apps/cli/bench_heartbeats.hpp"
#include "apps/cli/bench_replicas.hpp"
#include "apps/cli/bench_waiting.hpp"
#include "apps/cli/commands.hpp"
#include "apps/cli/connection.hpp"
#include "apps/cli/decide.hpp"
#include "apps/cli/machines.hpp"
#include "apps/cli/one_of.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <map>

int main(int argc, char** argv) {
  using namespace reprieve;

  cli::connection_options reached;
  auto as = cli::output::table;
  CLI::App app{"reprieve: talks to a Reprieve scheduler"};
  app.require_subcommand(1);
  app.fallthrough();
  cli::add_connection_options(app, reached);
  const std::map<std::string, cli::output> outputs{
    {"table", cli::output::table}, {"json", cli::output::json}, {"yaml", cli::output::yaml}};
  app
    .add_option_function<std::string>(
      "-o,--output", [&](const std::string& word) { as = outputs.at(word); }, "table, json or yaml")
    ->check(cli::one_of({"table", "json", "yaml"}));

  std::vector<std::string> files;
  std::string kind;
  std::string name;
  std::vector<std::string> names;
  get_request wanted;
  bool dry_run = false;
  bool follow = false;

  auto* apply = app.add_subcommand("apply", "add or change the objects of manifests, all or none");
  apply->add_option("-f,--file", files, "YAML or JSON file")->required();
  apply->add_flag("--dry-run", dry_run, "check only");

  auto* get = app.add_subcommand("get", "show objects");
  get->add_option("kind", kind, "such as nodes, workloads, pods")->required();
  get->add_option("name", wanted.name, "only this one");
  get->add_option("--group", wanted.resource_group, "only of this resource group");
  get->add_option("--queue", wanted.queue, "only of this queue");
  get->add_option("--node", wanted.node, "only pods on this node");
  get->add_option("--workload", wanted.workload, "only pods of this workload");

  auto* describe = app.add_subcommand("describe", "show one object with all that belongs to it");
  describe->add_option("kind", kind)->required();
  describe->add_option("name", name)->required();

  auto* remove = app.add_subcommand("delete", "delete objects");
  remove->add_option("-f,--file", files, "delete the objects of these manifests");
  bool force = false;
  remove->add_flag(
    "--force", force,
    "nodes with the pods on them: these are given up for lost, and come back elsewhere");
  remove->add_option("kind", kind);
  remove->add_option("names", names);

  auto* explain = app.add_subcommand("explain", "tell why: a decision, a workload or a pod");
  explain->add_option("subject", kind, "decision, workload or pod")->required();
  explain->add_option("name", name)->required();

  auto* events = app.add_subcommand("events", "show what happened");
  events->add_flag("-w,--watch", follow, "keep watching");

  cli::heartbeat_options beating;
  auto* heartbeat = app.add_subcommand("heartbeat", "say that nodes are up, as their agents do");
  heartbeat->add_option("nodes", names, "that are up")->required();
  auto* every = heartbeat->add_option("--every", beating.every,
                                      "go on, as often as this: a duration such as 10s");
  heartbeat->add_flag("--last", beating.last, "the agent ends: the nodes are not watched any more")
    ->excludes(every);

  cli::decide_request to_decide;
  auto* decide =
    app.add_subcommand("decide", "tell what the engine would do on a snapshot, without any server");
  decide->add_option("-f,--file", to_decide.files, "YAML or JSON file, with pods if there are any")
    ->required();
  decide->add_option("--preemptor", to_decide.preemptor,
                     "the workload or pod that is to be placed");
  decide->add_flag("--all", to_decide.all, "the whole cycle, for everything that waits");
  decide
    ->add_option("--policy", to_decide.policy,
                 "in place of the resource group's: workload-aware, sessions, lifecycle or queues")
    ->check(cli::one_of({"workload-aware", "sessions", "lifecycle", "queues"}));
  decide->add_option("--now", to_decide.now, "the time to decide at; the clock's if not given");
  decide->add_flag("--like-kubernetes", to_decide.like_kubernetes,
                   "place plainly and score as kube-scheduler does");

  std::string file;
  cli::restore_target target;
  auto* admin = app.add_subcommand("admin", "look after the state of the scheduler itself");
  admin->require_subcommand(1);
  auto* backup =
    admin->add_subcommand("backup", "write all that the server's store holds to a file");
  backup->add_option("file", file, "to write; replaced when the backup is whole")->required();
  auto* snapshot = admin->add_subcommand(
    "snapshot", "write the server's live state to a file, as manifests that decide takes");
  snapshot->add_option("file", file, "to write; replaced when the snapshot is whole")->required();
  auto* restore =
    admin->add_subcommand("restore", "put a backup into an empty store, while no reprieved runs");
  restore->add_option("file", file, "that admin backup wrote")->required();
  cli::add_restore_options(*restore, target);

  cli::bench_request measured;
  auto* bench = app.add_subcommand("bench", "measure on a cluster that is made up");
  bench->require_subcommand(1);
  auto* bench_decide = bench->add_subcommand("decide", "how long decisions take");
  bench_decide->add_option("--nodes", measured.nodes)->capture_default_str();
  bench_decide->add_option("--pods-per-node", measured.pods_per_node)->capture_default_str();
  bench_decide->add_option("--gang", measured.gang, "pods of each preemptor")
    ->capture_default_str();
  bench_decide
    ->add_option("--groups", measured.groups, "pods of each workload that runs, which goes whole")
    ->capture_default_str();
  bench_decide->add_option("--preemptors", measured.preemptors)->capture_default_str();

  cli::bench_cluster_request whole;
  auto* bench_cluster =
    bench->add_subcommand("cluster", "how many decisions a whole replica carries out, in memory");
  bench_cluster->add_option("--shards", whole.shards, "of nodes, and as many of workloads")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  bench_cluster->add_option("--threads", whole.threads, "that run the actors")
    ->capture_default_str();
  bench_cluster->add_option("--nodes", whole.nodes)->capture_default_str();
  bench_cluster->add_option("--pods-per-node", whole.pods_per_node)->capture_default_str();
  bench_cluster
    ->add_option("--pods-per-workload", whole.workload_size,
                 "of those that run, which go one by one")
    ->capture_default_str();
  bench_cluster->add_option("--preemptions", whole.preemptions, "of one pod by one pod")
    ->capture_default_str();
  bench_cluster->add_option("--placements", whole.placements, "of one pod in room that is free")
    ->capture_default_str();

  cli::bench_heartbeats_request beats;
  auto* bench_heartbeats = bench->add_subcommand(
    "heartbeats", "what heartbeats cost, and an idle server; how long `get` takes meanwhile");
  bench_heartbeats->add_option("--shards", beats.shards, "of nodes, and as many of workloads")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  bench_heartbeats->add_option("--threads", beats.threads, "that run the actors")
    ->capture_default_str();
  bench_heartbeats->add_option("--nodes", beats.nodes)->capture_default_str();
  bench_heartbeats->add_option("--pods-per-node", beats.pods_per_node)->capture_default_str();
  bench_heartbeats->add_option("--per-second", beats.per_second, "heartbeats of all nodes together")
    ->capture_default_str();
  bench_heartbeats
    ->add_option("--nodes-per-message", beats.per_message, "that an agent speaks for at once")
    ->capture_default_str();
  bench_heartbeats->add_option("--agents", beats.agents, "each with a connection of its own")
    ->capture_default_str();
  bench_heartbeats->add_option("--seconds", beats.seconds, "of each part of the measurement")
    ->capture_default_str();

  cli::bench_replicas_request replicated;
  auto* bench_replicas = bench->add_subcommand(
    "replicas", "submissions, preemptions and takeover on a three-member etcd, beside plain puts");
  bench_replicas
    ->add_option("--etcd", replicated.etcd,
                 "HOST:PORT of its members, with commas; else three are started")
    ->delimiter(',');
  bench_replicas
    ->add_option("--rounds", replicated.rounds,
                 "of which medians are told; 0 for the takeover alone")
    ->capture_default_str();
  bench_replicas
    ->add_option("--milliseconds", replicated.milliseconds,
                 "of each measurement of puts and submissions")
    ->capture_default_str();
  bench_replicas
    ->add_option("--clients", replicated.clients, "that submit, one call at a time each")
    ->capture_default_str();
  bench_replicas->add_option("--nodes", replicated.nodes, "of the cluster in which is preempted")
    ->capture_default_str();
  bench_replicas->add_option("--pods-per-node", replicated.pods_per_node, "likewise")
    ->capture_default_str();
  bench_replicas->add_option("--preemptions", replicated.preemptions, "of each round")
    ->capture_default_str();
  bench_replicas
    ->add_option("--takeover-nodes", replicated.takeover_nodes,
                 "of the cluster that is taken over; 0 for none")
    ->capture_default_str();
  bench_replicas
    ->add_option("--takeover-pods-per-node", replicated.takeover_pods_per_node, "likewise")
    ->capture_default_str();
  bench_replicas
    ->add_option("--takeover-pods-per-workload", replicated.takeover_workload_size, "likewise")
    ->capture_default_str();

  cli::bench_archive_request archived;
  auto* bench_archive = bench->add_subcommand(
    "archive", "explanations and takeover beside few finished decisions and many, on etcd");
  bench_archive
    ->add_option("--etcd", archived.etcd,
                 "HOST:PORT of its members, with commas; else one is started")
    ->delimiter(',');
  bench_archive->add_option("--few", archived.few, "finished decisions")->capture_default_str();
  bench_archive->add_option("--many", archived.many, "finished decisions")->capture_default_str();
  bench_archive->add_option("--workloads", archived.workloads, "that they are about")
    ->capture_default_str();
  bench_archive->add_option("--nodes", archived.nodes, "of the cluster that is taken over")
    ->capture_default_str();
  bench_archive->add_option("--pods-per-node", archived.pods_per_node, "likewise")
    ->capture_default_str();

  cli::bench_waiting_request in_vain;
  auto* bench_waiting = bench->add_subcommand(
    "waiting", "what a placement costs beside work that waits in vain, and without it");
  bench_waiting->add_option("--shards", in_vain.shards, "of nodes, and as many of workloads")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  bench_waiting->add_option("--threads", in_vain.threads, "that run the actors")
    ->capture_default_str();
  bench_waiting->add_option("--nodes", in_vain.nodes)->capture_default_str();
  bench_waiting->add_option("--pods-per-node", in_vain.pods_per_node)->capture_default_str();
  bench_waiting->add_option("--waiting", in_vain.waiting, "workloads that wait in vain")
    ->capture_default_str();
  bench_waiting->add_option("--kinds", in_vain.kinds, "of them, that ask for different amounts")
    ->capture_default_str();
  bench_waiting->add_option("--queues", in_vain.queues, "in which they wait")
    ->capture_default_str();
  bench_waiting->add_option("--placements", in_vain.placements, "at once")->capture_default_str();
  bench_waiting->add_option("--one-by-one", in_vain.one_by_one, "placements one after another")
    ->capture_default_str();
  bench_waiting->add_option("--pods-of-each", in_vain.pods_of_each, "of those workloads that wait")
    ->capture_default_str();
  bench_waiting->add_flag("--gangs", in_vain.gangs, "these start together or not at all");
  bench_waiting
    ->add_option("--running", in_vain.running, "pods of one workload that run beside them")
    ->capture_default_str();
  bench_waiting->add_option("--at-most", in_vain.most_times, "times what it costs without them")
    ->capture_default_str();
  bench_waiting->add_option("--rounds", in_vain.rounds, "of which medians are told")
    ->capture_default_str();

  cli::machines_request machines;
  auto* play = app.add_subcommand(
    "machines", "play the machines of a cluster, for all replicas started with --machines");
  play->add_option("--listen", machines.listen, "address for the replicas; port 0 takes a free one")
    ->capture_default_str();
  play->add_option("--journal", machines.journal, "file that tells a restart what was done")
    ->capture_default_str();
  play->add_flag("--adopt", machines.adopt,
                 "take pods that it does not know for running where the records say so");
  play->add_option("--address-file", machines.address_file, "file to write the address to");
  play->add_option("--cert", machines.tls.certificate, "certificate shown to the replicas");
  play->add_option("--key", machines.tls.key, "key of that certificate");
  play->add_option("--ca", machines.tls.authority,
                   "certificates that those of the replicas are checked by");
  play->add_flag("--insecure", machines.insecure, "listen beyond this machine without encryption");

  try {
    app.parse(argc, argv);
    if (*remove && files.empty() && (kind.empty() || names.empty()))
      throw CLI::ValidationError("delete", "give a kind and names, or manifests with -f");
    if (*decide && to_decide.all && !to_decide.preemptor.empty())
      throw CLI::ValidationError("decide", "--all decides for everything that waits, and "
                                           "--preemptor for one alone; give one of them");
    if (*restore && target.data.empty() && target.etcd.empty())
      throw CLI::ValidationError("restore", "give --data DIRECTORY, or --etcd HOST:PORT");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cli::done : cli::bad_input;
  }

  if (*play)
    return cli::play_machines(machines);
  if (*decide)
    return cli::decide(to_decide, as);
  if (*restore)
    return cli::restore(file, target);
  if (*bench_cluster)
    return cli::bench_cluster(whole, as);
  if (*bench_heartbeats)
    return cli::bench_heartbeats(beats, as);
  if (*bench_replicas)
    return cli::bench_replicas(replicated, as);
  if (*bench_archive)
    return cli::bench_archive(archived, as);
  if (*bench_waiting)
    return cli::bench_waiting(in_vain, as);
  if (*bench)
    return cli::bench_decide(measured, as);
  auto connection = cli::read_connection(reached);
  if (!connection.ok()) {
    fmt::print(stderr, "reprieve: {}\n", std::string(connection.status().message()));
    return cli::bad_input;
  }
  api_client::silence_transport();
  api_client server{*std::move(connection)};
  if (*apply)
    return cli::apply(server, files, dry_run, as);
  if (*get)
    return cli::get(server, kind, wanted, as);
  if (*describe)
    return cli::describe(server, kind, name, as);
  if (*remove)
    return cli::remove(server, kind, std::move(names), files, force);
  if (*backup)
    return cli::backup(server, file);
  if (*snapshot)
    return cli::snapshot(server, file);
  if (*explain)
    return cli::explain(server, kind, name, as);
  if (*heartbeat)
    return cli::heartbeat(server, names, beating);
  return cli::events(server, follow, as);
}
