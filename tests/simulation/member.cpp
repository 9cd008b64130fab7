#include "tests/simulation/member.hpp"

namespace reprieve::simulation {

member::member(int generation, duration born, std::shared_ptr<store> behind,
               chaotic_store::observer carried_out, const cluster_actor& cluster)
    : generation_(generation),
      store_(std::make_shared<chaotic_store>(std::move(behind), std::move(carried_out))),
      world_(born) {
  replica_settings settings;
  settings.name = "replica";
  settings.node_shards = 3;
  settings.workload_shards = 2;
  settings.behind = store_;
  settings.hold_time = std::chrono::seconds{3};
  settings.cluster = cluster;
  settings.clock = world_.clock();
  replica_ = world_.system().spawn(replica, std::move(settings));
  gateway_ = world_.system().spawn(reprieve::gateway);
  replica_->attach_functor([ended = ended_](const caf::error&) { *ended = true; });
  world_.system().spawn([whom = replica_](caf::event_based_actor* self) {
    self->request(whom, caf::infinite, start_serving{})
      .then([](absl::Status&) {}, [](caf::error&) {});
  });
  caf::anon_send(replica_, follow_directory{gateway_});
}

void member::resume() {
  now_ = state::live;
  pass(std::exchange(missed_, duration{0}));
}

void member::pass(duration time) {
  if (now_ == state::paused)
    missed_ += time;
  else if (now_ == state::live && time > duration{0})
    world_.pass(time);
}

void member::end() {
  store_->cut();
  caf::anon_send_exit(replica_, caf::exit_reason::kill);
  caf::anon_send_exit(gateway_, caf::exit_reason::kill);
}

} // namespace reprieve::simulation
