#pragma once

#include "state/admission/access_rules.hpp"
#include "state/quantities/time.hpp"

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What there is to say of a call that changes something, or would have.
struct audit_record {
  time_point at = no_time;
  std::string id;    ///< the same in all records of a call
  std::string stage; ///< `begun`, then `ended`; or `refused`, where nothing was begun
  std::string who;   ///< empty where nobody knows
  std::string role;  ///< likewise
  std::string from;  ///< where the call came from
  api_call call = api_call::apply;
  std::vector<touched_object> objects;
  std::string outcome; ///< a code such as `OK` or `PERMISSION_DENIED`; empty where it is begun
  std::string message; ///< why it failed
  std::string trace_id;
  std::uint64_t left_out = 0; ///< refusals before it that have no record
};

/// One line of JSON, without its end. Only the line that begins a call names all objects, as far as
/// there is room.
std::string to_json(const audit_record& record);

/// A file that gets one line for each record, handed to the system before `append` returns.
class audit_log {
public:
  static absl::StatusOr<std::unique_ptr<audit_log>> open(const std::string& path);
  ~audit_log();
  audit_log(const audit_log&) = delete;
  audit_log& operator=(const audit_log&) = delete;

  /// Writes the whole line or nothing of it. Opens the file anew where it was moved away.
  absl::Status append(const audit_record& record);
  /// Likewise of a record's line.
  absl::Status append_line(std::string line);

private:
  explicit audit_log(std::string path) : path_(std::move(path)) {}

  absl::Status open_file();
  bool was_moved_away() const;
  absl::Status unwritable(std::string_view why) const;

  std::string path_;
  std::mutex mutex_;
  int descriptor_ = -1;
};

} // namespace reprieve
