#include "protocol/access/audit_log.hpp"

#include "state/files/private_file.hpp"
#include "state/quantities/quantity.hpp"
#include "state/text/printable.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>
#include <system_error>

namespace reprieve {

using json = nlohmann::ordered_json;

namespace {

// A caller writes names, and so what an error says of them, as long as it likes; whoever is not
// known, or may not do it, is not to fill the disk.
constexpr std::size_t longest_name = 253; // a right one is not longer
constexpr std::size_t most_names_bytes = 1 << 20;
constexpr std::size_t longest_message = 4096;
constexpr std::size_t most_objects_beside = 10;

std::string beginning_of(std::string_view text, std::size_t most) {
  if (text.size() <= most)
    return std::string(text);
  return fmt::format("{}… ({} bytes in all)", text.substr(0, most), text.size());
}

} // namespace

std::string to_json(const audit_record& record) {
  auto objects = json::array();
  // The line that begins a call has the others, under the same id.
  const bool few = record.who.empty() || record.stage == "refused" || record.stage == "ended";
  const auto listed =
    few ? std::min(record.objects.size(), most_objects_beside) : record.objects.size();
  std::size_t bytes = 0;
  for (const auto& o : std::span(record.objects).first(listed)) {
    // Without what JSON writes six-fold.
    auto name = fmt::format("{}/{}", to_string(o.kind),
                            printable(beginning_of(o.name, longest_name), o.name.size() + 64));
    bytes += name.size();
    if (bytes > most_names_bytes)
      break;
    objects.push_back(std::move(name));
  }
  const auto named = objects.size();
  json line{{"time", format_time(record.at)},
            {"id", record.id},
            {"stage", record.stage},
            {"who", record.who},
            {"role", record.role},
            {"from", record.from},
            {"call", std::string(to_string(record.call))},
            {"objects", std::move(objects)},
            {"outcome", record.outcome},
            {"message", beginning_of(record.message, longest_message)},
            {"trace_id", record.trace_id}};
  if (named < record.objects.size())
    line["objects_in_all"] = record.objects.size();
  if (record.left_out > 0)
    line["refusals_left_out"] = record.left_out;
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<std::unique_ptr<audit_log>> audit_log::open(const std::string& path) {
  auto log = std::unique_ptr<audit_log>(new audit_log(path));
  if (auto opened = log->open_file(); !opened.ok())
    return opened;
  return log;
}

audit_log::~audit_log() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

absl::Status audit_log::append(const audit_record& record) {
  return append_line(to_json(record));
}

absl::Status audit_log::append_line(std::string line) {
  line += '\n';
  const std::lock_guard lock(mutex_);
  if (descriptor_ < 0 || was_moved_away())
    if (auto opened = open_file(); !opened.ok())
      return opened;
  struct stat before {};
  ::fstat(descriptor_, &before);
  for (std::string_view left = line; !left.empty();) {
    const auto written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0) {
      const int why = written == 0 ? ENOSPC : errno;
      // A piece of a line would spoil the next one. Where it can't be cut off, a new line is begun.
      if (left.size() < line.size() && ::ftruncate(descriptor_, before.st_size) != 0)
        (void)!::write(descriptor_, "\n", 1);
      return unwritable(std::generic_category().message(why));
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status audit_log::open_file() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
  descriptor_ = -1;
  const auto opened = open_to_append(path_);
  if (!opened.ok())
    return unwritable(std::string(opened.status().message()));
  descriptor_ = *opened;
  return absl::OkStatus();
}

bool audit_log::was_moved_away() const {
  struct stat named {};
  struct stat opened {};
  return ::stat(path_.c_str(), &named) != 0 || ::fstat(descriptor_, &opened) != 0
         || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev;
}

absl::Status audit_log::unwritable(std::string_view why) const {
  return absl::UnavailableError(fmt::format("the audit file {} can't be written: {}", path_, why));
}

} // namespace reprieve
