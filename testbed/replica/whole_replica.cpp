#include "testbed/replica/whole_replica.hpp"

#include "state/store/memory/memory_store.hpp"

#include <caf/scoped_actor.hpp>
#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

std::shared_ptr<store> stored(const stored_cluster& made_up) {
  memory_store_options options;
  options.keep_history = false;
  auto behind = std::make_shared<memory_store>(options);
  made_up.write_to(*behind);
  return behind;
}

} // namespace

void order_counts::count(const simulated_journal::entry& life) {
  using stage = simulated_journal::stage;
  if (life.at == stage::starting)
    ++started;
  else if (life.at == stage::running)
    ++running;
  else if (life.at == stage::stopping)
    ++stopping;
  else if (life.at == stage::stopped)
    ++stopped;
}

whole_replica::whole_replica(caf::actor_system& system, const stored_cluster& made_up,
                             wall_clock time)
    : whole_replica(system, stored(made_up), time) {}

whole_replica::whole_replica(caf::actor_system& system, std::shared_ptr<store> holding,
                             wall_clock time)
    : behind(std::make_shared<counting_store>(std::move(holding))) {
  simulated_cluster_settings simulated;
  simulated.clock = time;
  simulated.adopts = true;
  simulated.watched = [this](const simulated_journal::entry& life) {
    told.count(life);
    if (watched)
      watched(life);
  };
  cluster = system.spawn(simulated_cluster, simulated);
  replica_settings settings;
  settings.name = "replica-0";
  settings.behind = behind;
  settings.cluster = cluster;
  settings.clock = time;
  member = system.spawn(replica, std::move(settings));
  front = system.spawn(gateway);
}

absl::Status whole_replica::start(caf::actor_system& system) const {
  caf::scoped_actor self{system};
  absl::Status ready;
  self->request(member, caf::infinite, start_serving{})
    .receive([&](const absl::Status& how) { ready = how; },
             [&](const caf::error& error) { ready = to_status(error); });
  self->send(member, follow_directory{front});
  return ready;
}

bool whole_replica::reaches(const std::atomic<std::size_t>& count, std::size_t wanted) {
  using clock = std::chrono::steady_clock;
  auto seen = count.load();
  auto moved = clock::now();
  while (seen < wanted) {
    std::this_thread::sleep_for(std::chrono::microseconds{200});
    if (const auto now = count.load(); now != seen) {
      seen = now;
      moved = clock::now();
    }
    if (clock::now() - moved > std::chrono::minutes{1})
      return false;
  }
  return true;
}

void whole_replica::wait_until_quiet() const {
  for (auto seen = ~std::uint64_t{0}; seen != behind->transactions();) {
    seen = behind->transactions();
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
  }
}

void whole_replica::stop() const {
  caf::anon_send_exit(front, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(member, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(cluster, caf::exit_reason::user_shutdown);
}

std::vector<apply_request> whole_replica::workloads(std::string_view prefix, std::size_t count,
                                                    std::int32_t priority, std::size_t at_once) {
  std::vector<apply_request> requests;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % at_once == 0)
      requests.emplace_back();
    requests.back().objects.emplace_back(
      stored_cluster::lone_pod(fmt::format("{}-{:07}", prefix, i), priority));
  }
  return requests;
}

void whole_replica::submit(std::vector<apply_request> requests) const {
  for (auto& one : requests)
    caf::anon_send(front, std::move(one));
}

void whole_replica::take_back(const std::vector<apply_request>& requests) const {
  for (const auto& made : requests) {
    delete_request request{object_kind::workload, {}};
    for (const auto& one : made.objects)
      request.names.push_back(name_of(one));
    caf::anon_send(front, std::move(request));
  }
}

caf::actor_system_config& with_threads(caf::actor_system_config& config, std::size_t threads) {
  config.set("scheduler.max-threads", threads);
  config.set("scheduler.policy", caf::atom("sharing"));
  return config;
}

} // namespace reprieve
