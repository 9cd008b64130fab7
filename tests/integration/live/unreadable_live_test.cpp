// Records that can't be read, in the stores of real daemons.

#include "tests/integration/live/live_cluster.hpp"
#include "tests/support/etcd_process.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <reprieve/v1/records.pb.h>
#include <sqlite3.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

const std::string garbage = "\xff\xff\xff not a record";

/// The newest value of a key in the embedded store, as nobody has it open.
class stored_value {
public:
  /// `like` is the key, with % for the number of its shard.
  stored_value(const std::filesystem::path& data, const std::string& like) : like_(like) {
    EXPECT_EQ(sqlite3_open((data / "store.sqlite").c_str(), &database_), SQLITE_OK);
  }
  ~stored_value() {
    sqlite3_close(database_);
  }
  stored_value(const stored_value&) = delete;
  stored_value& operator=(const stored_value&) = delete;

  std::string read() {
    std::string value;
    run("SELECT value FROM versions WHERE id IN "
        "(SELECT id FROM live WHERE CAST(key AS TEXT) LIKE ?1)",
        {}, [&](sqlite3_stmt* row) {
          const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, 0));
          value.assign(bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, 0)));
        });
    return value;
  }

  void write(const std::string& value) {
    run("UPDATE versions SET value = ?2 WHERE id IN "
        "(SELECT id FROM live WHERE CAST(key AS TEXT) LIKE ?1)",
        value, [](sqlite3_stmt*) {});
    EXPECT_EQ(sqlite3_changes(database_), 1) << like_;
  }

private:
  void run(const char* text, const std::string& value,
           const std::function<void(sqlite3_stmt*)>& each) {
    sqlite3_stmt* statement = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(database_, text, -1, &statement, nullptr), SQLITE_OK);
    sqlite3_bind_text(statement, 1, like_.c_str(), -1, SQLITE_STATIC);
    if (!value.empty())
      sqlite3_bind_blob(statement, 2, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    while (sqlite3_step(statement) == SQLITE_ROW)
      each(statement);
    sqlite3_finalize(statement);
  }

  std::string like_;
  sqlite3* database_ = nullptr;
};

class unreadable_record : public testing::Test {
protected:
  void start(std::vector<std::string> options = {}) {
    said_before = daemon ? daemon->output().size() : 0;
    daemon = std::make_unique<daemon_process>(data.path(), std::move(options));
    ASSERT_TRUE(daemon->serves()) << daemon->output();
  }

  run_result apply(const std::string& manifests) const {
    const auto file = (data.path() / "input.yaml").string();
    std::ofstream(file) << manifests;
    return daemon->cli({"apply", "-f", file});
  }

  void run_work(const std::string& name, const std::string& more = {}) {
    const auto applied = apply(work_of(name, {.more = more}));
    ASSERT_EQ(applied.code, 0) << applied.output;
    ASSERT_TRUE(runs(name)) << daemon->output();
  }

  bool runs(const std::string& name, int pods = 1) const {
    return within(seconds{20}, [&] { return daemon->pods(name, "Running") == pods; });
  }

  /// Starts the daemon anew with another record in the place of that one.
  void start_with(const std::string& key,
                  const std::function<std::string(const std::string&)>& change) {
    ASSERT_EQ(daemon->stop(), 0) << daemon->output();
    {
      stored_value record(data.path(), key);
      written = change(record.read());
      record.write(written);
    }
    start();
  }

  /// How often its machines were told to start pods of the workload.
  int starts(const std::string& workload) const {
    int found = 0;
    std::ifstream journal(data.path() / "simulated-cluster.jsonl");
    for (std::string line; std::getline(journal, line);)
      found += line.find("\"uid\":\"" + workload + "-") != std::string::npos
               && line.find("\"stage\":\"starting\"") != std::string::npos;
    return found;
  }

  /// What can be said and done about one that can't be read.
  void expect_set_aside(const std::string& kind, const std::string& name) const {
    const auto got = daemon->cli({"get", kind, name});
    EXPECT_EQ(got.code, 1) << got.output;
    EXPECT_THAT(got.output, HasSubstr("can't be read"));
    EXPECT_THAT(got.output, HasSubstr("--force"));
    const auto all = daemon->cli({"get", kind});
    EXPECT_EQ(all.code, 0) << all.output;
    EXPECT_THAT(all.output, Not(HasSubstr("\n" + name + " ")));
    EXPECT_THAT(all.output, HasSubstr("left out, as their records can't be read: " + name));
    const auto removed = daemon->cli({"delete", kind, name});
    EXPECT_EQ(removed.code, 1) << removed.output;
    EXPECT_THAT(removed.output, HasSubstr("can't be read"));
    const auto events = daemon->cli({"events"}).output;
    EXPECT_THAT(events, HasSubstr("Unreadable"));
    EXPECT_THAT(events, HasSubstr(name));
    const auto said = daemon->output().substr(said_before);
    const auto first = said.find(" " + name + " can't be read");
    EXPECT_NE(first, std::string::npos) << said;
    EXPECT_EQ(said.find(" " + name + " can't be read", first + 1), std::string::npos) << said;
  }

  temporary_directory data;
  std::unique_ptr<daemon_process> daemon;
  std::string written;
  std::size_t said_before = 0; ///< by processes of before
};

std::string without_part_of_status(const std::string& bytes) {
  v1::WorkloadRecord record;
  EXPECT_TRUE(record.ParseFromString(bytes));
  record.mutable_status()->clear_by_group();
  return record.SerializeAsString();
}

std::string of_later_version(const std::string& bytes) {
  v1::WorkloadRecord record;
  EXPECT_TRUE(record.ParseFromString(bytes));
  record.mutable_workload()->set_kind(static_cast<v1::WorkloadKind>(77));
  return record.SerializeAsString();
}

} // namespace

TEST_F(unreadable_record, of_a_workload_is_left_alone_and_all_others_go_on) {
  start();
  ASSERT_EQ(apply(nodes(2, "gpu: 4")).code, 0);
  run_work("whole");
  run_work("broken");
  start_with("w/%/broken", without_part_of_status);
  expect_set_aside("workload", "broken");
  EXPECT_TRUE(runs("whole")) << daemon->output();
  EXPECT_TRUE(runs("broken")) << "its pods go on, as nobody told them to stop";
  run_work("after");
  const auto again = apply(work_of("broken", {}));
  EXPECT_EQ(again.code, 1) << again.output;
  EXPECT_THAT(again.output, HasSubstr("the name is taken"));
  const auto explained = daemon->cli({"explain", "workload", "broken"});
  EXPECT_THAT(explained.output, HasSubstr("can't be read"));

  // After one more start it is as it was: nobody has touched it.
  start_with("w/%/broken", [&](const std::string& bytes) {
    EXPECT_EQ(bytes, written);
    return of_later_version(bytes);
  });
  expect_set_aside("workload", "broken");
  EXPECT_EQ(starts("broken"), 1);
}

TEST_F(unreadable_record, of_a_workload_goes_by_force_and_its_pods_with_it) {
  start();
  ASSERT_EQ(apply(nodes(1, "gpu: 4")).code, 0);
  run_work("broken");
  run_work("whole");
  start_with("w/%/broken", [](const auto&) { return garbage; });
  const auto wrong = daemon->cli({"delete", "workload", "whole", "--force"});
  EXPECT_EQ(wrong.code, 2) << wrong.output;
  EXPECT_THAT(wrong.output, HasSubstr("can't be deleted by force"));
  const auto removed = daemon->cli({"delete", "workload", "broken", "--force"});
  EXPECT_EQ(removed.code, 0) << removed.output;
  EXPECT_TRUE(within(seconds{20},
                     [&] {
                       const auto left = daemon->cli({"get", "workload", "broken"});
                       return left.code == 1
                              && left.output.find("there is no") != std::string::npos;
                     }))
    << daemon->cli({"get", "workload", "broken"}).output;
  EXPECT_EQ(daemon->pods("broken", "Running"), 0);
  EXPECT_EQ(daemon->pods("whole", "Running"), 1);
  run_work("broken");
}

TEST_F(unreadable_record, of_a_node_lets_nobody_run_twice) {
  start();
  ASSERT_EQ(apply("kind: Node\nmetadata: {name: first}\nspec: {capacity: {gpu: 4}}\n").code, 0);
  run_work("early");
  ASSERT_EQ(apply("kind: Node\nmetadata: {name: second}\nspec: {capacity: {gpu: 4}}\n").code, 0);
  start_with("n/%/first", [](const auto&) { return garbage; });
  expect_set_aside("node", "first");
  run_work("late");
  EXPECT_THAT(daemon->cli({"get", "pods"}).output, HasSubstr("second"));
  std::this_thread::sleep_for(seconds{2});
  EXPECT_EQ(starts("early"), 1) << "its pod may run on the node that can't be read";
  EXPECT_THAT(daemon->cli({"explain", "workload", "early"}).output,
              HasSubstr("what runs on node first can't be read"));
  const auto again = apply("kind: Node\nmetadata: {name: first}\nspec: {capacity: {gpu: 4}}\n");
  EXPECT_EQ(again.code, 1) << again.output;

  const auto removed = daemon->cli({"delete", "node", "first", "--force"});
  EXPECT_EQ(removed.code, 0) << removed.output;
  EXPECT_TRUE(runs("early")) << daemon->output();
  EXPECT_EQ(apply("kind: Node\nmetadata: {name: first}\nspec: {capacity: {gpu: 4}}\n").code, 0);
}

TEST_F(unreadable_record, of_a_node_hides_no_pods_that_can_be_read) {
  start();
  ASSERT_EQ(apply("kind: Node\nmetadata: {name: first}\nspec: {capacity: {gpu: 4}}\n").code, 0);
  run_work("early");
  ASSERT_EQ(apply("kind: Node\nmetadata: {name: second}\nspec: {capacity: {gpu: 4}}\n").code, 0);
  start_with("n/%/first", [](const std::string& bytes) {
    v1::NodeRecord record;
    EXPECT_TRUE(record.ParseFromString(bytes));
    (*record.mutable_node()->mutable_capacity())["gpu"] = -1;
    return record.SerializeAsString();
  });
  expect_set_aside("node", "first");
  EXPECT_TRUE(runs("early"));
  // More of a workload that runs there comes elsewhere: nothing is hidden.
  const auto scaled = apply(work_of("early", {.pods = 2}));
  EXPECT_EQ(scaled.code, 0) << scaled.output;
  EXPECT_TRUE(runs("early", 2)) << daemon->output();
  EXPECT_EQ(starts("early"), 2);
  const auto removed = daemon->cli({"delete", "node", "first", "--force"});
  EXPECT_EQ(removed.code, 0) << removed.output;
  EXPECT_TRUE(within(seconds{20}, [&] { return starts("early") == 3; })) << "it was lost there";
}

TEST_F(unreadable_record, of_a_queue_stops_nobody_in_it) {
  start();
  ASSERT_EQ(apply(nodes(1, "gpu: 4") + queue_of("team", "weight: 2")
                  + "---\nkind: PriorityClass\nmetadata: {name: high}\nspec: {value: 7}\n")
              .code,
            0);
  const auto applied = apply(work_of("inside", {.queue = "team"}));
  ASSERT_EQ(applied.code, 0) << applied.output;
  ASSERT_TRUE(runs("inside"));
  start_with("q/%/queue/team", [](const auto&) { return garbage; });
  expect_set_aside("queue", "team");
  std::this_thread::sleep_for(seconds{2});
  EXPECT_TRUE(runs("inside"));
  EXPECT_EQ(starts("inside"), 1);
  const auto replaced = daemon->cli({"delete", "queue", "team", "--force"});
  EXPECT_EQ(replaced.code, 0) << replaced.output;
  EXPECT_EQ(daemon->cli({"get", "queue", "team"}).code, 0) << "its work stands on it";
  EXPECT_EQ(apply(queue_of("team", "weight: 2")).code, 0);

  start_with("q/%/class/high", [](const auto&) { return garbage; });
  expect_set_aside("priorityclass", "high");
  EXPECT_EQ(daemon->cli({"delete", "priorityclass", "high", "--force"}).code, 0);
  EXPECT_EQ(apply("kind: PriorityClass\nmetadata: {name: high}\nspec: {value: 8}\n").code, 0);
  EXPECT_TRUE(runs("inside"));
}

TEST_F(unreadable_record, of_a_queue_in_a_cycle_stops_nobody_in_it) {
  start();
  ASSERT_EQ(apply(nodes(1, "gpu: 8") + queue_of("top", "weight: 2")
                  + queue_of("team", "parent: top, weight: 2")
                  + queue_of("below", "parent: team, weight: 2"))
              .code,
            0);
  const auto applied =
    apply(work_of("inside", {.queue = "team"}) + work_of("under", {.queue = "below"}));
  ASSERT_EQ(applied.code, 0) << applied.output;
  ASSERT_TRUE(runs("inside") && runs("under")) << daemon->output();
  start_with("q/%/queue/top", [](const std::string& bytes) {
    v1::QueueRecord record;
    EXPECT_TRUE(record.ParseFromString(bytes));
    record.mutable_queue()->set_parent("team");
    return record.SerializeAsString();
  });
  expect_set_aside("queue", "team");
  EXPECT_THAT(daemon->cli({"get", "queue", "top"}).output, HasSubstr("top can't be read"));
  EXPECT_THAT(daemon->output().substr(said_before), HasSubstr("team -> top -> team"));
  EXPECT_EQ(daemon->cli({"get", "queue", "below"}).code, 0);
  EXPECT_TRUE(runs("inside") && runs("under")) << daemon->output();
  EXPECT_EQ(starts("inside"), 1);
  const auto later = apply(work_of("later", {.queue = "below"}));
  EXPECT_EQ(later.code, 0) << later.output;
  EXPECT_TRUE(runs("later")) << daemon->output();
  const auto explained = daemon->cli({"explain", "workload", "later"});
  EXPECT_EQ(explained.code, 0) << explained.output;
  EXPECT_EQ(daemon->stop(), 0) << daemon->output();
}

TEST_F(unreadable_record, of_a_queue_is_no_parent_for_those_who_come) {
  start();
  ASSERT_EQ(
    apply(queue_of("owner", "weight: 2") + queue_of("borrower", "parent: owner, weight: 2")).code,
    0);
  start_with("q/%/queue/owner", [](const std::string& bytes) {
    v1::QueueRecord record;
    EXPECT_TRUE(record.ParseFromString(bytes));
    record.mutable_queue()->set_parent("borrower");
    return record.SerializeAsString();
  });
  expect_set_aside("queue", "borrower");
  EXPECT_EQ(daemon->cli({"delete", "queue", "owner", "--force"}).code, 0);
  const auto refused = apply(queue_of("owner", "parent: borrower, weight: 2"));
  EXPECT_EQ(refused.code, 1) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("no queue can be put below it"));
  EXPECT_EQ(daemon->cli({"delete", "queue", "borrower", "--force"}).code, 0);
  const auto applied = apply(queue_of("owner", "parent: borrower, weight: 2"));
  EXPECT_EQ(applied.code, 0) << applied.output;
  ASSERT_EQ(daemon->stop(), 0) << daemon->output();
  start();
  EXPECT_THAT(daemon->output().substr(said_before), Not(HasSubstr("can't be read")));
  EXPECT_EQ(daemon->cli({"get", "queue", "owner"}).code, 0);
}

TEST_F(unreadable_record, of_a_schema_without_shards_ends_the_start_with_a_sentence) {
  start();
  ASSERT_EQ(daemon->stop(), 0) << daemon->output();
  {
    stored_value record(data.path(), "meta/schema");
    v1::SchemaRecord schema;
    ASSERT_TRUE(schema.ParseFromString(record.read()));
    schema.set_node_shards(0);
    record.write(schema.SerializeAsString());
  }
  daemon = std::make_unique<daemon_process>(data.path());
  EXPECT_FALSE(daemon->serves());
  EXPECT_EQ(daemon->stop(), 1) << "it ends by itself, and not by a signal";
  EXPECT_THAT(daemon->output(),
              HasSubstr("the store's record at meta/schema can't be read, and nobody can serve "
                        "the store without it: it gives each resource group 0 node shards; there "
                        "are 1 to 1024 of them"));
}

TEST_F(unreadable_record, of_a_resource_group_holds_up_that_group_alone) {
  start();
  const std::string lab = "kind: ResourceGroup\nmetadata: {name: lab}\n---\n";
  ASSERT_EQ(apply(lab + nodes(1, "gpu: 4")
                  + "---\nkind: Node\nmetadata: {name: there}\nspec: {resourceGroup: lab, "
                    "capacity: {gpu: 4}}\n")
              .code,
            0);
  run_work("inside", "resourceGroup: lab");
  start_with("q/%/group/lab", [](const auto&) { return garbage; });
  expect_set_aside("resourcegroup", "lab");
  run_work("outside");
  EXPECT_EQ(apply(lab).code, 1);
  EXPECT_EQ(daemon->cli({"delete", "resourcegroup", "lab", "--force"}).code, 0);
  EXPECT_EQ(apply(lab).code, 0);
  EXPECT_TRUE(runs("inside")) << daemon->output();
  EXPECT_EQ(starts("inside"), 1);
}

TEST_F(unreadable_record, in_etcd_is_left_alone_as_well) {
  if (!etcd_process::available())
    GTEST_SKIP() << "no etcd on this machine";
  const etcd_process etcd;
  const std::vector<std::string> on{"--etcd", etcd.endpoint()};
  const auto etcdctl = [&](const std::string& command) {
    return run_program({"/bin/sh", "-c",
                        fmt::format("ETCDCTL_API=3; export ETCDCTL_API; {}",
                                    fmt::format(fmt::runtime(command), etcd.endpoint()))})
      .output;
  };
  start(on);
  ASSERT_EQ(apply(nodes(1, "gpu: 4")).code, 0);
  run_work("broken");
  run_work("whole");
  ASSERT_EQ(daemon->stop(), 0);
  const auto found =
    etcdctl("etcdctl --endpoints {} get --prefix --keys-only /reprieve/w/ | grep /broken");
  const auto key = found.substr(0, found.find('\n'));
  ASSERT_THAT(key, HasSubstr("/broken"));
  EXPECT_THAT(etcdctl("printf '\\377\\377' | etcdctl --endpoints {} put " + key), HasSubstr("OK"));
  start(on);
  expect_set_aside("workload", "broken");
  EXPECT_TRUE(runs("whole"));
  run_work("after");
  EXPECT_EQ(daemon->cli({"delete", "workload", "broken", "--force"}).code, 0);
  EXPECT_TRUE(within(seconds{20}, [&] { return daemon->pods("broken", "Running") == 0; }));
}

} // namespace reprieve
