#include "actors/gateway/gateway_snapshot.hpp"

#include "actors/gateway/gateway_confirmation.hpp"
#include "actors/gateway/gateway_routes.hpp"
#include "actors/interfaces/gathering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

/// Placements that were made for deployments that have gone go too, soon.
void leave_out_orphans(cluster_snapshot& taken) {
  std::set<std::string> made; // for those that are there
  for (const auto& group : taken.groups)
    for (const auto& record : group.workloads)
      made.insert(own_placement_name(record->spec->name, record->spec->resource_group));
  std::erase_if(taken.placements, [&](const placement& one) {
    return one.name == own_placement_name(one.deployment, one.cluster) && !made.contains(one.name);
  });
}

/// Asks all at once, so that their answers are of about the same moment.
void ask_all(self_pointer self, std::shared_ptr<cluster_snapshot> into,
             promise<snapshot_result> answer) {
  auto& state = self->state;
  for (const auto& [name, one] : state.placements)
    into->placements.push_back(one);
  std::ranges::sort(into->placements, {}, &placement::name);
  for (const auto& [name, settings] : into->known->groups)
    if (const auto* group = group_named(state, name); group == nullptr || !group->coordinator) {
      answer.deliver(snapshot_result(not_serving(name)));
      return;
    }
  gathering all([into, answer](const absl::Status& how) mutable {
    std::ranges::sort(into->groups, {}, &group_snapshot::name);
    leave_out_orphans(*into);
    into->recount_placements();
    answer.deliver(how.ok() ? snapshot_result(std::move(into)) : snapshot_result(how));
  });
  for (const auto& [name, settings] : into->known->groups)
    all.ask_for<read_group_result>(self, group_named(state, name)->coordinator, read_group{},
                                   [into](read_group_result& found) {
                                     if (found.ok())
                                       into->groups.push_back(*std::move(found));
                                     return found.status();
                                   });
  all.ask_for<by_name<queue_status>>(self, state.serving->queues, read_queues{},
                                     [into](by_name<queue_status>& found) {
                                       into->queues = std::move(found);
                                       return absl::OkStatus();
                                     });
  all.complete();
}

} // namespace

caf::result<snapshot_result> take_snapshot(self_pointer self) {
  auto& state = self->state;
  if (!state.serving || !state.known)
    return snapshot_result(starting());
  auto answer = promise_from<snapshot_result>(self);
  confirm(self, {{object_kind::queue, {}}, {object_kind::placement, {}}},
          [self, answer](const confirmation& found) mutable {
            if (!found.how.ok()) {
              answer.deliver(snapshot_result(found.how));
              return;
            }
            auto begun = std::make_shared<cluster_snapshot>();
            begun->cluster = self->state.serving->schema.cluster;
            begun->known = found.known;
            ask_all(self, std::move(begun), answer);
          });
  return answer;
}

} // namespace reprieve
