#include "protocol/backup/backup_file.hpp"

#include <utility>

namespace reprieve {

namespace {

constexpr std::size_t written_at_once = 1U << 20U;

} // namespace

absl::StatusOr<std::unique_ptr<backup_file>> backup_file::create(const std::string& path) {
  auto file = replacing_file::of(path);
  if (!file.ok())
    return file.status();
  return std::unique_ptr<backup_file>(new backup_file(*std::move(file)));
}

absl::Status backup_file::flush() {
  if (auto written = file_.write(gathered_); !written.ok())
    return written;
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
  if (auto written = file_.write_at_begin(end.first); !written.ok())
    return written;
  return file_.move_in_place();
}

} // namespace reprieve
