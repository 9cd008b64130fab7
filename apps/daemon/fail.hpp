#pragma once

#include <absl/status/status.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace reprieve {

/// Says why the daemon ends; the exit code.
inline int fail(const absl::Status& why) {
  fmt::print(stderr, "reprieved: {}\n", std::string(why.message()));
  return 1;
}

} // namespace reprieve
