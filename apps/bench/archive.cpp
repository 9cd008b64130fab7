#include "apps/bench/archive.hpp"

#include "apps/bench/daemon_process.hpp"
#include "apps/bench/plain_puts.hpp"
#include "apps/bench/takeover.hpp"
#include "state/store/etcd/etcd_store.hpp"
#include "testbed/processes/etcd_members.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>

namespace reprieve::bench {

namespace {

absl::Status wait_for(const std::vector<std::string>& endpoints) {
  etcd_options options;
  options.endpoints = endpoints;
  options.prefix = "/puts/";
  const auto etcd = etcd_store::open(options);
  return etcd.ok() ? wait_until_it_serves(**etcd) : etcd.status();
}

absl::StatusOr<takeover_times> measure(const archive_request& wanted,
                                       const std::vector<std::string>& etcd,
                                       std::size_t decisions) {
  takeover_settings settings;
  settings.program = beside_this_program("reprieved");
  settings.commands = beside_this_program("reprieve");
  settings.etcd = etcd;
  settings.prefix = fmt::format("/archive-{}/", decisions);
  settings.made_up.nodes = wanted.nodes;
  settings.made_up.pods_per_node = wanted.pods_per_node;
  settings.made_up.workload_size = 10;
  settings.past.count = decisions;
  settings.past.workloads = wanted.workloads;
  // In hours that are over, so that all of them are counted.
  settings.past.newest = std::chrono::floor<std::chrono::hours>(std::chrono::system_clock::now())
                         - std::chrono::hours{2};
  return measure_takeover(settings);
}

/// A figure and what it may be at the most.
struct bound {
  std::string_view what;
  double is = 0;
  double most = 0;
};

} // namespace

int archive(const archive_request& wanted, cli::output as) {
  if (wanted.few == 0 || wanted.many == 0 || wanted.workloads == 0 || wanted.nodes == 0
      || wanted.pods_per_node == 0) {
    fmt::print(stderr, "reprieve-bench: all numbers are 1 or more\n");
    return cli::bad_input;
  }
  std::optional<etcd_members> started;
  auto etcd = wanted.etcd;
  if (etcd.empty()) {
    started.emplace(1, std::vector<std::string>{"--quota-backend-bytes=8589934592"});
    etcd = started->endpoints();
  }
  if (const auto up = wait_for(etcd); !up.ok()) {
    fmt::print(stderr, "reprieve-bench: {}\n", std::string(up.message()));
    return cli::failed;
  }
  std::vector<takeover_times> found;
  for (const auto decisions : {wanted.few, wanted.many}) {
    const auto times = measure(wanted, etcd, decisions);
    if (!times.ok()) {
      fmt::print(stderr, "reprieve-bench: {}\n", std::string(times.status().message()));
      return cli::failed;
    }
    found.push_back(*times);
  }
  const auto& [few, many] = std::pair{found[0], found[1]};
  if (as == cli::output::json)
    fmt::print("{{\"few\": {}, \"many\": {}, \"nodes\": {}, \"explain_few_ms\": {:.2f}, "
               "\"explain_many_ms\": {:.2f}, \"explain_ratio\": {:.2f}, \"takeover_few_s\": "
               "{:.2f}, \"takeover_many_s\": {:.2f}, \"takeover_ratio\": {:.2f}}}\n",
               wanted.few, wanted.many, wanted.nodes, few.explained * 1e3, many.explained * 1e3,
               many.explained / few.explained, few.decided, many.decided,
               many.decided / few.decided);
  else
    fmt::print("{:>10} decisions: explain {:6.2f} ms, first decision {:.2f} s after the lease's "
               "end\n{:>10} decisions: explain {:6.2f} ms, first decision {:.2f} s\n",
               wanted.few, few.explained * 1e3, few.decided, wanted.many, many.explained * 1e3,
               many.decided);
  int code = cli::done;
  for (const auto& one :
       {bound{"milliseconds that an explanation takes", many.explained * 1e3, 100},
        bound{"times that with few decisions", many.explained / few.explained, 3},
        bound{"seconds from the end of a lease to the first decision", many.decided, 2},
        bound{"times that with few decisions", many.decided / few.decided, 2}})
    if (one.is > one.most) {
      fmt::print(stderr, "reprieve-bench: {}: {:.2f}; it must be at most {:.2f}\n", one.what,
                 one.is, one.most);
      code = cli::failed;
    }
  return code;
}

} // namespace reprieve::bench
