#pragma once

#include "observability/finished_span.hpp"

#include <absl/status/statusor.h>

#include <memory>
#include <span>
#include <string>

namespace reprieve {

/// One line of JSON, without its end; what is not UTF-8 is replaced.
std::string to_json(const finished_span& ended);

/// A file that spans are appended to, one line of JSON each; for its owner alone, and no symbolic
/// link. Not thread-safe.
class span_file {
public:
  static absl::StatusOr<std::unique_ptr<span_file>> open(const std::string& path);

  ~span_file();
  span_file(const span_file&) = delete;
  span_file& operator=(const span_file&) = delete;

  /// False where not all could be written, as on a full disk. A line that was cut off is ended
  /// before the next one, so that a reader loses that line only.
  bool append(std::span<const finished_span> ended);

private:
  explicit span_file(int descriptor);

  bool write(std::string_view text);

  int descriptor_;
  bool cut_off_ = false;
};

} // namespace reprieve
