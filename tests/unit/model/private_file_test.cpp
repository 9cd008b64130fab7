#include "state/files/private_file.hpp"
#include "testbed/processes/child_process.hpp"
#include "testbed/processes/temporary_directory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace reprieve {

namespace {

using std::filesystem::perms;

class private_file : public testing::Test {
protected:
  std::string path(const std::string& name) const {
    return (directory_.path() / name).string();
  }
  perms allowed(const std::string& name) const {
    return std::filesystem::status(path(name)).permissions();
  }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator{directory_.path()},
                         std::filesystem::directory_iterator{});
  }
  absl::Status append(const std::string& name, const std::string& text) const {
    const auto file = open_to_append(path(name));
    if (!file.ok())
      return file.status();
    EXPECT_EQ(::write(*file, text.data(), text.size()), std::ssize(text));
    ::close(*file);
    return absl::OkStatus();
  }

private:
  temporary_directory directory_;
};

TEST_F(private_file, is_made_for_its_owner_alone) {
  ASSERT_TRUE(append("audit", "one").ok());
  ASSERT_TRUE(append("audit", "two").ok());
  ASSERT_TRUE(replace_file(path("address"), "here").ok());
  EXPECT_EQ(file_contents(path("audit")), "onetwo");
  EXPECT_EQ(file_contents(path("address")), "here");
  for (const auto* name : {"audit", "address"})
    EXPECT_EQ(allowed(name), perms::owner_read | perms::owner_write) << name;
}

TEST_F(private_file, is_no_symbolic_link_that_somebody_else_may_have_put_there) {
  std::ofstream(path("theirs")) << "as it was";
  std::filesystem::create_symlink(path("theirs"), path("audit"));
  const auto refused = append("audit", "secret");
  EXPECT_EQ(refused.message(), "it is a symbolic link, which is not followed");
  std::filesystem::create_symlink(path("theirs"), path("address"));
  ASSERT_TRUE(replace_file(path("address"), "here").ok());
  EXPECT_EQ(file_contents(path("theirs")), "as it was");
  EXPECT_EQ(file_contents(path("address")), "here");
  EXPECT_FALSE(std::filesystem::is_symlink(path("address")));
}

TEST_F(private_file, is_no_pipe_socket_or_directory_and_does_not_wait_for_one) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(append("pipe", "x").message(), "it is not a regular file");
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(append("pipe", "x").message(), "it is not a regular file");
  ::close(reader);
  ASSERT_EQ(::mknod(path("socket").c_str(), S_IFSOCK | 0600, 0), 0);
  EXPECT_EQ(append("socket", "x").message(), "it is not a regular file");
  std::filesystem::create_directory(path("directory"));
  EXPECT_EQ(append("directory", "x").message(), "Is a directory");
}

TEST_F(private_file, is_no_symbolic_link_in_the_memory_that_everybody_shares) {
  const auto link = "/dev/shm/reprieve-private-file-" + std::to_string(::getpid());
  if (::symlink(path("theirs").c_str(), link.c_str()) != 0)
    GTEST_SKIP() << "there is no /dev/shm";
  const auto refused = open_to_append(link);
  ::unlink(link.c_str());
  EXPECT_EQ(refused.status().message(), "it is a symbolic link, which is not followed");
  EXPECT_FALSE(std::filesystem::exists(path("theirs")));
}

TEST_F(private_file, may_be_what_the_system_calls_its_output) {
  EXPECT_TRUE(open_to_append("/dev/stderr").ok());
}

TEST_F(private_file, takes_its_place_when_it_is_whole) {
  ASSERT_TRUE(replace_file(path("it"), "before").ok());
  {
    auto unfinished = replacing_file::of(path("it")).value();
    ASSERT_TRUE(unfinished.write("half of").ok());
    EXPECT_EQ(files(), 2);
  }
  EXPECT_EQ(file_contents(path("it")), "before");
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(replace_file("/nowhere/at/all", "x").message(),
            "can't write /nowhere/at/all: No such file or directory");
}

TEST_F(private_file, that_others_can_read_or_change_is_told_of) {
  ASSERT_TRUE(replace_file(path("tokens"), "x").ok());
  EXPECT_EQ(openness_of(path("tokens")), "");
  EXPECT_EQ(openness_of(path("missing")), "");
  const auto allow = [&](perms more) {
    std::filesystem::permissions(path("tokens"), perms::owner_read | perms::owner_write | more);
    return openness_of(path("tokens"));
  };
  EXPECT_EQ(allow(perms::group_read), "");
  EXPECT_EQ(allow(perms::others_read), path("tokens")
                                         + " can be read by others than its owner; take that from "
                                           "them with chmod 600");
  EXPECT_EQ(allow(perms::others_write), path("tokens")
                                          + " can be changed by others than its owner; take that "
                                            "from them with chmod 600");
}

} // namespace

} // namespace reprieve
