#include "state/view/cluster_view.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>
#include <string>

namespace reprieve {
namespace {

constexpr std::size_t nodes = 100'000;
constexpr std::size_t pods_per_node = 30;
constexpr std::size_t pods = nodes * pods_per_node;

/// The memory promised: what a pod takes, with its share of everything else.
constexpr double most_bytes_per_pod = 200;
bool limit_broken = false;

/// What the cluster is full of.
enum class load {
  mixed,        ///< gangs, deployments and pods that are workloads of their own
  lone,         ///< only the last, so that each pod pays for the name of a workload
  lone_and_ours ///< and their uids are as long as ours are
};

/// What the kernel says this process has in memory, in bytes.
std::size_t resident() {
  std::size_t all = 0;
  std::size_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all >> resident_pages;
  return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::string node_name(std::size_t n) {
  return fmt::format("gpu-worker-{:06}.cluster.local", n);
}

node make_node(std::size_t n) {
  node made;
  made.name = node_name(n);
  made.labels = {{"topology.kubernetes.io/zone", fmt::format("zone-{}", n % 3)},
                 {"topology.kubernetes.io/rack", fmt::format("rack-{:05}", n / 32)},
                 {"accelerator", n % 2 == 0 ? "a100" : "h100"}};
  made.capacity = {{"cpu", 192'000}, {"memory", 2'000'000'000'000}, {"gpu", 8'000}, {"pods", 110}};
  return made;
}

/// As other schedulers' pods have them.
std::string random_uid(std::size_t p) {
  const auto high = mix(1, p);
  const auto low = mix(2, p);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xffffU,
                     high & 0xffffU, low >> 48U, low & 0xffff'ffff'ffffU);
}

/// Pod number `p` of a cluster where ten pods in a row are of a kind: a gang that goes whole, a
/// deployment, or (one row in ten, or all) pods that are workloads of their own.
pod make_pod(std::size_t p, load of) {
  static constexpr std::array<std::int32_t, 8> priorities{0,    5,      10,      50,
                                                          1000, 10'000, 100'000, 2'000'000'000};
  const auto row = p / 10;
  const auto kind = of == load::mixed ? row % 10 : 9;
  pod made;
  made.workload = kind == 9 ? fmt::format("team-{:03}-notebook-session-{:07}", row % 211, p)
                            : fmt::format("team-{:03}-training-job-{:07}", row % 211, row);
  made.group = "workers";
  made.index = kind == 9 ? 0 : static_cast<std::int32_t>(p % 10);
  made.uid = of == load::lone_and_ours
               ? fmt::format("{}-{}-0-0.{}-1f-{:x}.0", made.workload, made.group, p % 64, p / 64)
               : random_uid(p);
  made.disruption = kind < 2 ? disruption_mode::pod_group : disruption_mode::pod;
  // Pods of a workload are spread over the cluster, as they are in life.
  made.node = node_name(p % nodes);
  made.phase = pod_phase::running;
  made.requests = {{"cpu", static_cast<std::int64_t>(1000 * (1 + row % 4))},
                   {"memory", static_cast<std::int64_t>(4'000'000'000 * (1 + row % 3))},
                   {"gpu", row % 4 == 0 ? 1000 : 0}};
  made.labels = {{"app", kind == 9 ? "notebook" : made.workload}, {"tier", "batch"}};
  made.priority = priorities[row % priorities.size()];
  made.created = time_point{} + std::chrono::seconds(1'700'000'000 + row);
  made.started = made.created + std::chrono::seconds(p % 60);
  return made;
}

cluster_view build(load of) {
  cluster_view view;
  for (std::size_t n = 0; n < nodes; ++n)
    view.put_node(make_node(n));
  for (std::size_t b = 0; b < 1000; ++b) {
    disruption_budget budget;
    budget.name = fmt::format("budget-{}", b);
    budget.match_labels["app"] = make_pod(b * 100, load::mixed).workload;
    budget.max_unavailable = 1;
    view.put_budget(budget);
  }
  for (std::size_t p = 0; p < pods; ++p)
    view.put_pod(make_pod(p, of));
  view.settle();
  return view;
}

void measure_build(benchmark::State& state, load of) {
  // What an earlier view left in the heap must not hide what this one takes.
  malloc_trim(0);
  const auto before = resident();
  std::optional<cluster_view> view;
  for (auto _ : state)
    view = build(of);
  const auto counted = static_cast<double>(view->memory()) / pods;
  const auto taken = static_cast<double>(resident() - before) / pods;
  state.counters["bytes_per_pod"] = counted;
  state.counters["resident_bytes_per_pod"] = taken;
  state.SetItemsProcessed(pods);
  if (counted <= most_bytes_per_pod && taken <= most_bytes_per_pod)
    return;
  limit_broken = true;
  state.SkipWithError(
    fmt::format("a pod takes {:.1f} bytes, {:.1f} of them resident; the limit is {}", counted,
                taken, most_bytes_per_pod)
      .c_str());
}

void build_of_mixed_pods(benchmark::State& state) {
  measure_build(state, load::mixed);
}

void build_of_lone_pods(benchmark::State& state) {
  measure_build(state, load::lone);
}

void build_of_our_lone_pods(benchmark::State& state) {
  measure_build(state, load::lone_and_ours);
}

/// Built once for the benchmarks that change or read it.
cluster_view& full_view() {
  static auto view = build(load::mixed);
  return view;
}

/// One pod comes, another goes, and their nodes are in order again.
void put_remove_settle(benchmark::State& state) {
  auto& view = full_view();
  std::size_t next = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto pod = make_pod(next * 7919 % pods, load::mixed);
    next += 1;
    state.ResumeTiming();
    view.remove_pod(pod.uid);
    view.settle();
    view.put_pod(pod);
    view.settle();
  }
}

/// What an engine does first: all nodes, their room, and the candidates on them.
void iterate(benchmark::State& state) {
  const auto& view = full_view();
  for (auto _ : state) {
    std::int64_t sum = 0;
    for (node_row n = 0; n < view.node_rows(); ++n) {
      if (!view.usable(n))
        continue;
      sum += view.promised(n)[0];
      for (const auto p : view.pods_on(n))
        sum += view.card(view.portion_of(p)).priority + view.requests(p)[0];
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(pods));
}

BENCHMARK(build_of_lone_pods)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK(build_of_our_lone_pods)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK(build_of_mixed_pods)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK(put_remove_settle)->Iterations(100'000);
BENCHMARK(iterate)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace reprieve

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return reprieve::limit_broken ? 1 : 0;
}
