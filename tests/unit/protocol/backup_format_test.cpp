#include "tests/unit/protocol/backup_bytes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

namespace reprieve {

namespace {

const std::vector<backup_record> some_records{
  {"a", "first"}, {"a/b", ""}, {std::string("c\0d\n", 4), std::string("\xff\0\n", 3)}, {"z", "9"}};

std::string why_not(const std::string& bytes) {
  const auto read = read_bytes(bytes);
  return read.ok() ? "it was read" : std::string(read.status().message());
}

TEST(backup_format, comes_back_as_it_was) {
  EXPECT_EQ(read_bytes(backup_bytes(some_records)).value(),
            (read_backup{some_header(), some_records}));
}

TEST(backup_format, of_any_records_comes_back_as_it_was) {
  EXPECT_TRUE(rc::check([](const std::map<std::string, std::string>& drawn) {
    std::vector<backup_record> records;
    for (const auto& [key, value] : drawn)
      if (!key.empty())
        records.push_back({key, value});
    RC_ASSERT(read_bytes(backup_bytes(records)).value() == (read_backup{some_header(), records}));
  }));
}

TEST(backup_format, of_an_empty_store_is_a_backup) {
  EXPECT_EQ(read_bytes(backup_bytes({})).value(), (read_backup{some_header(), {}}));
}

TEST(backup_format, begins_with_lines_that_people_can_read) {
  const auto bytes = backup_bytes(some_records);
  EXPECT_TRUE(bytes.starts_with("reprieve backup 1\n"
                                "schema 1\n"
                                "cluster 18b2f6a1c0d4\n"
                                "taken 2026-11-06T21:20:00Z\n"
                                "revision 4711\n"
                                "records 00000000000000000004\n"
                                "\n"))
    << bytes;
}

TEST(backup_format, cut_off_at_any_byte_is_refused) {
  for (const auto& records : {some_records, std::vector<backup_record>{}}) {
    const auto bytes = backup_bytes(records);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto why = why_not(bytes.substr(0, size));
      EXPECT_NE(why.find("cut off"), std::string::npos) << "after " << size << " bytes: " << why;
    }
  }
}

TEST(backup_format, with_any_bit_flipped_is_refused) {
  for (const auto& records : {some_records, std::vector<backup_record>{}}) {
    const auto bytes = backup_bytes(records);
    for (std::size_t at = 0; at < bytes.size(); ++at)
      for (unsigned bit = 0; bit < 8; ++bit) {
        auto flipped = bytes;
        flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1U << bit));
        EXPECT_FALSE(read_bytes(flipped).ok()) << "bit " << bit << " of byte " << at;
      }
  }
}

TEST(backup_format, with_a_piece_missing_repeated_or_added_is_refused) {
  const auto bytes = backup_bytes(some_records);
  for (std::size_t from = 0; from < bytes.size(); ++from)
    for (const std::size_t size : {1U, 8U, 14U}) {
      auto shorter = bytes;
      shorter.erase(from, size);
      EXPECT_FALSE(read_bytes(shorter).ok()) << "without " << size << " from " << from;
      auto longer = bytes;
      longer.insert(from, bytes.substr(from, size));
      EXPECT_FALSE(read_bytes(longer).ok()) << "with " << size << " from " << from << " twice";
    }
  EXPECT_NE(why_not(bytes + "\n").find("goes on behind its end"), std::string::npos);
}

TEST(backup_format, that_another_backup_was_put_together_with_is_refused) {
  auto others = some_records;
  others.back().value = "8";
  const auto bytes = backup_bytes(some_records);
  const auto other = backup_bytes(others);
  ASSERT_EQ(bytes.size(), other.size());
  for (std::size_t at = 1; at < bytes.size(); ++at) {
    const auto mixed = bytes.substr(0, at) + other.substr(at);
    EXPECT_EQ(read_bytes(mixed).ok(), mixed == bytes || mixed == other) << "from " << at;
  }
}

TEST(backup_format, of_a_later_time_is_told_from_what_is_no_backup_at_all) {
  auto later = backup_bytes(some_records);
  later.replace(later.find("backup 1"), 8, "backup 2");
  EXPECT_EQ(why_not(later),
            "the backup has format 2, this program knows format 1 only; use a newer one");
  EXPECT_EQ(why_not("kind: Node\nmetadata: {name: n1}\n"),
            "this is no backup: it must begin with 'reprieve backup 1', not with 'kind: Node'");
}

TEST(backup_format, says_where_it_is_cut_off) {
  const auto bytes = backup_bytes(some_records);
  EXPECT_EQ(
    why_not(bytes.substr(0, bytes.find("a/b") + 1)),
    "the backup is cut off in record 2 of 4: it was not copied whole, or its disk was full");
  EXPECT_EQ(why_not(bytes.substr(0, bytes.size() - 1)),
            "the backup is cut off at its end: it was not copied whole, or its disk was full");
}

TEST(backup_format, takes_no_record_that_a_store_could_not_have_had) {
  backup_encoder encoder;
  ASSERT_TRUE(encoder.begin(some_header()).ok());
  EXPECT_FALSE(encoder.add({"", "x"}).ok());
  EXPECT_FALSE(encoder.add({"k", std::string(store_limits::bytes, 'x')}).ok());
  EXPECT_TRUE(encoder.add({"k", std::string(store_limits::bytes - 1, 'x')}).ok());
  EXPECT_FALSE(encoder.add({"k", "again"}).ok());
  EXPECT_FALSE(encoder.add({"a", "out of order"}).ok());
  EXPECT_EQ(encoder.count(), 1);
}

TEST(backup_format, of_a_size_that_nobody_writes_takes_no_memory) {
  auto bytes = backup_bytes({{"k", "v"}});
  bytes.replace(bytes.find("\n\n") + 2, 8, std::string(8, '\xff'));
  EXPECT_EQ(why_not(bytes), "the backup is damaged: record 1 of 1 has 8589934590 bytes");
}

} // namespace

} // namespace reprieve
