#include "actors/gateway/gateway_catalog.hpp"

#include "actors/gateway/gateway_bundle.hpp"
#include "actors/gateway/gateway_routes.hpp"
#include "actors/interfaces/gathering.hpp"
#include "state/membership/membership_rules.hpp"

#include <fmt/format.h>

#include <string>

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

/// Has the shards of a resource group know that something goes.
template <class Shards>
void close_all(bundle& all, char kind, const std::string& group, const Shards& shards,
               const close_shard& what) {
  for (std::uint32_t k = 0; k < shards.size(); ++k)
    all.add(fmt::format("{}/{}", kind, shard_name(group, k)), shards[k], what);
}

void end_unfinished(self_pointer self, const std::string& group);

/// Looks later whether more has come with a new resource group. Whoever was to write that may have
/// gone, and everybody looks.
void look_for_contents(self_pointer self, const std::string& group) {
  constexpr std::chrono::seconds time_to_come{60};
  self->delayed_send(self, time_to_come,
                     to_do_later{[self, group] { end_unfinished(self, group); }});
}

/// Nothing has come with the resource group, so that it goes again; or stays, where somebody else
/// has put something there.
void end_unfinished(self_pointer self, const std::string& group) {
  auto& state = self->state;
  if (!state.unfinished.contains(group))
    return;
  remove_entries(self, {object_kind::resource_group, {group}}, [self, group](const auto& how) {
    const auto* known = find(self->state.known->groups, group);
    if (absl::IsFailedPrecondition(how) && known != nullptr) {
      gathering kept([](const absl::Status&) {});
      kept.ask(self, self->state.serving->queues, put_catalog{{*known}});
      kept.complete();
    }
    if (self->state.unfinished.contains(group))
      look_for_contents(self, group);
  });
}

} // namespace

void remove_entries(self_pointer self, const remove_catalog& wanted,
                    std::function<void(absl::Status)> done) {
  const auto in_turn = [self, done, wanted] {
    gathering all(done);
    all.ask(self, self->state.serving->queues, wanted);
    all.complete();
  };
  const auto add_to = [self, wanted](bundle& all) {
    all.add(std::string(queue_tree_shard), self->state.serving->queues, wanted);
    if (wanted.kind != object_kind::resource_group) {
      for (const auto& [name, group] : self->state.serving->groups)
        close_all(all, 'w', name, group.shards.workloads, {wanted.kind, wanted.names});
      return;
    }
    for (const auto& name : wanted.names)
      if (const auto* group = group_named(self->state, name)) {
        close_all(all, 'n', name, group->shards.nodes, {});
        close_all(all, 'w', name, group->shards.workloads, {});
      }
  };
  make_together(self, {add_to, in_turn, done}, wanted.names.size());
}

void apply_catalog(self_pointer self, catalog_update& update) {
  auto& state = self->state;
  if (update.of_bundle)
    ++state.told_of_bundles;
  state.aside.insert_or_assign(std::string(queue_tree_shard),
                               objects_aside{std::move(update.aside)});
  state.known = std::move(update.known);
  state.known_at = update.at;
  for (const auto& group : update.unfinished)
    if (!state.unfinished.contains(group))
      look_for_contents(self, group);
  state.unfinished = std::move(update.unfinished);
}

} // namespace reprieve
