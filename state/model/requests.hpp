#pragma once

#include "state/model/caller.hpp"
#include "state/model/decision.hpp"
#include "state/model/object.hpp"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprieve {

// What users ask of a cluster, and the answers; the same over every way in.

struct apply_request {
  std::vector<object> objects;
  bool dry_run = false;
  /// Who asks, where that decides what may be asked for; nothing where everything may.
  std::optional<caller> by{};
};

enum class apply_outcome { created, configured, unchanged };

/// What becomes of an object by applying it, where it was `before`, or was not there.
template <class T>
apply_outcome outcome_over(const T* before, const T& next) {
  if (before == nullptr)
    return apply_outcome::created;
  return *before == next ? apply_outcome::unchanged : apply_outcome::configured;
}

using apply_result = absl::StatusOr<std::vector<apply_outcome>>; ///< in the order of the request

struct get_request {
  object_kind kind = object_kind::node;
  std::string name;           ///< empty for all
  std::string resource_group; ///< likewise
  std::string queue;          ///< likewise
  std::string node{};         ///< pods on it; likewise
  std::string workload{};     ///< pods of it; likewise
  std::string after{};        ///< only those behind this place in the list; empty for all
  std::size_t most = 0;       ///< in the answer; 0 for as many as one answer takes
};

/// An object with the status that its kind has.
struct shown_object {
  object what;
  std::optional<workload_status> workload;
  std::optional<queue_status> queue;
  std::optional<node_status> node{};
};
/// What was found, and for how long that may not be the newest: not at all, unless who owns it does
/// not answer.
struct shown_objects {
  std::vector<shown_object> objects;
  duration age{0};
  std::string next{}; ///< where another request goes on behind these; empty where they are all
  /// Names of what can't be read and is left out, told with the first page only, and how many in
  /// all.
  std::vector<std::string> unreadable{};
  std::size_t unreadable_in_all = 0;

  auto begin() const {
    return objects.begin();
  }
  auto end() const {
    return objects.end();
  }
  auto begin() {
    return objects.begin();
  }
  auto end() {
    return objects.end();
  }
  std::size_t size() const {
    return objects.size();
  }
  bool empty() const {
    return objects.empty();
  }
  shown_object& front() {
    return objects.front();
  }
  const shown_object& front() const {
    return objects.front();
  }
};

/// Where an object stands in a list: by name, and pods by their nodes.
inline std::string place_in_list(const object& o) {
  const auto* p = std::get_if<pod>(&o);
  return p == nullptr ? name_of(o) : fmt::format("{}/{}", p->node, p->uid);
}

using get_result = absl::StatusOr<shown_objects>;

/// Something that happened to an object, for people to read.
struct event {
  std::int64_t sequence = 0; ///< given by the log
  time_point at = no_time;
  std::string kind; ///< of the object, as manifests spell it
  std::string name;
  std::string type; ///< one word, such as `Committed` or `Preempted`
  std::string message;
  std::string decision;
  std::string trace_id;

  bool operator==(const event&) const = default;
};

struct describe_request {
  object_kind kind = object_kind::node;
  std::string name;
};

struct description {
  shown_object what;
  std::vector<pod> pods; ///< or the first of them
  std::vector<event> events;
  std::vector<decision> decisions; ///< newest first
  duration age{0};                 ///< as of `shown_objects`
  std::string missing{};           ///< what can't be told at present, and why; empty for nothing
  std::size_t pods_in_all = 0;
};
using describe_result = absl::StatusOr<description>;

struct delete_request {
  object_kind kind = object_kind::node;
  std::vector<std::string> names;
  /// Who asks, where that decides what may go; nothing where everything may.
  std::optional<caller> by{};
  /// Nodes with the pods on them, which are given up for lost; and what can't be read.
  bool force = false;
};

/// Refuses force for what can be read, where it means nothing.
inline absl::Status check_force(const delete_request& wanted) {
  if (!wanted.force || wanted.kind == object_kind::node)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
    fmt::format("a {} can't be deleted by force, which gives up the pods on a node for lost, and "
                "removes what can't be read; leave force out",
                to_string(wanted.kind)));
}

/// Agents say that these nodes are up. One agent may speak for many.
struct heartbeat_request {
  std::vector<std::string> nodes;
  bool last = false; ///< the agent ends: its silence means nothing from now on

  bool operator==(const heartbeat_request&) const = default;
};
using heartbeat_result = absl::StatusOr<std::vector<std::string>>; ///< those that are not known

/// Exactly one is given.
struct explain_request {
  std::string decision;
  std::string workload;
  std::string pod; ///< name or uid
};

struct explanation {
  std::vector<decision> decisions; ///< newest first
  std::string pending_reason;
  duration age{0};                  ///< as of `shown_objects`
  std::string missing{};            ///< as of a `description`
  std::vector<std::string> notes{}; ///< what befell it that nobody decided, in sentences
};
using explain_result = absl::StatusOr<explanation>;

} // namespace reprieve
