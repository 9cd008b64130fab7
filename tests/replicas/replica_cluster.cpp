#include "tests/replicas/replica_cluster.hpp"

#include "protocol/client/api_client.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "testbed/processes/free_endpoint.hpp"
#include "tests/replicas/store_keys.hpp"
#include "tests/support/etcd_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <thread>

namespace reprieve::replicas {

namespace {

std::string program(const std::string& name) {
  return std::string(REPRIEVE_BINARIES) + "/" + name;
}

std::string port_of(const std::string& endpoint) {
  return endpoint.substr(endpoint.rfind(':') + 1);
}

} // namespace

replica_cluster::replica_cluster(cluster_options options)
    : options_(std::move(options)),
      etcd_(count, {},
            options_.in_namespaces ? etcd_members::reach::all_interfaces
                                   : etcd_members::reach::loopback) {
  choose_addresses();
  make_certificates();
  std::vector<std::string> command{program("reprieve"), "machines",  "--listen",
                                   machines_,           "--journal", file("machines.jsonl")};
  for (auto& option : certificates_->shown_as("machines", "--"))
    command.push_back(std::move(option));
  machines_process_ = std::make_unique<child_process>(std::move(command), file("machines.log"));
  std::this_thread::sleep_for(std::chrono::seconds{2});
  for (int i = 0; i < count; ++i)
    start_replica(i);
}

void replica_cluster::choose_addresses() {
  using link = private_network::link;
  if (options_.in_namespaces)
    network_ = std::make_unique<private_network>(count);
  replicas_.resize(count);
  machines_ = network_ ? "0.0.0.0:" + port_of(free_endpoint()) : free_endpoint();
  for (int i = 0; i < count; ++i) {
    auto& one = replicas_[static_cast<std::size_t>(i)];
    one.api = free_endpoint();
    one.peer = free_endpoint();
    if (network_) {
      one.api = private_network::there(i, link::clients) + ":" + port_of(one.api);
      one.peer = private_network::there(i, link::peers) + ":" + port_of(one.peer);
      continue;
    }
    for (const auto& member : etcd_.endpoints())
      one.to_etcd.push_back(std::make_unique<cut_wire>(member));
    one.from_peers = std::make_unique<cut_wire>(one.peer);
  }
}

void replica_cluster::make_certificates() {
  using link = private_network::link;
  std::vector<std::string> names;
  for (int i = 0; network_ && i < count; ++i) {
    names.push_back(private_network::there(i, link::peers));
    names.push_back(private_network::here(i, link::clients));
  }
  certificates_.emplace(std::move(names));
}

replica_cluster::~replica_cluster() {
  for (auto& one : replicas_)
    if (one.process)
      one.process->kill();
}

bool replica_cluster::serves() {
  for (const auto& one : replicas_) {
    api_client client({{one.api}});
    bool up = false;
    for (int i = 0; i < 300 && !up; ++i) {
      up = client.get({object_kind::resource_group, {}, {}, {}}).ok();
      if (!up)
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
    if (!up)
      return false;
  }
  return true;
}

std::vector<std::string> replica_cluster::servers(int but) const {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i)
    if (i != but)
      all.push_back(server(i));
  return all;
}

std::string replica_cluster::server(int which) const {
  return replicas_[static_cast<std::size_t>(which)].api;
}

std::vector<std::string> replica_cluster::etcd_endpoints() const {
  return etcd_.endpoints();
}

void replica_cluster::start_replica(int which) {
  using link = private_network::link;
  auto& one = replicas_[static_cast<std::size_t>(which)];
  std::string etcd;
  for (std::size_t i = 0; i < etcd_.count(); ++i)
    etcd +=
      (i == 0 ? "" : ",")
      + (network_ ? private_network::here(which, link::etcd) + ":" + port_of(etcd_.endpoints()[i])
                  : one.to_etcd[i]->endpoint());
  const auto machines =
    network_ ? private_network::here(which, link::clients) + ":" + port_of(machines_) : machines_;
  std::vector<std::string> command{program("reprieved"),
                                   "--data",
                                   file(fmt::format("data-{}", which)),
                                   "--replica",
                                   name_of(which),
                                   "--listen",
                                   one.api,
                                   "--peer-listen",
                                   one.peer,
                                   "--peer-advertise",
                                   network_ ? one.peer : one.from_peers->endpoint(),
                                   "--etcd",
                                   etcd,
                                   "--machines",
                                   machines,
                                   "--lease",
                                   std::to_string(lease().count()),
                                   "--requests-per-second",
                                   "0"};
  for (auto& option : certificates_->shown_as("peer"))
    command.push_back(std::move(option));
  command.insert(command.end(), options_.more.begin(), options_.more.end());
  if (network_) {
    command.emplace_back("--insecure");
    command = network_->inside(which, std::move(command));
  }
  one.process =
    std::make_unique<child_process>(std::move(command), file(fmt::format("replica-{}.log", which)));
}

void replica_cluster::kill_replica(int which) {
  replicas_[static_cast<std::size_t>(which)].process->kill();
}

void replica_cluster::stop_replica(int which) {
  auto& process = *replicas_[static_cast<std::size_t>(which)].process;
  process.signal(SIGTERM);
  process.wait(std::chrono::seconds{10});
}

void replica_cluster::signal_replica(int which, int number) {
  replicas_[static_cast<std::size_t>(which)].process->signal(number);
}

void replica_cluster::start_etcd(int which) {
  etcd_.start(static_cast<std::size_t>(which));
}

void replica_cluster::kill_etcd(int which) {
  etcd_.member(static_cast<std::size_t>(which)).kill();
}

void replica_cluster::signal_etcd(int which, int number) {
  etcd_.member(static_cast<std::size_t>(which)).signal(number);
}

int replica_cluster::etcd_leader() {
  for (int i = 0; i < count; ++i) {
    const auto said = run_program({"/usr/bin/env", "ETCDCTL_API=3", "etcdctl", "--endpoints",
                                   etcd_.endpoints()[static_cast<std::size_t>(i)],
                                   "--command-timeout=2s", "endpoint", "status", "-w", "fields"},
                                  std::chrono::seconds{4});
    std::string member;
    std::string leader;
    const auto number_after = [&](const std::string& field) {
      const auto at = said.output.find("\"" + field + "\" : ");
      return at == std::string::npos
               ? std::string{}
               : said.output.substr(at + field.size() + 5, 25)
                   .substr(0, said.output.substr(at + field.size() + 5, 25).find('\n'));
    };
    member = number_after("MemberID");
    leader = number_after("Leader");
    if (!member.empty() && member == leader)
      return i;
  }
  return -1;
}

void replica_cluster::cut_from_etcd(int which, bool cut) {
  if (network_)
    network_->set_up(which, private_network::link::etcd, !cut);
  for (auto& way : replicas_[static_cast<std::size_t>(which)].to_etcd)
    cut ? way->cut() : way->heal();
}

void replica_cluster::cut_from_peers(int which, bool cut) {
  if (network_) {
    network_->set_up(which, private_network::link::peers, !cut);
    return;
  }
  auto& way = *replicas_[static_cast<std::size_t>(which)].from_peers;
  cut ? way.cut() : way.heal();
}

std::string replica_cluster::name_of(int which) {
  return fmt::format("replica-{}", which);
}

std::map<std::string, std::string> replica_cluster::owners() const {
  std::map<std::string, std::string> found;
  for (const auto& one : read_keys(etcd_endpoints(), std::string(keys::owners)))
    if (const auto record = decode<owner_record>(one.value); record.ok())
      for (const auto& shard : record->owned)
        found[shard] = keys::last_part(one.key);
  return found;
}

std::map<std::string, std::string> replica_cluster::settled_owners() const {
  auto before = owners();
  for (int i = 0; i < 60; ++i) {
    std::this_thread::sleep_for(std::chrono::seconds{1});
    auto now = owners();
    std::set<std::string> owning;
    for (const auto& [shard, owner] : now)
      owning.insert(owner);
    const auto up = std::ranges::count_if(
      replicas_, [](const one_replica& one) { return one.process && one.process->running(); });
    if (now == before && std::ssize(owning) == up)
      return now;
    before = std::move(now);
  }
  return before;
}

std::string replica_cluster::journal() const {
  return file_contents(file("machines.jsonl"));
}

std::string replica_cluster::output() const {
  std::string all;
  for (int i = 0; i < count; ++i)
    all +=
      fmt::format("-- replica-{}\n{}", i, file_contents(file(fmt::format("replica-{}.log", i))));
  return all;
}

} // namespace reprieve::replicas
