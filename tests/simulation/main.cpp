// Runs seeds of the simulation; a seed that breaks an invariant is told with the command that runs
// it again and prints every step.

#include "actors/interfaces/planted_bug.hpp"
#include "tests/simulation/simulation.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using reprieve::simulation::simulation;
using reprieve::simulation::simulation_settings;

namespace {

/// In the order of `planted_bug`, without `none`.
const std::vector<std::string> bugs{
  "no-epoch",           "tells-at-prepare",   "drops-yes",    "partial-vote",
  "releases-told",      "unknown-is-aborted", "double-count", "early-refill",
  "deletes-held-nodes", "forgets-aborts",     "grants-twice", "keeps-dead-grants",
  "any-incarnation",    "tears-gangs",        "tears-files",  "asks-by-starting"};

reprieve::planted_bug planted_here = reprieve::planted_bug::none;

} // namespace

bool reprieve::is_planted(planted_bug one) {
  return one == planted_here;
}

int main(int argc, char** argv) {
  std::uint64_t first = 1;
  std::uint64_t count = 1;
  simulation_settings settings;
  CLI::App app{"Plays a whole cluster in virtual time, with faults, and checks what must hold."};
  app.add_option("--seed", first, "the first seed");
  app.add_option("--count", count, "how many seeds, one after the other");
  app.add_option("--steps", settings.steps, "steps of each before everything heals");
  std::string planted;
  app.add_option("--planted", planted, "make this mistake on purpose; passes when it is found")
    ->check(CLI::IsMember(bugs));
  app.add_flag("--lifecycle", settings.lifecycle,
               "have a resource group with the lifecycle policy in each");
  std::vector<std::uint64_t> known;
  app.add_option("--known", known,
                 "seeds that are known to break: told, and counted by themselves");
  app.add_flag("--log", settings.log, "print every step");
  CLI11_PARSE(app, argc, argv);

  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto bug = std::ranges::find(bugs, planted);
  if (bug != bugs.end())
    planted_here = static_cast<reprieve::planted_bug>(bug - bugs.begin() + 1);
  const auto began = std::chrono::steady_clock::now();
  reprieve::simulation::truth::counters sum;
  std::uint64_t broken = 0;
  std::uint64_t known_to_break = 0;
  for (auto seed = first; seed < first + count; ++seed) {
    settings.seed = seed;
    simulation run{settings};
    if (const auto what = run.run(); !what.empty()) {
      const bool is_known = std::ranges::find(known, seed) != known.end();
      ++(is_known ? known_to_break : broken);
      if (!planted.empty() && !is_known) {
        fmt::print("{} is found by seed {}: {}\n", planted, seed, what);
        return 0;
      }
      fmt::print("seed {}: {}\n  again: {} --seed {} --steps {}{} --log\n", seed, what, argv[0],
                 seed, settings.steps, settings.lifecycle ? " --lifecycle" : "");
    }
    const auto& counted = run.counted();
    sum.commits += counted.commits;
    sum.preemptions += counted.preemptions;
    sum.aborts += counted.aborts;
    sum.evictions += counted.evictions;
    sum.starts += counted.starts;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("{} seeds of {} steps in {:.1f} s: {} broken, {} known to; {} decisions, {} with "
             "victims, {} aborted, {} pods evicted, {} started\n",
             count, settings.steps, took.count(), broken, known_to_break, sum.commits,
             sum.preemptions, sum.aborts, sum.evictions, sum.starts);
  return (broken == 0) == planted.empty() ? 0 : 1;
}
