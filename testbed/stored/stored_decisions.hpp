#pragma once

#include "state/model/decision.hpp"
#include "state/store/store.hpp"

#include <cstddef>
#include <string>

namespace reprieve {

/// Finished decisions that are made up for measurements, as replicas leave them in their store:
/// each places one pod of a workload and takes one of another.
struct stored_decisions {
  std::size_t count = 0;
  std::size_t workloads = 1000;              ///< that they are about, in turn
  time_point newest = no_time;               ///< when the last one ended
  duration time{std::chrono::hours{24 * 6}}; ///< in which all of them ended

  static std::string id_of(std::size_t number);
  std::string preemptor_of(std::size_t number) const;
  std::string victim_of(std::size_t number) const;

  /// Writes them with their index and totals.
  void write_to(store& to) const;

  /// Writes them as versions before 5 did.
  void write_as_version_4(store& to) const;

private:
  decision decision_at(std::size_t number) const;
};

} // namespace reprieve
