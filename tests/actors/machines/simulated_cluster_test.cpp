#include "actors/simulated/simulated_cluster.hpp"
#include "tests/actors/replica/replica_test.hpp"

#include <gmock/gmock.h>

namespace reprieve {

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Machines that are played, and what they say to people.
class simulated_machines : public replica_test {
protected:
  void start() {
    simulated_cluster_settings settings;
    settings.journal = journal();
    settings.clock = world_.clock();
    settings.say = [this](const std::string& what) { said_.push_back(what); };
    machines_ = world_.system().spawn(simulated_cluster, settings);
  }

  void order(const std::string& uid, revision epoch) {
    pod p;
    p.uid = uid;
    p.node = "n1";
    caf::anon_send(machines_,
                   start_order{std::make_shared<const shared_pod>(std::move(p)), epoch, {}});
    world_.settle();
  }

  void TearDown() override {
    world_.kill(machines_);
    world_.settle();
  }

  actor_world world_;
  cluster_actor machines_;
  std::vector<std::string> said_;
};

TEST_F(simulated_machines, those_of_an_earlier_cluster_say_what_to_do_for_another_one) {
  start();
  order("a", 9);
  world_.kill(machines_);
  start();
  EXPECT_THAT(said_, IsEmpty());

  order("b", 3);

  EXPECT_EQ(read_account(journal()).started["b"], 0);
  EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("node n1 is refused"), HasSubstr(journal()),
                                       HasSubstr("another journal"))));
}

TEST(simulated_scheduling, replicas_on_nodes_that_are_not_ready_go_before_those_that_are_well) {
  simulated_scheduler scheduler;
  auto down = machine("down", 2);
  down.ready = false;
  scheduler.watch({"shard", {down, machine("well", 2)}, 1, {}});
  for (const auto* on : {"down", "well"}) {
    simulated_scheduler::life one;
    one.uid = one.node = on;
    one.workload = "w";
    one.ordinal = one.uid == "well" ? 1 : 0;
    scheduler.came(one);
  }
  pod what;
  what.workload = "w";
  count_order order;
  order.resource_group = "default";
  order.what = std::make_shared<const shared_pod>(std::move(what));
  order.count = 1;
  order.epoch = 1;
  ASSERT_TRUE(scheduler.count(order));

  EXPECT_THAT(scheduler.decide(no_time).stopped, ElementsAre("down"));
}

} // namespace

} // namespace reprieve
