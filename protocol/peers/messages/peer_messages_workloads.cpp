#include "protocol/messages/convert_decision.hpp"
#include "protocol/messages/convert_disruption_budget.hpp"
#include "protocol/messages/convert_object.hpp"
#include "protocol/messages/convert_placement.hpp"
#include "protocol/messages/convert_pod.hpp"
#include "protocol/messages/convert_slot.hpp"
#include "protocol/messages/convert_workload_status.hpp"
#include "protocol/peers/messages/peer_conversions.hpp"
#include "protocol/peers/messages/peer_messages.hpp"
#include "protocol/peers/messages/peer_set_aside.hpp"
#include "protocol/records/records.hpp"

#include <reprieve/v1/peer.pb.h>

#include <memory>

// What workload shards are told and tell.

namespace reprieve {

// -- objects --------------------------------------------------------------------------------------

static v1::ResolvedPriorities to_proto(const resolved_priorities& from) {
  v1::ResolvedPriorities to;
  *to.mutable_whole() = to_proto(from.whole);
  write_all(from.by_group, *to.mutable_by_group());
  return to;
}

static absl::StatusOr<resolved_priorities> from_proto(const v1::ResolvedPriorities& from) {
  resolved_priorities to;
  field_reader read;
  read.one("whole", from.whole(), to.whole, from_proto);
  read.all("by_group", from.by_group(), to.by_group, from_proto);
  return read.result(std::move(to));
}

static v1::AdmittedObject to_proto(const admitted& from) {
  v1::AdmittedObject to;
  *to.mutable_object() = to_proto(from.what);
  if (from.priorities)
    *to.mutable_priorities() = to_proto(*from.priorities);
  return to;
}

static absl::StatusOr<admitted> from_proto(const v1::AdmittedObject& from) {
  admitted to;
  field_reader read;
  read.one("object", from.object(), to.what, from_proto);
  if (from.has_priorities())
    read.one("priorities", from.priorities(), to.priorities.emplace(), from_proto);
  return read.result(std::move(to));
}

static v1::PutWorkloads to_proto(const put_workloads& from) {
  v1::PutWorkloads to;
  for (const auto& one : from.objects)
    *to.add_objects() = to_proto(*one);
  to.set_known_at(from.known_at);
  for (const auto one : from.told)
    to.add_told(static_cast<int>(one));
  return to;
}

static absl::StatusOr<put_workloads> from_proto(const v1::PutWorkloads& from) {
  put_workloads to;
  field_reader read;
  std::vector<admitted> objects;
  read.all("objects", from.objects(), objects, from_proto);
  for (auto& one : objects)
    to.objects.push_back(std::make_shared<const admitted>(std::move(one)));
  to.known_at = from.known_at();
  for (const auto one : from.told())
    to.told.push_back(static_cast<apply_outcome>(one));
  return read.result(std::move(to));
}

static v1::RemoveWorkloads to_proto(const remove_workloads& from) {
  v1::RemoveWorkloads to;
  to.set_kind(to_proto(from.kind));
  to.mutable_names()->Assign(from.names.begin(), from.names.end());
  return to;
}

static absl::StatusOr<remove_workloads> from_proto(const v1::RemoveWorkloads& from) {
  remove_workloads to;
  field_reader read;
  read.one("kind", from.kind(), to.kind, from_proto);
  to.names.assign(from.names().begin(), from.names().end());
  return read.result(std::move(to));
}

static v1::ForgetWorkloads to_proto(const forget_workloads& from) {
  v1::ForgetWorkloads to;
  to.mutable_names()->Assign(from.names.begin(), from.names.end());
  return to;
}

static absl::StatusOr<forget_workloads> from_proto(const v1::ForgetWorkloads& from) {
  return forget_workloads{{from.names().begin(), from.names().end()}};
}

static v1::SlotEnded to_proto(const slot_ended& from) {
  v1::SlotEnded to;
  to.set_workload(from.workload);
  *to.mutable_slot() = to_proto(slot_record{from.slot, from.incarnation, from.how, {}});
  to.set_lost(from.lost);
  to.set_node(from.node);
  to.set_forgotten(from.forgotten);
  return to;
}

static absl::StatusOr<slot_ended> from_proto(const v1::SlotEnded& from) {
  slot_record at;
  field_reader read;
  read.one("slot", from.slot(), at, from_proto);
  return read.result(slot_ended{from.workload(), std::move(at.slot), at.incarnation, at.state,
                                from.lost(), from.node(), from.forgotten()});
}

static v1::SlotsEnded to_proto(const slots_ended& from) {
  v1::SlotsEnded to;
  for (const auto& one : from.ends)
    *to.add_ends() = to_proto(one);
  return to;
}

static absl::StatusOr<slots_ended> from_proto(const v1::SlotsEnded& from) {
  slots_ended to;
  field_reader read;
  read.all("ends", from.ends(), to.ends, from_proto);
  return read.result(std::move(to));
}

// -- the two-phase commit -------------------------------------------------------------------------

using placed_slot = std::pair<pod_slot, std::uint32_t>;

static v1::SlotRecord to_proto(const placed_slot& from) {
  return to_proto(slot_record{from.first, from.second, slot_state::wanted, {}});
}

static absl::StatusOr<placed_slot> placed_from(const v1::SlotRecord& from) {
  auto read = from_proto(from);
  if (!read.ok())
    return read.status();
  return placed_slot{std::move(read->slot), read->incarnation};
}

static v1::WorkloadPart to_proto(const workload_part& from) {
  v1::WorkloadPart to;
  to.set_workload(from.workload);
  to.set_generation(from.generation);
  write_all(from.placed, *to.mutable_placed());
  write_all(from.evicted, *to.mutable_evicted());
  to.set_loses_replicas(from.loses_replicas);
  to.mutable_evicted_pods()->Assign(from.evicted_pods.begin(), from.evicted_pods.end());
  return to;
}

static absl::StatusOr<workload_part> from_proto(const v1::WorkloadPart& from) {
  workload_part to;
  field_reader read;
  to.workload = from.workload();
  to.generation = from.generation();
  read.all("placed", from.placed(), to.placed, placed_from);
  read.all("evicted", from.evicted(), to.evicted, from_proto);
  to.loses_replicas = from.loses_replicas();
  to.evicted_pods.assign(from.evicted_pods().begin(), from.evicted_pods().end());
  return read.result(std::move(to));
}

static v1::BudgetPart to_proto(const budget_part& from) {
  v1::BudgetPart to;
  to.set_budget(from.budget);
  write_all(from.pods, *to.mutable_pods());
  to.set_over(from.over);
  return to;
}

static absl::StatusOr<budget_part> from_proto(const v1::BudgetPart& from) {
  budget_part to;
  field_reader read;
  to.budget = from.budget();
  read.all("pods", from.pods(), to.pods, from_proto);
  to.over = from.over();
  return read.result(std::move(to));
}

static v1::WorkloadParts to_proto(const workload_parts& from) {
  v1::WorkloadParts to;
  write_all(from.workloads, *to.mutable_workloads());
  write_all(from.budgets, *to.mutable_budgets());
  write_all(from.counts, *to.mutable_counts());
  return to;
}

static absl::StatusOr<workload_parts> from_proto(const v1::WorkloadParts& from) {
  workload_parts to;
  field_reader read;
  read.all("workloads", from.workloads(), to.workloads, from_proto);
  read.all("budgets", from.budgets(), to.budgets, from_proto);
  read.all("counts", from.counts(), to.counts, from_proto);
  return read.result(std::move(to));
}

static v1::PrepareWorkloads to_proto(const prepare<workload_parts>& from) {
  v1::PrepareWorkloads to;
  to.set_decision(from.decision);
  to.set_resource_group(from.resource_group);
  *to.mutable_parts() = to_proto(from.parts);
  return to;
}

static absl::StatusOr<prepare<workload_parts>> from_proto(const v1::PrepareWorkloads& from) {
  prepare<workload_parts> to;
  field_reader read;
  to.decision = from.decision();
  to.resource_group = from.resource_group();
  read.one("parts", from.parts(), to.parts, from_proto);
  return read.result(std::move(to));
}

static v1::ApplyWorkloads to_proto(const apply_parts<workload_parts>& from) {
  v1::ApplyWorkloads to;
  to.set_decision(from.decision);
  *to.mutable_parts() = to_proto(from.parts);
  return to;
}

static absl::StatusOr<apply_parts<workload_parts>> from_proto(const v1::ApplyWorkloads& from) {
  apply_parts<workload_parts> to;
  field_reader read;
  to.decision = from.decision();
  read.one("parts", from.parts(), to.parts, from_proto);
  return read.result(std::move(to));
}

static v1::NotePlacements to_proto(const note_placements& from) {
  v1::NotePlacements to;
  write_all(from.placements, *to.mutable_placements());
  return to;
}

static absl::StatusOr<note_placements> from_proto(const v1::NotePlacements& from) {
  note_placements to;
  field_reader read;
  read.all("placements", from.placements(), to.placements, from_proto);
  return read.result(std::move(to));
}

// -- records --------------------------------------------------------------------------------------

static v1::SlotPageChanges to_proto(const slot_page_changes& from) {
  v1::SlotPageChanges to;
  to.set_workload(from.workload);
  for (const auto& page : from.changed) {
    to.add_changed(encode(*page));
    to.add_numbers(page->number);
  }
  to.mutable_gone()->Assign(from.gone.begin(), from.gone.end());
  return to;
}

static absl::StatusOr<slot_page_changes> from_proto(const v1::SlotPageChanges& from) {
  slot_page_changes to{from.workload(), {}, {from.gone().begin(), from.gone().end()}};
  if (from.numbers_size() != from.changed_size())
    return absl::InvalidArgumentError("numbers is not as long as changed");
  for (int i = 0; i < from.changed_size(); ++i) {
    auto page = decode<slot_page>(from.changed(i));
    if (!page.ok())
      return page.status();
    page->number = from.numbers(i);
    to.changed.push_back(std::make_shared<const slot_page>(*std::move(page)));
  }
  return to;
}

static v1::WorkloadDelta to_proto(const workload_delta& from) {
  v1::WorkloadDelta to;
  to.set_shard(from.shard);
  to.set_number(from.number);
  to.set_everything(from.everything);
  to.set_of_bundle(from.of_bundle);
  to.mutable_changed()->Reserve(static_cast<int>(from.changed.size()));
  for (const auto& record : from.changed)
    to.add_changed(encode(*record));
  to.mutable_removed()->Assign(from.removed.begin(), from.removed.end());
  write_all(from.budgets, *to.mutable_budgets());
  to.mutable_removed_budgets()->Assign(from.removed_budgets.begin(), from.removed_budgets.end());
  write_all(from.placements, *to.mutable_placements());
  to.mutable_removed_placements()->Assign(from.removed_placements.begin(),
                                          from.removed_placements.end());
  write_all(from.pages, *to.mutable_pages());
  write_all(from.aside, *to.mutable_aside());
  return to;
}

static absl::StatusOr<std::shared_ptr<const workload_record>>
record_from(const std::string& bytes) {
  auto record = decode<workload_record>(bytes);
  if (!record.ok())
    return record.status();
  return std::make_shared<const workload_record>(*std::move(record));
}

static absl::StatusOr<workload_delta> from_proto(const v1::WorkloadDelta& from) {
  workload_delta to;
  field_reader read;
  to.shard = from.shard();
  to.number = from.number();
  to.everything = from.everything();
  to.of_bundle = from.of_bundle();
  read.all("changed", from.changed(), to.changed, record_from);
  to.removed.assign(from.removed().begin(), from.removed().end());
  read.all("budgets", from.budgets(), to.budgets, from_proto);
  to.removed_budgets.assign(from.removed_budgets().begin(), from.removed_budgets().end());
  read.all("placements", from.placements(), to.placements, from_proto);
  to.removed_placements.assign(from.removed_placements().begin(), from.removed_placements().end());
  read.all("pages", from.pages(), to.pages, from_proto);
  read.all("aside", from.aside(), to.aside, from_proto);
  return read.result(std::move(to));
}

REPRIEVE_PEER_MESSAGE(put_workloads, v1::PutWorkloads)
REPRIEVE_PEER_MESSAGE(remove_workloads, v1::RemoveWorkloads)
REPRIEVE_PEER_MESSAGE(forget_workloads, v1::ForgetWorkloads)
REPRIEVE_PEER_MESSAGE(slots_ended, v1::SlotsEnded)
REPRIEVE_PEER_MESSAGE(prepare<workload_parts>, v1::PrepareWorkloads)
REPRIEVE_PEER_MESSAGE(apply_parts<workload_parts>, v1::ApplyWorkloads)
REPRIEVE_PEER_MESSAGE(note_placements, v1::NotePlacements)
REPRIEVE_PEER_MESSAGE(workload_delta, v1::WorkloadDelta)

} // namespace reprieve
