#include "apps/bench/waiting.hpp"

#include "apps/bench/replica_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace reprieve::bench {

namespace {

/// What one round came to, in microseconds of processor time for a placement.
struct round_figures {
  double at_once_alone = 0;
  double at_once = 0;
  double one_by_one_alone = 0;
  double one_by_one = 0;
};

/// The queues, and who waits in them.
class crowd {
public:
  explicit crowd(const waiting_request& wanted) : wanted_(wanted) {}

  /// A third of the queues has a limit that nobody who waits there is within.
  std::vector<apply_request> queues() const {
    apply_request all;
    queue own;
    own.name = "default";
    own.weight = 1'000'000; // what runs is its, and it deserves it
    own.cap_by_demand = true;
    all.objects.emplace_back(own);
    for (std::size_t i = 0; i < wanted_.queues; ++i) {
      queue one;
      one.name = queue_name(i);
      one.weight = 1 + static_cast<std::int64_t>(i % 5);
      one.cap_by_demand = true;
      if (i % 3 == 0)
        one.limit = {{"cpu", 500}};
      all.objects.emplace_back(std::move(one));
    }
    queue full;
    full.name = "full";
    full.weight = 1'000'000;
    full.cap_by_demand = true;
    all.objects.emplace_back(std::move(full));
    std::vector<apply_request> requests;
    requests.push_back(std::move(all));
    return requests;
  }

  /// One workload whose pods are all placed, and take next to nothing.
  std::vector<apply_request> running() const {
    std::vector<apply_request> requests;
    if (wanted_.running == 0)
      return requests;
    auto made = stored_cluster::lone_pod("runs", 0);
    made.queue = "full";
    made.groups.front().count = static_cast<std::int32_t>(wanted_.running);
    made.groups.front().pods.requests = {{"cpu", 1}};
    requests.emplace_back().objects.emplace_back(std::move(made));
    return requests;
  }

  std::vector<apply_request> waiting() const {
    constexpr std::size_t with_each_request = 1000;
    std::vector<apply_request> requests;
    for (std::size_t i = 0; i < wanted_.waiting; ++i) {
      if (i % with_each_request == 0)
        requests.emplace_back();
      requests.back().objects.emplace_back(waiting_at(i));
    }
    return requests;
  }

private:
  static std::string queue_name(std::size_t number) {
    return fmt::format("team-{:02}", number);
  }

  workload waiting_at(std::size_t number) const {
    const auto kind = number % wanted_.kinds;
    auto made = stored_cluster::lone_pod(fmt::format("vain-{:06}", number), 0);
    made.queue = queue_name(kind % wanted_.queues);
    made.groups.front().count = static_cast<std::int32_t>(wanted_.pods_of_each);
    if (wanted_.gangs)
      made.groups.front().min_count = made.groups.front().count;
    // More than a node has spare; in every other queue that is not limited, more than it has at
    // all.
    const auto cores = static_cast<std::int64_t>(wanted_.pods_per_node);
    auto& asked = made.groups.front().pods.requests["cpu"];
    asked = (kind % wanted_.queues % 3 == 1 ? 1000 * cores * 1000 : 1000 * cores) - 1
            - static_cast<std::int64_t>(kind);
    return made;
  }

  const waiting_request& wanted_;
};

class rounds {
public:
  rounds(whole_replica& all, const waiting_request& wanted, std::size_t placed)
      : all_(all), wanted_(wanted), placed_(placed) {}

  absl::StatusOr<round_figures> run() {
    round_figures found;
    if (auto how = place(found.at_once_alone, found.one_by_one_alone); !how.ok())
      return how;
    const auto running = crowd{wanted_}.running();
    const auto ran = all_.told.running.load();
    all_.submit(running);
    if (!whole_replica::reaches(all_.told.running, ran + wanted_.running))
      return absl::DeadlineExceededError("the pods that are to run do not");
    const auto waiting = crowd{wanted_}.waiting();
    all_.submit(waiting);
    settle();
    if (auto how = place(found.at_once, found.one_by_one); !how.ok())
      return how;
    all_.take_back(waiting);
    const auto stopped = all_.told.stopped.load();
    all_.take_back(running);
    if (!whole_replica::reaches(all_.told.stopped, stopped + wanted_.running))
      return absl::DeadlineExceededError("the pods that ran do not stop");
    settle();
    return found;
  }

private:
  void settle() const {
    std::this_thread::sleep_for(std::chrono::seconds{1});
    all_.wait_until_quiet();
  }

  absl::Status place(double& at_once, double& one_by_one) {
    replica_measurement measure{all_};
    auto burst = measure.run("burst", placed_, 0, all_.told.started);
    if (!burst.ok())
      return burst.status();
    at_once = 1e6 * burst->cpu / static_cast<double>(placed_);
    if (auto gone = measure.take_back("burst", placed_); !gone.ok())
      return gone;
    auto single = measure.run_one_by_one("single", wanted_.one_by_one);
    if (!single.ok())
      return single.status();
    one_by_one = 1e6 * single->cpu / static_cast<double>(wanted_.one_by_one);
    return measure.take_back("single", wanted_.one_by_one);
  }

  whole_replica& all_;
  const waiting_request& wanted_;
  std::size_t placed_;
};

double median(std::vector<double> of) {
  std::ranges::sort(of);
  return of[of.size() / 2];
}

template <class F>
double median_of(const std::vector<round_figures>& all, F figure) {
  std::vector<double> found;
  for (const auto& one : all)
    found.push_back(figure(one));
  return median(std::move(found));
}

} // namespace

int waiting(const waiting_request& wanted, cli::output as) {
  if (wanted.shards == 0 || wanted.threads == 0 || wanted.nodes == 0 || wanted.pods_per_node == 0
      || wanted.waiting == 0 || wanted.kinds == 0 || wanted.queues == 0 || wanted.placements == 0
      || wanted.one_by_one == 0 || wanted.rounds == 0 || wanted.pods_of_each == 0) {
    fmt::print(stderr,
               "reprieve-bench: all of the options of waiting but --running are 1 or more\n");
    return cli::bad_input;
  }
  stored_cluster made_up;
  made_up.nodes = wanted.nodes;
  made_up.pods_per_node = wanted.pods_per_node;
  made_up.node_shards = wanted.shards;
  made_up.workload_shards = wanted.shards;
  made_up.spare_per_node =
    (std::max(wanted.placements, wanted.one_by_one) + wanted.nodes - 1) / wanted.nodes;
  if (wanted.running > 0) // they take all places for pods on some of the nodes
    made_up.spare_per_node *= 4;
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
  all.submit(crowd{wanted}.queues());
  all.wait_until_quiet();
  rounds measure{all, wanted, wanted.placements};
  if (const auto warm = measure.run(); !warm.ok()) // the process gets its memory
    return fail(warm.status());
  std::vector<round_figures> found;
  for (std::size_t i = 0; i < wanted.rounds; ++i) {
    const auto one = measure.run();
    if (!one.ok())
      return fail(one.status());
    found.push_back(*one);
  }
  const auto stopped = all.told.stopping.load();
  all.stop();

  const auto at_once_alone = median_of(found, [](const auto& r) { return r.at_once_alone; });
  const auto at_once = median_of(found, [](const auto& r) { return r.at_once; });
  const auto single_alone = median_of(found, [](const auto& r) { return r.one_by_one_alone; });
  const auto single = median_of(found, [](const auto& r) { return r.one_by_one; });
  const auto burst_ratio =
    median_of(found, [](const auto& r) { return r.at_once / r.at_once_alone; });
  const auto single_ratio =
    median_of(found, [](const auto& r) { return r.one_by_one / r.one_by_one_alone; });
  // Each round places twice, and all of that is stopped again; nobody else is.
  const auto expected =
    (wanted.rounds + 1) * (2 * (wanted.placements + wanted.one_by_one) + wanted.running);
  const bool holds =
    burst_ratio <= wanted.most_times && single_ratio <= wanted.most_times && stopped <= expected;
  if (as == cli::output::json)
    fmt::print("{{\"nodes\": {}, \"waiting\": {}, \"pods_of_each\": {}, \"running\": {}, "
               "\"kinds\": {}, \"queues\": {}, "
               "\"cpu_us_per_placement_alone\": {:.1f}, \"cpu_us_per_placement\": {:.1f}, "
               "\"times\": {:.2f}, \"cpu_us_one_by_one_alone\": {:.1f}, "
               "\"cpu_us_one_by_one\": {:.1f}, \"times_one_by_one\": {:.2f}, "
               "\"evictions\": {}, \"holds\": {}}}\n",
               wanted.nodes, wanted.waiting, wanted.pods_of_each, wanted.running, wanted.kinds,
               wanted.queues, at_once_alone, at_once, burst_ratio, single_alone, single,
               single_ratio, stopped > expected ? stopped - expected : 0, holds);
  else
    fmt::print(
      "{} wait in vain, each of {} pods, of {} kinds in {} queues; {} pods run beside them\n"
      "placed at once: {:.1f} µs of processor time each, {:.1f} beside those who wait: "
      "{:.2f} times\n"
      "one by one: {:.1f} µs each, {:.1f} beside those who wait: {:.2f} times\n"
      "{}\n",
      wanted.waiting, wanted.pods_of_each, wanted.kinds, wanted.queues, wanted.running,
      at_once_alone, at_once, burst_ratio, single_alone, single, single_ratio,
      holds ? fmt::format("within the bound of {:.1f} times", wanted.most_times)
            : fmt::format("this is more than the bound of {:.1f} times, or somebody was "
                          "stopped",
                          wanted.most_times));
  return holds ? cli::done : cli::failed;
}

} // namespace reprieve::bench
