#include "tests/support/actor_world.hpp"

#include <algorithm>

namespace reprieve {

namespace {

caf::actor_system_config& with_test_scheduler(caf::actor_system_config& config) {
  config.set("scheduler.policy", caf::atom("testing"));
  return config;
}

} // namespace

actor_world::actor_world(duration later) : later_(later), system_(with_test_scheduler(config_)) {}

actor_world::~actor_world() {
  // Whoever waits for something that never comes must not keep the system from ending.
  system_.await_actors_before_shutdown(false);
}

wall_clock actor_world::clock() const {
  return wall_clock{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}.time_since_epoch()
                    + later_};
}

caf::scheduler::test_coordinator& actor_world::scheduler() {
  return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
}

bool actor_world::step() {
  const bool any = scheduler().try_run_once();
  handled_ += any ? 1 : 0;
  return any;
}

std::size_t actor_world::timers() {
  return scheduler().clock().schedule().size();
}

duration actor_world::until_next_timer() {
  const auto& clock = scheduler().clock();
  const auto& schedule = clock.schedule();
  if (schedule.empty())
    return std::chrono::hours{1};
  return std::max<duration>(
    std::chrono::duration_cast<duration>(schedule.begin()->first - clock.now()),
    std::chrono::microseconds{1});
}

const std::deque<caf::resumable*>& actor_world::waiting() {
  return scheduler().jobs;
}

void actor_world::step_at(std::size_t position) {
  auto& jobs = scheduler().jobs;
  const auto chosen = jobs.begin() + static_cast<std::ptrdiff_t>(position);
  std::rotate(jobs.begin(), chosen, chosen + 1);
  scheduler().run_once();
  ++handled_;
}

void actor_world::pass(duration time) {
  scheduler().advance_time(time);
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
  // Time goes in small steps, so that timers fire in their order; asking costs messages, so that
  // is done more rarely.
  constexpr std::chrono::milliseconds tick{1};
  constexpr int ticks_between_asking = 20;
  settle();
  for (duration passed{0}; !condition();) {
    if (passed >= most)
      return false;
    for (int i = 0; i < ticks_between_asking; ++i, passed += tick) {
      scheduler().advance_time(tick);
      settle();
    }
  }
  return true;
}

replica_world::replica_world(std::shared_ptr<store> behind, const std::string& journal,
                             duration later, const archive_limits& kept, bool adopts)
    : store_(std::make_shared<faulty_store>(std::move(behind))), world_(later) {
  simulated_cluster_settings simulated;
  simulated.journal = journal;
  simulated.adopts = adopts;
  simulated.clock = world_.clock();
  replica_settings settings;
  settings.name = "replica-0";
  settings.node_shards = 3;
  settings.workload_shards = 2;
  settings.behind = store_;
  settings.archive = kept;
  cluster_ = world_.system().spawn(simulated_cluster, simulated);
  settings.cluster = cluster_;
  settings.clock = world_.clock();
  settings.lost = [lost = lost_](std::string why) { *lost = std::move(why); };
  replica_ = world_.system().spawn(replica, std::move(settings));
  gateway_ = world_.system().spawn(gateway);
}

replica_world::~replica_world() {
  store_->cut();
  world_.kill(cluster_);
  world_.kill(replica_);
  world_.kill(gateway_);
  world_.settle();
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

std::vector<apply_result> replica_world::apply_at_once(const std::vector<object>& objects,
                                                       std::size_t times) {
  auto answers = std::make_shared<std::vector<apply_result>>();
  for (std::size_t i = 0; i < times; ++i)
    world_.system().spawn([to = gateway_, objects, answers](caf::event_based_actor* self) {
      self->request(to, caf::infinite, apply_request{objects, false})
        .then([answers](apply_result& answer) { answers->push_back(std::move(answer)); });
    });
  world_.advance_until([&] { return answers->size() == times; }, std::chrono::seconds{5});
  return *answers;
}

std::vector<shown_object> replica_world::get(object_kind kind, const std::string& name) {
  std::vector<shown_object> all;
  get_request wanted{kind, name, {}, {}};
  do {
    const auto found = world_.ask<get_result>(gateway_, wanted);
    if (!found || !found->ok())
      return {};
    all.insert(all.end(), (*found)->begin(), (*found)->end());
    wanted.after = (*found)->next;
  } while (!wanted.after.empty());
  return all;
}

absl::Status replica_world::remove(object_kind kind, const std::string& name, bool force) {
  return remove_all(kind, {name}, force);
}

absl::Status replica_world::remove_all(object_kind kind, std::vector<std::string> names,
                                       bool force) {
  return world_.ask<absl::Status>(gateway_, delete_request{kind, std::move(names), {}, force})
    .value_or(absl::DeadlineExceededError("no answer"));
}

explain_result replica_world::explain(const explain_request& wanted) {
  return world_.ask<explain_result>(gateway_, wanted)
    .value_or(explain_result(absl::DeadlineExceededError("no answer")));
}

explain_result replica_world::explain_workload(const std::string& name) {
  return explain({{}, name, {}});
}

heartbeat_result replica_world::heartbeat(std::vector<std::string> nodes, bool last) {
  return world_.ask<heartbeat_result>(gateway_, heartbeat_request{std::move(nodes), last})
    .value_or(heartbeat_result(absl::DeadlineExceededError("no answer")));
}

backup_page_result replica_world::backup(const backup_page_request& wanted) {
  return world_.ask<backup_page_result>(gateway_, wanted)
    .value_or(backup_page_result(absl::DeadlineExceededError("no answer")));
}

snapshot_result replica_world::snapshot() {
  return world_.ask<snapshot_result>(gateway_, snapshot_request{})
    .value_or(snapshot_result(absl::DeadlineExceededError("no answer")));
}

std::shared_ptr<const directory> replica_world::serving() {
  auto known = std::make_shared<std::shared_ptr<const directory>>();
  auto follower = world_.system().spawn(
    [known](directory_follower_actor::pointer) -> directory_follower_actor::behavior_type {
      return {[known](const directory_update& update) { *known = update.serving; }};
    });
  caf::anon_send(replica_, follow_directory{follower});
  world_.settle();
  world_.kill(follower);
  return *known;
}

std::vector<std::string> replica_world::told_of(const std::string& name) {
  std::vector<std::string> types;
  for (const auto& one :
       world_.ask<event_list>(gateway_, read_events{0, name}).value_or(event_list{}))
    types.push_back(one.type);
  return types;
}

void replica_world::forget_machine(const std::string& node, bool tells) {
  world_.settle();
  caf::anon_send(cluster_, reprieve::forget_machine{node, tells});
  world_.settle();
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
