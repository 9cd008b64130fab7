#include "protocol/peers/messages/peer_messages.hpp"
#include "protocol/peers/remote_machines.hpp"
#include "tests/support/actor_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

using letter_kinds = std::vector<std::string>;

/// The machines' end of a wire, that keeps the kinds of what it is sent.
class end_of_wire : public peer_wire {
public:
  end_of_wire(letter_kinds& sent, bool& closed) : sent_(sent), closed_(closed) {}

  void send(peer_envelope letter) override {
    sent_.push_back(std::move(letter.kind));
  }
  void close() override {
    closed_ = true;
  }

private:
  letter_kinds& sent_;
  bool& closed_;
};

class remote_machines_orders : public testing::Test {
protected:
  void SetUp() override {
    observer_ = world_.system().spawn([this]() -> pod_observer_actor::behavior_type {
      return {[this](const pod_reports& reports) {
        reported_.insert(reported_.end(), reports.begin(), reports.end());
      }};
    });
    machines_ = world_.system().spawn(remote_machines, "somewhere",
                                      [this](const std::string&, peer_events e) {
                                        events_ = std::move(e);
                                        return std::make_shared<end_of_wire>(sent_, closed_);
                                      });
    world_.settle();
    open();
  }

  void TearDown() override {
    world_.kill(machines_);
    world_.kill(observer_);
    world_.settle();
  }

  void open() {
    sent_.clear();
    events_.opened();
    world_.settle();
  }

  /// The connection breaks and is made anew.
  void reconnect() {
    events_.closed();
    world_.advance(seconds{1});
    open();
  }

  void start(const std::string& uid) {
    pod p;
    p.uid = uid;
    p.node = "n1";
    p.phase = pod_phase::bound;
    caf::anon_send(machines_,
                   start_order{std::make_shared<const shared_pod>(std::move(p)), 1, observer_});
    world_.settle();
  }

  void report(const std::string& uid, pod_report::what happened) {
    peer_envelope letter;
    letter.kind = peer_kind<pod_reports>();
    letter.payload = encode_peer(pod_reports{{uid, "n1", happened, no_time, nullptr}});
    events_.arrived(std::move(letter));
    world_.settle();
  }

  actor_world world_;
  letter_kinds sent_; ///< since the connection was made
  bool closed_ = false;
  peer_events events_;
  pod_reports reported_;
  pod_observer_actor observer_;
  remote_machines_actor machines_;
};

TEST_F(remote_machines_orders, are_given_again_as_long_as_nobody_has_heard_of_a_start) {
  start("p");
  EXPECT_THAT(sent_, ElementsAre("StartOrder"));
  reconnect();
  EXPECT_THAT(sent_, ElementsAre("StartOrder"));
}

TEST_F(remote_machines_orders, become_questions_once_the_pod_runs) {
  start("p");
  report("p", pod_report::what::running);
  reconnect();
  EXPECT_THAT(sent_, ElementsAre("PodQuestion"));
}

TEST_F(remote_machines_orders, are_dropped_with_the_shard_that_gave_them) {
  start("p");
  world_.kill(observer_);
  world_.settle();
  reconnect();
  EXPECT_THAT(sent_, IsEmpty()) << "the next owner knows whether it is to start";
}

TEST_F(remote_machines_orders, end_with_the_pod_or_when_it_is_forgotten) {
  start("ended");
  report("ended", pod_report::what::succeeded);
  start("forgotten");
  report("forgotten", pod_report::what::running);
  report("forgotten", pod_report::what::forgotten);
  reconnect();
  EXPECT_THAT(sent_, IsEmpty());
  ASSERT_EQ(reported_.size(), 3U);
  EXPECT_EQ(reported_.back().happened, pod_report::what::forgotten);
}

TEST_F(remote_machines_orders, end_the_connection_with_whoever_gave_them) {
  EXPECT_FALSE(closed_);
  world_.kill(machines_);
  world_.settle();
  EXPECT_TRUE(closed_);
}

} // namespace

} // namespace reprieve
