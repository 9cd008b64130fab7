#include "apps/bench/replica_measurement.hpp"

#include "apps/bench/process_figures.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>

namespace reprieve {

namespace {

using clock = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

} // namespace

absl::Status replica_measurement::wait_for(const std::atomic<std::size_t>& counted,
                                           std::size_t before, std::size_t count,
                                           std::string_view what) const {
  if (whole_replica::reaches(counted, before + count))
    return absl::OkStatus();
  return absl::DeadlineExceededError(
    fmt::format("only {} of {} {}", counted.load() - before, count, what));
}

absl::StatusOr<measured> replica_measurement::run(std::string_view prefix, std::size_t count,
                                                  std::int32_t priority,
                                                  const std::atomic<std::size_t>& told) {
  auto requests = whole_replica::workloads(prefix, count, priority);
  measured found;
  const auto told_before = told.load();
  const auto ran_before = all_.told.running.load();
  const auto transactions = all_.behind->transactions();
  const auto bytes = all_.behind->bytes();
  const auto cpu = cpu_seconds();
  const auto began = clock::now();
  all_.submit(std::move(requests));
  if (auto came = wait_for(told, told_before, count, "orders came"); !came.ok())
    return came;
  found.seconds_to_told = seconds(clock::now() - began).count();
  if (auto ran = wait_for(all_.told.running, ran_before, count, "pods ran"); !ran.ok())
    return ran;
  found.seconds_to_run = seconds(clock::now() - began).count();
  all_.wait_until_quiet();
  found.cpu = cpu_seconds() - cpu;
  found.transactions = static_cast<double>(all_.behind->transactions() - transactions);
  found.bytes = static_cast<double>(all_.behind->bytes() - bytes);
  return found;
}

absl::StatusOr<measured> replica_measurement::run_one_by_one(std::string_view prefix,
                                                             std::size_t count) {
  measured found;
  const auto others_cpu = [] { return cpu_seconds() - cpu_seconds(RUSAGE_THREAD); };
  const auto cpu = others_cpu(); // without who looks whether a pod was started
  const auto began = clock::now();
  for (auto& one : whole_replica::workloads(prefix, count, 0, 1)) {
    const auto started_before = all_.told.started.load();
    std::vector<apply_request> alone;
    alone.push_back(std::move(one));
    all_.submit(std::move(alone));
    if (auto came = wait_for(all_.told.started, started_before, 1, "orders came"); !came.ok())
      return came;
  }
  found.seconds_to_told = seconds(clock::now() - began).count();
  all_.wait_until_quiet();
  found.cpu = others_cpu() - cpu;
  return found;
}

absl::Status replica_measurement::take_back(std::string_view prefix, std::size_t count) {
  const auto stopped_before = all_.told.stopped.load();
  all_.take_back(whole_replica::workloads(prefix, count, 0));
  if (auto gone = wait_for(all_.told.stopped, stopped_before, count, "pods went"); !gone.ok())
    return gone;
  all_.wait_until_quiet();
  return absl::OkStatus();
}

} // namespace reprieve
