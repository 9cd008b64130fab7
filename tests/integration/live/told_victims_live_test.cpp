// Room that comes free elsewhere while victims leave, through the real programs: nobody is stopped
// twice for one preemptor.

#include "tests/integration/live/live_cluster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

namespace reprieve {

namespace {

class told_victims_live : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.serves()) << cluster_.daemon().output();
  }

  live_cluster cluster_;
};

TEST_F(told_victims_live, one_free_place_does_not_make_eight_preemptors_give_up_their_victims) {
  cluster_.apply(nodes(2, "gpu: 8"));
  // Eight that take five seconds to leave and do not come back, and eight that nobody preempts, of
  // which one ends while those leave.
  cluster_.run(work_of("ends", {.priority = 200, .annotations = "simulation/run-for: 5s"})
                 + work_of("stays", {.priority = 200, .pods = 7}),
               "stays", 7);
  std::string low;
  for (int i = 0; i < 8; ++i)
    low += work_of(fmt::format("low-{}", i),
                   {.annotations = "simulation/stop-takes: 5s", .comes_back = false});
  cluster_.apply(low);
  ASSERT_TRUE(within(std::chrono::seconds{3}, [&] { return sum(cluster_.running()) == 16; }));

  cluster_.mark();
  std::string preemptors;
  for (int i = 0; i < 8; ++i)
    preemptors += work_of(fmt::format("urgent-{}", i), {.priority = 100});
  cluster_.apply(preemptors);
  ASSERT_TRUE(within(std::chrono::seconds{1}, [&] { return sum(cluster_.evicted()) == 8; }));
  ASSERT_EQ(cluster_.running()["ends"], 1) << "it was to end while they leave";
  EXPECT_TRUE(cluster_.rests(std::chrono::seconds{6}));

  for (int i = 0; i < 8; ++i) {
    const auto name = fmt::format("urgent-{}", i);
    EXPECT_EQ(cluster_.running()[name], 1) << cluster_.explain(name);
    EXPECT_LE(cluster_.preemptions_by(name), 1) << cluster_.explain(name);
  }
  EXPECT_EQ(sum(cluster_.evicted()), 8);
  EXPECT_LE(cluster_.told("Aborted"), 1) << "one place is room for one";
}

TEST_F(told_victims_live, the_room_of_a_victim_whose_preemptor_found_other_room_is_used) {
  cluster_.apply(nodes(2, "gpu: 1"));
  cluster_.run(work_of("low", {.annotations = "simulation/stop-takes: 4s"}), "low");
  cluster_.run(work_of("ends", {.priority = 200, .annotations = "simulation/run-for: 2s"}), "ends");
  cluster_.mark();
  cluster_.apply(work_of("urgent", {.priority = 100}));
  ASSERT_TRUE(within(std::chrono::seconds{2}, [&] { return sum(cluster_.evicted()) == 1; }));
  cluster_.apply(work_of("next", {.priority = 50}));
  EXPECT_TRUE(within(std::chrono::seconds{3}, [&] { return cluster_.running()["urgent"] == 1; }))
    << "it need not wait for low any more: " << cluster_.explain("urgent");
  EXPECT_EQ(cluster_.running()["next"], 0) << "low still leaves";
  EXPECT_TRUE(cluster_.rests(std::chrono::seconds{5}));

  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"low", 1}}));
  EXPECT_EQ(cluster_.running(), (pod_counts{{"next", 1}, {"urgent", 1}}));
  EXPECT_LE(cluster_.preemptions_by("urgent"), 1);
  EXPECT_EQ(cluster_.preemptions_by("next"), 0);
}

TEST_F(told_victims_live, more_important_work_takes_what_another_waits_for_and_stops_nobody) {
  cluster_.apply(nodes(2, "gpu: 1"));
  cluster_.run(work_of("slow", {.annotations = "simulation/stop-takes: 6s", .comes_back = false}),
               "slow");
  cluster_.run(work_of("ends", {.priority = 200, .annotations = "simulation/run-for: 2s"}), "ends");
  cluster_.mark();
  cluster_.apply(work_of("first", {.priority = 100}));
  ASSERT_TRUE(within(std::chrono::seconds{2}, [&] { return sum(cluster_.evicted()) == 1; }));
  cluster_.apply(work_of("waits", {.priority = 50}));
  ASSERT_TRUE(within(std::chrono::seconds{3}, [&] { return cluster_.running()["first"] == 1; }))
    << "ends has ended";
  cluster_.apply(work_of("urgent", {.priority = 150}));
  EXPECT_TRUE(cluster_.rests(std::chrono::seconds{7}));

  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"slow", 1}}));
  EXPECT_EQ(cluster_.running(), (pod_counts{{"first", 1}, {"urgent", 1}}));
  EXPECT_EQ(cluster_.preemptions_by("urgent"), 0) << cluster_.explain("urgent");
}

TEST_F(told_victims_live, a_more_important_gang_takes_what_others_wait_for_and_stops_nobody) {
  cluster_.apply(nodes(1, "gpu: 2"));
  const work_shape slow{.annotations = "simulation/stop-takes: 6s", .comes_back = false};
  cluster_.run(work_of("slow-0", slow) + work_of("slow-1", slow), "slow-1");
  cluster_.mark();
  cluster_.apply(work_of("first", {.priority = 10, .pods = 2, .gang = true}));
  ASSERT_TRUE(within(std::chrono::seconds{2}, [&] { return sum(cluster_.evicted()) == 2; }));
  cluster_.apply(nodes(2, "gpu: 2"));
  ASSERT_TRUE(within(std::chrono::seconds{3}, [&] { return cluster_.running()["first"] == 2; }))
    << "there is another node by now";
  cluster_.apply(work_of("waits", {.priority = 5, .pods = 2}));
  cluster_.apply(work_of("urgent", {.priority = 20, .pods = 2, .gang = true}));
  EXPECT_TRUE(cluster_.rests(std::chrono::seconds{7}));

  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"slow-0", 1}, {"slow-1", 1}}));
  EXPECT_EQ(cluster_.running(), (pod_counts{{"first", 2}, {"urgent", 2}}));
  EXPECT_EQ(cluster_.preemptions_by("urgent"), 0) << cluster_.explain("urgent");
}

TEST_F(told_victims_live, what_happened_before_a_restart_is_not_told_as_if_it_happened_now) {
  cluster_.apply(nodes(2, "gpu: 1"));
  cluster_.run(work_of("quick", {}), "quick");
  cluster_.run(work_of("slow", {.annotations = "simulation/stop-takes: 25s",
                                .more = "gracePeriod: 60s",
                                .comes_back = false}),
               "slow");
  // It needs the places of both, and waits for the slow one; the quick one runs again meanwhile.
  cluster_.apply(work_of("urgent", {.priority = 100, .pods = 2, .gang = true}));
  ASSERT_TRUE(within(std::chrono::seconds{10}, [&] { return sum(cluster_.evicted()) == 2; }));
  EXPECT_EQ(cluster_.told("Preempted", "quick"), 1);
  cluster_.apply("---\nkind: Node\nmetadata: {name: n9}\nspec: {capacity: {gpu: 1}}\n");
  cluster_.wait_for("quick");

  cluster_.restart();
  std::this_thread::sleep_for(std::chrono::seconds{3});
  EXPECT_EQ(cluster_.running()["quick"], 1);
  EXPECT_EQ(cluster_.running()["urgent"], 0) << "it was to wait still";
  EXPECT_EQ(cluster_.told("Preempted"), 0);
}

} // namespace

} // namespace reprieve
