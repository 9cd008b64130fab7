#pragma once

#include "state/quantities/time.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace reprieve {

/// For lines of a log that others can cause: so many at once, one more every interval; the next
/// one says how many were left out. From any thread.
class line_limit {
public:
  using instant = std::chrono::steady_clock::time_point;

  explicit line_limit(std::int64_t at_once = 20, duration interval = std::chrono::seconds{3})
      : interval_(interval), burst_(at_once * interval) {}

  /// What is to be written in place of the line; nothing where it is left out.
  std::optional<std::string> pass(const std::string& line, instant now);

private:
  duration interval_;
  duration burst_; ///< how far `full_at_` may lie ahead
  std::mutex mutex_;
  instant full_at_{}; ///< when as many may be written at once as ever
  std::int64_t left_out_ = 0;
};

using line_writer = std::function<void(const std::string&)>;

/// Writes by `write` as many lines as one such limit lets through.
line_writer limited(line_writer write);

} // namespace reprieve
