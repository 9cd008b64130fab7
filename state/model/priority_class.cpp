#include "state/model/priority_class.hpp"

namespace reprieve {

const priority_class& system_node_critical() {
  static const priority_class built_in{"system-node-critical", system_node_critical_value, false,
                                       preemption_policy::preempt_lower_priority};
  return built_in;
}

const priority_class& system_cluster_critical() {
  static const priority_class built_in{"system-cluster-critical", system_cluster_critical_value,
                                       false, preemption_policy::preempt_lower_priority};
  return built_in;
}

} // namespace reprieve
