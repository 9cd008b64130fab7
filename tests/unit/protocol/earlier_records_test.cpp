#include "protocol/records/records.hpp"
#include "tests/support/generators.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

// Records that earlier versions of the program have written, as bytes in a file for each version:
// whatever becomes of the types, these must be read, and nothing in them be lost.
//
// REPRIEVE_WRITE_RECORDS=FILE earlier_records_test writes such a file with the records of now; a
// new version of the schema comes with one.

namespace reprieve {

namespace {

/// Draws the same with every call.
template <class T>
T drawn(std::uint64_t seed) {
  constexpr int size = 30;
  return rc::gen::arbitrary<T>()(rc::Random(seed), size).value();
}

std::string made_node(std::uint64_t seed) {
  node_record record{drawn<node>(seed), {}, drawn<node_status>(seed)};
  put_pod(record, drawn<pod>(seed));
  return encode(record);
}

std::string made_workload(std::uint64_t seed) {
  workload_record record{drawn<workload>(seed), drawn<workload_status>(seed), {}, true};
  record.slots.push_back({{"workers", 1, 2}, 3, slot_state::stopped, "d1"});
  return encode(record);
}

std::string made_head(std::uint64_t seed) {
  return encode(head_of(drawn<decision>(seed), 2));
}

std::string made_body(std::uint64_t seed) {
  auto d = drawn<decision>(seed);
  d.assignments.push_back(drawn<assignment>(seed));
  return encode_bodies(d, shared_pods(d.assignments)).front();
}

std::string made_owner(std::uint64_t) {
  return encode(owner_record{"replica-0",
                             "10.0.0.1:7002",
                             "10.0.0.1:7001",
                             time_point{duration{1'700'000'000'000'000'000}},
                             {"q/main", "n/default.3", "c/default"},
                             schema_version});
}

std::string made_owners(std::uint64_t) {
  return encode(owners_record{{{"n/default.3", "replica-0"}}, {{"default", 40}}});
}

std::string made_sequence(std::uint64_t) {
  return encode(sequence_record{17, "own/replica-0@12", {"00000008.000002.default"}, 3});
}

std::string made_promise(std::uint64_t) {
  return encode(promised_writes{
    {put{"w/default.1/a", std::string("\x00\xff", 2), 0}, erase{just("w/default.1/b")}}});
}

std::string made_schema(std::uint64_t) {
  return encode(schema_record{schema_version, "18e849e3698f798a",
                              time_point{duration{1'700'000'000'000'000'000}}, 4, 2, 99});
}

std::string made_quota(std::uint64_t) {
  return encode(
    quota_record{{{"gpu", 8000}}, {{"gpu", 1000}}, {{"default", {{"gpu", 5000}, {"cpu", 1}}}}});
}

std::string made_archived(std::uint64_t) {
  return encode(
    archived_decision{1234, time_point{duration{1'700'000'000'000'000'000}}, {"a", "b"}});
}

std::string made_total(std::uint64_t) {
  return encode(archive_total{17, 123'456});
}

std::string made_archive(std::uint64_t) {
  return encode(archive_record{time_point{duration{1'700'000'000'000'000'000}}, true, true});
}

template <class Record>
std::string made_object(std::uint64_t seed) {
  return encode(drawn<Record>(seed));
}

template <class Record>
absl::StatusOr<std::string> again(std::string_view bytes) {
  const auto read = decode<Record>(bytes);
  if (!read.ok())
    return read.status();
  return encode(*read);
}

absl::StatusOr<std::string> body_again(std::string_view bytes) {
  decision d;
  if (auto added = add_body(d, bytes); !added.ok())
    return added;
  return encode_bodies(d, shared_pods(d.assignments)).front();
}

struct kind {
  std::function<std::string(std::uint64_t)> made;
  std::function<absl::StatusOr<std::string>(std::string_view)> again; ///< reads and writes it
  int since = 1; ///< the version that it came with
};

const std::map<std::string, kind>& kinds() {
  static const std::map<std::string, kind> all{
    {"node", {made_node, again<node_record>}},
    {"workload", {made_workload, again<workload_record>}},
    {"decision_head", {made_head, again<decision_head>}},
    {"decision_body", {made_body, body_again}},
    {"owner", {made_owner, again<owner_record>}},
    {"owners", {made_owners, again<owners_record>}},
    {"sequence", {made_sequence, again<sequence_record>}},
    {"promise", {made_promise, again<promised_writes>, 6}},
    {"archive", {made_archive, again<archive_record>, 5}},
    {"archive_total", {made_total, again<archive_total>, 5}},
    {"archived_decision", {made_archived, again<archived_decision>, 5}},
    {"schema", {made_schema, again<schema_record>}},
    {"quota", {made_quota, again<quota_record>}},
    {"budget", {made_object<disruption_budget>, again<disruption_budget>}},
    {"placement", {made_object<placement>, again<placement>}},
    {"queue", {made_object<queue>, again<queue>}},
    {"priority_class", {made_object<priority_class>, again<priority_class>}},
    {"resource_group", {made_object<resource_group>, again<resource_group>}},
  };
  return all;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

class earlier_records : public testing::TestWithParam<int> {};

TEST_P(earlier_records, are_read_and_nothing_in_them_is_lost) {
  const auto path = fmt::format("{}/records_of_version_{}.txt", RECORDS, GetParam());
  std::ifstream file(path);
  std::map<std::string, int> read;
  for (std::string name, text; file >> name >> text; ++read[name]) {
    const auto bytes = from_hex(text);
    ASSERT_TRUE(kinds().contains(name)) << name;
    const auto again = kinds().at(name).again(bytes);
    ASSERT_TRUE(again.ok()) << name << ": " << again.status();
    // The entries of a map have no order; what is left out makes it shorter.
    EXPECT_EQ(again->size(), bytes.size()) << name;
  }
  const auto known =
    std::ranges::count_if(kinds(), [&](const auto& one) { return one.second.since <= GetParam(); });
  EXPECT_EQ(std::ssize(read), known) << path;
}

INSTANTIATE_TEST_SUITE_P(of_version, earlier_records, testing::Range(1, schema_version + 1));

TEST(records_of_now, are_written_where_somebody_asks_for_them) {
  const char* path = std::getenv("REPRIEVE_WRITE_RECORDS");
  std::ofstream file(path == nullptr ? "/dev/null" : path);
  for (const auto& [name, one] : kinds())
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const auto bytes = one.made(seed);
      EXPECT_EQ(one.again(bytes)->size(), bytes.size()) << name;
      file << name << ' ';
      for (const auto byte : bytes)
        file << fmt::format("{:02x}", static_cast<unsigned char>(byte));
      file << '\n';
    }
  EXPECT_TRUE(file.good());
}

} // namespace

} // namespace reprieve
