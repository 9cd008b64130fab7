#include "tests/simulation/member.hpp"

#include "protocol/peers/peer_network.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve::simulation {

member::member(int generation, std::string name, const cluster_shape& shape, surroundings at)
    : generation_(generation), schema_(at.schema), name_(std::move(name)),
      store_(std::make_shared<chaotic_store>(std::move(at.behind), std::move(at.clock),
                                             std::move(at.carried_out))),
      network_(at.network), world_(at.now) {
  replica_settings settings;
  settings.name = name_;
  settings.node_shards = shape.node_shards;
  settings.workload_shards = shape.workload_shards;
  settings.lease_time = shape.lease_time;
  settings.nodes_per_replica = shape.nodes_per_replica;
  settings.batches = shape.batches;
  settings.behind = store_;
  settings.schema = schema_;
  settings.hold_time = std::chrono::milliseconds{100};
  // Who tells of every domain has to try each of them, and asks no shard.
  settings.most_domains_told = generation % 2 == 0 ? 64 : 0;
  settings.cluster = at.cluster;
  settings.clock = world_.clock();
  if (shape.replicas > 1) {
    settings.address = fmt::format("{}:{}", name_, generation);
    network_.listen(generation, settings.address,
                    [this](std::shared_ptr<peer_wire> wire) -> wire_end_actor {
                      return world_.system().spawn(peer_session, host_, std::move(wire));
                    });
    settings.others = std::make_shared<peer_network>(
      world_.system(), host_,
      [dial = network_.dialer(generation)](const std::string&, const reprieve::member&) {
        return dial;
      });
  }
  replica_ = world_.system().spawn(replica, std::move(settings));
  gateway_ = world_.system().spawn(reprieve::gateway);
  replica_->attach_functor([ended = ended_](const caf::error&) { *ended = true; });
  world_.system().spawn([whom = replica_](caf::event_based_actor* self) {
    self->request(whom, caf::infinite, start_serving{})
      .then([](absl::Status&) {}, [](caf::error&) {});
  });
  caf::anon_send(replica_, follow_directory{gateway_});
  follower_ = world_.system().spawn(
    [now = serving_](directory_follower_actor::pointer) -> directory_follower_actor::behavior_type {
      return {[now](const directory_update& known) { *now = known.serving; }};
    });
  caf::anon_send(replica_, follow_directory{follower_});
}

void member::crash(bool with_its_machine) {
  now_ = state::dead;
  store_->cut();
  network_.end(generation_, with_its_machine);
}

void member::pause() {
  now_ = state::paused;
  store_->stall(true);
}

void member::resume() {
  now_ = state::live;
  store_->stall(false);
  pass(std::exchange(missed_, duration{0}));
}

void member::stop() {
  leaving_ = true;
  world_.system().spawn([whom = replica_, ended = ended_](caf::event_based_actor* self) {
    self->request(whom, caf::infinite, stop_serving{})
      .then([ended](absl::Status&) { *ended = true; }, [ended](caf::error&) { *ended = true; });
  });
}

std::string member::lose_an_actor(dice& luck, bool a_coordinator) {
  std::vector<caf::actor> all;
  const auto add = [&](const auto& actor) {
    if (actor)
      all.push_back(caf::actor_cast<caf::actor>(actor));
  };
  if (serving() == nullptr)
    return {};
  for (const auto& [name, group] : serving()->groups)
    add(group.coordinator);
  if (!a_coordinator || all.empty()) {
    add(serving()->queues);
    for (const auto& [name, group] : serving()->groups) {
      std::ranges::for_each(group.shards.nodes, add);
      std::ranges::for_each(group.shards.workloads, add);
    }
  }
  const auto& chosen = all[luck.below(all.size())];
  caf::anon_send_exit(chosen, caf::exit_reason::unhandled_exception);
  return fmt::format("actor {}", chosen.id());
}

void member::lose_coordinator(const std::string& group) {
  if (serving() == nullptr)
    return;
  if (const auto found = serving()->groups.find(group);
      found != serving()->groups.end() && found->second.coordinator)
    caf::anon_send_exit(found->second.coordinator, caf::exit_reason::unhandled_exception);
}

void member::pass(duration time) {
  if (now_ == state::paused)
    missed_ += time;
  else if (now_ == state::live && time > duration{0})
    world_.pass(time);
}

std::shared_ptr<std::size_t> member::count_holds() {
  auto sum = std::make_shared<std::size_t>(0);
  const auto ask = [&](const auto& shard) {
    world_.system().spawn([sum, shard](caf::event_based_actor* self) {
      self->request(shard, caf::infinite, reprieve::count_holds{}).then([sum](std::size_t held) {
        *sum += held;
      });
    });
  };
  for (const auto& [name, group] : serving()->groups) {
    for (const auto& shard : group.shards.nodes)
      ask(shard);
    for (const auto& shard : group.shards.workloads)
      ask(shard);
  }
  return sum;
}

void member::end() {
  store_->cut();
  network_.end(generation_, false);
  caf::anon_send_exit(replica_, caf::exit_reason::kill);
  caf::anon_send_exit(gateway_, caf::exit_reason::kill);
  caf::anon_send_exit(follower_, caf::exit_reason::kill);
}

} // namespace reprieve::simulation
