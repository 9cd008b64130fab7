#pragma once

#include "protocol/backup/backup_format.hpp"
#include "state/files/private_file.hpp"

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace reprieve {

/// Writes a backup that takes its place when it is whole and on the disk: whatever happens, there
/// is the whole backup at `path` or what was there before.
class backup_file final : public backup_sink {
public:
  static absl::StatusOr<std::unique_ptr<backup_file>> create(const std::string& path);

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
  explicit backup_file(replacing_file file) : file_(std::move(file)) {}

  absl::Status flush();

  replacing_file file_;
  backup_encoder encoder_;
  backup_header about_;
  std::string gathered_; ///< goes to the file some at a time
  std::int64_t bytes_ = 0;
};

} // namespace reprieve
