#pragma once

#include "state/model/catalog.hpp"
#include "state/quantities/resources.hpp"

#include <cstdint>
#include <string_view>

namespace reprieve {

/// What workloads ask for, added up by queue. It may be far more than a cluster could have; what is
/// added can be taken away again, so the sums themselves never stop.
class demand_by_queue {
public:
  /// Adds so many times the amounts, or takes them away.
  void add(std::string_view queue, const resources& amounts, std::int64_t times = 1);

  /// Up to `largest_sum` of each resource; what comes to nothing is not there.
  const by_name<resources>& told() const {
    return told_;
  }

private:
  by_name<by_name<wide_int>> sums_;
  by_name<resources> told_;
};

} // namespace reprieve
