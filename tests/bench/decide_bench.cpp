// How long decisions take, and what was promised of it. Times are medians of one run, and what is
// promised as a ratio is compared within it.

#include "preemption/engine.hpp"
#include "testbed/synthetic/synthetic_cluster.hpp"
#include "tests/bench/plain_scan.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

namespace reprieve {
namespace {

plan_settings settings_with(depth explained) {
  plan_settings settings;
  settings.group.name = "default";
  settings.now = synthetic_cluster::now;
  settings.explained = explained;
  return settings;
}

/// Clusters are large, so each is made once.
const cluster_view& view_of(const synthetic_cluster& wanted) {
  static std::map<std::pair<std::size_t, std::size_t>, cluster_view> made;
  const auto [at, fresh] = made.try_emplace({wanted.nodes, wanted.group_size});
  if (fresh)
    at->second = wanted.view();
  return at->second;
}

using made_preemptor = std::function<preemptor(std::size_t)>;

struct times {
  double median = 0; ///< microseconds
  double p99 = 0;
};

times measure(std::size_t count, const std::function<void(std::size_t)>& decided) {
  std::vector<double> taken;
  for (std::size_t i = 0; i < count + 1; ++i) {
    const auto began = std::chrono::steady_clock::now();
    decided(i);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
    if (i > 0) // the first fetches everything into the caches
      taken.push_back(took.count());
  }
  std::ranges::sort(taken);
  return {taken[taken.size() / 2], taken[taken.size() * 99 / 100]};
}

times decisions(const synthetic_cluster& on, const made_preemptor& who, std::size_t count,
                depth explained = depth::nothing) {
  const auto& view = view_of(on);
  const auto settings = settings_with(explained);
  std::vector<preemptor> waiting;
  for (std::size_t i = 0; i < count + 1; ++i)
    waiting.push_back(who(i));
  return measure(
    count, [&](std::size_t i) { benchmark::DoNotOptimize(decide(view, waiting[i], settings)); });
}

/// How many times as long decisions take that are explained so far. Explained and bare ones take
/// turns, so that both find the machine in the same state.
double cost_of_telling(const synthetic_cluster& on, const made_preemptor& who, std::size_t count,
                       depth explained) {
  const auto& view = view_of(on);
  const auto bare = settings_with(depth::nothing);
  const auto told = settings_with(explained);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < count; ++i) {
    const auto waiting = who(i);
    const auto time = [&](const plan_settings& settings) {
      const auto twice =
        measure(2, [&](std::size_t) { benchmark::DoNotOptimize(decide(view, waiting, settings)); });
      return twice.median;
    };
    const auto without = time(bare);
    ratios.push_back(time(told) / without);
  }
  std::ranges::sort(ratios);
  return ratios[ratios.size() / 2];
}

plain_scan plain_nodes(const synthetic_cluster& on) {
  std::vector<plain_scan::node_with_pods> nodes;
  for (std::size_t n = 0; n < on.nodes; ++n) {
    auto& one = nodes.emplace_back();
    one.spec = on.node_at(n);
    for (std::size_t k = 0; k < on.pods_per_node; ++k)
      one.pods.push_back(on.pod_at(n, k));
  }
  return plain_scan{std::move(nodes)};
}

bool kept = true;

void promise(std::string_view what, double is, std::string_view unit, bool holds,
             std::string_view promised) {
  fmt::print("{:<66} {:>10.2f} {:<3} {} {}\n", what, is, unit, promised, holds ? "" : "  NOT KEPT");
  kept = kept && holds;
}

void check_promises() {
  const synthetic_cluster thousand{1000};
  const synthetic_cluster five{5000};
  const synthetic_cluster hundred{100'000};
  const synthetic_cluster groups{5000, 30, 8};
  const auto lone = [](std::size_t i) { return synthetic_cluster{}.lone_pod(i); };
  const auto too_large = [](std::size_t i) { return synthetic_cluster{}.too_large(i); };
  const auto gang_of = [](std::size_t pods) {
    return [pods](std::size_t i) { return synthetic_cluster{}.gang(i, pods); };
  };

  const auto ours = decisions(five, lone, 200);
  const auto scan = plain_nodes(five);
  const auto plain = measure(9, [&](std::size_t i) {
    benchmark::DoNotOptimize(scan.decide(lone(i), synthetic_cluster::now));
  });
  fmt::print("\none pod on 5,000 nodes: median {:.1f} us; plainly {:.1f} us\n", ours.median,
             plain.median);
  promise("one pod on 5,000 nodes, times as fast as the plain algorithm",
          plain.median / ours.median, "", plain.median >= 200 * ours.median, "at least 200");
  const auto small = decisions(thousand, lone, 200);
  const auto large = decisions(hundred, lone, 200);
  promise("one pod on 100,000 nodes, times as long as on 1,000", large.median / small.median, "",
          large.median <= 25 * small.median, "at most 25");
  const auto none = decisions(five, too_large, 200);
  promise("one pod that never fits, times as long as one that does", none.median / ours.median, "",
          none.median <= ours.median, "at most 1");
  const auto many = decisions(groups, gang_of(1000), 60);
  promise("a gang of 1,000 on 5,000 nodes, median", many.median / 1000, "ms", many.median <= 20'000,
          "at most 20");
  promise("a gang of 1,000 on 5,000 nodes, 99th percentile", many.p99 / 1000, "ms",
          many.p99 <= 40'000, "at most 40");
  const auto few = decisions(groups, gang_of(100), 60);
  promise("a gang of 100 on 5,000 nodes, median", few.median / 1000, "ms", few.median <= 10'000,
          "at most 10");
  // Nobody asks: a sentence and the trail, from which the rest is told when it is wanted.
  const auto unasked = cost_of_telling(five, lone, 200, depth::summary);
  promise("one pod, unasked, times as long as the bare plan", unasked, "", unasked <= 1.10,
          "at most 1.1");
  const auto unasked_gang = cost_of_telling(groups, gang_of(100), 60, depth::summary);
  promise("a gang of 100, unasked, times as long as the bare plan", unasked_gang, "",
          unasked_gang <= 1.10, "at most 1.1");
  fmt::print("with the reasons of the chosen nodes: one pod {:.2f}, a gang of 100 {:.2f} times\n",
             cost_of_telling(five, lone, 200, depth::chosen),
             cost_of_telling(groups, gang_of(100), 60, depth::chosen));
}

void lone_pod(benchmark::State& state) {
  const synthetic_cluster on{static_cast<std::size_t>(state.range(0)), 30,
                             static_cast<std::size_t>(state.range(1))};
  const auto& view = view_of(on);
  const auto settings = settings_with(depth::chosen);
  std::size_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(decide(view, on.lone_pod(i++), settings));
}
BENCHMARK(lone_pod)
  ->ArgNames({"nodes", "group"})
  ->Args({1000, 1})
  ->Args({5000, 1})
  ->Args({5000, 8})
  ->Args({100'000, 1})
  ->Unit(benchmark::kMicrosecond);

void gang(benchmark::State& state) {
  const synthetic_cluster on{5000, 30, 8};
  const auto& view = view_of(on);
  const auto settings = settings_with(depth::chosen);
  std::size_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(
      decide(view, on.gang(i++, static_cast<std::size_t>(state.range(0))), settings));
}
BENCHMARK(gang)->ArgName("pods")->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace reprieve

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  reprieve::check_promises();
  return reprieve::kept ? 0 : 1;
}
