#pragma once

#include "state/model/object.hpp"
#include "state/model/pod_manifest_fields.hpp"

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// Where in a file something was read.
struct source_position {
  std::string file;
  int line = 0; ///< from 1

  bool operator==(const source_position&) const = default;
};

/// An object and where it was written.
struct manifest_object {
  object value;
  source_position where;
  object_status status; ///< in snapshots only; elsewhere what is given as status means nothing
  pod_manifest_fields given{}; ///< of a pod
};

struct manifest_options {
  bool snapshot = false; ///< pods and the status of other objects may stand in it
};

/// The objects in a YAML or JSON text: several documents, or the items of a `List`, in order.
///
/// Checks shape and types only; whether the objects make sense together is for admission. The
/// first error is returned, as one line `file:line: field: what is wrong; what would be right`.
absl::StatusOr<std::vector<manifest_object>>
read_manifests(std::string_view text, std::string_view file_name, manifest_options options = {});

absl::StatusOr<std::vector<manifest_object>> read_manifest_file(const std::string& path,
                                                                manifest_options options = {});

} // namespace reprieve
