#pragma once

#include <cstdint>
#include <string>

namespace reprieve {

/// A deployment's share in one cluster whose own scheduler places the pods (seed 000's WP).
struct placement {
  std::string name;
  std::string deployment; ///< the workload
  std::string cluster;    ///< the resource group that stands for the cluster
  std::int32_t committed = 0;
  std::int32_t assigned = 0;
  std::int64_t score = 0;

  std::int32_t surplus() const {
    return assigned > committed ? assigned - committed : 0;
  }
  bool operator==(const placement&) const = default;
};

} // namespace reprieve
