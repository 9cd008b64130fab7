#pragma once

#include "actors/gateway/gateway.hpp"
#include "actors/replica/replica.hpp"
#include "actors/simulated/simulated_cluster.hpp"
#include "state/store/store.hpp"
#include "tests/support/faulty_store.hpp"

#include <caf/scheduler/test_coordinator.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace reprieve {

/// Actors on one thread and a clock that only the test turns: the same calls give the same
/// messages in the same order every time.
class actor_world {
public:
  /// `later` than the first of January 2026 by the time of day.
  explicit actor_world(duration later = duration{0});
  ~actor_world();
  actor_world(const actor_world&) = delete;
  actor_world& operator=(const actor_world&) = delete;

  caf::actor_system& system() {
    return system_;
  }

  wall_clock clock() const;

  /// Handles one message; false where none waits.
  bool step();

  /// How many messages were handled so far.
  std::uint64_t handled() const {
    return handled_;
  }

  /// How many timers are set.
  std::size_t timers();

  /// The actors that have messages here, in the order they came; those of another system are among
  /// them when they were sent something from this one.
  const std::deque<caf::resumable*>& waiting();
  /// Lets one of them handle a message.
  void step_at(std::size_t position);

  /// Until the next timer is due; an hour where none is set.
  duration until_next_timer();

  /// Lets time pass at once: what is due by then waits to be handled.
  void pass(duration time);

  /// Lets the shortest time pass; false where nobody waits for any.
  bool tick();

  /// Handles messages until none waits, without letting time pass.
  void settle();

  /// Lets time pass, handling what it brings.
  void advance(duration time);

  /// Lets time pass until the condition holds; false when it does not within the time.
  bool advance_until(const std::function<bool()>& condition, duration most);

  /// Ends the actor before anything else happens.
  template <class Handle>
  void kill(const Handle& whom) {
    caf::anon_send_exit(whom, caf::exit_reason::kill);
    if (scheduler().prioritize(whom))
      step();
  }

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

  duration later_;
  std::uint64_t handled_ = 0;
  caf::actor_system_config config_;
  caf::actor_system system_;
};

/// A whole replica in an actor_world, on a store and a simulated cluster that outlive it.
class replica_world {
public:
  /// `journal` is the simulated cluster's file. A replica that follows another starts `later`.
  /// Where the cluster `adopts` pods, those run that were written down by hand.
  replica_world(std::shared_ptr<store> behind, const std::string& journal,
                duration later = duration{0}, const archive_limits& kept = {}, bool adopts = false);
  /// Ends everything where it stands, as a crash would: no message that waits has any effect.
  ~replica_world();

  actor_world& world() {
    return world_;
  }

  /// What stands between the replica and its store.
  faulty_store& faults() {
    return *store_;
  }

  /// Takes part until it serves.
  absl::Status start();

  apply_result apply(const std::vector<object>& objects);
  /// Asked for so often at the same time.
  std::vector<apply_result> apply_at_once(const std::vector<object>& objects, std::size_t times);
  std::vector<shown_object> get(object_kind kind, const std::string& name = {});
  absl::Status remove(object_kind kind, const std::string& name, bool force = false);
  absl::Status remove_all(object_kind kind, std::vector<std::string> names, bool force = false);
  explain_result explain(const explain_request& wanted);
  explain_result explain_workload(const std::string& name);
  heartbeat_result heartbeat(std::vector<std::string> nodes, bool last = false);
  backup_page_result backup(const backup_page_request& wanted);
  snapshot_result snapshot();
  /// The machine of the node begins anew without its memory.
  void forget_machine(const std::string& node, bool tells = true);
  /// Who serves what.
  std::shared_ptr<const directory> serving();
  /// What people were told of the object, in order: the events' types.
  std::vector<std::string> told_of(const std::string& name);

  /// Pods of the workload in that phase.
  std::size_t pods(const std::string& workload, pod_phase phase);

  /// What made the replica give up, empty while it goes on.
  const std::string& lost() const {
    return *lost_;
  }

private:
  std::shared_ptr<std::string> lost_ = std::make_shared<std::string>();
  std::shared_ptr<faulty_store> store_;
  actor_world world_;
  simulated_cluster_actor cluster_;
  replica_actor replica_;
  gateway_actor gateway_;
};

} // namespace reprieve
