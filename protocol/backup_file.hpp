#pragma once

#include "protocol/backup_format.hpp"

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace reprieve {

/// Writes a backup to `<path>.new` and moves it in place when it is whole and on the disk: whatever
/// happens, there is the whole backup at `path` or what was there before.
class backup_file final : public backup_sink {
public:
  /// Refuses while another process writes there.
  static absl::StatusOr<std::unique_ptr<backup_file>> create(const std::string& path);

  /// Takes what is not whole away.
  ~backup_file() override;

  backup_file(const backup_file&) = delete;
  backup_file& operator=(const backup_file&) = delete;

  absl::Status begin(const backup_header& about) override;
  absl::Status add(const backup_record& next) override;
  absl::Status finish();

  const backup_header& about() const {
    return about_;
  }
  std::int64_t count() const {
    return encoder_.count();
  }
  std::int64_t bytes() const {
    return bytes_;
  }

private:
  backup_file(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string unfinished() const {
    return path_ + ".new";
  }
  absl::Status failed(const std::string& what) const;
  absl::Status flush();
  absl::Status move_in_place();

  std::string path_;
  int file_;
  backup_encoder encoder_;
  backup_header about_;
  std::string gathered_; ///< goes to the file some at a time
  std::int64_t bytes_ = 0;
};

} // namespace reprieve
