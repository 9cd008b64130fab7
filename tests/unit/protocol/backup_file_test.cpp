#include "protocol/backup/backup_file.hpp"
#include "testbed/processes/child_process.hpp"
#include "testbed/processes/temporary_directory.hpp"
#include "tests/unit/protocol/backup_bytes.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace reprieve {

namespace {

class backup_file_test : public testing::Test {
protected:
  std::string path() const {
    return (directory_.path() / "backup").string();
  }

  std::size_t files() const {
    const std::filesystem::directory_iterator all(directory_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  temporary_directory directory_;
};

TEST_F(backup_file_test, has_all_records_however_large) {
  std::vector<backup_record> records;
  for (int i = 0; i < 9; ++i)
    records.push_back({"k" + std::to_string(i), std::string(700'000, static_cast<char>('a' + i))});
  {
    auto file = backup_file::create(path()).value();
    ASSERT_TRUE(file->begin(some_header()).ok());
    for (const auto& one : records)
      ASSERT_TRUE(file->add(one).ok());
    ASSERT_TRUE(file->finish().ok());
    EXPECT_EQ(file->count(), 9);
    EXPECT_EQ(file->bytes(), std::ssize(file_contents(path())));
  }
  EXPECT_EQ(file_contents(path()), backup_bytes(records));
  EXPECT_EQ(files(), 1U);
}

TEST_F(backup_file_test, leaves_what_was_there_when_it_does_not_come_to_its_end) {
  std::ofstream(path()) << "the one before";
  {
    auto file = backup_file::create(path()).value();
    ASSERT_TRUE(file->begin(some_header()).ok());
    ASSERT_TRUE(file->add({"k", std::string(1'400'000, 'x')}).ok());
    EXPECT_EQ(files(), 2U);
  }
  EXPECT_EQ(file_contents(path()), "the one before");
  EXPECT_EQ(files(), 1U);
}

TEST_F(backup_file_test, takes_the_place_of_the_one_before) {
  std::ofstream(path()) << "the one before";
  auto file = backup_file::create(path()).value();
  ASSERT_TRUE(file->begin(some_header()).ok());
  ASSERT_TRUE(file->add({"k", "v"}).ok());
  EXPECT_EQ(file_contents(path()), "the one before");
  ASSERT_TRUE(file->finish().ok());
  EXPECT_EQ(file_contents(path()), backup_bytes({{"k", "v"}}));
  EXPECT_EQ(files(), 1U);
}

TEST_F(backup_file_test, is_whole_where_two_are_written_at_once) {
  auto one = backup_file::create(path()).value();
  auto other = backup_file::create(path()).value();
  for (auto* file : {one.get(), other.get()})
    ASSERT_TRUE(file->begin(some_header()).ok());
  ASSERT_TRUE(one->add({"k", "of one"}).ok());
  ASSERT_TRUE(other->add({"k", "of the other"}).ok());
  ASSERT_TRUE(other->finish().ok());
  ASSERT_TRUE(one->finish().ok());
  EXPECT_EQ(file_contents(path()), backup_bytes({{"k", "of one"}}));
  EXPECT_EQ(files(), 1U);
}

TEST_F(backup_file_test, is_for_its_owner_alone) {
  auto file = backup_file::create(path()).value();
  ASSERT_TRUE(file->begin(some_header()).ok());
  ASSERT_TRUE(file->finish().ok());
  EXPECT_EQ(std::filesystem::status(path()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(backup_file_test, says_when_it_can_not_be_written) {
  const auto nowhere = backup_file::create("/nowhere/at/all");
  EXPECT_EQ(nowhere.status().message(), "can't write /nowhere/at/all: No such file or directory");
  std::filesystem::create_directory(path());
  auto file = backup_file::create(path()).value();
  ASSERT_TRUE(file->begin(some_header()).ok());
  const auto moved = file->finish();
  EXPECT_NE(moved.message().find("can't move to"), absl::string_view::npos) << moved;
}

} // namespace

} // namespace reprieve
