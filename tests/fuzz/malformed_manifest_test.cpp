#include "protocol/manifest/manifest_reader.hpp"
#include "protocol/manifest/manifest_writer.hpp"
#include "state/admission/admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {
namespace {

using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr manifest_options snapshot{.snapshot = true};

/// The files in one folder of the corpus, by name.
std::vector<std::filesystem::path> corpus(std::string_view folder) {
  const std::filesystem::directory_iterator files{
    std::filesystem::path(REPRIEVE_MALFORMED_MANIFESTS) / folder};
  std::vector<std::filesystem::path> paths;
  for (const auto& file : files)
    paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

int lines_in(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return 1
         + static_cast<int>(
           std::count(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>(), '\n'));
}

/// Whether `error` is one line that begins with the file and one of its lines.
void expect_error_line(std::string_view error, std::string_view file, int last_line) {
  ASSERT_THAT(error, StartsWith(std::string(file) + ":"));
  EXPECT_EQ(error.find_first_of("\n\r\t"), std::string_view::npos) << error;
  const std::string rest(error.substr(file.size() + 1));
  std::size_t digits = 0;
  const int line =
    std::isdigit(static_cast<unsigned char>(rest[0])) != 0 ? std::stoi(rest, &digits) : 0;
  EXPECT_GE(line, 1) << error;
  EXPECT_LE(line, last_line) << error;
  EXPECT_THAT(rest.substr(digits), StartsWith(": ")) << error;
  EXPECT_LT(error.size(), file.size() + 600) << error;
}

TEST(malformed_manifest, is_refused_in_one_line_that_says_where) {
  const auto paths = corpus("shape");
  EXPECT_THAT(paths, SizeIs(testing::Ge(200U)));
  for (const auto& path : paths) {
    SCOPED_TRACE(path.filename());
    const auto objects = read_manifest_file(path, snapshot);
    ASSERT_FALSE(objects.ok());
    EXPECT_EQ(objects.status().code(), absl::StatusCode::kInvalidArgument);
    expect_error_line(std::string(objects.status().message()), path.string(), lines_in(path));
  }
}

TEST(manifest_that_makes_no_sense, is_read_and_refused_by_admission) {
  const auto paths = corpus("admission");
  EXPECT_THAT(paths, SizeIs(testing::Ge(30U)));
  for (const auto& path : paths) {
    SCOPED_TRACE(path.filename());
    const auto read = read_manifest_file(path);
    ASSERT_TRUE(read.ok()) << read.status();
    std::vector<object> batch;
    for (const auto& [value, where, status, given] : *read)
      batch.push_back(value);
    const auto refusals = check(batch, initial_catalog(), facts_of_nothing{});
    EXPECT_THAT(refusals, Not(testing::IsEmpty()));
    for (const auto& refused : refusals)
      EXPECT_EQ(to_string(refused).find('\n'), std::string::npos);
  }
}

constexpr std::array<std::string_view, 4> valid_manifests{
  R"(# Two queues and a node
apiVersion: reprieve/v1
kind: Queue
metadata:
  name: research
spec: {parent: root, weight: 3, guaranteed: {gpu: 4}, limit: {gpu: "8"}, capByDemand: true}
---
kind: Node
metadata:
  name: n1
  labels: {zone: a, "rack": 'r1'}
spec:
  taints:
    - {key: gpu, effect: NoSchedule}
  capacity: {cpu: 64, memory: 512Gi, gpu: 8000m}
  unschedulable: true
---
kind: PriorityClass
metadata: {name: high}
value: 1000
preemptionPolicy: Never
)",
  R"(kind: Workload
metadata:
  name: train
  labels:
    team: "blue\u00e9"
spec:
  queue: research
  kind: batch
  priority: 10
  podGroups:
    - name: workers
      count: 8
      minCount: 4
      disruptionMode: PodGroup
      topology: [zone, rack]
      protectedMembers: [0, 1]
      template:
        metadata: {labels: {app: train}}
        spec:
          requests: {gpu: 1, memory: 64Gi}
          tolerations:
            - key: gpu
              operator: Exists
  resume: {policy: Always, backoff: 20s, limit: 3}
  checkpoint: {supported: true, last: 2026-01-31T08:00:00Z, timeNeeded: 45s}
  gracePeriod: 1m30s
)",
  R"({
  "apiVersion": "reprieve/v1",
  "kind": "List",
  "items": [
    {"kind": "ResourceGroup", "metadata": {"name": "sessions"},
     "spec": {"policy": "Sessions", "requiredNode": {"maxVictims": 3, "deviationPercent": 20,
              "preemptionVictimPodsSelectionStrategy": "multiple"},
              "guards": {"optOutIsVeto": true}}},
    {"kind": "DisruptionBudget", "metadata": {"name": "b"},
     "spec": {"selector": {"matchLabels": {"app": "x\ud83d\ude00"}}, "minAvailable": 2}}
  ]
}
)",
  R"(kind: Pod
metadata:
  name: p
  uid: u-1
  annotations:
    folded: >-
      one
      line
    literal: |
      two
      lines
spec:
  workload: w
  group: g
  nodeName: n1
  requests: {gpu: 2}
  priority: -5
status:
  phase: Running
  creationTime: 2026-01-31T08:00:00.5+01:00
---
kind: Placement
metadata: {name: p}
spec: {deployment: d, cluster: c, committed: 2, assigned: 3, score: -7}
)",
};

/// Changes some bytes of a text, the same way for the same seed.
class mutator {
public:
  explicit mutator(std::uint64_t seed) : random_(seed) {
    // nop
  }

  std::string mutate(std::string text) {
    for (auto left = 1 + below(4); left > 0; --left)
      change(text);
    return text;
  }

  std::size_t below(std::size_t end) {
    return random_() % end;
  }

private:
  void change(std::string& text) {
    static constexpr std::array<std::string_view, 32> pieces{
      "{",  "}",    "[", "]",    ":",  ": ",   ",",       "-",       "- ",   "\n",  "\n---\n",
      "\t", "\"",   "'", "\\",   "#",  "&a ",  "*a",      "!!str ",  "? ",   "|\n", ">-\n",
      "%",  "null", "~", "true", "-1", "1e99", "\\ud83d", "\\u0000", "\xFF", "0x1"};
    const auto at = below(text.size() + 1);
    const auto length = std::min(below(40), text.size() - at);
    switch (below(6)) {
    case 0:
      text.insert(at, 1, static_cast<char>(below(256)));
      break;
    case 1:
      text.insert(at, pieces[below(pieces.size())]);
      break;
    case 2:
      text.erase(at, length);
      break;
    case 3:
      text.insert(below(text.size() + 1), text.substr(at, length));
      break;
    case 4:
      if (at < text.size())
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
      break;
    default:
      if (below(20) == 0)
        text.resize(at);
    }
  }

  std::mt19937_64 random_;
};

TEST(mutated_manifest, starts_from_manifests_that_are_valid) {
  for (const auto text : valid_manifests) {
    const auto objects = read_manifests(text, "valid.yaml", snapshot);
    EXPECT_TRUE(objects.ok()) << objects.status();
  }
}

TEST(mutated_manifest, is_either_refused_in_one_line_or_means_what_it_says) {
  constexpr int mutations = 20'000;
  mutator change(20260131);
  int refused = 0;
  for (int i = 0; i < mutations && !testing::Test::HasFailure(); ++i) {
    const auto text =
      change.mutate(std::string(valid_manifests[change.below(valid_manifests.size())]));
    SCOPED_TRACE(text);
    const auto objects = read_manifests(text, "mutated.yaml", snapshot);
    if (!objects.ok()) {
      ++refused;
      const auto lines = 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
      expect_error_line(std::string(objects.status().message()), "mutated.yaml", lines);
      continue;
    }
    for (const auto& [value, where, status, given] : *objects) {
      const auto again = read_manifests(write_yaml(value), "written.yaml", snapshot);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->at(0).value, value);
    }
  }
  // Both ways must have been taken often for this to say anything.
  EXPECT_GT(refused, mutations / 4);
  EXPECT_LT(refused, mutations * 19 / 20);
}

} // namespace
} // namespace reprieve
