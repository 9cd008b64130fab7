// The command line: reads manifests, calls the API, prints answers.

#include "apps/cli/commands.hpp"

#include <CLI/CLI.hpp>

#include <map>

int main(int argc, char** argv) {
  using namespace reprieve;

  std::string address = "127.0.0.1:7420";
  auto as = cli::output::table;
  CLI::App app{"reprieve: talks to a Reprieve scheduler"};
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--server", address, "address of reprieved")
    ->envname("REPRIEVE_SERVER")
    ->capture_default_str();
  const std::map<std::string, cli::output> outputs{
    {"table", cli::output::table}, {"json", cli::output::json}, {"yaml", cli::output::yaml}};
  app.add_option("-o,--output", as, "table, json or yaml")
    ->transform(CLI::CheckedTransformer(outputs).description(""));

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

  auto* describe = app.add_subcommand("describe", "show one object with all that belongs to it");
  describe->add_option("kind", kind)->required();
  describe->add_option("name", name)->required();

  auto* remove = app.add_subcommand("delete", "delete objects");
  remove->add_option("-f,--file", files, "delete the objects of these manifests");
  remove->add_option("kind", kind);
  remove->add_option("names", names);

  auto* explain = app.add_subcommand("explain", "tell why: a decision, a workload or a pod");
  explain->add_option("subject", kind, "decision, workload or pod")->required();
  explain->add_option("name", name)->required();

  auto* events = app.add_subcommand("events", "show what happened");
  events->add_flag("-w,--watch", follow, "keep watching");

  try {
    app.parse(argc, argv);
    if (*remove && files.empty() && (kind.empty() || names.empty()))
      throw CLI::ValidationError("delete", "give a kind and names, or manifests with -f");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cli::done : cli::bad_input;
  }

  api_client server{address};
  if (*apply)
    return cli::apply(server, files, dry_run, as);
  if (*get)
    return cli::get(server, kind, wanted, as);
  if (*describe)
    return cli::describe(server, kind, name, as);
  if (*remove)
    return cli::remove(server, kind, std::move(names), files);
  if (*explain)
    return cli::explain(server, kind, name, as);
  return cli::events(server, follow, as);
}
