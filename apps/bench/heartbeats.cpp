#include "apps/bench/heartbeats.hpp"

#include "apps/bench/heartbeat_agents.hpp"
#include "apps/bench/process_figures.hpp"
#include "protocol/api/api_server.hpp"
#include "testbed/replica/whole_replica.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace reprieve::bench {

namespace {

using clock = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

/// What some traffic cost the server.
struct measured {
  double cpu = 0;  ///< seconds of processor time
  double wall = 0; ///< seconds that passed
  std::uint64_t transactions = 0;
  agent_account traffic;

  /// Of one core.
  double share() const {
    return cpu / wall;
  }
};

/// Has the traffic played, or lets the time pass where there is none.
absl::StatusOr<measured> measure(const whole_replica& all, heartbeat_agents& agents,
                                 const std::string& address, const agent_traffic& wanted) {
  measured found;
  const auto transactions = all.behind->transactions();
  const auto cpu = cpu_seconds();
  const auto began = clock::now();
  if (wanted.per_second + wanted.rounds + wanted.gets_per_second == 0) {
    std::this_thread::sleep_for(std::chrono::seconds{wanted.seconds});
  } else {
    const auto account = agents.play(address, wanted);
    if (!account)
      return absl::InternalError("the process that sends the heartbeats has ended");
    if (account->failed > 0)
      return absl::InternalError(fmt::format("{} calls failed", account->failed));
    found.traffic = *account;
  }
  found.cpu = cpu_seconds() - cpu;
  found.wall = seconds(clock::now() - began).count();
  found.transactions = all.behind->transactions() - transactions;
  return found;
}

struct all_measured {
  measured first;   ///< heartbeats of all nodes, as fast as it goes
  measured idle;    ///< nothing
  measured reading; ///< `get` alone
  measured busy;    ///< heartbeats at their rate, and `get`
};

absl::StatusOr<all_measured> measure_all(const heartbeats_request& wanted, const whole_replica& all,
                                         heartbeat_agents& agents, const std::string& address) {
  constexpr std::size_t gets_per_second = 50;
  const agent_traffic none{
    wanted.agents, wanted.nodes, wanted.per_message, 0, 0, wanted.seconds, 0};
  all_measured found;
  const auto play = [&](measured& into, const agent_traffic& traffic) {
    auto one = measure(all, agents, address, traffic);
    if (!one.ok())
      return one.status();
    into = *std::move(one);
    return absl::OkStatus();
  };
  auto first = none;
  first.per_message = 1000;
  first.rounds = 1;
  if (auto played = play(found.first, first); !played.ok())
    return played;
  all.wait_until_quiet();
  if (auto played = play(found.idle, none); !played.ok())
    return played;
  auto reading = none;
  reading.gets_per_second = gets_per_second;
  if (auto played = play(found.reading, reading); !played.ok())
    return played;
  auto busy = reading;
  busy.per_second = wanted.per_second;
  if (auto played = play(found.busy, busy); !played.ok())
    return played;
  return found;
}

void print(const heartbeats_request& wanted, const all_measured& found, cli::output as) {
  const auto& busy = found.busy;
  const auto heartbeats = static_cast<double>(busy.traffic.heartbeats);
  const auto rate = heartbeats / busy.wall;
  const auto each = 1e6 * busy.cpu / heartbeats;
  if (as == cli::output::json)
    fmt::print(
      "{{\"nodes\": {}, \"pods\": {}, \"shards\": {}, \"threads\": {}, \"agents\": {}, "
      "\"nodes_per_message\": {}, \"seconds\": {:.2f}, \"heartbeats\": {}, "
      "\"heartbeats_per_s\": {:.0f}, \"server_cpu_s\": {:.3f}, \"server_cores\": {:.4f}, "
      "\"cpu_us_per_heartbeat\": {:.2f}, \"store_transactions\": {}, \"get_p50_ms\": {:.3f}, "
      "\"get_p99_ms\": {:.3f}, \"get_max_ms\": {:.3f}, \"idle_seconds\": {:.2f}, "
      "\"idle_cpu_s\": {:.4f}, \"idle_cores\": {:.5f}, \"idle_get_p50_ms\": {:.3f}, "
      "\"idle_get_p99_ms\": {:.3f}, \"idle_get_max_ms\": {:.3f}, "
      "\"first_heartbeats_cpu_s\": {:.3f}, \"first_heartbeats_transactions\": {}, "
      "\"peak_rss_bytes\": {}}}\n",
      wanted.nodes, wanted.nodes * wanted.pods_per_node, wanted.shards, wanted.threads,
      wanted.agents, wanted.per_message, busy.wall, busy.traffic.heartbeats, rate, busy.cpu,
      busy.share(), each, busy.transactions, busy.traffic.get_p50_ms, busy.traffic.get_p99_ms,
      busy.traffic.get_max_ms, found.idle.wall, found.idle.cpu, found.idle.share(),
      found.reading.traffic.get_p50_ms, found.reading.traffic.get_p99_ms,
      found.reading.traffic.get_max_ms, found.first.cpu, found.first.transactions,
      peak_resident_bytes());
  else
    fmt::print(
      "{} nodes, {:.0f} heartbeats a second in messages of {}: {:.3f} cores, {:.1f} µs of the "
      "server's processor time each, {} transactions\n"
      "get node: median {:.2f} ms, 99th percentile {:.2f} ms\n"
      "idle: {:.5f} cores; get node: median {:.2f} ms, 99th percentile {:.2f} ms\n"
      "{} MiB of memory at the peak\n",
      wanted.nodes, rate, wanted.per_message, busy.share(), each, busy.transactions,
      busy.traffic.get_p50_ms, busy.traffic.get_p99_ms, found.idle.share(),
      found.reading.traffic.get_p50_ms, found.reading.traffic.get_p99_ms,
      peak_resident_bytes() >> 20);
}

} // namespace

int heartbeats(const heartbeats_request& wanted, cli::output as) {
  if (wanted.nodes == 0 || wanted.shards == 0 || wanted.threads == 0 || wanted.per_second == 0
      || wanted.per_message == 0 || wanted.agents == 0 || wanted.seconds == 0) {
    fmt::print(stderr,
               "reprieve-bench: --shards, --threads, --nodes, --per-second, --nodes-per-message, "
               "--agents and --seconds are each 1 or more\n");
    return cli::bad_input;
  }
  heartbeat_agents agents;
  stored_cluster made_up;
  made_up.nodes = wanted.nodes;
  made_up.pods_per_node = wanted.pods_per_node;
  made_up.node_shards = wanted.shards;
  made_up.workload_shards = wanted.shards;
  caf::actor_system_config config;
  caf::actor_system system{with_threads(config, wanted.threads)};
  whole_replica all{system, made_up, wall_clock::of_this_process()};
  const auto fail = [&](const absl::Status& why) {
    fmt::print(stderr, "reprieve-bench: {}\n", std::string(why.message()));
    all.stop();
    return cli::failed;
  };
  if (const auto ready = all.start(system); !ready.ok())
    return fail(ready);
  if (!whole_replica::reaches(all.told.running, wanted.nodes * wanted.pods_per_node))
    return fail(absl::DeadlineExceededError("the cluster does not come up"));
  all.wait_until_quiet();
  api_settings settings;
  settings.limits.streams = static_cast<std::int64_t>(wanted.agents);
  settings.limits.streams_per_client = settings.limits.streams; // they come from one address
  auto server = api_server::start("127.0.0.1:0", system, all.front, settings);
  if (!server.ok())
    return fail(server.status());
  const auto found = measure_all(wanted, all, agents, (*server)->address());
  (*server)->stop();
  server->reset();
  if (!found.ok())
    return fail(found.status());
  all.stop();
  print(wanted, *found, as);
  return cli::done;
}

} // namespace reprieve::bench
