#include "preemption/snapshot/snapshot_cycle.hpp"
#include "protocol/backup/restore.hpp"
#include "protocol/manifest/manifest_reader.hpp"
#include "protocol/manifest/manifest_writer.hpp"
#include "protocol/records/records.hpp"
#include "state/admission/admission.hpp"
#include "state/records/keys.hpp"
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/fuzz_run.hpp"
#include "tests/unit/protocol/backup_bytes.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

// Files that people give: manifests, snapshots, backups.

namespace reprieve {
namespace {

std::string in_tree(const std::string& path) {
  return std::string(REPRIEVE_SOURCE) + "/" + path;
}

TEST(fuzz, manifests_are_read_or_refused) {
  auto corpus = files_below(in_tree("deploy/demo-manifests"));
  add_to(corpus, files_below(in_tree("tests/fuzz/manifests/admission")));
  run_fuzz({"manifests", input_form::text, corpus, [](const std::string& input) {
              const auto read = read_manifests(input, "input.yaml");
              if (!read.ok())
                return read.status();
              std::vector<object> objects;
              for (const auto& one : *read)
                objects.push_back(one.value);
              return admit(objects, initial_catalog(), facts_of_nothing{}).status();
            }});
}

/// Decides on the snapshot as `reprieve decide --all` does.
absl::Status decide_on(const std::string& input) {
  const auto read = read_manifests(input, "input.yaml", {.snapshot = true});
  if (!read.ok())
    return read.status();
  std::vector<snapshot::entry> entries;
  for (const auto& one : *read)
    entries.push_back({one.value, one.status, one.given});
  const auto taken = snapshot::of(std::move(entries));
  if (!taken.ok())
    return taken.status();
  const time_point now{std::chrono::seconds{1'800'000'000}};
  snapshot_cycle cycle{*taken};
  for (const auto& group : taken->groups()) {
    plan_settings settings;
    settings.group = taken->settings_of(group);
    settings.group.name = group;
    settings.now = now;
    settings.recent_preemptions = taken->recent_preemptions(now);
    cycle.run(settings);
  }
  return absl::OkStatus();
}

TEST(fuzz, snapshots_are_decided_on_or_refused) {
  auto corpus = files_below(in_tree("tests/integration/snapshots"));
  corpus.emplace_back(R"(kind: Node
metadata: {name: n1}
spec: {capacity: {cpu: 8, gpu: 4, pods: 10}}
---
kind: Workload
metadata: {name: old}
spec:
  priority: 3
  podGroups:
    - name: w
      count: 2
      minCount: 2
      template: {spec: {requests: {gpu: 2}}}
status: {submitted: 2026-01-01T00:00:00Z, uid: u1}
---
kind: Pod
metadata: {name: old-w-0-0}
spec: {workload: old, group: w, node: n1}
status: {phase: Running}
---
kind: Pod
metadata: {name: old-w-0-1}
spec: {workload: old, group: w, index: 1, node: n1}
status: {phase: Running}
---
kind: Workload
metadata: {name: new}
spec:
  priority: 10
  podGroups: [{name: w, template: {spec: {requests: {gpu: 3}}}}]
)");
  run_fuzz({"snapshots", input_form::text, corpus, decide_on, 20'000});
}

std::vector<backup_record> some_records() {
  workload_record record;
  workload spec;
  spec.name = "job";
  pod_group workers;
  workers.name = "workers";
  spec.groups = {workers};
  record.spec = spec;
  record.status.uid = "default.0-1-1";
  record.status.by_group.resize(1);
  node_record machine;
  node n;
  n.name = "n1";
  n.capacity["cpu"] = 8000;
  machine.spec = n;
  queue train;
  train.name = "train";
  return {{std::string(keys::schema), encode(schema_record{})},
          {keys::node("default.0", "n1"), encode(machine)},
          {keys::queue("queues", "train"), encode(train)},
          {keys::workload("default.0", "job"), encode(record)}};
}

/// The records with these bytes in place of those of one of them, in a file that is whole.
std::string with_record(const std::string& bytes) {
  auto records = some_records();
  records[bytes.size() % records.size()].value = bytes;
  return backup_bytes(records);
}

absl::Status check_backup_of(const std::string& bytes) {
  std::istringstream in(bytes);
  return check_backup(in, time_point{std::chrono::hours{24 * 365 * 60}}).status();
}

TEST(fuzz, backups_are_checked_whole_before_they_are_used) {
  ASSERT_TRUE(check_backup_of(backup_bytes(some_records())).ok())
    << check_backup_of(backup_bytes(some_records()));
  run_fuzz({"backups", input_form::bytes, {backup_bytes(some_records())}, check_backup_of});
}

TEST(fuzz, records_in_backups_that_are_whole_are_checked) {
  std::vector<std::string> corpus;
  for (const auto& one : some_records())
    corpus.push_back(one.value);
  run_fuzz({"records in backups", input_form::protobuf, corpus,
            [](const std::string& input) { return check_backup_of(with_record(input)); }});
}

} // namespace
} // namespace reprieve
