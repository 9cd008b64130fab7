#pragma once

#include <absl/status/status.h>
#include <absl/strings/cord.h>

namespace reprieve {

// An answer such as `kUnavailable` leaves open whether a change was made, unless it says that it
// was not; only then may somebody else be asked for the same.

inline constexpr const char* nothing_changed_mark = "reprieve-nothing-changed";

inline absl::Status nothing_changed(absl::Status why) {
  why.SetPayload(nothing_changed_mark, absl::Cord{});
  return why;
}

inline bool certainly_nothing_changed(const absl::Status& answer) {
  return answer.GetPayload(nothing_changed_mark).has_value();
}

} // namespace reprieve
