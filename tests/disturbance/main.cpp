// How much a cluster is disturbed by changes: random ones are made to a whole replica in virtual
// time, and what it stops is compared with the least that would have been enough.

#include "tests/disturbance/changing_cluster.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

namespace {

using namespace reprieve::disturbance;

constexpr double most_of_the_least = 1.2;
/// Of those stopped. The aim is none; a queue that borrows what is left in pieces, and gives it
/// back to one that deserves a larger piece, moves a few.
constexpr double most_that_wander = 0.002;
/// Where so many changes bring no rest, more of them say nothing new, and take long.
constexpr std::int64_t most_restless = 5;

struct tally {
  std::int64_t evicted = 0;
  std::int64_t returned = 0;
  std::int64_t needed = 0;
  std::int64_t displaced = 0;
  std::int64_t twice = 0;
  std::int64_t restless = 0;
  std::int64_t refused = 0;
  std::int64_t bounded = 0; ///< counts that were cut off
  std::vector<aftermath> wasteful;
};

std::string text_of(const unit& u) {
  return fmt::format("{}({}x{} p{} q{})", u.name, u.pods, u.gpus, u.priority, u.queue);
}

void print(const aftermath& one) {
  fmt::print("{}: {} pods stopped ({} run again), {}{} needed", one.change, one.evicted,
             one.returned, one.needed.exact ? "" : "at least ", one.needed.pods);
  for (const auto& u : one.stopped)
    fmt::print(" -{}", text_of(u));
  for (const auto& u : one.started)
    fmt::print(" +{}", text_of(u));
  if (!one.displaced.empty())
    fmt::print(", displaced {}", fmt::join(one.displaced, " "));
  if (!one.twice.empty())
    fmt::print(", {} stopped more than once, such as {}", one.twice.size(), one.twice.front());
  fmt::print("{}\n", one.rests ? "" : ", no rest within a minute");
}

void add(tally& all, const aftermath& one) {
  all.evicted += one.evicted;
  all.returned += one.returned;
  all.needed += one.needed.pods;
  all.displaced += static_cast<std::int64_t>(one.displaced.size());
  all.twice += static_cast<std::int64_t>(one.twice.size());
  all.restless += one.rests ? 0 : 1;
  all.refused += one.change.starts_with("refused") ? 1 : 0;
  all.bounded += one.needed.exact ? 0 : 1;
  if (one.evicted > one.needed.pods || !one.displaced.empty() || !one.twice.empty() || !one.rests)
    all.wasteful.push_back(one);
}

/// Says what is broken; whether anything is.
bool judge(const tally& all) {
  bool broken = false;
  const auto demand = [&](bool holds, const std::string& sentence) {
    if (!holds) {
      fmt::print("error: {}\n", sentence);
      broken = true;
    }
  };
  demand(static_cast<double>(all.evicted) <= most_of_the_least * static_cast<double>(all.needed),
         fmt::format("{} pods were stopped; at most {:.0f} is right, {} times the least",
                     all.evicted, most_of_the_least * static_cast<double>(all.needed),
                     most_of_the_least));
  const auto wandered = all.displaced + all.twice;
  demand(
    static_cast<double>(wandered) <= most_that_wander * static_cast<double>(all.evicted),
    fmt::format("{} of {} stopped pods were stopped twice for one change, or left room in which "
                "others of their queue run that come after them; at most {:.0f} is right, "
                "better none",
                wandered, all.evicted, most_that_wander * static_cast<double>(all.evicted)));
  demand(all.restless == 0, fmt::format("{} changes brought no rest", all.restless));
  demand(all.refused == 0, fmt::format("{} changes were refused", all.refused));
  return broken;
}

} // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = 1;
  std::size_t changes = 1000;
  cluster_size size;
  bool verbose = false;
  CLI::App app{"disturbance: what random changes stop, beside the least that is needed"};
  app.add_option("--seed", seed, "of the changes")->capture_default_str();
  app.add_option("--changes", changes, "that are made")->capture_default_str();
  app.add_option("--nodes", size.nodes, "of eight GPUs")->capture_default_str();
  app.add_option("--workloads", size.workloads, "to begin with")->capture_default_str();
  app.add_option("--queues", size.queues, "of the five")->check(CLI::Range(1, 5));
  app.add_flag("--verbose", verbose, "tells of every change");
  CLI11_PARSE(app, argc, argv);

  changing_cluster cluster(seed, size);
  if (const auto ready = cluster.start(); !ready.ok()) {
    fmt::print(stderr, "disturbance: {}\n", std::string(ready.message()));
    return 1;
  }
  tally all;
  std::size_t made = 0;
  for (; made < changes && all.restless < most_restless; ++made) {
    const auto one = cluster.next();
    if (verbose) {
      print(one);
      std::fflush(stdout);
    }
    add(all, one);
  }
  std::ranges::stable_sort(all.wasteful, std::greater{},
                           [](const aftermath& one) { return one.evicted - one.needed.pods; });
  if (!verbose)
    for (std::size_t i = 0; i < std::min<std::size_t>(20, all.wasteful.size()); ++i)
      print(all.wasteful[i]);
  fmt::print("{} changes with seed {}: {} pods stopped ({} run again), {} needed ({} counts are "
             "lower bounds), {} "
             "displaced, {} stopped twice\n",
             made, seed, all.evicted, all.returned, all.needed, all.bounded, all.displaced,
             all.twice);
  return judge(all) ? 1 : 0;
}
