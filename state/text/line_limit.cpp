#include "state/text/line_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace reprieve {

std::optional<std::string> line_limit::pass(const std::string& line, instant now) {
  const std::lock_guard lock(mutex_);
  const auto full_at = std::max(full_at_, now) + interval_;
  if (full_at - now > burst_) {
    ++left_out_;
    return std::nullopt;
  }
  full_at_ = full_at;
  const auto left_out = std::exchange(left_out_, 0);
  return left_out == 0 ? line
                       : fmt::format("{} ({} such lines were left out before)", line, left_out);
}

line_writer limited(line_writer write) {
  return
    [write = std::move(write), limit = std::make_shared<line_limit>()](const std::string& line) {
      if (const auto passed = limit->pass(line, std::chrono::steady_clock::now()))
        write(*passed);
    };
}

} // namespace reprieve
