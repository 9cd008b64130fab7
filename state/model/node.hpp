#pragma once

#include "state/quantities/resources.hpp"
#include "state/quantities/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprieve {

enum class taint_effect { no_schedule, no_execute };

/// Keeps pods away that do not tolerate it.
struct taint {
  std::string key;
  std::string value;
  taint_effect effect = taint_effect::no_schedule;

  bool operator==(const taint&) const = default;
};

/// What lets a pod onto a tainted node. An empty key tolerates every key, an absent effect both.
struct toleration {
  std::string key;
  bool any_value = false; ///< `operator: Exists`
  std::string value;
  std::optional<taint_effect> effect;

  bool operator==(const toleration&) const = default;
};

/// Whether `by` lets a pod onto a node with taint `t`.
bool tolerates(const toleration& by, const taint& t);

/// A machine that pods run on.
struct node {
  std::string name;
  std::string resource_group = "default";
  string_map labels; ///< topology keys such as zone and rack are labels
  std::vector<taint> taints;
  resources capacity;
  bool schedulable = true;
  bool ready = true;

  bool operator==(const node&) const = default;
};

/// What a node's heartbeats and pods have come to, as far as a restart must not forget it.
struct node_status {
  bool watched = false; ///< its agent has sent one, so that silence means something
  bool lost = false;    ///< not heard from for longer than its resource group allows
  time_point lost_since = no_time;
  /// Its pods were given up for lost: their workloads go on without them.
  bool pods_lost = false;
  /// Uids of pods that were given up and may run there still. They are stopped when the node is
  /// heard again, before anything new comes.
  std::vector<std::string> left_behind{};
  /// So many pods its record takes at present, where more were to come.
  std::optional<std::int32_t> most_pods{};

  bool operator==(const node_status&) const = default;
};

/// Whether nothing can come to the node, whatever its user says: nobody hears from it, or it has to
/// be rid of what was left on it first.
inline bool is_away(const node_status& status) {
  return status.lost || status.pods_lost || !status.left_behind.empty();
}

} // namespace reprieve
