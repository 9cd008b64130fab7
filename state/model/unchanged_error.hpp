#pragma once

#include <absl/status/status.h>
#include <absl/strings/cord.h>

#include <string>

namespace reprieve {

// An answer such as `kUnavailable` leaves open whether a change was made, unless it says that it
// was not; only then may somebody else be asked for the same.

inline constexpr const char* nothing_changed_mark = "reprieve-nothing-changed";

inline absl::Status mark_nothing_changed(absl::Status why) {
  why.SetPayload(nothing_changed_mark, absl::Cord{});
  return why;
}

/// The same of an answer whose sentence leaves it open.
inline absl::Status saying_nothing_changed(const absl::Status& why) {
  return mark_nothing_changed(
    absl::Status(why.code(), std::string(why.message()) + "; nothing was changed"));
}

inline bool is_marked_nothing_changed(const absl::Status& answer) {
  return answer.GetPayload(nothing_changed_mark).has_value();
}

} // namespace reprieve
