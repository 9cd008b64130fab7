#include "state/files/private_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace reprieve {

namespace {

constexpr const char* not_regular = "it is not a regular file";

std::string reason(int error) {
  return error == ELOOP ? "it is a symbolic link, which is not followed"
                        : std::generic_category().message(error);
}

/// Whether only the system makes names there, such as /dev/stdout. /dev/shm is everybody's.
bool is_of_system(std::string_view path) {
  return (path.starts_with("/dev/") && !path.starts_with("/dev/shm/"))
         || path.starts_with("/proc/");
}

/// Makes the names in the file's directory durable.
bool sync_directory_of(const std::string& path) {
  const auto directory = std::filesystem::absolute(path).parent_path();
  const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = opened >= 0 && ::fsync(opened) == 0;
  const int error = errno;
  if (opened >= 0)
    ::close(opened);
  errno = error;
  return synced;
}

} // namespace

absl::StatusOr<int> open_to_append(const std::string& path) {
  const bool of_system = is_of_system(path);
  // A pipe that nobody reads would never open.
  const int file = ::open(path.c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
                            | (of_system ? 0 : O_NOFOLLOW),
                          0600);
  if (file < 0 && errno == ENXIO && !of_system)
    return absl::UnavailableError(not_regular);
  if (file < 0)
    return absl::UnavailableError(reason(errno));
  struct stat found {};
  if (!of_system && (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode))) {
    ::close(file);
    return absl::UnavailableError(not_regular);
  }
  // What the system calls its output is waited for, as when a program prints.
  ::fcntl(file, F_SETFL, O_APPEND);
  return file;
}

std::string openness_of(const std::string& path) {
  struct stat found {};
  if (path.empty() || ::stat(path.c_str(), &found) != 0)
    return {};
  // Its group is often that of the service which is to read it.
  const bool changed = (found.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  const bool read = (found.st_mode & (S_IROTH | S_IXOTH)) != 0;
  if (!changed && !read)
    return {};
  return fmt::format("{} can be {} by others than its owner; take that from them with chmod {}",
                     path, changed ? "changed" : "read", S_ISDIR(found.st_mode) ? "700" : "600");
}

absl::StatusOr<replacing_file> replacing_file::of(std::string path) {
  auto unfinished = path + ".XXXXXX";
  // A new file, which only its owner may read.
  const int file = ::mkostemp(unfinished.data(), O_CLOEXEC);
  if (file < 0)
    return absl::InvalidArgumentError(fmt::format("can't write {}: {}", path, reason(errno)));
  return replacing_file(std::move(path), std::move(unfinished), file);
}

replacing_file::replacing_file(std::string path, std::string unfinished, int file)
    : path_(std::move(path)), unfinished_(std::move(unfinished)), file_(file) {}

replacing_file::replacing_file(replacing_file&& other) noexcept
    : path_(std::move(other.path_)), unfinished_(std::move(other.unfinished_)),
      file_(std::exchange(other.file_, -1)) {}

replacing_file::~replacing_file() {
  if (file_ < 0)
    return;
  ::unlink(unfinished_.c_str());
  ::close(file_);
}

absl::Status replacing_file::failed(std::string_view what) const {
  return absl::UnavailableError(fmt::format("can't {} {}: {}", what, path_, reason(errno)));
}

absl::Status replacing_file::write(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno != EINTR)
      return failed("write");
    text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status replacing_file::write_at_begin(std::string_view text) {
  if (::pwrite(file_, text.data(), text.size(), 0) != std::ssize(text))
    return failed("write");
  return absl::OkStatus();
}

absl::Status replacing_file::move_in_place() {
  if (::fsync(file_) != 0)
    return failed("write");
  if (std::rename(unfinished_.c_str(), path_.c_str()) != 0)
    return failed("move to");
  ::close(std::exchange(file_, -1));
  if (!sync_directory_of(path_))
    return absl::UnavailableError(fmt::format(
      "{} is written, but its name may not outlive a loss of power: {}", path_, reason(errno)));
  return absl::OkStatus();
}

absl::Status replace_file(const std::string& path, std::string_view text) {
  auto file = replacing_file::of(path);
  if (!file.ok())
    return file.status();
  if (auto written = file->write(text); !written.ok())
    return written;
  return file->move_in_place();
}

} // namespace reprieve
