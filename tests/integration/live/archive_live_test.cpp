// What is kept of finished decisions, through the real programs.

#include "tests/integration/live/live_cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// One GPU that is fought for: each that comes takes it from the one before.
void fight(live_cluster& cluster, int first, int last) {
  for (int i = first; i < last; ++i) {
    const auto name = fmt::format("w{}", i);
    cluster.run(work_of(name, {.priority = i + 1,
                               .annotations = "simulation/stop-takes: 100ms",
                               .comes_back = false}),
                name);
  }
}

std::string explain(const live_cluster& cluster, const std::string& what, const std::string& name) {
  return cluster.daemon().cli({"explain", what, name}).output;
}

std::string id_in(const std::string& explanation) {
  const auto begin = explanation.find("Decision ") + 9;
  return explanation.substr(begin, explanation.find(' ', begin) - begin);
}

TEST(archive_live, decisions_that_are_too_old_go_and_explain_says_so) {
  live_cluster cluster({"--decision-age", "15"});
  ASSERT_TRUE(cluster.serves()) << cluster.daemon().output();
  cluster.apply(nodes(1, "gpu: 1"));
  fight(cluster, 0, 2);
  const auto at_first = explain(cluster, "workload", "w1");
  EXPECT_THAT(at_first, HasSubstr("w1 (priority 2) gets 1 pod"));
  EXPECT_THAT(at_first, Not(HasSubstr("not kept")));
  const auto id = id_in(at_first);
  EXPECT_THAT(explain(cluster, "decision", id), HasSubstr(id));

  EXPECT_TRUE(within(seconds{45}, [&] {
    return cluster.daemon().cli({"explain", "decision", id}).code != 0;
  }));
  EXPECT_THAT(explain(cluster, "decision", id),
              ContainsRegex("nothing is known of decision .*; decisions that ended by .* are not "
                            "kept any more: they are older than --decision-age"));
  fight(cluster, 2, 3);
  const auto since = explain(cluster, "workload", "w1");
  EXPECT_THAT(since, HasSubstr("w2 (priority 3) gets 1 pod")) << "what it lost later is known";
  EXPECT_THAT(since, Not(HasSubstr("w1 (priority 2) gets 1 pod")));
  EXPECT_THAT(since, HasSubstr("are not kept any more"));
  EXPECT_THAT(explain(cluster, "pod", "w2-w-0-0"), HasSubstr("w2 (priority 3) gets 1 pod"));
}

TEST(archive_live, the_oldest_go_where_they_take_too_much_room_also_after_a_restart) {
  live_cluster cluster({"--decision-bytes", "5000"});
  ASSERT_TRUE(cluster.serves()) << cluster.daemon().output();
  cluster.apply(nodes(1, "gpu: 1"));
  fight(cluster, 0, 9);
  const auto is_let_go = [&](const std::string& name) {
    return explain(cluster, "workload", name).find("would take more room than --decision-bytes")
           != std::string::npos;
  };
  EXPECT_TRUE(within(seconds{40}, [&] { return is_let_go("w0"); })) << cluster.daemon().output();
  EXPECT_THAT(explain(cluster, "workload", "w8"), HasSubstr("w8 (priority 9) gets 1 pod"));
  EXPECT_FALSE(is_let_go("w8"));

  cluster.restart();
  EXPECT_THAT(explain(cluster, "workload", "w8"), HasSubstr("w8 (priority 9) gets 1 pod"));
  EXPECT_TRUE(is_let_go("w0"));
  fight(cluster, 9, 16);
  EXPECT_TRUE(within(seconds{40}, [&] { return is_let_go("w7"); })) << cluster.daemon().output();
  EXPECT_THAT(explain(cluster, "workload", "w15"), HasSubstr("w15 (priority 16) gets 1 pod"));
}

TEST(archive_live, limits_that_make_no_sense_are_refused) {
  const temporary_directory data;
  daemon_process daemon(data.path(), {"--decision-age", "0"});
  EXPECT_FALSE(daemon.serves());
  EXPECT_THAT(daemon.output(), HasSubstr("--decision-age"));
}

} // namespace

} // namespace reprieve
