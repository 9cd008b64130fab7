#pragma once

#include <absl/status/statusor.h>

#include <filesystem>

namespace reprieve {

/// Holds a directory for this process: an advisory lock on `<directory>/lock`, with our process id
/// written in it. The kernel drops it when the process is gone, however it went.
class directory_lock {
public:
  /// Makes the directory, for this user only, when it is not there.
  static absl::StatusOr<directory_lock> take(const std::filesystem::path& directory);

  directory_lock(directory_lock&& other) noexcept;
  directory_lock& operator=(directory_lock&&) = delete;
  ~directory_lock();

private:
  explicit directory_lock(int file) : file_(file) {}

  int file_;
};

} // namespace reprieve
