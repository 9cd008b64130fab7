#include "state/model/pod.hpp"

namespace reprieve {

portion_id portion_of(const pod& p) {
  const bool whole = p.disruption == disruption_mode::pod_group;
  return {p.workload, p.group, p.replica, whole ? -1 : p.index};
}

} // namespace reprieve
