// The command line: reads manifests, calls the API, prints answers.

#include "apps/cli/admin.hpp"
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
