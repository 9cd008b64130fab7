#include "state/files/directory_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace reprieve {

namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

std::string holder(int file) {
  std::array<char, 24> text{};
  const auto size = ::pread(file, text.data(), text.size(), 0);
  std::string_view id(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  id = id.substr(0, id.find('\n'));
  return id.empty() ? "another process" : fmt::format("process {}", id);
}

} // namespace

absl::StatusOr<directory_lock> directory_lock::take(const std::filesystem::path& directory) {
  std::error_code failed;
  if (std::filesystem::create_directories(directory, failed))
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, failed);
  if (failed)
    return absl::FailedPreconditionError(
      fmt::format("cannot make the data directory '{}': {}", directory.string(), failed.message()));
  const auto path = directory / "lock";
  directory_lock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.file_ < 0 && errno == ELOOP)
    return absl::FailedPreconditionError(
      fmt::format("'{}' is a symbolic link, and what it leads to would be overwritten: remove it",
                  path.string()));
  if (lock.file_ < 0)
    return absl::FailedPreconditionError(fmt::format(
      "cannot open '{}': {}; the data directory must be writable", path.string(), reason(errno)));
  if (::flock(lock.file_, LOCK_EX | LOCK_NB) != 0)
    return absl::FailedPreconditionError(
      fmt::format("the data directory '{}' is in use by {}: stop it, or give another directory",
                  directory.string(), holder(lock.file_)));
  const auto id = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.file_, 0) != 0
      || ::pwrite(lock.file_, id.data(), id.size(), 0) != static_cast<ssize_t>(id.size()))
    return absl::FailedPreconditionError(
      fmt::format("cannot write '{}': {}", path.string(), reason(errno)));
  return lock;
}

directory_lock::directory_lock(directory_lock&& other) noexcept
    : file_(std::exchange(other.file_, -1)) {}

directory_lock::~directory_lock() {
  if (file_ >= 0)
    ::close(file_);
}

} // namespace reprieve
