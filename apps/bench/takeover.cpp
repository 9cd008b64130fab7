#include "apps/bench/takeover.hpp"

#include "apps/bench/daemon_process.hpp"
#include "protocol/client/api_client.hpp"
#include "state/records/keys.hpp"
#include "state/store/etcd/etcd_store.hpp"
#include "testbed/processes/free_endpoint.hpp"
#include "testbed/processes/temporary_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

namespace reprieve {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::minutes patience{3};

/// Calls `tried` until it is true.
template <class F>
absl::StatusOr<clock::time_point> when(std::string_view what, F tried) {
  for (const auto end = clock::now() + patience; clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds{10}))
    if (tried())
      return clock::now();
  return absl::DeadlineExceededError(fmt::format("after the owner was killed, {}", what));
}

apply_request one_workload(const char* name) {
  apply_request request;
  request.objects.emplace_back(stored_cluster::lone_pod(name, stored_cluster::urgent));
  return request;
}

/// Whether what is asked for is there, and surely the newest.
bool is_confirmed(api_client& server, const std::string& workload) {
  const auto found = server.get({object_kind::workload, workload, {}, {}});
  return found.ok() && found->age == duration{0};
}

bool is_decided(api_client& server, const std::string& workload) {
  const auto told = server.explain({{}, workload, {}});
  return told.ok() && !told->decisions.empty();
}

class measurement {
public:
  measurement(const takeover_settings& settings, store& cluster)
      : settings_(settings), cluster_(cluster), machines_(free_endpoint()) {}

  absl::StatusOr<takeover_times> run() {
    play_machines_ = std::make_unique<child_process>(
      std::vector<std::string>{settings_.commands, "machines", "--listen", machines_, "--journal",
                               "", "--adopt"},
      directory_.path() / "machines.log");
    daemon_process first(daemon("first"));
    if (auto up = first.serves(patience); !up.ok())
      return up;
    daemon_process second(daemon("second"));
    if (auto up = second.serves(patience); !up.ok())
      return up;
    api_client server({{second.address()}});
    // The other one knows all of it by then, and nothing of the start is under way any more.
    if (const auto there =
          when("the second replica knows nothing", [&] { return is_confirmed(server, last()); });
        !there.ok())
      return there.status();
    if (auto quiet = settle(server); !quiet.ok())
      return quiet;

    const auto explained = explain_past(server);
    if (!explained.ok())
      return explained.status();

    std::promise<clock::time_point> gone;
    const auto watched =
      cluster_.watch(just(keys::owner("first")), 0, [&, told = false](const auto& batch) mutable {
        if (batch.ok() && !std::exchange(told, true))
          gone.set_value(clock::now());
      });
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
    first.process().kill();
    auto expired = gone.get_future();
    if (expired.wait_for(patience) != std::future_status::ready)
      return absl::DeadlineExceededError("the lease of the replica that was killed does not end");
    auto times = look(server, expired.get());
    if (times.ok())
      times->explained = *explained;
    return times;
  }

private:
  daemon_settings daemon(const char* name) const {
    return {settings_.program,
            directory_.path(),
            name,
            settings_.etcd,
            settings_.prefix,
            machines_,
            {"--nodes-per-replica", "1000000", "--decision-bytes", "100000000000"}};
  }

  std::string last() const {
    return settings_.made_up.last_workload();
  }

  /// A preemption before, carried out: then the machines and the coordinator have nothing to do.
  absl::Status settle(api_client& server) {
    auto submitted = server.apply(one_workload("before"));
    if (!submitted.ok())
      return submitted.status();
    return when("nothing was decided before either", [&] { return is_decided(server, "before"); })
      .status();
  }

  /// Seconds that an explanation of something in the past takes.
  absl::StatusOr<double> explain_past(api_client& server) const {
    constexpr std::size_t asked = 20;
    const auto& past = settings_.past;
    std::vector<double> times;
    for (std::size_t i = 0; i < asked && past.count > 0; ++i) {
      const auto number = i * past.count / asked;
      const auto workload = past.preemptor_of(number);
      for (const auto& wanted :
           {explain_request{{}, workload, {}}, explain_request{past.id_of(number), {}, {}},
            explain_request{{}, {}, workload + "-workers-0-0"}}) {
        const auto began = clock::now();
        const auto told = server.explain(wanted);
        times.push_back(std::chrono::duration<double>(clock::now() - began).count());
        if (!told.ok())
          return told.status();
        if (told->decisions.empty())
          return absl::InternalError(fmt::format("nothing is told of {}", workload));
      }
    }
    std::ranges::sort(times);
    return times.empty() ? 0 : times[times.size() / 2];
  }

  static absl::StatusOr<takeover_times> look(api_client& server, clock::time_point expired) {
    const auto since = [&](clock::time_point then) {
      return std::chrono::duration<double>(then - expired).count();
    };
    const auto read =
      when("nobody confirms a read", [&] { return is_confirmed(server, "before"); });
    if (!read.ok())
      return read.status();
    const auto submitted =
      when("no submission is taken", [&] { return server.apply(one_workload("urgent")).ok(); });
    if (!submitted.ok())
      return submitted.status();
    const auto decided = when("nothing is decided", [&] { return is_decided(server, "urgent"); });
    if (!decided.ok())
      return decided.status();
    return takeover_times{since(*read), since(*submitted), since(*decided), 0};
  }

  const takeover_settings& settings_;
  store& cluster_;
  temporary_directory directory_;
  std::string machines_;
  std::unique_ptr<child_process> play_machines_;
};

} // namespace

absl::StatusOr<takeover_times> measure_takeover(const takeover_settings& settings) {
  etcd_options options;
  options.endpoints = settings.etcd;
  options.prefix = settings.prefix;
  auto cluster = etcd_store::open(options);
  if (!cluster.ok())
    return cluster.status();
  settings.made_up.write_to(**cluster);
  settings.past.write_to(**cluster);
  return measurement(settings, **cluster).run();
}

} // namespace reprieve
