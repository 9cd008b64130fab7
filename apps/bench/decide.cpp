#include "apps/bench/decide.hpp"

#include "apps/bench/process_figures.hpp"
#include "preemption/engine.hpp"
#include "testbed/synthetic/synthetic_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace reprieve::bench {

int decide(const decide_request& wanted, cli::output as) {
  using clock = std::chrono::steady_clock;
  using microseconds = std::chrono::duration<double, std::micro>;
  if (wanted.nodes == 0 || wanted.pods_per_node == 0 || wanted.gang == 0 || wanted.groups == 0
      || wanted.preemptors == 0) {
    fmt::print(stderr,
               "reprieve-bench: --nodes, --pods-per-node, --gang, --groups and --preemptors are "
               "each 1 or more\n");
    return cli::bad_input;
  }
  const synthetic_cluster cluster{wanted.nodes, wanted.pods_per_node, wanted.groups};
  const auto view = cluster.view();
  plan_settings settings;
  settings.group.name = "default";
  settings.now = synthetic_cluster::now;
  settings.explained = depth::chosen;

  std::vector<double> times;
  std::size_t preempting = 0;
  std::int64_t victims = 0;
  for (std::size_t i = 0; i < wanted.preemptors; ++i) {
    const auto who = wanted.gang > 1 ? cluster.gang(i, wanted.gang) : cluster.lone_pod(i);
    const auto began = clock::now();
    const auto made = reprieve::decide(view, who, settings);
    times.push_back(microseconds(clock::now() - began).count());
    preempting += made.result == plan::outcome::preempts ? 1 : 0;
    victims += made.scored.pods;
  }
  double sum = 0;
  for (const auto one : times)
    sum += one;
  std::ranges::sort(times);
  const auto p50 = percentile(times, 50);
  const auto p99 = percentile(times, 99);
  const auto per_second = 1e6 * static_cast<double>(times.size()) / sum;
  if (as == cli::output::json)
    fmt::print("{{\"nodes\": {}, \"pods\": {}, \"gang\": {}, \"groups\": {}, \"preemptors\": {}, "
               "\"preempting\": {}, \"victim_pods\": {}, \"p50_us\": {:.1f}, \"p99_us\": {:.1f}, "
               "\"decisions_per_s\": {:.1f}, \"peak_rss_bytes\": {}}}\n",
               wanted.nodes, view.pod_count(), wanted.gang, wanted.groups, wanted.preemptors,
               preempting, victims, p50, p99, per_second, peak_resident_bytes());
  else
    fmt::print("{} of {} preemptors of {} pods preempt {} pods on {} nodes with {} pods\n"
               "median {:.1f} µs, 99th percentile {:.1f} µs, {:.1f} decisions a second, "
               "{} MiB of memory at the peak\n",
               preempting, wanted.preemptors, wanted.gang, victims, wanted.nodes, view.pod_count(),
               p50, p99, per_second, peak_resident_bytes() >> 20);
  return cli::done;
}

} // namespace reprieve::bench
