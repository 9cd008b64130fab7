#pragma once

#include "state/model/caller.hpp"
#include "state/model/requests.hpp"

#include <absl/status/status.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// Everything that can be asked of the API.
enum class api_call { apply, get, describe, remove, explain, heartbeat, events, backup, snapshot };

/// As the API spells it, such as `Delete`.
std::string_view to_string(api_call call);

/// The call of that spelling.
std::optional<api_call> api_call_from(std::string_view text);

/// An object that a call would change.
struct touched_object {
  object_kind kind = object_kind::node;
  std::string name;
  std::string queue{}; ///< of a workload, where it is known

  bool operator==(const touched_object&) const = default;
};

/// What a request asks for, as far as it matters for who may make it.
struct asked_call {
  api_call what = api_call::get;
  bool changes = false; ///< something, if all goes well; a dry run does not
  std::vector<touched_object> objects{};
};

asked_call asked_by(const apply_request& wanted);
asked_call asked_by(const get_request& wanted);
asked_call asked_by(const describe_request& wanted);
asked_call asked_by(const delete_request& wanted); ///< does not know the queues of workloads
asked_call asked_by(const explain_request& wanted);

/// Whether the caller may do this to all of these objects; else `kPermissionDenied` with a sentence
/// that says which right is missing. A workload whose queue is not known is taken for one of the
/// caller's: whoever knows the queue asks again.
absl::Status check_access(const caller& who, api_call what,
                          std::span<const touched_object> objects);

} // namespace reprieve
