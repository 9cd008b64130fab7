#include "apps/bench/cluster.hpp"

#include "apps/bench/process_figures.hpp"
#include "apps/bench/replica_measurement.hpp"

#include <caf/scheduler/test_coordinator.hpp>
#include <fmt/format.h>

#include <chrono>

namespace reprieve::bench {

namespace {

/// The messages that one preemption costs from its submission until its pod runs, on a small
/// cluster and a scheduler that counts them.
std::size_t messages_of_a_preemption(const cluster_request& wanted) {
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("testing"));
  caf::actor_system system{config};
  system.await_actors_before_shutdown(false);
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  stored_cluster made_up;
  made_up.nodes = 16;
  made_up.pods_per_node = 4;
  made_up.node_shards = wanted.shards;
  made_up.workload_shards = wanted.shards;
  whole_replica all{system, made_up, wall_clock{stored_cluster::now.time_since_epoch()}};
  const auto settle = [&] {
    std::size_t messages = 0;
    for (int i = 0; i < 2000; ++i) {
      while (scheduler.try_run_once())
        ++messages;
      scheduler.advance_time(std::chrono::milliseconds{1});
    }
    return messages;
  };
  caf::anon_send(all.member, start_serving{});
  settle();
  caf::anon_send(all.member, follow_directory{all.front});
  settle();
  const auto idle = settle();
  all.submit(whole_replica::workloads("urgent", 1, stored_cluster::urgent));
  const auto messages = settle() - idle;
  all.stop();
  settle();
  return messages;
}

} // namespace

int cluster(const cluster_request& wanted, cli::output as) {
  if (wanted.nodes == 0 || wanted.pods_per_node == 0 || wanted.shards == 0
      || wanted.workload_size == 0 || wanted.preemptions == 0 || wanted.placements == 0
      || wanted.threads == 0) {
    fmt::print(stderr, "reprieve-bench: --shards, --threads, --nodes, --pods-per-node, "
                       "--pods-per-workload, --preemptions and --placements are each 1 or more\n");
    return cli::bad_input;
  }
  stored_cluster made_up;
  made_up.nodes = wanted.nodes;
  made_up.pods_per_node = wanted.pods_per_node;
  made_up.workload_size = wanted.workload_size;
  made_up.node_shards = wanted.shards;
  made_up.workload_shards = wanted.shards;
  // The placements fill the cluster, so that the preemptors find it full.
  made_up.spare_per_node = (wanted.placements + wanted.nodes - 1) / wanted.nodes;
  const auto placed = made_up.spare_per_node * wanted.nodes;
  const auto messages = messages_of_a_preemption(wanted);

  caf::actor_system_config config;
  caf::actor_system system{with_threads(config, wanted.threads)};
  whole_replica all{system, made_up, wall_clock::of_this_process()};
  replica_measurement measure{all};
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

  // A first time for a process that has not had its memory yet, which the kernel has to clear; then
  // for one that has run for a while.
  const auto fresh = measure.run("fresh", placed, 0, all.told.started);
  if (!fresh.ok())
    return fail(fresh.status());
  if (const auto gone = measure.take_back("fresh", placed); !gone.ok())
    return fail(gone);
  const auto plain = measure.run("plain", placed, 0, all.told.started);
  if (!plain.ok())
    return fail(plain.status());
  const auto urgent =
    measure.run("urgent", wanted.preemptions, stored_cluster::urgent, all.told.stopping);
  if (!urgent.ok())
    return fail(urgent.status());
  all.stop();

  const auto preempted = static_cast<double>(wanted.preemptions);
  const auto placements = static_cast<double>(placed);
  const auto preemptions_per_s = preempted / urgent->seconds_to_told;
  const auto placements_per_s = placements / plain->seconds_to_told;
  const auto cpu_per_preemption = 1e6 * urgent->cpu / preempted;
  const auto cpu_per_placement = 1e6 * plain->cpu / placements;
  if (as == cli::output::json)
    fmt::print("{{\"shards\": {}, \"threads\": {}, \"nodes\": {}, \"pods\": {}, "
               "\"preemptions\": {}, \"placements\": {}, \"preemptions_per_s\": {:.0f}, "
               "\"placements_per_s\": {:.0f}, \"first_placements_per_s\": {:.0f}, "
               "\"preemptions_to_running_s\": {:.3f}, "
               "\"placements_to_running_s\": {:.3f}, \"messages_per_decision\": {}, "
               "\"store_transactions_per_decision\": {:.2f}, "
               "\"store_bytes_per_decision\": {:.0f}, \"cpu_us_per_preemption\": {:.1f}, "
               "\"cpu_us_per_placement\": {:.1f}, \"peak_rss_bytes\": {}}}\n",
               wanted.shards, wanted.threads, wanted.nodes, wanted.nodes * wanted.pods_per_node,
               wanted.preemptions, placed, preemptions_per_s, placements_per_s,
               placements / fresh->seconds_to_told, urgent->seconds_to_run, plain->seconds_to_run,
               messages, urgent->transactions / preempted, urgent->bytes / preempted,
               cpu_per_preemption, cpu_per_placement, peak_resident_bytes());
  else
    fmt::print(
      "{:.0f} preemptions a second committed and told, {:.1f} µs of processor time each "
      "until the new pod runs\n"
      "{:.0f} placements a second bound, {:.1f} µs each; {:.0f} a second while the process "
      "gets its memory\n"
      "a preemption: {} messages, {:.2f} transactions, {:.0f} bytes written\n"
      "{} MiB of memory at the peak\n",
      preemptions_per_s, cpu_per_preemption, placements_per_s, cpu_per_placement,
      placements / fresh->seconds_to_told, messages, urgent->transactions / preempted,
      urgent->bytes / preempted, peak_resident_bytes() >> 20);
  return cli::done;
}

} // namespace reprieve::bench
