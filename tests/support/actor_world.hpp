#pragma once

#include "actors/gateway.hpp"
#include "actors/replica.hpp"
#include "actors/simulated_cluster.hpp"
#include "state/store.hpp"

#include <caf/scheduler/test_coordinator.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace reprieve {

/// Actors on one thread and a clock that only the test turns: the same calls give the same
/// messages in the same order every time.
class actor_world {
public:
  actor_world();
  /// Ends all actors where they stand, as a crash would.
  ~actor_world();
  actor_world(const actor_world&) = delete;
  actor_world& operator=(const actor_world&) = delete;

  caf::actor_system& system() {
    return system_;
  }

  wall_clock clock() const;

  /// Handles one message; false where none waits.
  bool step();

  /// Lets the shortest time pass; false where nobody waits for any.
  bool tick();

  /// Handles messages until none waits, without letting time pass.
  void settle();

  /// Lets time pass, handling what it brings.
  void advance(duration time);

  /// Lets time pass until the condition holds; false when it does not within the time.
  bool advance_until(const std::function<bool()>& condition, duration most);

  /// Sends a request and lets messages and time pass until its answer is there.
  template <class Reply, class Handle, class Message>
  std::optional<Reply> ask(const Handle& whom, Message message) {
    auto answer = std::make_shared<std::optional<Reply>>();
    system_.spawn([whom, message = std::move(message), answer](caf::event_based_actor* self) {
      self->request(whom, caf::infinite, message).then([answer](Reply& reply) {
        *answer = std::move(reply);
      });
    });
    advance_until([&] { return answer->has_value(); }, std::chrono::seconds{5});
    return *answer;
  }

private:
  caf::scheduler::test_coordinator& scheduler();

  caf::actor_system_config config_;
  caf::actor_system system_;
};

/// A whole replica in an actor_world, on a store and a simulated cluster that outlive it.
class replica_world {
public:
  /// `journal` is the simulated cluster's file.
  replica_world(std::shared_ptr<store> behind, const std::string& journal);

  actor_world& world() {
    return world_;
  }

  /// Takes part until it serves.
  absl::Status start();

  apply_result apply(const std::vector<object>& objects);
  std::vector<shown_object> get(object_kind kind, const std::string& name = {});
  absl::Status remove(object_kind kind, const std::string& name);
  explain_result explain_workload(const std::string& name);

  /// Pods of the workload in that phase.
  std::size_t pods(const std::string& workload, pod_phase phase);

  /// What made the replica give up, empty while it goes on.
  const std::string& lost() const {
    return *lost_;
  }

private:
  std::shared_ptr<std::string> lost_ = std::make_shared<std::string>();
  actor_world world_;
  replica_actor replica_;
  gateway_actor gateway_;
};

} // namespace reprieve
