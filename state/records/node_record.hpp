#pragma once

#include "state/containers/shared_value.hpp"
#include "state/model/decision.hpp"
#include "state/model/node.hpp"
#include "state/model/pod.hpp"
#include "state/records/pod_list.hpp"

#include <absl/status/status.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// The truth about one node: what it is and which pods are on it
/// (docs/architecture.md#state-in-the-store).
struct node_record {
  shared_value<node> spec;
  pod_list pods;
  node_status status{};

  bool operator==(const node_record&) const = default;
};

/// What a node that was deleted by force may still run, should its machine come back.
struct left_pods {
  std::vector<std::string> uids;

  bool operator==(const left_pods&) const = default;
};

/// Whether new pods may come: neither the user nor its silence says otherwise.
bool takes_pods(const node_record& record);

/// The node as those see it who plan: one that is lost is not ready, whatever the user says, and
/// one whose record is full has no more places for pods than that.
node planned_on(node given, const node_status& status);
node planned_on(const node_record& record);

/// Whether both give the same to plan on, apart from their pods.
bool planned_on_alike(const node_record& a, const node_record& b);

/// What one decision does on one node.
struct node_part {
  std::string node;
  pod_list placed;                  ///< nominated here
  std::vector<std::string> victims; ///< uids that go
  std::vector<std::string> forced;  ///< uids that leave, and are force-deleted now

  bool operator==(const node_part&) const = default;
};

using pod_pointers = std::vector<pod_list::pointer>;

/// The placed pods as records, messages and threads share them.
pod_pointers shared_pods(std::span<const assignment> placements);

/// The parts of a decision by node, in order of name. Victims that are only expected to go have
/// none: their cluster chooses.
std::vector<node_part> parts_of(std::span<const pod_list::pointer> placed,
                                std::span<const victim> victims,
                                std::span<const victim_pod> force_deletes = {});

const pod* find_pod(const node_record& record, std::string_view uid);

/// Whether `wanted` can be promised on the node beside the promises in `holds`: the node takes
/// pods, the victims are there and go in whole portions, and with them gone everything fits,
/// whatever comes of the other decisions (docs/protocol.md#two-phase-commit). `kFailedPrecondition`
/// says what is different from what the plan saw.
absl::Status can_promise(const node_record& record, std::span<const node_part* const> holds,
                         const node_part& wanted);

/// Whether what is placed can be bound now, beside what is on the node, what was granted to other
/// decisions and what `coming` may place at any moment.
absl::Status has_room_now(
  const node_record& record, std::span<const node_part* const> coming, const node_part& wanted,
  const std::function<bool(std::string_view)>& granted = [](std::string_view) { return false; });

/// The pod as one that goes by the decision.
pod_list::pointer chosen_by(std::string_view decision, const pod_list::pointer& p);

/// The record with the decision's part in it. Applying it again changes nothing.
void apply(node_record& record, const node_part& part, std::string_view decision);
/// Likewise of the pods, where `choose` makes of a victim what `chosen_by` does.
void apply(pod_list& pods, const node_part& part,
           const std::function<pod_list::pointer(const pod_list::pointer&)>& choose);

/// Whether the record shows the decision's part: to apply it would change nothing.
bool shows(const node_record& record, const node_part& part, std::string_view decision);

/// Marks the decision's victims as told to stop. Returns the ones that were not told before.
pod_pointers tell_victims(node_record& record, std::string_view decision, time_point now);

/// Whether all pods nominated by the decision can be bound at once: beside what is on the node,
/// what was granted to other decisions and what `coming` may place at any moment, and leaving to
/// the holds of others all but what their own victims still take.
bool room_is_free(
  const node_record& record, std::string_view decision,
  const std::function<bool(std::string_view)>& granted = [](std::string_view) { return false; },
  std::span<const node_part* const> coming = {});

/// Binds what the decision nominated. Returns those pods.
pod_pointers bind_nominated(node_record& record, std::string_view decision, time_point now);

/// Takes the decision's nominations back, and reprieves those of its victims of whose portion none
/// was told. `told` names portions with told pods on any node.
void release(node_record& record, std::string_view decision, std::span<const portion_id> told);

/// Puts what the decision places into the record as bound. Returns those pods.
pod_pointers bind_at_once(node_record& record, const node_part& part, time_point now);

/// Marks those of these pods that terminate, and that no other decision has told to, as being
/// force-deleted by the decision, with no time left to them. Returns these, and those that the
/// decision has marked before.
pod_pointers force_delete(node_record& record, std::span<const std::string> uids,
                          std::string_view decision, time_point now);

/// Puts or replaces a pod by uid.
void put_pod(node_record& record, pod p);

/// Takes the pod out; false when it was not there.
bool erase_pod(node_record& record, std::string_view uid);

} // namespace reprieve
