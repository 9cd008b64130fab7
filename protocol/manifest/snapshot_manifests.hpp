#pragma once

#include "state/records/cluster_snapshot.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// A snapshot as manifests that read back to the same state, made piece by piece.
class snapshot_manifests {
public:
  explicit snapshot_manifests(std::shared_ptr<const cluster_snapshot> of);

  /// The next part of the text, whole objects of about so many bytes or more; empty after the last.
  std::string next(std::size_t bytes);

private:
  std::vector<std::function<std::string()>> parts_;
  std::size_t given_ = 0; ///< of the parts
};

} // namespace reprieve
