#include "protocol/backup_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace reprieve {

namespace {

constexpr std::size_t written_at_once = 1U << 20U;

/// Whether the path still names the open file.
bool is_at(int file, const std::string& path) {
  struct stat opened {};
  struct stat found {};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &found) == 0
         && opened.st_ino == found.st_ino && opened.st_dev == found.st_dev;
}

/// Makes the names in a directory durable.
bool sync_directory(const std::string& path) {
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

absl::StatusOr<std::unique_ptr<backup_file>> backup_file::create(const std::string& path) {
  const auto unfinished = path + ".new";
  const int file = ::open(unfinished.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return absl::InvalidArgumentError(
      fmt::format("can't write {}: {}", unfinished, std::generic_category().message(errno)));
  // Two that write one file would make a mess of it; and one that has just ended has moved it away.
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 || !is_at(file, unfinished)) {
    ::close(file);
    return absl::FailedPreconditionError(fmt::format(
      "another backup is being written to {}; wait for it, or give another file", unfinished));
  }
  auto made = std::unique_ptr<backup_file>(new backup_file(path, file));
  if (::ftruncate(file, 0) != 0)
    return made->failed("write");
  return made;
}

backup_file::~backup_file() {
  if (file_ < 0)
    return;
  ::unlink(unfinished().c_str());
  ::close(file_);
}

absl::Status backup_file::failed(const std::string& what) const {
  return absl::UnavailableError(
    fmt::format("can't {} {}: {}", what, unfinished(), std::generic_category().message(errno)));
}

absl::Status backup_file::flush() {
  for (std::string_view rest = gathered_; !rest.empty();) {
    const auto written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR)
      return failed("write");
    rest.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  bytes_ += std::ssize(gathered_);
  gathered_.clear();
  return absl::OkStatus();
}

absl::Status backup_file::begin(const backup_header& about) {
  auto first = encoder_.begin(about);
  if (!first.ok())
    return first.status();
  about_ = about;
  gathered_ += *first;
  return absl::OkStatus();
}

absl::Status backup_file::add(const backup_record& next) {
  const auto bytes = encoder_.add(next);
  if (!bytes.ok())
    return bytes.status();
  gathered_ += *bytes;
  return gathered_.size() < written_at_once ? absl::OkStatus() : flush();
}

absl::Status backup_file::finish() {
  const auto end = encoder_.finish();
  gathered_ += end.last;
  if (auto written = flush(); !written.ok())
    return written;
  if (::pwrite(file_, end.first.data(), end.first.size(), 0) != std::ssize(end.first))
    return failed("write");
  return move_in_place();
}

absl::Status backup_file::move_in_place() {
  if (::fsync(file_) != 0)
    return failed("write");
  if (std::rename(unfinished().c_str(), path_.c_str()) != 0)
    return failed(fmt::format("move to {}", path_));
  ::close(std::exchange(file_, -1));
  if (!sync_directory(path_))
    return absl::UnavailableError(
      fmt::format("{} is written, but its name may not outlive a loss of power: {}", path_,
                  std::generic_category().message(errno)));
  return absl::OkStatus();
}

} // namespace reprieve
