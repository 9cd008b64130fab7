// Replays a trace of a GPU cluster against a real daemon, beside event simulations of plain
// policies on the same arrivals, and fails where the daemon disturbs more than they do.

#include "tests/trace/live_replay.hpp"
#include "tests/trace/plain_policies.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace reprieve::trace;

constexpr int skipped = 77;
constexpr milliseconds longest_fitting{2000};

void print(const char* what, const outcome& told) {
  fmt::print("{:<32} {:>5} preemptions, {:>8.0f} GPU-seconds lost, {:>4} of them within a second, "
             "{:>5} starts, {:>7.0f} GPU-seconds used\n",
             what, told.preemptions, told.gpu_seconds_lost, told.stopped_within_a_second,
             told.starts, told.gpu_seconds_used);
  std::fflush(stdout);
}

/// Says what exceeds its bound; how many do.
int judge(const outcome& live, const outcome& plain, double most) {
  int broken = 0;
  const auto check = [&](const char* what, double found, double bound) {
    if (found > bound) {
      fmt::print("error: {} {:.0f}; at most {:.0f} is right, {} times the plain policy's\n", what,
                 found, bound, most);
      ++broken;
    }
  };
  check("preemptions are", static_cast<double>(live.preemptions),
        most * static_cast<double>(plain.preemptions));
  check("GPU-seconds lost are", live.gpu_seconds_lost, most * plain.gpu_seconds_lost);
  if (live.longest_fitting >= longest_fitting) {
    fmt::print("error: {} waited for {} ms while it fitted; less than {} ms is right\n",
               live.who_fitted, live.longest_fitting.count(), longest_fitting.count());
    ++broken;
  }
  return broken;
}

} // namespace

int main(int argc, char** argv) {
  std::string data = REPRIEVE_TRACE_DATA;
  if (const char* named = std::getenv("REPRIEVE_TRACE"))
    data = named;
  replay_size size;
  std::int64_t seconds = 300;
  bool only_plain = false;
  CLI::App app{"trace_replay: a trace, live and by plain policies"};
  app.add_option("--data", data, "directory of the trace")->capture_default_str();
  app.add_option("--weights", size.weights, "of the queues")->delimiter(',');
  app.add_option("--pods", size.pods, "that are replayed")->capture_default_str();
  app.add_option("--seconds", seconds, "that it takes")->check(CLI::Range(1, 86400));
  app.add_option("--load", size.load, "GPU-seconds asked for in those there are");
  app.add_flag("--only-plain", only_plain, "the simulations alone");
  CLI11_PARSE(app, argc, argv);
  size.length = std::chrono::seconds{seconds};

  const auto plan = read_plan(data, size);
  if (absl::IsNotFound(plan.status())) {
    fmt::print("skipped: there is no trace: {}; REPRIEVE_TRACE may name another directory\n",
               std::string(plan.status().message()));
    return skipped;
  }
  if (!plan.ok()) {
    fmt::print(stderr, "trace_replay: {}\n", std::string(plan.status().message()));
    return 1;
  }
  const bool shared = plan->weights.size() > 1;
  fmt::print("{} pods in {} s on {} machines with {} GPUs, {} times these, {} queues\n",
             plan->arrivals.size(), seconds, plan->machines.size(), plan->gpus(), size.load,
             plan->weights.size());
  const auto plain = shared ? simulate_shares(*plan) : simulate_first_fit(*plan);
  print(shared ? "shares by weight" : "first fit with preemption", plain);
  if (only_plain)
    return 0;
  const auto live = replay_live(*plan);
  if (!live.ok()) {
    fmt::print(stderr, "trace_replay: {}\n", std::string(live.status().message()));
    return 1;
  }
  print("live", *live);
  fmt::print("longest wait of one that fitted: {} ms\n", live->longest_fitting.count());
  return judge(*live, plain, shared ? 1.2 : 1.0) == 0 ? 0 : 1;
}
