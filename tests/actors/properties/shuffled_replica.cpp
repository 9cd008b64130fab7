#include "tests/actors/properties/shuffled_replica.hpp"

#include "actors/simulated/simulated_cluster.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"

#include <caf/scheduled_actor.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace reprieve::tests {

namespace {

caf::scheduled_actor* actor_in(caf::resumable* waiting) {
  return dynamic_cast<caf::scheduled_actor*>(waiting);
}

/// Whether the actor's next message is one of this type.
template <class Message>
bool is_next(caf::scheduled_actor& actor) {
  const auto* next = actor.peek_at_next_mailbox_element();
  return next != nullptr && next->content().match_elements<Message>();
}

} // namespace

shuffled_replica::shuffled_replica(const cluster_records& of, const settings& with)
    : with_(with), of_(of), luck_(with.seed), store_(std::make_shared<memory_store>()),
      door_(std::make_shared<faulty_store>(store_)), hold_decisions_(!with.decisions_at_once) {
  of.write_to(*store_, with.shards);
  simulated_cluster_settings machines;
  machines.clock = world_.clock();
  machines.adopts = true;
  machines_ = world_.system().spawn(simulated_cluster, machines);
  replica_settings as;
  as.name = "replica-0";
  as.behind = door_;
  as.cluster = machines_;
  as.clock = world_.clock();
  as.most_domains_told = with.most_domains_told;
  replica_ = world_.system().spawn(replica, std::move(as));
}

shuffled_replica::~shuffled_replica() {
  door_->cut();
  world_.kill(machines_);
  world_.kill(replica_);
  world_.settle();
}

bool shuffled_replica::may_go_on(std::size_t position) {
  if (!hold_decisions_)
    return true;
  const auto* actor = actor_in(world_.waiting()[position]);
  return actor == nullptr || std::string_view(actor->name()) != decision_actor_state::name;
}

void shuffled_replica::note(caf::scheduled_actor& next) {
  const std::string_view name = next.name();
  if (name == node_shard_state::name)
    questions_ += is_next<evaluate_nodes>(next) ? 1 : 0;
  else if (name == coordinator_state::name)
    note_for_coordinator(next);
}

void shuffled_replica::note_for_coordinator(caf::scheduled_actor& next) {
  if (is_next<run_cycle>(next) && !std::exchange(cycle_ran_, true)) {
    cycle_began_ = world_.clock().now(&next);
    knew_at_first_ = knew_at_last_ = heard_of_change_;
  } else if (is_next<decision_ended>(next)) {
    const auto& over = next.peek_at_next_mailbox_element()->content().get_as<decision_ended>(0);
    if (!over.how.ok())
      refused_.emplace(over.id, over.how);
  } else if (is_next<shard_evaluation>(next)) {
    knew_at_last_ = heard_of_change_;
  } else if (change_sent_ && (is_next<node_delta>(next) || is_next<workload_delta>(next))) {
    heard_of_change_ = true; // nothing else changes at that time
  }
}

/// Lets any one of those who may go on handle a message; false where there is none.
bool shuffled_replica::step() {
  const auto count = world_.waiting().size();
  if (count == 0)
    return false;
  const auto first = luck_.below(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto position = (first + i) % count;
    if (!may_go_on(position))
      continue;
    auto* chosen = world_.waiting()[position];
    if (auto* actor = actor_in(chosen))
      note(*actor);
    auto* begins = dynamic_cast<decision_pointer>(chosen);
    if (begins != nullptr && !begun_.insert(begins->id()).second)
      begins = nullptr;
    world_.step_at(position);
    if (begins != nullptr) {
      const auto& settings = begins->state.settings;
      auto& launched = launched_[settings.decision.id];
      launched = settings.decision;
      for (const auto& p : settings.placed)
        launched.assignments.push_back({p->what()});
    }
    return true;
  }
  return false;
}

void shuffled_replica::settle() {
  while (step()) {
  }
}

void shuffled_replica::run_first_cycle() {
  world_.system().spawn([whom = replica_](caf::event_based_actor* self) {
    self->request(whom, caf::infinite, start_serving{}).then([](const absl::Status& serves) {
      EXPECT_TRUE(serves.ok()) << serves;
    });
  });
  // All shards have told what they hold by the time that the cycle is due.
  settle();
  find_directory();
  if (with_.change)
    send_change();
  while (!cycle_ran_ && world_.tick())
    if (with_.change) // is on its way when the cycle is due
      for (auto some = luck_.below(8); some > 0; --some)
        step();
    else
      settle();
  settle();
  ask_why();
  hold_decisions_ = false;
  settle();
}

void shuffled_replica::find_directory() {
  // Whoever follows the directory learns at once who serves what.
  auto follower = world_.system().spawn(
    [this](directory_follower_actor::pointer) -> directory_follower_actor::behavior_type {
      return {[this](const directory_update& known) { serving_ = known.serving; }};
    });
  caf::anon_send(replica_, follow_directory{follower});
  settle();
  world_.kill(follower);
}

void shuffled_replica::send_change() {
  change_sent_ = true;
  const auto& shards = serving_->groups.at(of_.settings.name).shards;
  const auto number = shard_number(name_of(with_.change->what), with_.shards);
  world_.system().spawn([shards, number, change = *with_.change](caf::event_based_actor* self) {
    const auto taken = [](const absl::Status& how) { EXPECT_TRUE(how.ok()) << how; };
    if (const auto* n = std::get_if<node>(&change.what))
      self->request(shards.nodes[number], caf::infinite, put_nodes{{*n}}).then(taken);
    else
      self
        ->request(shards.workloads[number], caf::infinite,
                  put_workloads{{std::make_shared<const admitted>(change)}})
        .then(taken);
  });
}

void shuffled_replica::ask_why() {
  const auto& coordinator = serving_->groups.at(of_.settings.name).coordinator;
  for (const auto& one : of_.workloads)
    world_.system().spawn(
      [this, coordinator, workload = one.spec->name](caf::event_based_actor* self) {
        self->request(coordinator, caf::infinite, why_pending{workload})
          .then([this, workload](std::string& why) {
            if (!why.empty())
              waiting_[workload] = std::move(why);
          });
      });
  settle();
}

std::vector<key_value> shuffled_replica::read(std::string prefix) {
  std::vector<key_value> found;
  store_->read({with_prefix(std::move(prefix)), 0, 0, false},
               [&](absl::StatusOr<range_result> answer) { found = std::move(answer->values); });
  return found;
}

std::map<std::string, decision> shuffled_replica::stored() {
  std::map<std::string, decision> found;
  const auto add = [&](const key_value& one) {
    auto head = decode<decision_head>(one.value);
    EXPECT_TRUE(head.ok()) << head.status();
    auto& whole = found[head->summary.id];
    whole = std::move(head->summary);
    for (const auto& chunk : read(keys::bodies_of(whole.id)))
      if (!keys::is_finished_head(chunk.key)) {
        EXPECT_TRUE(add_body(whole, chunk.value).ok());
      }
  };
  for (const auto& one : read(std::string(keys::decision_bodies)))
    if (keys::is_finished_head(one.key))
      add(one);
  for (const auto& one : read(std::string(keys::open_decisions)))
    add(one);
  return found;
}

} // namespace reprieve::tests
