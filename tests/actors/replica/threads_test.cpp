// A replica on several threads, with people who ask for everything at the same time: nothing is
// said of what comes of it but that all are answered, and that it comes to rest. It is here for the
// sanitizers.

#include "testbed/replica/whole_replica.hpp"

#include <caf/scoped_actor.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

namespace reprieve {

namespace {

constexpr int people = 4;
constexpr int requests_of_each = 150;

/// One of them, on a thread of its own.
class person {
public:
  person(caf::actor_system& system, gateway_actor front, int number)
      : self_(system), front_(std::move(front)), number_(number),
        luck_(static_cast<unsigned>(number)) {}

  /// How many of the requests were answered.
  int ask_for_many_things() {
    for (int i = 0; i < requests_of_each; ++i)
      ask_for_something();
    return answered_;
  }

private:
  int below(int count) {
    return std::uniform_int_distribution<int>{0, count - 1}(luck_);
  }

  template <class Reply, class Request>
  void ask(Request wanted) {
    self_->request(front_, std::chrono::minutes{1}, std::move(wanted))
      .receive([&](const Reply&) { ++answered_; }, [&](const caf::error&) {});
  }

  void apply(object wanted) {
    ask<apply_result>(apply_request{{std::move(wanted)}, false});
  }

  void ask_for_something() {
    const auto name = fmt::format("p{}-{}", number_, below(12));
    switch (below(10)) {
    case 0:
    case 1:
    case 2:
      apply(stored_cluster::lone_pod(name, below(2) == 0 ? stored_cluster::urgent : 0));
      break;
    case 3:
      ask<absl::Status>(delete_request{object_kind::workload, {name}});
      break;
    case 4:
      ask<get_result>(get_request{object_kind::pod, {}, {}, {}});
      break;
    case 5:
      ask<explain_result>(explain_request{{}, name, {}});
      break;
    case 6:
      ask<describe_result>(describe_request{object_kind::workload, name});
      break;
    case 7: {
      queue changed;
      changed.name = "shared";
      changed.weight = 1 + below(5);
      changed.cap_by_demand = true;
      apply(changed);
      break;
    }
    case 8: {
      node more;
      more.name = fmt::format("more-{}", below(4));
      more.capacity = {{"gpu", 8000}, {"cpu", 64'000}};
      if (below(3) == 0)
        ask<absl::Status>(delete_request{object_kind::node, {more.name}, {}, below(2) == 0});
      else
        apply(more);
      break;
    }
    default:
      ask<heartbeat_result>(heartbeat_request{{fmt::format("more-{}", below(4))}, below(4) == 0});
      break;
    }
  }

  caf::scoped_actor self_;
  gateway_actor front_;
  int number_;
  std::mt19937 luck_;
  int answered_ = 0;
};

} // namespace

TEST(threads, people_who_ask_at_the_same_time_are_all_answered) {
  stored_cluster made_up;
  made_up.nodes = 20;
  made_up.pods_per_node = 4;
  caf::actor_system_config config;
  caf::actor_system system{with_threads(config, 4)};
  whole_replica all{system, made_up, wall_clock::of_this_process()};
  ASSERT_TRUE(all.start(system).ok());
  ASSERT_TRUE(whole_replica::reaches(all.told.running, made_up.nodes * made_up.pods_per_node));

  std::vector<int> answered(people);
  std::vector<std::thread> threads;
  for (int i = 0; i < people; ++i)
    threads.emplace_back([&, i] {
      auto& mine = answered[static_cast<std::size_t>(i)];
      mine = person{system, all.front, i}.ask_for_many_things();
    });
  for (auto& one : threads)
    one.join();
  all.wait_until_quiet();
  all.stop();

  EXPECT_EQ(answered, std::vector<int>(people, requests_of_each));
  EXPECT_GT(all.told.started.load(), 0U);
}

} // namespace reprieve
