#pragma once

#include "state/model/node.hpp"
#include "state/model/portion.hpp"
#include "state/quantities/time.hpp"

#include <optional>
#include <string>
#include <vector>

namespace reprieve {

enum class workload_kind { batch, inference, interactive, daemon, deployment };

/// What one disruption takes: a single pod, or a whole replica of the group.
enum class disruption_mode { pod, pod_group };

enum class resume_policy { by_kind, always, never };

struct pod_template {
  resources requests;
  string_map labels;
  string_map annotations;
  string_map node_selector;
  std::vector<toleration> tolerations;
  std::optional<std::int32_t> priority; ///< what the pods say themselves; the workload's counts

  bool operator==(const pod_template&) const = default;
};

/// Pods of one template. `replicas` copies of `count` pods each; with `min_count` the group is a
/// gang, of which at least that many start together or none.
struct pod_group {
  std::string name;
  pod_template pods;
  std::int32_t count = 1;
  std::int32_t replicas = 1;
  std::optional<std::int32_t> min_count;
  disruption_mode disruption = disruption_mode::pod;
  std::vector<std::string> topology_keys; ///< outermost first; one domain of each must hold it all
  std::string required_node;
  std::string priority_class; ///< overrides the workload's
  std::optional<std::int32_t> priority;
  std::vector<std::int32_t> protected_members; ///< indices that go only from borrowed room

  bool is_gang() const {
    return min_count.has_value();
  }
  /// How many pods of one replica must have a place before any of them starts.
  std::int32_t needed() const {
    return min_count.value_or(1);
  }
  bool operator==(const pod_group&) const = default;
};

/// How preempted work comes back (docs/policies.md#sessions).
struct resume_settings {
  resume_policy policy = resume_policy::by_kind;
  duration backoff{std::chrono::seconds{10}};
  std::int32_t limit = 10;

  bool operator==(const resume_settings&) const = default;
};

struct checkpoint_settings {
  bool supported = false;
  time_point last = no_time;
  duration time_needed{0}; ///< what one more checkpoint takes

  bool operator==(const checkpoint_settings&) const = default;
};

/// What a user asks for. A lone pod is a workload of one basic group of one pod.
struct workload {
  std::string name;
  string_map labels;
  std::string resource_group = "default";
  std::string queue = "default";
  workload_kind kind = workload_kind::batch;
  bool autoscaled = false;
  std::string priority_class;
  std::optional<std::int32_t> priority;
  std::string preemption_priority_class;
  std::optional<std::int32_t> preemption_priority;
  std::vector<pod_group> groups;
  resume_settings resume;
  checkpoint_settings checkpoint;
  duration minimum_runtime{0};
  duration grace_period{std::chrono::seconds{30}};

  bool operator==(const workload&) const = default;
};

/// Something a user should know about a workload, such as `PodsNotMatchingPriority`.
struct condition {
  std::string type;
  bool status = true;
  std::string reason;
  std::string message;
  time_point since = no_time;

  bool operator==(const condition&) const = default;
};

/// A place of one pod in its workload, and how often that place was filled before.
struct pod_slot {
  std::string group;
  std::int32_t replica = 0;
  std::int32_t index = 0;

  auto operator<=>(const pod_slot&) const = default;
};

/// Resolved priorities: `own` overrides by group, in the order of `workload::groups`.
struct resolved_priority {
  std::int32_t priority = 0;
  std::int32_t preemption_priority = 0;
  bool may_preempt = true;

  bool operator==(const resolved_priority&) const = default;
};

/// One decision that took pods of the workload.
struct past_preemption {
  std::string decision;
  time_point at = no_time;

  bool operator==(const past_preemption&) const = default;
};

/// What admission resolved and what happened since.
struct workload_status {
  std::string uid;
  std::int64_t generation = 0;
  time_point submitted = no_time; ///< its place in the queue; kept when it is preempted
  resolved_priority resolved;
  std::vector<resolved_priority> by_group; ///< one for each pod group
  std::int32_t attempts = 0;               ///< how often it was preempted
  time_point resume_after = no_time;
  /// In the order they came; kept for as long as the guard on their number looks back.
  std::vector<past_preemption> preempted;
  std::vector<condition> conditions;

  bool operator==(const workload_status&) const = default;
};

/// The number of pods the workload asks for in all.
std::int64_t pod_count(const workload& w);

/// The portion that a pod of `group` belongs to.
portion_id portion_of(const workload& w, const pod_group& group, std::int32_t replica,
                      std::int32_t index);

/// The group's position in `w.groups`, or nothing.
std::optional<std::size_t> group_position(const workload& w, std::string_view group);
/// Likewise the group itself, or null.
const pod_group* group_named(const workload& w, std::string_view group);

} // namespace reprieve
