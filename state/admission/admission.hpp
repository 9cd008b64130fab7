#pragma once

#include "state/admission/admission_priority.hpp"
#include "state/model/caller.hpp"
#include "state/model/catalog.hpp"
#include "state/model/object.hpp"
#include "state/records/record_limits.hpp"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// One rule of the model that an object breaks. The message begins with the field and says what it
/// is and what would be right.
struct refusal {
  object_kind kind = object_kind::node;
  std::string name;
  std::string field; ///< such as `spec.podGroups[0].minCount`
  std::string message;

  bool operator==(const refusal&) const = default;
};

/// `Workload 'train': spec.podGroups[0].minCount is 5; …`
std::string to_string(const refusal& r);

/// What is wrong with a pod of a snapshot, looked at by itself.
std::vector<refusal> check_in_snapshot(const pod& p);

struct object_reference {
  object_kind kind = object_kind::node;
  std::string name;

  auto operator<=>(const object_reference&) const = default;
};

/// How many workloads a queue has, and how many it may have.
struct queue_fill {
  std::int64_t workloads = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// What admission asks about the cluster beyond the catalog.
class admission_facts {
public:
  virtual ~admission_facts() = default;

  /// The resource group that the node is in, or nothing where there is no such node.
  virtual std::optional<std::string> group_of_node(std::string_view name) const = 0;

  /// What the node has, or null where there is no such node.
  virtual const resources* capacity_of_node(std::string_view) const {
    return nullptr;
  }

  /// What all nodes have together.
  virtual by_name<wide_int> capacity_in_all() const {
    return {};
  }

  /// The workload as it was admitted last, or null.
  virtual const workload* find_workload(std::string_view name) const = 0;

  /// The status of the same workload, or null.
  virtual const workload_status* find_status(std::string_view name) const = 0;

  /// Some object outside the catalog that would be left without what it names if this one went:
  /// a workload in a queue, a workload with a priority class, a node, workload, placement or
  /// budget in a resource group, a placement of a deployment.
  virtual std::optional<object_reference> user_of(object_kind kind,
                                                  std::string_view name) const = 0;

  /// Calls `look` with the workloads of the resource group that stay, in order of name, as they
  /// were admitted last, and with the status of those that have one.
  virtual void
  each_workload_in(std::string_view,
                   const std::function<void(const workload&, const workload_status*)>&) const {}

  /// Of the queue, with those that were admitted and are not yet there.
  virtual queue_fill fill_of_queue(std::string_view) const {
    return {};
  }

  /// How many pods the workloads of each queue ask for that stay or are being admitted; a queue
  /// without any may be missing.
  virtual by_name<std::int64_t> pods_by_queue() const {
    return {};
  }

  /// How many resource groups there may be: each has its shards, and who owns them stands in one
  /// record.
  virtual std::size_t most_resource_groups() const {
    return record_limits::resource_groups;
  }
};

/// Of a cluster with nothing in it beyond what exists from the start.
class facts_of_nothing : public admission_facts {
public:
  std::optional<std::string> group_of_node(std::string_view) const override {
    return std::nullopt;
  }
  const workload* find_workload(std::string_view) const override {
    return nullptr;
  }
  const workload_status* find_status(std::string_view) const override {
    return nullptr;
  }
  std::optional<object_reference> user_of(object_kind, std::string_view) const override {
    return std::nullopt;
  }
};

/// An object that may be applied.
struct admitted {
  object what;
  std::optional<resolved_priorities> priorities; ///< of a workload

  bool operator==(const admitted&) const = default;
};

/// Every rule that the batch breaks, object by object in its order, when it is applied as a whole:
/// an object may refer to another that stands anywhere in the batch. Where somebody asks who is no
/// admin, the ceilings of queues hold for the workloads.
std::vector<refusal> check(std::span<const object> batch, const catalog& known,
                           const admission_facts& facts, const caller* by = nullptr);

/// All or nothing. On success the objects come in an order in which they can be applied one by one,
/// the same for every order of the batch; else the first refusal and the number of others.
absl::StatusOr<std::vector<admitted>> admit(std::span<const object> batch, const catalog& known,
                                            const admission_facts& facts,
                                            const caller* by = nullptr);

/// Refuses to remove an object that another refers to.
absl::Status in_use(const object_reference& what, const object_reference& user);

/// Refuses an object that names another which goes.
absl::Status used_goes(const object_reference& what, const object_reference& used);

/// Whether the workload names that queue, priority class or resource group.
bool uses(const workload& w, object_kind kind, std::string_view name);

/// What in the catalog stands on that; nothing where nothing does.
std::optional<object_reference> user_in_catalog(object_kind kind, std::string_view name,
                                                const catalog& known);

/// Refuses to remove what is in use or built in (`kFailedPrecondition`), and what does not exist
/// (`kNotFound`) as far as the catalog and the facts can tell.
absl::Status admit_removal(object_kind kind, std::string_view name, const catalog& known,
                           const admission_facts& facts);
/// Likewise of several of one kind that go together: none of them is in another's way.
absl::Status admit_removals(object_kind kind, std::span<const std::string> names,
                            const catalog& known, const admission_facts& facts);

} // namespace reprieve
