#include "apps/bench/replicas.hpp"

#include "apps/bench/daemon_process.hpp"
#include "apps/bench/delaying_store.hpp"
#include "apps/bench/plain_puts.hpp"
#include "apps/bench/process_figures.hpp"
#include "apps/bench/store_rounds.hpp"
#include "apps/bench/submitting_clients.hpp"
#include "apps/bench/takeover.hpp"
#include "state/store/etcd/etcd_store.hpp"
#include "testbed/processes/etcd_members.hpp"
#include "testbed/replica/whole_replica.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

namespace reprieve::bench {

namespace {

using clock = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

constexpr duration added_delay = std::chrono::milliseconds{5};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

/// What all rounds measured: rates a second, in the order of the rounds.
struct rates {
  std::vector<double> serial;
  std::vector<double> in_flight;
  std::vector<double> batches; ///< keys
  std::vector<double> submissions;
  std::vector<double> preemptions;
  std::vector<double> delayed; ///< preemptions with a slower store
};

/// The median of what each round's ratio is: a neighbour that takes the processor for a while takes
/// it from both.
double ratio(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> each;
  for (std::size_t i = 0; i < of.size(); ++i)
    each.push_back(of[i] / to[i]);
  return median(std::move(each));
}

absl::StatusOr<std::shared_ptr<store>> open_etcd(const std::vector<std::string>& endpoints,
                                                 std::string prefix) {
  etcd_options options;
  options.endpoints = endpoints;
  options.prefix = std::move(prefix);
  auto opened = etcd_store::open(std::move(options));
  if (!opened.ok())
    return opened.status();
  return std::shared_ptr<store>(*std::move(opened));
}

/// A replica in this process, whose store can be slowed down and tells of its rounds.
class deciding_replica {
public:
  deciding_replica(caf::actor_system& system, const std::shared_ptr<store>& etcd,
                   std::shared_ptr<event_thread> thread)
      : system_(system), time_(wall_clock::of_this_process()),
        noting_(std::make_shared<round_noting_store>(etcd, [this] { return time_.now(&system_); })),
        slowed_(std::make_shared<delaying_store>(noting_, std::move(thread))),
        all_(system, slowed_, time_) {}

  absl::Status start(std::size_t pods) {
    if (auto ready = all_.start(system_); !ready.ok())
      return ready;
    if (!whole_replica::reaches(all_.told.running, pods))
      return absl::DeadlineExceededError("the cluster does not come up");
    all_.wait_until_quiet();
    return absl::OkStatus();
  }

  void stop() const {
    all_.stop();
  }

  /// Preemptions a second, from their submission until the last victim is told to stop.
  absl::StatusOr<double> preempt(std::size_t count, duration delay) {
    auto requests =
      whole_replica::workloads(fmt::format("urgent-{}", ++runs_), count, stored_cluster::urgent);
    const auto told = all_.told.stopping.load();
    const auto running = all_.told.running.load();
    slowed_->delay_by(delay);
    const auto began = clock::now();
    all_.submit(std::move(requests));
    if (!whole_replica::reaches(all_.told.stopping, told + count))
      return absl::DeadlineExceededError(fmt::format("only {} of {} victims were told to stop",
                                                     all_.told.stopping.load() - told, count));
    const auto took = seconds(clock::now() - began).count();
    if (!whole_replica::reaches(all_.told.running, running + count))
      return absl::DeadlineExceededError("those who preempted do not run");
    slowed_->delay_by({});
    all_.wait_until_quiet();
    return static_cast<double>(count) / took;
  }

  /// How many round trips to the store there are, one after the other, between a decision and its
  /// first order to stop: the median of some preemptions while nothing else happens, as others may
  /// write all the same.
  absl::StatusOr<int> rounds_to_first_stop() {
    constexpr int looked_at = 20;
    std::atomic<time_point> stopped = no_time;
    all_.watched = [&](const simulated_journal::entry& life) {
      if (life.at == simulated_journal::stage::stopping && stopped.load() == no_time)
        stopped = life.since;
    };
    std::vector<double> found;
    for (int i = 0; i < looked_at; ++i) {
      noting_->forget();
      stopped = no_time;
      if (const auto done = preempt(1, {}); !done.ok())
        return done.status();
      const auto rounds = noting_->rounds_until(stopped);
      if (rounds < 0)
        return absl::InternalError("a victim was told to stop, and nothing was decided");
      found.push_back(rounds);
    }
    all_.watched = {};
    return static_cast<int>(median(std::move(found)));
  }

private:
  caf::actor_system& system_;
  wall_clock time_;
  std::shared_ptr<round_noting_store> noting_;
  std::shared_ptr<delaying_store> slowed_;
  whole_replica all_;
  int runs_ = 0;
};

stored_cluster cluster_of(std::size_t nodes, std::size_t pods_per_node,
                          std::size_t workload_size = 1) {
  stored_cluster made_up;
  made_up.nodes = nodes;
  made_up.pods_per_node = pods_per_node;
  made_up.workload_size = workload_size;
  made_up.node_shards = replica_settings{}.node_shards;
  made_up.workload_shards = replica_settings{}.workload_shards;
  return made_up;
}

/// All that is measured, one after the other.
class measurement {
public:
  explicit measurement(const replicas_request& wanted) : wanted_(wanted) {}

  absl::Status run() {
    std::optional<etcd_members> started;
    endpoints_ = wanted_.etcd;
    if (endpoints_.empty()) {
      started.emplace(etcd_members::usual_count,
                      std::vector<std::string>{"--quota-backend-bytes=8589934592"});
      endpoints_ = started->endpoints();
    }
    const auto puts = open_etcd(endpoints_, "/puts/");
    if (!puts.ok())
      return puts.status();
    if (auto up = wait_until_it_serves(**puts); !up.ok())
      return up;
    if (auto compared = wanted_.rounds == 0 ? absl::OkStatus() : compare(**puts); !compared.ok())
      return compared;
    if (wanted_.takeover_nodes == 0)
      return absl::OkStatus();
    auto taken = measure_takeover(
      {beside_this_program("reprieved"), beside_this_program("reprieve"), endpoints_,
       cluster_of(wanted_.takeover_nodes, wanted_.takeover_pods_per_node,
                  wanted_.takeover_workload_size)});
    if (taken.ok())
      takeover = *taken;
    return taken.status();
  }

  rates found;
  int rounds = 0;
  std::optional<takeover_times> takeover;

private:
  /// Everything that is a ratio, in turn.
  absl::Status compare(store& puts) {
    auto cluster = open_etcd(endpoints_, "/decide/");
    const auto served = open_etcd(endpoints_, "/serve/");
    auto thread = event_thread::start();
    for (const auto& how : {cluster.status(), served.status(), thread.status()})
      if (!how.ok())
        return how;
    const auto made_up = cluster_of(wanted_.nodes, wanted_.pods_per_node);
    made_up.write_to(**cluster);
    made_up.write_to(**served);
    const temporary_directory directory;
    daemon_process server(
      {beside_this_program("reprieved"), directory.path(), "server", endpoints_, "/serve/", {}});
    if (auto up = server.serves(std::chrono::seconds{60}); !up.ok())
      return up;
    caf::actor_system_config config;
    caf::actor_system system{with_threads(config, 2)};
    deciding_replica decides(system, *cluster, *std::move(thread));
    auto measured = decides.start(wanted_.nodes * wanted_.pods_per_node);
    if (measured.ok()) // so that all clients are connected
      measured = submit(server.address()).status();
    for (std::size_t i = 0; i < wanted_.rounds && measured.ok(); ++i)
      measured = one_round(puts, server.address(), decides);
    if (measured.ok()) {
      const auto counted = decides.rounds_to_first_stop();
      measured = counted.status();
      if (counted.ok())
        rounds = *counted;
    }
    decides.stop();
    return measured;
  }

  absl::Status one_round(store& puts, const std::string& server, deciding_replica& decides) {
    const std::chrono::milliseconds time{wanted_.milliseconds};
    absl::Status worst;
    const auto note = [&](std::vector<double>& into, const absl::StatusOr<double>& rate) {
      worst.Update(rate.status());
      if (rate.ok())
        into.push_back(*rate);
    };
    note(found.serial, plain_puts(puts, serial_puts, time));
    note(found.preemptions, decides.preempt(wanted_.preemptions, {}));
    note(found.delayed, decides.preempt(wanted_.preemptions, added_delay));
    note(found.in_flight, plain_puts(puts, puts_in_flight, time));
    note(found.submissions, submit(server));
    note(found.batches, plain_puts(puts, put_batches, time));
    return worst;
  }

  absl::StatusOr<double> submit(const std::string& server) {
    const auto account = clients_.submit(server, wanted_.clients, wanted_.milliseconds);
    if (!account)
      return absl::InternalError("the process that submits has ended");
    if (account->failed > 0)
      return absl::InternalError(fmt::format("{} submissions failed", account->failed));
    return static_cast<double>(account->accepted) / account->seconds;
  }

  submitting_clients clients_; ///< before anything starts a thread
  const replicas_request& wanted_;
  std::vector<std::string> endpoints_;
};

/// A figure and what it has to be.
struct bound {
  std::string_view name; ///< in JSON
  std::string_view what;
  double is = 0;
  double limit = 0;
  bool at_least = true;

  bool holds() const {
    return at_least ? is >= limit : is <= limit;
  }
};

std::vector<bound> bounds_of(const measurement& all) {
  const auto& found = all.found;
  std::vector<bound> bounds;
  if (!found.serial.empty())
    bounds = {
      // Where the store itself gains less by many at once, nobody gains more.
      {"submissions_to_serial_puts", "submissions acknowledged durable, times serial puts",
       ratio(found.submissions, found.serial), std::min(5.0, ratio(found.in_flight, found.serial))},
      {"submissions_to_puts_in_flight", "submissions acknowledged durable, times 64 puts in flight",
       ratio(found.submissions, found.in_flight), 1},
      {"preemptions_to_serial_puts", "preemptions committed and told, times serial puts",
       ratio(found.preemptions, found.serial), 1.25},
      {"rounds_to_first_stop",
       "store round trips, one after the other, from a decision to its "
       "first order to stop",
       static_cast<double>(all.rounds), 2, false},
      {"delayed_to_preemptions", "preemptions with 5 ms more for each store call, times without",
       ratio(found.delayed, found.preemptions), 0.8}};
  if (all.takeover)
    bounds.push_back({"takeover_s", "seconds from the end of a lease to the first decision",
                      all.takeover->decided, 5, false});
  return bounds;
}

void print_json(const replicas_request& wanted, const measurement& all,
                const std::vector<bound>& bounds) {
  const auto& found = all.found;
  fmt::print("{{\"rounds\": {}, \"clients\": {}, \"nodes\": {}, \"pods\": {}, "
             "\"preemptions\": {}, \"serial_puts_per_s\": {:.0f}, \"puts_in_flight_per_s\": "
             "{:.0f}, \"put_batch_keys_per_s\": {:.0f}, \"submissions_per_s\": {:.0f}, "
             "\"preemptions_per_s\": {:.0f}, \"delayed_preemptions_per_s\": {:.0f}",
             wanted.rounds, wanted.clients, wanted.nodes, wanted.nodes * wanted.pods_per_node,
             wanted.preemptions, median(found.serial), median(found.in_flight),
             median(found.batches), median(found.submissions), median(found.preemptions),
             median(found.delayed));
  for (const auto& one : bounds)
    fmt::print(", \"{}\": {:.2f}", one.name, one.is);
  if (all.takeover)
    fmt::print(", \"takeover_nodes\": {}, \"takeover_pods\": {}, \"takeover_read_s\": {:.2f}, "
               "\"takeover_submission_s\": {:.2f}",
               wanted.takeover_nodes, wanted.takeover_nodes * wanted.takeover_pods_per_node,
               all.takeover->read, all.takeover->submitted);
  fmt::print(", \"bounds_kept\": {}}}\n", std::ranges::all_of(bounds, &bound::holds));
}

void print_table(const measurement& all, const std::vector<bound>& bounds) {
  const auto& found = all.found;
  fmt::print("plain puts of 256 bytes: {:.0f} a second one by one, {:.0f} with 64 in flight, "
             "{:.0f} keys in batches of 128\n"
             "{:.0f} submissions a second, {:.0f} preemptions, {:.0f} with a slower store\n",
             median(found.serial), median(found.in_flight), median(found.batches),
             median(found.submissions), median(found.preemptions), median(found.delayed));
  if (all.takeover)
    fmt::print("takeover: a read after {:.2f} s, a submission after {:.2f} s\n", all.takeover->read,
               all.takeover->submitted);
  for (const auto& one : bounds)
    fmt::print("{:<76} {:>6.2f}  {} {:.2f}\n", one.what, one.is,
               one.at_least ? "at least" : "at most ", one.limit);
}

} // namespace

int replicas(const replicas_request& wanted, cli::output as) {
  if (wanted.milliseconds == 0 || wanted.clients == 0 || wanted.nodes == 0
      || wanted.pods_per_node == 0 || wanted.preemptions == 0 || wanted.takeover_pods_per_node == 0
      || wanted.takeover_workload_size == 0) {
    fmt::print(stderr, "reprieve-bench: all but --rounds and --takeover-nodes are 1 or more\n");
    return cli::bad_input;
  }
  measurement all{wanted};
  if (const auto measured = all.run(); !measured.ok()) {
    fmt::print(stderr, "reprieve-bench: {}\n", std::string(measured.message()));
    return cli::failed;
  }
  const auto bounds = bounds_of(all);
  if (as == cli::output::json)
    print_json(wanted, all, bounds);
  else
    print_table(all, bounds);
  int code = cli::done;
  for (const auto& one : bounds)
    if (!one.holds()) {
      fmt::print(stderr, "reprieve-bench: {}: {:.2f}; it must be {} {:.2f}\n", one.what, one.is,
                 one.at_least ? "at least" : "at most", one.limit);
      code = cli::failed;
    }
  return code;
}

} // namespace reprieve::bench
