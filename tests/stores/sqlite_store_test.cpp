#include "state/store/sqlite/sqlite_store.hpp"
#include "testbed/processes/temporary_directory.hpp"
#include "tests/stores/waiting.hpp"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

extern char** environ;

namespace reprieve {

namespace {

std::unique_ptr<sqlite_store> open(const std::filesystem::path& directory,
                                   sqlite_store_options options = {}) {
  auto opened = sqlite_store::open(directory, std::move(options));
  if (!opened.ok())
    throw std::runtime_error(opened.status().ToString());
  return *std::move(opened);
}

/// A process that writes to a store without end.
class endless_writer {
public:
  explicit endless_writer(const std::filesystem::path& directory) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addclose(&actions, ends[0]);
    std::string program = STORES_WRITER;
    std::string argument = directory.string();
    std::array<char*, 3> arguments{program.data(), argument.data(), nullptr};
    EXPECT_EQ(
      ::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    acknowledgements_ = ends[0];
  }

  ~endless_writer() {
    kill();
    ::close(acknowledgements_);
  }

  pid_t process() const {
    return process_;
  }

  void wait_for_bytes(std::size_t count) {
    std::array<char, 4096> some{};
    while (read_.size() < count) {
      const auto size = ::read(acknowledgements_, some.data(), some.size());
      ASSERT_GT(size, 0);
      read_.append(some.data(), static_cast<std::size_t>(size));
    }
  }

  void kill() {
    if (process_ <= 0)
      return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  /// All numbers acknowledged until it was killed.
  std::vector<std::string> acknowledged() {
    std::array<char, 4096> some{};
    for (ssize_t size = 1; size > 0;) {
      size = ::read(acknowledgements_, some.data(), some.size());
      read_.append(some.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    }
    std::vector<std::string> numbers;
    std::istringstream lines(read_.substr(0, read_.rfind('\n') + 1));
    for (std::string line; std::getline(lines, line);)
      numbers.push_back(line);
    return numbers;
  }

private:
  pid_t process_ = 0;
  int acknowledgements_ = -1;
  std::string read_;
};

/// Writes until there is no room left; answers with the last status.
absl::Status fill(store& to, int& written) {
  for (written = 0; written < 10'000; ++written) {
    const auto result =
      commit(to, {put{"fill-" + std::to_string(written), std::string(20'000, 'x')}});
    if (!result.ok())
      return result.status();
  }
  return absl::OkStatus();
}

} // namespace

TEST(sqlite_store, keeps_keys_history_and_revisions_when_opened_again) {
  temporary_directory directory;
  revision first = 0;
  revision last = 0;
  {
    auto before = open(directory.path());
    first = commit(*before, {put{"a", "1"}})->current;
    last = commit(*before, {put{"a", "2"}, put{"b", "2"}})->current;
  }
  auto after = open(directory.path());
  const auto found = read(*after, {.range = just("a")});
  EXPECT_EQ(found->values.at(0), (key_value{"a", "2", first, last, 2, 0}));
  EXPECT_EQ(found->current, last);
  EXPECT_EQ(read(*after, {.range = just("a"), .at = first})->values.at(0).value, "1");
  watch_log log;
  const auto watch = after->watch(just("b"), first, log.callback());
  EXPECT_EQ(log.changes(1), "+b=2@" + std::to_string(last));
  EXPECT_EQ(commit(*after, {put{"a", "3"}})->current, last + 1);
}

TEST(sqlite_store, keeps_every_acknowledged_write_of_a_process_that_was_killed) {
  temporary_directory directory;
  std::set<std::string> acknowledged;
  for (const std::size_t bytes : {100, 700, 2'000}) {
    endless_writer writer(directory.path());
    writer.wait_for_bytes(bytes);
    writer.kill();
    const auto numbers = writer.acknowledged();
    acknowledged.insert(numbers.begin(), numbers.end());
    auto store = open(directory.path());
    for (const auto& number : acknowledged)
      ASSERT_EQ(value_of(*store, "key-" + number), number);
    // Both keys of a write are there, or none.
    const auto latest = read(*store, {.range = just("latest")})->values.at(0);
    const auto same = read(*store, {.range = just("key-" + latest.value)})->values.at(0);
    EXPECT_EQ(same.modified, latest.modified);
  }
}

TEST(sqlite_store, refuses_a_second_process_and_names_the_first) {
  temporary_directory directory;
  endless_writer writer(directory.path());
  writer.wait_for_bytes(1);
  const auto second = sqlite_store::open(directory.path());
  ASSERT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  const std::string message(second.status().message());
  EXPECT_NE(message.find(directory.path().string()), std::string::npos) << message;
  EXPECT_NE(message.find("process " + std::to_string(writer.process())), std::string::npos)
    << message;
}

TEST(sqlite_store, refuses_a_second_opener_in_the_same_process) {
  temporary_directory directory;
  const auto first = open(directory.path());
  EXPECT_TRUE(absl::IsFailedPrecondition(sqlite_store::open(directory.path()).status()));
}

TEST(sqlite_store, refuses_a_directory_that_cannot_be_made) {
  temporary_directory directory;
  std::ofstream(directory.path() / "file") << "in the way";
  const auto opened = sqlite_store::open(directory.path() / "file" / "data");
  EXPECT_TRUE(absl::IsFailedPrecondition(opened.status())) << opened.status();
}

TEST(sqlite_store, refuses_a_file_that_is_no_database) {
  temporary_directory directory;
  std::ofstream(directory.path() / "store.sqlite") << std::string(10'000, 'x');
  const auto opened = sqlite_store::open(directory.path());
  EXPECT_TRUE(absl::IsFailedPrecondition(opened.status())) << opened.status();
}

TEST(sqlite_store, refuses_a_symbolic_link_in_place_of_its_file) {
  const temporary_directory directory;
  const auto theirs = directory.path() / "theirs";
  std::filesystem::create_directory(directory.path() / "data");
  std::filesystem::create_symlink(theirs, directory.path() / "data" / "store.sqlite");
  const auto refused = sqlite_store::open(directory.path() / "data");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_NE(refused.status().message().find("is a symbolic link, which is not followed"),
            absl::string_view::npos)
    << refused.status();
  EXPECT_FALSE(std::filesystem::exists(theirs));
}

TEST(sqlite_store, follows_a_symbolic_link_to_its_directory) {
  const temporary_directory directory;
  std::filesystem::create_directory(directory.path() / "disk");
  std::filesystem::create_directory_symlink(directory.path() / "disk", directory.path() / "data");
  EXPECT_TRUE(sqlite_store::open(directory.path() / "data").ok());
}

TEST(sqlite_store, refuses_a_layout_it_does_not_know) {
  temporary_directory directory;
  open(directory.path()).reset();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((directory.path() / "store.sqlite").c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "UPDATE numbers SET schema = 99", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  const auto opened = sqlite_store::open(directory.path());
  EXPECT_TRUE(absl::IsFailedPrecondition(opened.status())) << opened.status();
  EXPECT_NE(opened.status().message().find("99"), std::string::npos) << opened.status();
}

TEST(sqlite_store, refuses_writes_and_goes_on_reading_when_its_limit_is_reached) {
  temporary_directory directory;
  int written = 0;
  {
    auto store = open(directory.path(), {.most_bytes = 1'000'000});
    const auto full = fill(*store, written);
    EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
    EXPECT_GT(written, 10);
    const auto found = read(*store, {.range = with_prefix("fill-"), .keys_only = true});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(std::ssize(found->values), written);
    EXPECT_EQ(found->current, found->values.empty() ? 0 : written + 1);
  }
  auto store = open(directory.path(), {.most_bytes = 2'000'000});
  EXPECT_TRUE(commit(*store, {put{"room", "again"}}).ok());
  EXPECT_EQ(std::ssize(read(*store, {.range = with_prefix("fill-")})->values), written);
}

TEST(sqlite_store, takes_writes_again_when_a_full_disk_has_room_again) {
  temporary_directory directory;
  if (::mount("reprieve-test", directory.path().c_str(), "tmpfs", 0, "size=3m") != 0)
    GTEST_SKIP() << "needs the right to mount a small file system";
  {
    const auto ballast = directory.path() / "ballast";
    std::ofstream(ballast) << std::string(1'000'000, 'x');
    auto store = open(directory.path() / "data");
    ASSERT_TRUE(commit(*store, {put{"a", "1"}}).ok());
    int written = 0;
    const auto full = fill(*store, written);
    EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
    EXPECT_EQ(value_of(*store, "a"), "1");
    std::filesystem::remove(ballast);
    EXPECT_TRUE(commit(*store, {put{"a", "2"}}).ok());
    EXPECT_EQ(value_of(*store, "a"), "2");
    EXPECT_EQ(std::ssize(read(*store, {.range = with_prefix("fill-")})->values), written);
  }
  ::umount(directory.path().c_str());
}

TEST(sqlite_store, keeps_no_more_history_than_it_was_told) {
  temporary_directory directory;
  auto store = open(directory.path(), {.history = 10});
  revision last = 0;
  for (int i = 0; i < 50; ++i)
    last = commit(*store, {put{"a", std::to_string(i)}, put{"b", "same"}})->current;
  watch_log refused, resumed;
  const auto first = store->watch(just("a"), last - 20, refused.callback());
  EXPECT_TRUE(absl::IsOutOfRange(refused.error()));
  const auto second = store->watch(just("a"), last - 9, resumed.callback());
  EXPECT_EQ(resumed.changes(10).find("+a=40@" + std::to_string(last - 9)), 0u);
}

TEST(sqlite_store, makes_room_by_compacting) {
  temporary_directory directory;
  auto store = open(directory.path(), {.most_bytes = 1'000'000});
  // Fifty times what fits, of which only the newest is still wanted.
  for (int i = 0; i < 500; ++i) {
    const auto written = commit(*store, {put{"a", std::string(100'000, 'x')}});
    ASSERT_TRUE(written.ok()) << i << ": " << written.status();
    if (i % 4 == 3) {
      ASSERT_TRUE(compact(*store, written->current).ok());
    }
  }
}

TEST(sqlite_store, commits_many_writes_at_once) {
  temporary_directory directory;
  auto store = open(directory.path());
  constexpr int writes = 2'000;
  std::promise<void> all;
  std::atomic<int> left = writes;
  for (int i = 0; i < writes; ++i)
    store->commit({{}, {put{"key-" + std::to_string(i), "x"}}}, [&](auto committed) {
      EXPECT_TRUE(committed.ok() && committed->succeeded);
      if (--left == 0)
        all.set_value();
    });
  ASSERT_EQ(all.get_future().wait_for(patience), std::future_status::ready);
  const auto found = read(*store, {.range = with_prefix("key-")});
  EXPECT_EQ(found->values.size(), static_cast<std::size_t>(writes));
  EXPECT_EQ(found->current, writes + 1);
}

TEST(sqlite_store, answers_everything_before_it_goes) {
  temporary_directory directory;
  std::atomic<int> answered = 0;
  {
    auto store = open(directory.path());
    for (int i = 0; i < 100; ++i) {
      store->commit({{}, {put{"a", std::to_string(i)}}}, [&](auto r) { answered += r.ok(); });
      store->read({.range = just("a")}, [&](auto r) { answered += r.ok(); });
    }
  }
  EXPECT_EQ(answered, 200);
}

} // namespace reprieve
