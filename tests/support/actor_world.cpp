#include "tests/support/actor_world.hpp"

namespace reprieve {

namespace {

caf::actor_system_config& with_test_scheduler(caf::actor_system_config& config) {
  config.set("scheduler.policy", caf::atom("testing"));
  return config;
}

} // namespace

actor_world::actor_world() : system_(with_test_scheduler(config_)) {}

actor_world::~actor_world() {
  // What waits is never handled; the system only has to forget it.
  system_.await_actors_before_shutdown(false);
  scheduler().jobs.clear();
}

wall_clock actor_world::clock() const {
  return wall_clock{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}.time_since_epoch()};
}

caf::scheduler::test_coordinator& actor_world::scheduler() {
  return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
}

bool actor_world::step() {
  return scheduler().try_run_once();
}

bool actor_world::tick() {
  if (!scheduler().has_pending_timeout())
    return false;
  scheduler().advance_time(std::chrono::milliseconds{1});
  return true;
}

void actor_world::settle() {
  while (step()) {
  }
}

void actor_world::advance(duration time) {
  advance_until([] { return false; }, time);
}

bool actor_world::advance_until(const std::function<bool()>& condition, duration most) {
  constexpr std::chrono::milliseconds tick{1};
  settle();
  for (duration passed{0}; !condition(); passed += tick) {
    if (passed >= most)
      return false;
    scheduler().advance_time(tick);
    settle();
  }
  return true;
}

replica_world::replica_world(std::shared_ptr<store> behind, const std::string& journal) {
  simulated_cluster_settings simulated;
  simulated.journal = journal;
  simulated.clock = world_.clock();
  replica_settings settings;
  settings.name = "replica-0";
  settings.node_shards = 3;
  settings.workload_shards = 2;
  settings.behind = std::move(behind);
  settings.cluster = world_.system().spawn(simulated_cluster, simulated);
  settings.clock = world_.clock();
  settings.lost = [lost = lost_](std::string why) { *lost = std::move(why); };
  replica_ = world_.system().spawn(replica, std::move(settings));
  gateway_ = world_.system().spawn(gateway);
}

absl::Status replica_world::start() {
  const auto ready = world_.ask<absl::Status>(replica_, start_serving{});
  caf::anon_send(replica_, follow_directory{gateway_});
  world_.settle();
  return ready.value_or(absl::DeadlineExceededError("the replica does not serve"));
}

apply_result replica_world::apply(const std::vector<object>& objects) {
  return world_.ask<apply_result>(gateway_, apply_request{objects, false})
    .value_or(apply_result(absl::DeadlineExceededError("no answer")));
}

std::vector<shown_object> replica_world::get(object_kind kind, const std::string& name) {
  const auto found = world_.ask<get_result>(gateway_, get_request{kind, name, {}, {}});
  return found && found->ok() ? **found : std::vector<shown_object>{};
}

absl::Status replica_world::remove(object_kind kind, const std::string& name) {
  return world_.ask<absl::Status>(gateway_, delete_request{kind, {name}})
    .value_or(absl::DeadlineExceededError("no answer"));
}

explain_result replica_world::explain_workload(const std::string& name) {
  return world_.ask<explain_result>(gateway_, explain_request{{}, name, {}})
    .value_or(explain_result(absl::DeadlineExceededError("no answer")));
}

std::size_t replica_world::pods(const std::string& workload, pod_phase phase) {
  std::size_t count = 0;
  for (const auto& one : get(object_kind::pod)) {
    const auto& p = std::get<pod>(one.what);
    count += p.workload == workload && p.phase == phase ? 1 : 0;
  }
  return count;
}

} // namespace reprieve
