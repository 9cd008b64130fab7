#include "actors/gateway/gateway_notes.hpp"

#include "actors/durability/decision_archive.hpp"
#include "state/quantities/quantity.hpp"
#include "state/records/pod_losses.hpp"

#include <fmt/format.h>

#include <map>

namespace reprieve {

namespace {

/// The node's record where it is lost, else null.
const node_record* find_lost(const gateway_state& state, std::string_view node) {
  const auto found = state.nodes.find(node);
  return found == state.nodes.end() || !found->second->status.lost ? nullptr : found->second.get();
}

/// What becomes of pods on a node that is lost; goes on where `they` are the subject.
std::string what_comes(const gateway_state& state, const node_record& lost, bool one) {
  const auto* they = one ? "it" : "they";
  const auto* group = find(state.known->groups, lost.spec->resource_group);
  const auto wait = group == nullptr ? duration{0} : group->lost_node_timeout;
  if (lost.status.pods_lost)
    return fmt::format("{} {} lost with it", they, one ? "is" : "are");
  if (wait == duration{0})
    return fmt::format("{} {} as {} {}, as lostNodeTimeout of resource group {} is 0", they,
                       one ? "stays" : "stay", they, one ? "is" : "are", lost.spec->resource_group);
  return fmt::format("unless the node is heard before, {} {} as lost at {}", they,
                     one ? "counts" : "count", format_time(lost.status.lost_since + wait));
}

/// `who` is there: `a pod is` and the like.
std::string note_on(const gateway_state& state, const node_record& lost, std::string_view who,
                    bool one = true) {
  return fmt::format("{} on node {}, which is lost since {}; {}", who, lost.spec->name,
                     format_time(lost.status.lost_since), what_comes(state, lost, one));
}

void add_losses_of(std::vector<std::string>& notes, const gateway_state& state,
                   const std::string& workload, std::string_view pod = {}) {
  if (const auto found = state.workloads.find(workload); found != state.workloads.end())
    for (auto& one : losses_of(found->second->status, pod))
      notes.push_back(std::move(one));
}

std::vector<std::string> notes_on_workload(const gateway_state& state,
                                           const std::string& workload) {
  std::vector<std::string> notes;
  add_losses_of(notes, state, workload);
  std::map<std::string, std::size_t> on_lost; // by node
  for (const auto& p : state.pods.of(workload))
    if (takes_room(p->what().phase) && find_lost(state, p->what().node) != nullptr)
      ++on_lost[p->what().node];
  for (const auto& [node, pods] : on_lost)
    notes.push_back(pods == 1 ? note_on(state, *find_lost(state, node), "a pod is")
                              : note_on(state, *find_lost(state, node),
                                        fmt::format("{} of its pods are", pods), false));
  return notes;
}

std::vector<std::string> notes_on_pod(const gateway_state& state, const std::string& pod) {
  const auto name = pod.substr(0, pod.find('.')); // with more behind that it is a uid
  std::vector<std::string> notes;
  for (const auto& workload : possible_owners(name))
    add_losses_of(notes, state, workload, name);
  for (const auto& p : state.pods.named(name))
    if (const auto* lost = find_lost(state, p->what().node);
        lost != nullptr && (pod == name || pod == p->what().uid))
      notes.push_back(note_on(state, *lost, "it is"));
  return notes;
}

} // namespace

std::vector<std::string> notes_on_losses(const gateway_state& state,
                                         const explain_request& wanted) {
  if (!wanted.workload.empty())
    return notes_on_workload(state, wanted.workload);
  return wanted.pod.empty() ? std::vector<std::string>{} : notes_on_pod(state, wanted.pod);
}

std::string note_on_full_nodes(const gateway_state& state, std::string_view resource_group) {
  constexpr std::size_t most = 3;
  std::string text;
  std::size_t count = 0;
  for (const auto& [name, record] : state.nodes)
    if (record->status.most_pods && record->spec->resource_group == resource_group
        && ++count <= most)
      text += fmt::format("{}node {} takes {} pods at present", count == 1 ? "" : ", ", name,
                          *record->status.most_pods);
  if (count > most)
    text += fmt::format(", and {} others are limited as well", count - most);
  return text.empty() ? text
                      : text
                          + ", as what these bring with them fills its record (NodeFull); more "
                            "come when something has left";
}

} // namespace reprieve
