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
  settings.hold_time = std::chrono::milliseconds{500};
  // Who tells of every domain has to try each of them, and asks no shard.
  settings.most_domains_told = generation % 2 == 0 ? 64 : 0;
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

std::shared_ptr<std::size_t> member::count_holds() {
  auto sum = std::make_shared<std::size_t>(0);
  // Whoever follows the directory learns at once who serves what.
  const auto asked = [sum](directory_follower_actor::pointer self, const directory_update& known) {
    const auto ask = [&](const auto& shard) {
      self->request(shard, caf::infinite, reprieve::count_holds{}).then([sum](std::size_t held) {
        *sum += held;
      });
    };
    for (const auto& [name, group] : known.serving->groups) {
      for (const auto& shard : group.shards.nodes)
        ask(shard);
      for (const auto& shard : group.shards.workloads)
        ask(shard);
    }
  };
  auto follower = world_.system().spawn(
    [asked](directory_follower_actor::pointer self) -> directory_follower_actor::behavior_type {
      return {[self, asked](const directory_update& known) { asked(self, known); }};
    });
  caf::anon_send(replica_, follow_directory{follower});
  return sum;
}

void member::end() {
  store_->cut();
  caf::anon_send_exit(replica_, caf::exit_reason::kill);
  caf::anon_send_exit(gateway_, caf::exit_reason::kill);
}

} // namespace reprieve::simulation
