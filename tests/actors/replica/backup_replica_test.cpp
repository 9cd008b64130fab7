#include "protocol/backup/backup_format.hpp"
#include "protocol/backup/restore.hpp"
#include "state/records/keys.hpp"
#include "tests/actors/replica/replica_test.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace reprieve {

namespace {

using std::chrono::seconds;

class backup_replica : public replica_test {
protected:
  std::vector<object> machines(int first, int last) const {
    std::vector<object> all;
    for (int i = first; i < last; ++i)
      all.emplace_back(machine("n" + std::to_string(i), 1));
    return all;
  }

  /// A replica that comes and goes. The more happens before the next, the higher is its epoch.
  void age_store() {
    replica_world replica(store_, journal());
    ASSERT_TRUE(replica.start().ok());
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(replica.apply(machines(i, i + 1)).ok());
  }

  /// All pages; `between` is called after each.
  static std::vector<backup_record> back_up(
    replica_world& replica, const std::function<void()>& between = [] {}) {
    std::vector<backup_record> records;
    backup_page_request next;
    for (bool more = true; more;) {
      auto page = replica.backup(next).value();
      records.insert(records.end(), page.records.begin(), page.records.end());
      next = {page.about.at, page.last};
      more = page.more;
      between();
    }
    return records;
  }

  /// A new store with these records.
  static std::shared_ptr<memory_store> restored(const std::vector<backup_record>& records) {
    backup_encoder encoder;
    backup_header about{1, "c", time_point{seconds{1'700'000'000}}, 1'000};
    auto bytes = encoder.begin(about).value();
    const auto first = bytes.size();
    for (const auto& one : records)
      bytes += encoder.add(one).value();
    const auto end = encoder.finish();
    std::istringstream file(end.first + bytes.substr(first) + end.last);
    auto store = std::make_shared<memory_store>();
    EXPECT_TRUE(restore(file, *store, {time_point{seconds{50}}}).ok());
    return store;
  }

  static std::vector<std::string> decisions_about(replica_world& replica, const std::string& name) {
    std::vector<std::string> ids;
    const auto told = replica.explain_workload(name).value();
    for (const auto& one : told.decisions)
      ids.push_back(one.id);
    return ids;
  }

  void write(const std::string& key) {
    store_->commit({{}, {put{key, "x"}}}, [](const auto& done) { ASSERT_TRUE(done.ok()); });
  }
};

TEST_F(backup_replica, has_what_there_was_when_it_began_whatever_is_written_meanwhile) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply(machines(0, 1'000)).ok());
  std::vector<backup_record> expected;
  store_->read({with_prefix({})}, [&](absl::StatusOr<range_result> all) {
    for (auto& one : all->values)
      if (!one.key.starts_with("own/"))
        expected.push_back({one.key, one.value});
  });
  int more = 1'000;
  const auto records = back_up(replica, [&] {
    ASSERT_TRUE(replica.apply(machines(more, more + 50)).ok());
    ASSERT_TRUE(replica.remove(object_kind::node, "n" + std::to_string(more - 900)).ok());
    more += 50;
  });
  EXPECT_GT(more, 1'150) << "there were several pages";
  EXPECT_EQ(records, expected);
}

TEST_F(backup_replica, leaves_the_records_of_living_processes_out) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  const auto records = back_up(replica);
  EXPECT_FALSE(records.empty());
  for (const auto& one : records)
    EXPECT_FALSE(one.key.starts_with(keys::owners)) << one.key;
}

TEST_F(backup_replica, of_a_moment_that_the_store_has_forgotten_ends_with_a_sentence) {
  replica_world replica(store_, journal());
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply(machines(0, 600)).ok());
  const auto first = replica.backup({}).value();
  ASSERT_TRUE(replica.apply(machines(600, 601)).ok());
  ASSERT_TRUE(replica.apply(machines(601, 602)).ok());
  store_->compact(first.about.at + 3, [](const auto& done) { ASSERT_TRUE(done.ok()); });
  const auto second = replica.backup({first.about.at, first.last});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kOutOfRange) << second.status();
  EXPECT_NE(second.status().message().find("begin again"), absl::string_view::npos)
    << second.status();
}

TEST_F(backup_replica, restored_gives_orders_that_the_machines_take) {
  std::vector<backup_record> records;
  std::set<std::string> uids;
  age_store();
  {
    replica_world second(store_, journal(), seconds{10});
    ASSERT_TRUE(second.start().ok());
    ASSERT_TRUE(second.apply({work("before", 0, 3)}).ok());
    ASSERT_TRUE(comes_to(second, "before", pod_phase::running, 3, seconds{10}));
    records = back_up(second);
    for (const auto& one : second.get(object_kind::workload))
      uids.insert(one.workload->uid);
  }
  {
    // What happens after the backup is forgotten, but not by the machines.
    replica_world third(store_, journal(), seconds{30});
    ASSERT_TRUE(third.start().ok());
    ASSERT_TRUE(third.apply({work("forgotten", 0, 2)}).ok());
    ASSERT_TRUE(comes_to(third, "forgotten", pod_phase::running, 2, seconds{10}));
    for (const auto& one : third.get(object_kind::workload))
      uids.insert(one.workload->uid);
  }
  replica_world replica(restored(records), journal(), seconds{60});
  ASSERT_TRUE(replica.start().ok());
  EXPECT_EQ(replica.pods("before", pod_phase::running), 3U);
  EXPECT_TRUE(replica.get(object_kind::workload, "forgotten").empty());
  ASSERT_TRUE(replica.apply({work("after", 0, 2)}).ok());
  EXPECT_TRUE(comes_to(replica, "after", pod_phase::running, 2, seconds{10}));
  EXPECT_FALSE(uids.contains(replica.get(object_kind::workload, "after").at(0).workload->uid));
  for (const auto& [uid, times] : read_account(journal()).started)
    EXPECT_EQ(times, 1) << uid << " was started twice";
}

TEST_F(backup_replica, restored_makes_decisions_of_new_names) {
  std::vector<backup_record> records;
  std::set<std::string> before;
  age_store();
  {
    replica_world replica(store_, journal(), seconds{10});
    ASSERT_TRUE(replica.start().ok());
    for (int i = 0; i < 3; ++i) {
      const auto name = "before-" + std::to_string(i);
      ASSERT_TRUE(replica.apply({work(name)}).ok());
      ASSERT_TRUE(comes_to(replica, name, pod_phase::running, 1, seconds{10}));
      for (const auto& id : decisions_about(replica, name))
        before.insert(id);
    }
    records = back_up(replica);
  }
  ASSERT_EQ(before.size(), 3U);
  replica_world replica(restored(records), directory_.path() / "other", seconds{60});
  ASSERT_TRUE(replica.start().ok());
  ASSERT_TRUE(replica.apply({work("after")}).ok());
  ASSERT_TRUE(comes_to(replica, "after", pod_phase::running, 1, seconds{10}));
  const auto after = decisions_about(replica, "after");
  ASSERT_EQ(after.size(), 1U);
  for (const auto& earlier : before)
    EXPECT_GT(after.front(), earlier) << "later decisions have later names";
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(decisions_about(replica, "before-" + std::to_string(i)).size(), 1U);
}

TEST_F(backup_replica, half_restored_is_not_served_from) {
  write("n/default.0/n1");
  replica_world replica(store_, journal());
  const auto started = replica.start();
  EXPECT_EQ(started.code(), absl::StatusCode::kFailedPrecondition) << started;
  EXPECT_NE(started.message().find("such as n/default.0/n1"), absl::string_view::npos) << started;
  EXPECT_NE(started.message().find("empty it, then restore again"), absl::string_view::npos)
    << started;
}

TEST_F(backup_replica, that_begins_to_be_restored_is_not_served_from_either) {
  write(std::string(keys::restoring));
  replica_world replica(store_, journal());
  EXPECT_EQ(replica.start().code(), absl::StatusCode::kFailedPrecondition);
}

} // namespace

} // namespace reprieve
