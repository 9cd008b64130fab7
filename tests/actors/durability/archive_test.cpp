#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "testbed/stored/stored_decisions.hpp"
#include "tests/actors/replica/replica_test.hpp"
#include "tests/support/archive_check.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

namespace reprieve {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// What is kept of finished decisions by a whole replica, in virtual time.
class archive : public replica_test {
protected:
  std::vector<key_value> keys_below(std::string prefix) const {
    std::vector<key_value> found;
    store_->read({with_prefix(std::move(prefix)), 0, 0, false},
                 [&](auto answer) { found = std::move(answer->values); });
    return found;
  }

  std::size_t kept() const {
    return keys_below(std::string(keys::ended_decisions)).size();
  }

  std::int64_t kept_bytes() const {
    std::int64_t bytes = 0;
    for (const auto& one : keys_below(std::string(keys::ended_decisions)))
      bytes += decode<archived_decision>(one.value)->bytes;
    return bytes;
  }

  /// The ids of what is explained.
  static std::vector<std::string> ids_in(const explain_result& told) {
    EXPECT_TRUE(told.ok()) << told.status();
    std::vector<std::string> ids;
    for (const auto& one : told->decisions)
      ids.push_back(one.id);
    return ids;
  }

  void expect_whole() const {
    EXPECT_THAT(faults_of_archive(keys_below("d/")), IsEmpty());
  }

  /// One GPU that is fought for: each that comes takes it from the one before.
  static void fight(replica_world& replica, int first, int last) {
    for (int i = first; i < last; ++i) {
      auto next = work(fmt::format("w{}", i), i + 1);
      next.resume.policy = resume_policy::never;
      ASSERT_TRUE(replica.apply({next}).ok());
      ASSERT_TRUE(comes_to(replica, next.name, pod_phase::running, 1, seconds{60}));
      replica.world().advance(seconds{1});
    }
  }

  static void start(replica_world& replica) {
    ASSERT_TRUE(replica.start().ok());
    ASSERT_TRUE(replica.apply({machine("n", 1)}).ok());
  }
};

TEST_F(archive, tells_a_decision_to_both_workloads_their_pods_and_by_its_name) {
  replica_world replica(store_, journal());
  start(replica);
  fight(replica, 0, 2);
  EXPECT_THAT(keys_below(std::string(keys::open_decisions)), IsEmpty());

  const auto victim = replica.explain_workload("w0");
  const auto preemptor = replica.explain_workload("w1");
  ASSERT_EQ(ids_in(victim).size(), 2U) << "its placement, and that it went";
  ASSERT_EQ(ids_in(preemptor).size(), 1U);
  EXPECT_EQ(ids_in(victim).front(), ids_in(preemptor).front()) << "the newest is first";
  const auto id = ids_in(preemptor).front();
  EXPECT_THAT(ids_in(replica.explain({id, {}, {}})), ElementsAre(id));
  EXPECT_THAT(ids_in(replica.explain({{}, {}, "w1-pods-0-0"})), ElementsAre(id));
  EXPECT_EQ(ids_in(replica.explain({{}, {}, "w0-pods-0-0"})).size(), 2U);
  const auto& whole = replica.explain({id, {}, {}})->decisions.front();
  EXPECT_EQ(whole.phase, decision_phase::done);
  EXPECT_EQ(whole.victims.size(), 1U);
  EXPECT_EQ(whole.assignments.size(), 1U);
  EXPECT_NE(whole.ended, no_time);
  expect_whole();
}

TEST_F(archive, tells_of_decisions_that_are_not_finished) {
  replica_world replica(store_, journal());
  start(replica);
  auto slow = played(work("slow", 1), "stop-takes", "20s");
  slow.grace_period = seconds{30};
  ASSERT_TRUE(replica.apply({slow}).ok());
  ASSERT_TRUE(comes_to(replica, "slow", pod_phase::running, 1, seconds{10}));
  ASSERT_TRUE(replica.apply({work("urgent", 2)}).ok());
  ASSERT_TRUE(comes_to(replica, "slow", pod_phase::terminating, 1, seconds{10}));

  const auto told = replica.explain_workload("urgent");
  ASSERT_EQ(ids_in(told).size(), 1U);
  EXPECT_EQ(told->decisions.front().phase, decision_phase::committed);
  EXPECT_EQ(told->decisions.front().victims.size(), 1U);
  const auto id = ids_in(told).front();
  EXPECT_THAT(ids_in(replica.explain({id, {}, {}})), ElementsAre(id));
  EXPECT_EQ(ids_in(replica.explain_workload("slow")).size(), 2U);
  EXPECT_THAT(ids_in(replica.explain({{}, {}, "urgent-pods-0-0"})), ElementsAre(id));
}

TEST_F(archive, tells_only_the_newest_of_many_decisions) {
  replica_world replica(store_, journal());
  start(replica);
  const stored_decisions past{100, 2, replica.world().clock().now(&replica.world().system())};
  past.write_to(*store_);
  const auto told = replica.explain_workload("past-000000");
  ASSERT_EQ(ids_in(told).size(), 20U);
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(ids_in(told)[i], stored_decisions::id_of(99 - i));
}

TEST_F(archive, lets_go_what_is_too_old_and_says_so) {
  replica_world replica(store_, journal(), {}, {hours{1}, 1 << 20});
  start(replica);
  fight(replica, 0, 2);
  replica.world().advance(minutes{50});
  fight(replica, 2, 3);
  EXPECT_EQ(kept(), 3U);
  EXPECT_EQ(replica.explain_workload("w1")->missing, "");

  replica.world().advance(minutes{12});
  EXPECT_EQ(kept(), 1U);
  expect_whole();
  const auto told = replica.explain_workload("w1");
  ASSERT_EQ(ids_in(told).size(), 1U) << "that it was preempted by the last one is known";
  EXPECT_THAT(told->missing,
              HasSubstr("are not kept any more: they are older than --decision-age"));
  EXPECT_EQ(replica.explain_workload("w2")->missing, "") << "it came later";

  replica.world().advance(hours{3});
  EXPECT_EQ(kept(), 0U);
  EXPECT_THAT(keys_below("d/body/"), IsEmpty());
  EXPECT_THAT(keys_below("d/of/"), IsEmpty());
  EXPECT_THAT(keys_below("d/hour/"), IsEmpty());
  const auto nobody = replica.explain({"00000001.000001.default", {}, {}});
  EXPECT_TRUE(absl::IsNotFound(nobody.status()));
  EXPECT_THAT(std::string(nobody.status().message()), HasSubstr("are not kept any more"));
}

TEST_F(archive, lets_the_oldest_go_where_there_is_too_much) {
  replica_world replica(store_, journal(), {}, {hours{24}, 4000});
  start(replica);
  fight(replica, 0, 12);
  const auto before = kept();
  replica.world().advance(minutes{1});
  EXPECT_LE(kept_bytes(), 4000);
  EXPECT_GT(kept_bytes(), 2000) << "no more goes than has to";
  EXPECT_LT(kept(), before);
  expect_whole();
  EXPECT_EQ(ids_in(replica.explain_workload("w11")).size(), 1U);
  const auto first = replica.explain_workload("w0");
  EXPECT_THAT(ids_in(first), IsEmpty());
  EXPECT_THAT(first->missing, HasSubstr("more room than --decision-bytes allows"));
}

TEST_F(archive, knows_after_a_restart_how_much_it_holds) {
  {
    replica_world replica(store_, journal());
    start(replica);
    fight(replica, 0, 6);
    replica.world().advance(minutes{30});
    fight(replica, 6, 12);
    replica.world().advance(hours{2});
    EXPECT_FALSE(keys_below("d/hour/").empty()) << "hours that are over have their totals";
    fight(replica, 12, 14);
    expect_whole();
  }
  EXPECT_GT(kept_bytes(), 6000);
  replica_world another(store_, journal(), hours{3}, {hours{24}, 6000});
  ASSERT_TRUE(another.start().ok());
  another.world().advance(minutes{1});
  EXPECT_LE(kept_bytes(), 6000);
  EXPECT_GT(kept_bytes(), 4000);
  expect_whole();
}

TEST_F(archive, reads_no_decision_of_hours_that_are_over_when_it_starts) {
  replica_world replica(store_, journal());
  auto& world = replica.world();
  const stored_decisions past{20'000, 100, world.clock().now(&world.system()) - hours{2}};
  past.write_to(*store_);
  schema_record schema;
  schema.node_shards = 3;
  schema.workload_shards = 2;
  store_->commit({{}, {put{std::string(keys::schema), encode(schema), 0}}}, [](auto) {});
  std::size_t read = 0;
  replica.faults().watch_reads([&](const range_result& found) { read += found.values.size(); });
  start(replica);
  world.advance(minutes{1});
  EXPECT_LT(read, 1000U);
  read = 0;
  EXPECT_EQ(ids_in(replica.explain_workload("past-000007")).size(), 20U);
  EXPECT_LT(read, 100U);
}

TEST_F(archive, has_each_of_many_workloads_in_one_decision) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  std::vector<object> objects{machine("n", 300)};
  for (int i = 0; i < 300; ++i)
    objects.emplace_back(work(fmt::format("w{}", i)));
  ASSERT_TRUE(replica.apply(objects).ok());
  ASSERT_TRUE(comes_to(replica, "w299", pod_phase::running, 1, seconds{60}));
  replica.world().advance(seconds{1});
  expect_whole();
  for (int i = 0; i < 300; ++i)
    EXPECT_EQ(ids_in(replica.explain_workload(fmt::format("w{}", i))).size(), 1U) << i;
  EXPECT_LT(kept(), 10U);
}

/// The process dies after each of the writes by which the archive changes.
TEST_F(archive, is_whole_wherever_a_process_dies) {
  for (int writes = 1; writes < 40; writes += 3) {
    store_ = std::make_shared<memory_store>();
    const auto machines = fmt::format("{}-{}", journal(), writes);
    const auto revision_of_store = [&] {
      revision now = 0;
      store_->read({just("x"), 0, 0, true}, [&](auto answer) { now = answer->current; });
      return now;
    };
    {
      replica_world replica(store_, machines, {}, {hours{1}, 30'000});
      ASSERT_TRUE(replica.start().ok());
      std::vector<object> objects{machine("n", 300)};
      for (int i = 0; i < 300; ++i)
        objects.emplace_back(work(fmt::format("w{}", i)));
      ASSERT_TRUE(replica.apply(objects).ok());
      const auto end = revision_of_store() + writes;
      for (int i = 0; i < 100'000 && revision_of_store() < end; ++i)
        if (!replica.world().step())
          replica.world().advance(std::chrono::milliseconds{100});
    }
    replica_world another(store_, machines, minutes{5}, {hours{1}, 30'000});
    ASSERT_TRUE(another.start().ok());
    another.world().advance(minutes{2});
    const auto faults = faults_of_archive(keys_below("d/"));
    ASSERT_THAT(faults, IsEmpty()) << "after " << writes << " writes";
    EXPECT_LE(kept_bytes(), 30'000);
  }
}

// -- stores of earlier versions -------------------------------------------------------------------

class earlier_archive : public archive {
protected:
  void SetUp() override {
    schema_record older;
    older.version = schema_with_archive - 1;
    older.node_shards = 3;
    older.workload_shards = 2;
    store_->commit({{},
                    {put{std::string(keys::schema), encode(older), 0},
                     put{keys::decision_body("00000001.999999.default", 0), "never committed", 0},
                     put{keys::decision_body("00000001.999999.default", 1), "likewise", 0}}},
                   [](auto) {});
    past_.write_as_version_4(*store_);
  }

  std::vector<std::string> expected(std::size_t newest) const {
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < 20; ++i)
      ids.push_back(stored_decisions::id_of(newest - i));
    return ids;
  }

  /// The first of January 2026, by which the world's clock goes, and before.
  stored_decisions past_{
    2500, 2, time_point{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}} - hours{1}};
};

TEST_F(earlier_archive, is_moved_to_the_index_and_what_was_never_committed_goes) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  replica.world().advance(minutes{1});
  EXPECT_THAT(keys_below(std::string(keys::done_decisions)), IsEmpty());
  EXPECT_EQ(kept(), past_.count);
  expect_whole();
  EXPECT_EQ(ids_in(replica.explain_workload("past-000001")), expected(2499));
  EXPECT_EQ(keys_below("d/body/").size(), 2 * past_.count);
}

TEST_F(earlier_archive, is_read_as_it_is_before_that) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  EXPECT_FALSE(keys_below(std::string(keys::done_decisions)).empty());
  EXPECT_EQ(ids_in(replica.explain_workload("past-000001")), expected(2499));
  const auto id = stored_decisions::id_of(7);
  const auto told = replica.explain({id, {}, {}});
  ASSERT_THAT(ids_in(told), ElementsAre(id));
  EXPECT_EQ(told->decisions.front().victims.size(), 1U);
}

TEST_F(earlier_archive, is_moved_however_often_the_process_dies) {
  for (int tries = 0; tries < 200 && !keys_below(std::string(keys::done_decisions)).empty();
       ++tries) {
    replica_world replica(store_, journal(), seconds{tries * 10});
    ASSERT_TRUE(replica.start().ok());
    for (int i = 0; i < 50 + tries * 37; ++i)
      replica.world().step();
  }
  replica_world replica(store_, journal(), hours{1});
  ASSERT_TRUE(replica.start().ok());
  replica.world().advance(minutes{1});
  EXPECT_EQ(kept(), past_.count);
  expect_whole();
}

TEST_F(earlier_archive, is_kept_within_the_limits_as_well) {
  replica_world replica(store_, journal(), {}, {hours{24}, 50'000});
  ASSERT_TRUE(replica.start().ok());
  replica.world().advance(minutes{1});
  EXPECT_LE(kept_bytes(), 50'000);
  EXPECT_GT(kept_bytes(), 45'000);
  expect_whole();
}

} // namespace

} // namespace reprieve
