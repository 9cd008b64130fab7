#pragma once

namespace reprieve {

/// Which fields of a pod its manifest gave, of those that its workload says otherwise. What was
/// given counts, also where it is what would have been there by default.
struct pod_manifest_fields {
  bool preemption_priority = false;
  bool disruption = false;
  bool daemon = false;
  bool minimum_runtime = false;
  bool grace_period = false;
  bool checkpoint_time = false;

  bool operator==(const pod_manifest_fields&) const = default;
};

} // namespace reprieve
