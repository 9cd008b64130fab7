#include "preemption/waiting/unit_run.hpp"
#include "tests/actors/replica/replica_test.hpp"

#include <map>

/// Workloads of very many pods, most of which wait.
namespace reprieve {

namespace {

using std::chrono::seconds;

class large_workloads : public replica_test {
protected:
  void SetUp() override {
    ASSERT_TRUE(replica_.start().ok());
    std::vector<object> machines;
    for (int i = 0; i < 16; ++i)
      machines.emplace_back(machine("n" + std::to_string(i), 8));
    ASSERT_TRUE(replica_.apply(machines).ok());
  }

  replica_world replica_{store_, journal()};
};

TEST_F(large_workloads, of_a_million_pods_run_as_far_as_there_is_room) {
  ASSERT_TRUE(replica_.apply({work("many", 0, 1'000'000)}).ok());
  ASSERT_TRUE(comes_to(replica_, "many", pod_phase::running, 128, seconds{30}));
  EXPECT_FALSE(replica_.explain_workload("many")->pending_reason.empty());
  // Others come beside them and before them.
  auto urgent = work("urgent", 10, 20);
  urgent.groups[0].min_count = 20; // one decision, after which nobody has to wait for long
  ASSERT_TRUE(replica_.apply({urgent}).ok());
  ASSERT_TRUE(comes_to(replica_, "urgent", pod_phase::running, 20, seconds{60}));
  EXPECT_EQ(replica_.pods("many", pod_phase::running), 108U);
  ASSERT_TRUE(replica_.remove(object_kind::workload, "urgent").ok());
  ASSERT_TRUE(comes_to(replica_, "many", pod_phase::running, 128, seconds{120}));
  ASSERT_TRUE(replica_.remove(object_kind::workload, "many").ok());
  EXPECT_TRUE(replica_.world().advance_until(
    [&] { return replica_.get(object_kind::workload, "many").empty(); }, seconds{120}));
}

TEST_F(large_workloads, ask_for_more_when_a_pod_has_ended) {
  auto many = work("many", 0, 100'000);
  many.groups[0].pods.annotations["simulation/run-for"] = "3s";
  ASSERT_TRUE(replica_.apply({many}).ok());
  ASSERT_TRUE(comes_to(replica_, "many", pod_phase::running, 128, seconds{30}));
  replica_.world().advance(seconds{20});
  EXPECT_GT(replica_.pods("many", pod_phase::running), 100U);
  const auto last = replica_.get(object_kind::pod);
  EXPECT_TRUE(std::ranges::any_of(
    last, [](const shown_object& one) { return std::get<pod>(one.what).index >= 4 * 128; }))
    << "those at first have ended, and others have come";
}

/// Where everybody is when all has come to rest, if so many of one workload are served at a time.
std::map<std::string, std::string> places(std::int64_t at_once, const std::string& journal) {
  const auto before = std::exchange(unit_run::served_at_once, at_once);
  std::map<std::string, std::string> found;
  {
    replica_world replica{std::make_shared<memory_store>(), journal};
    EXPECT_TRUE(replica.start().ok());
    std::vector<object> all;
    for (int i = 0; i < 5; ++i)
      all.emplace_back(machine("n" + std::to_string(i), 4 + i));
    EXPECT_TRUE(replica.apply(all).ok());
    auto mixed = work("mixed", 5, 2);
    mixed.groups[0].replicas = 3;
    mixed.groups.push_back(mixed.groups[0]);
    mixed.groups[1].name = "large";
    mixed.groups[1].pods.requests = {{"gpu", 2000}};
    EXPECT_TRUE(
      replica.apply({work("a-low", 0, 10), mixed, work("same", 5, 7), work("low", 0, 30)}).ok());
    replica.world().advance(seconds{20});
    for (const auto& one : replica.get(object_kind::pod)) {
      const auto& p = std::get<pod>(one.what);
      found[p.name] = p.node;
    }
  }
  unit_run::served_at_once = before;
  return found;
}

TEST(pods_of_one_workload, have_the_same_places_however_many_are_served_at_a_time) {
  const temporary_directory data;
  const auto journal = [&](int number) { return (data.path() / std::to_string(number)).string(); };
  const auto all = places(512, journal(512));
  EXPECT_EQ(all.size(), 24U);
  for (int at_once = 1; at_once <= 3; ++at_once)
    EXPECT_EQ(places(at_once, journal(at_once)), all) << at_once;
}

} // namespace

} // namespace reprieve
