#include "protocol/backup/backup_format.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "state/store/etcd/etcd_store.hpp"
#include "state/store/sqlite/sqlite_store.hpp"
#include "tests/integration/daemon.hpp"
#include "tests/support/certificate_maker.hpp"
#include "tests/support/etcd_process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <future>
#include <map>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using words = std::vector<std::string>;

const std::string more_objects = R"(
kind: Workload
metadata: {name: deployed}
spec: {kind: deployment, queue: guests, podGroups: [{name: w, count: 2, template: {spec: {requests: {cpu: 1}}}}]}
---
kind: Workload
metadata: {name: too-large}
spec: {queue: models, priority: 5, podGroups: [{name: w, template: {spec: {requests: {gpu: 9}}}}]}
---
kind: Placement
metadata: {name: here}
spec: {deployment: deployed, cluster: default, committed: 2, score: 7}
---
kind: DisruptionBudget
metadata: {name: some}
spec: {selector: {matchLabels: {app: x}}, minAvailable: 1}
---
kind: ResourceGroup
metadata: {name: other}
spec: {heartbeatTimeout: 90s}
)";

const std::string new_work = R"(
kind: Workload
metadata: {name: newcomer}
spec: {queue: models, priority: 30, podGroups: [{name: w, count: 2, template: {spec: {requests: {gpu: 1}}}}]}
)";

run_result reprieve_alone(words arguments) {
  arguments.insert(arguments.begin(), REPRIEVE_BINARIES "/reprieve");
  return run_program(arguments);
}

/// Everything that the API shows: manifests, and what was decided.
std::map<std::string, std::string> everything(const daemon_process& daemon) {
  std::map<std::string, std::string> shown;
  for (const auto* kind : {"nodes", "queues", "priorityclasses", "resourcegroups", "workloads",
                           "placements", "disruptionbudgets", "pods"})
    shown[kind] = daemon.cli({"get", kind, "-o", "yaml"}).output;
  for (const auto* workload : {"urgent-inference", "train-large"}) {
    const auto told = daemon.cli({"explain", "workload", workload, "-o", "json"}).output;
    // Parsed, as the order of amounts is any; and how long one waits still changes.
    const auto parsed = nlohmann::json::parse(told, nullptr, false);
    shown[workload] =
      parsed.is_object() ? parsed.value("decisions", nlohmann::json{}).dump() : told;
  }
  return shown;
}

/// How often the simulated machines have started each pod.
std::map<std::string, int> starts(const std::filesystem::path& data) {
  std::map<std::string, int> times;
  std::ifstream file(data / "simulated-cluster.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    if (parsed.is_object() && parsed.value("stage", "") == "starting")
      ++times[parsed.value("uid", "")];
  }
  return times;
}

class backup_restore : public testing::Test {
protected:
  std::string path(const std::string& name) const {
    return (directory.path() / name).string();
  }

  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  void apply(const daemon_process& daemon, const std::string& file) const {
    const auto applied = daemon.cli({"apply", "-f", file});
    ASSERT_EQ(applied.code, 0) << applied.output;
  }

  /// The demonstration up to the arrival of the urgent gang.
  void begin_demonstration(daemon_process& daemon) const {
    ASSERT_TRUE(daemon.serves()) << daemon.output();
    apply(daemon, demo_manifest("1-cluster.yaml"));
    apply(daemon, demo_manifest("2-work.yaml"));
    ASSERT_TRUE(within(seconds{20}, [&] { return daemon.pods("train-large", "Running") == 4; }));
  }

  /// With what runs, waits and was preempted, at rest.
  void fill(daemon_process& daemon) const {
    begin_demonstration(daemon);
    apply(daemon, demo_manifest("3-urgent.yaml"));
    apply(daemon, written("more.yaml", more_objects));
    ASSERT_TRUE(within(seconds{20},
                       [&] {
                         return daemon.pods("urgent-inference", "Running") == 4
                                && daemon.pods("deployed", "Running") == 2
                                && daemon.pods("train-large", "Terminating") == 0;
                       }))
      << daemon.cli({"get", "pods"}).output;
  }

  void back_up(const daemon_process& daemon, const std::string& file) const {
    const auto made = daemon.cli({"admin", "backup", file});
    ASSERT_EQ(made.code, 0) << made.output;
    EXPECT_FALSE(std::filesystem::exists(file + ".new"));
  }

  void restore_to(const std::filesystem::path& data, const std::string& file) const {
    const auto restored = reprieve_alone({"admin", "restore", file, "--data", data.string()});
    ASSERT_EQ(restored.code, 0) << restored.output;
    EXPECT_NE(restored.output.find("are restored to " + data.string()), std::string::npos)
      << restored.output;
  }

  /// The machines live on, and remember what they run.
  void keep_machines(const std::string& of, const std::string& in) const {
    std::filesystem::copy(directory.path() / of / "simulated-cluster.jsonl", directory.path() / in);
  }

  void expect_newcomer_runs(const daemon_process& daemon) const {
    apply(daemon, written("new.yaml", new_work));
    EXPECT_TRUE(within(seconds{20}, [&] { return daemon.pods("newcomer", "Running") == 2; }))
      << daemon.cli({"explain", "workload", "newcomer"}).output << daemon.output();
  }

  static void expect_refused(const run_result& how, const std::string& sentence) {
    EXPECT_EQ(how.code, 1) << how.output;
    EXPECT_NE(how.output.find(sentence), std::string::npos) << how.output;
  }

  temporary_directory directory;
};

TEST_F(backup_restore, a_restored_cluster_is_as_it_was_and_goes_on) {
  std::map<std::string, std::string> before;
  {
    daemon_process daemon(directory.path() / "old");
    fill(daemon);
    before = everything(daemon);
    back_up(daemon, path("backup"));
    EXPECT_EQ(daemon.stop(), 0) << daemon.output();
  }
  ASSERT_NE(before["pods"].find("urgent-inference"), std::string::npos);
  ASSERT_NE(before["workloads"].find("too-large"), std::string::npos);
  ASSERT_NE(before["train-large"].find("victims"), std::string::npos);
  restore_to(directory.path() / "new", path("backup"));
  keep_machines("old", "new");
  daemon_process daemon(directory.path() / "new");
  ASSERT_TRUE(daemon.serves()) << daemon.output();
  within(seconds{10}, [&] { return everything(daemon) == before; });
  for (const auto& [what, text] : everything(daemon))
    EXPECT_EQ(text, before[what]) << what;
  expect_newcomer_runs(daemon);
  EXPECT_EQ(daemon.stop(), 0) << daemon.output();
}

TEST_F(backup_restore, machines_that_lived_on_take_orders_from_a_restored_cluster) {
  {
    daemon_process daemon(directory.path() / "old");
    fill(daemon);
    EXPECT_EQ(daemon.stop(), 0) << daemon.output();
  }
  {
    // What machines have heard since is of a later epoch than all that is in the new store.
    daemon_process daemon(directory.path() / "old");
    ASSERT_TRUE(daemon.serves()) << daemon.output();
    back_up(daemon, path("backup"));
    EXPECT_EQ(daemon.stop(), 0) << daemon.output();
  }
  restore_to(directory.path() / "new", path("backup"));
  keep_machines("old", "new");
  daemon_process daemon(directory.path() / "new");
  ASSERT_TRUE(daemon.serves()) << daemon.output();
  EXPECT_EQ(daemon.pods("urgent-inference", "Running"), 4);
  expect_newcomer_runs(daemon);
  EXPECT_EQ(daemon.stop(), 0) << daemon.output();
  for (const auto& [uid, times] : starts(directory.path() / "new"))
    EXPECT_EQ(times, 1) << uid << " was started twice";
}

TEST_F(backup_restore, a_decision_that_is_under_way_goes_on_in_the_restored_cluster) {
  for (const int moment : {0, 20, 300, 1200}) {
    const auto name = std::to_string(moment);
    {
      daemon_process daemon(directory.path() / ("old-" + name));
      begin_demonstration(daemon);
      apply(daemon, demo_manifest("3-urgent.yaml"));
      std::this_thread::sleep_for(milliseconds{moment});
      back_up(daemon, path("backup-" + name));
      daemon.kill();
    }
    restore_to(directory.path() / ("new-" + name), path("backup-" + name));
    keep_machines("old-" + name, "new-" + name);
    daemon_process daemon(directory.path() / ("new-" + name));
    ASSERT_TRUE(daemon.serves()) << daemon.output();
    EXPECT_TRUE(
      within(seconds{30}, [&] { return daemon.pods("urgent-inference", "Running") == 4; }))
      << moment << daemon.cli({"explain", "workload", "urgent-inference"}).output;
    EXPECT_EQ(daemon.pods("train-small", "Running"), 2);
    EXPECT_EQ(daemon.stop(), 0) << daemon.output();
  }
}

TEST_F(backup_restore, a_backup_that_fails_leaves_what_was_there) {
  written("backup", "the one before");
  const auto nobody =
    reprieve_alone({"--server", "127.0.0.1:1", "admin", "backup", path("backup")});
  expect_refused(nobody, "no server answers");
  EXPECT_EQ(file_contents(path("backup")), "the one before");
  EXPECT_FALSE(std::filesystem::exists(path("backup.new")));
}

TEST_F(backup_restore, goes_nowhere_but_into_an_empty_store) {
  daemon_process daemon(directory.path() / "old");
  ASSERT_TRUE(daemon.serves()) << daemon.output();
  back_up(daemon, path("backup"));
  const words onto_it{"admin", "restore", path("backup"), "--data", path("old")};
  expect_refused(reprieve_alone(onto_it), "is in use by process");
  EXPECT_EQ(daemon.stop(), 0) << daemon.output();
  expect_refused(reprieve_alone(onto_it), "the store holds a cluster already");
  EXPECT_EQ(reprieve_alone({"admin", "restore", path("backup")}).code, 2);
  EXPECT_EQ(reprieve_alone({"admin", "restore", path("nothing"), "--data", path("new")}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(path("new")));
}

TEST_F(backup_restore, a_file_that_is_not_whole_touches_nothing) {
  {
    daemon_process daemon(directory.path() / "old");
    ASSERT_TRUE(daemon.serves()) << daemon.output();
    back_up(daemon, path("backup"));
  }
  const auto whole = file_contents(path("backup"));
  auto flipped = whole;
  flipped[whole.size() / 2] ^= 4;
  for (const auto& [bytes, sentence] :
       {std::pair{whole.substr(0, whole.size() / 2), "the backup is cut off"},
        std::pair{flipped, "the backup is damaged"},
        std::pair{std::string("kind: Node\n"), "this is no backup"}}) {
    const auto how =
      reprieve_alone({"admin", "restore", written("broken", bytes), "--data", path("new")});
    expect_refused(how, sentence);
    EXPECT_FALSE(std::filesystem::exists(path("new")));
  }
}

// -- with the stores themselves -------------------------------------------------------------------

/// What the store holds, by key.
std::map<std::string, std::string> contents(store& of) {
  std::promise<absl::StatusOr<range_result>> answer;
  of.read({with_prefix({})},
          [&](absl::StatusOr<range_result> found) { answer.set_value(std::move(found)); });
  std::map<std::string, std::string> found;
  const auto all = answer.get_future().get().value();
  for (const auto& one : all.values)
    found[one.key] = one.value;
  return found;
}

/// What the file holds, by key.
std::map<std::string, std::string> contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  backup_decoder decoder(in);
  std::map<std::string, std::string> found;
  EXPECT_TRUE(decoder.begin().ok());
  for (auto next = decoder.next().value(); next; next = decoder.next().value())
    found[next->key] = next->value;
  return found;
}

/// The store has what the file has; but its epochs go on behind all that were before.
void expect_restored(store& into, const std::string& file) {
  auto expected = contents(file);
  auto found = contents(into);
  const std::string key(keys::schema);
  auto schema = decode<schema_record>(found[key]).value();
  EXPECT_GT(schema.epoch_base, 1'000'000'000'000'000);
  schema.epoch_base = 0;
  found[key] = encode(schema);
  EXPECT_EQ(found.size(), expected.size());
  EXPECT_EQ(found, expected);
}

TEST_F(backup_restore, half_of_a_restore_is_refused_by_everybody) {
  {
    daemon_process daemon(directory.path() / "old");
    ASSERT_TRUE(daemon.serves()) << daemon.output();
    back_up(daemon, path("backup"));
  }
  {
    const auto half = sqlite_store::open(path("new")).value();
    std::promise<bool> done;
    half->commit({{}, {put{"w/default.0/job", "x"}}},
                 [&](const auto& how) { done.set_value(how.ok()); });
    ASSERT_TRUE(done.get_future().get());
  }
  const std::string sentence = "the store has records (such as w/default.0/job) but no meta/schema";
  expect_refused(reprieve_alone({"admin", "restore", path("backup"), "--data", path("new")}),
                 sentence);
  daemon_process daemon(directory.path() / "new");
  EXPECT_FALSE(daemon.serves());
  EXPECT_NE(daemon.output().find(sentence), std::string::npos) << daemon.output();
  std::filesystem::remove_all(path("new"));
  restore_to(path("new"), path("backup"));
}

class backup_to_etcd : public backup_restore {
protected:
  void SetUp() override {
    if (!etcd_process::available())
      GTEST_SKIP() << "no etcd on this machine";
    daemon_process daemon(directory.path() / "old");
    begin_demonstration(daemon);
    back_up(daemon, path("backup"));
  }

  run_result restore_with(const words& more) const {
    words whole{"admin", "restore", path("backup")};
    whole.insert(whole.end(), more.begin(), more.end());
    return reprieve_alone(whole);
  }
};

TEST_F(backup_to_etcd, is_read_back_as_it_was) {
  const etcd_process etcd;
  const auto restored = restore_with({"--etcd", etcd.endpoint()});
  ASSERT_EQ(restored.code, 0) << restored.output;
  const auto store = etcd_store::open({.endpoints = {etcd.endpoint()}}).value();
  expect_restored(*store, path("backup"));

  expect_refused(restore_with({"--etcd", etcd.endpoint()}), "the store holds a cluster already");
  const auto beside = restore_with({"--etcd", etcd.endpoint(), "--etcd-prefix", "/other/"});
  ASSERT_EQ(beside.code, 0) << beside.output;
  const auto other =
    etcd_store::open({.endpoints = {etcd.endpoint()}, .prefix = "/other/"}).value();
  expect_restored(*other, path("backup"));
}

TEST_F(backup_to_etcd, goes_there_encrypted_and_with_a_certificate) {
  const certificate_maker made;
  const etcd_process etcd({"--cert-file=" + made.file("server.crt"),
                           "--key-file=" + made.file("server.key"), "--client-cert-auth",
                           "--trusted-ca-file=" + made.file("ca.crt")},
                          "https");
  const auto restored =
    restore_with({"--etcd", etcd.endpoint(), "--etcd-ca", made.file("ca.crt"), "--etcd-cert",
                  made.file("peer.crt"), "--etcd-key", made.file("peer.key")});
  ASSERT_EQ(restored.code, 0) << restored.output;
  const auto store = etcd_store::open({.endpoints = {etcd.endpoint()},
                                       .tls = etcd_tls{made.text("ca.crt"), made.text("peer.crt"),
                                                       made.text("peer.key")}})
                       .value();
  expect_restored(*store, path("backup"));
}

TEST_F(backup_to_etcd, goes_there_as_a_user_with_a_password) {
  const etcd_process etcd;
  const auto control = [&](const std::string& what) {
    return std::system(("ETCDCTL_API=3 etcdctl --endpoints=" + etcd.endpoint() + " " + what
                        + " > /dev/null 2>&1")
                         .c_str())
           == 0;
  };
  if (!control("user add root:secret") || !control("role add root")
      || !control("user grant-role root root") || !control("auth enable"))
    GTEST_SKIP() << "needs etcdctl";
  EXPECT_EQ(restore_with({"--etcd", etcd.endpoint()}).code, 1);
  const auto restored = restore_with({"--etcd", etcd.endpoint(), "--etcd-user", "root",
                                      "--etcd-password-file", written("password", "secret\n")});
  ASSERT_EQ(restored.code, 0) << restored.output;
  const auto store =
    etcd_store::open({.endpoints = {etcd.endpoint()}, .user = "root", .password = "secret"})
      .value();
  expect_restored(*store, path("backup"));
}

} // namespace

} // namespace reprieve
