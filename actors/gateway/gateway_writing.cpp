#include "actors/gateway/gateway_writing.hpp"

#include "actors/gateway/gateway_bundle.hpp"
#include "actors/gateway/gateway_catalog.hpp"
#include "actors/gateway/gateway_routes.hpp"
#include "actors/interfaces/gathering.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "state/membership/membership_rules.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

/// The resource group whose shards own the object.
std::string group_of(const object& o) {
  if (const auto* n = std::get_if<node>(&o))
    return n->resource_group;
  if (const auto* w = std::get_if<workload>(&o))
    return w->resource_group;
  if (const auto* b = std::get_if<disruption_budget>(&o))
    return b->resource_group;
  if (const auto* share = std::get_if<placement>(&o))
    return share->cluster;
  return {};
}

/// What is asked of the shards for a batch.
struct shares_of_batch {
  struct of_nodes {
    node_shard_actor whom;
    put_nodes wanted;
  };
  struct of_workloads {
    workload_shard_actor whom;
    put_workloads wanted;
  };

  put_catalog catalog;
  std::map<std::string, of_nodes> nodes;         ///< by shard
  std::map<std::string, of_workloads> workloads; ///< likewise
  std::optional<std::string> unserved;           ///< a resource group that nobody serves yet
};

shares_of_batch shares_of(const gateway_state& state, const admitted_batch& batch,
                          const batch_terms& terms) {
  shares_of_batch found;
  for (const auto& one : batch) {
    if (in_catalog(kind_of(one->what))) {
      found.catalog.objects.push_back(one->what);
      terms.add(one->what, found.catalog.told);
      continue;
    }
    const auto name = group_of(one->what);
    const auto* group = group_named(state, name);
    if (group == nullptr) {
      found.unserved = name;
      continue;
    }
    const auto shard = [&](char kind, const auto& shards) {
      const auto number =
        shard_number(name_of(one->what), static_cast<std::uint32_t>(shards.size()));
      return std::pair(fmt::format("{}/{}", kind, shard_name(name, number)), shards[number]);
    };
    if (const auto* n = std::get_if<node>(&one->what)) {
      auto [of, whom] = shard('n', group->shards.nodes);
      auto& part = found.nodes[of];
      part.whom = whom;
      part.wanted.nodes.push_back(*n);
      terms.add(one->what, part.wanted.told);
    } else {
      auto [of, whom] = shard('w', group->shards.workloads);
      auto& part = found.workloads[of];
      part.whom = whom;
      part.wanted.objects.push_back(one);
      part.wanted.known_at = terms.known_at;
      terms.add(one->what, part.wanted.told);
    }
  }
  return found;
}

/// Has each shard write its part of a batch by itself.
void write_in_turn(self_pointer self, const shares_of_batch& shares,
                   std::function<void(absl::Status)> done) {
  const auto write_rest = [self, shares](std::function<void(absl::Status)> then) {
    gathering rest(std::move(then));
    for (const auto& [shard, part] : shares.nodes)
      rest.ask(self, part.whom, part.wanted);
    for (const auto& [shard, part] : shares.workloads)
      rest.ask(self, part.whom, part.wanted);
    rest.complete();
  };
  if (shares.catalog.objects.empty()) {
    write_rest(std::move(done));
    return;
  }
  gathering first([done, write_rest](const absl::Status& how) {
    if (how.ok())
      write_rest(done);
    else
      done(how);
  });
  first.ask(self, self->state.serving->queues, shares.catalog);
  first.complete();
}

/// Some may be done where others are not: it can't be tried again with what is told then.
shares_of_batch without_told(shares_of_batch shares) {
  shares.catalog.told.clear();
  for (auto& [shard, part] : shares.nodes)
    part.wanted.told.clear();
  for (auto& [shard, part] : shares.workloads)
    part.wanted.told.clear();
  return shares;
}

/// Makes all of the batch durable, or nothing of it. All its resource groups are served.
void write_served(self_pointer self, std::size_t objects,
                  const std::shared_ptr<const shares_of_batch>& shares,
                  std::function<void(absl::Status)> done) {
  const auto in_turn = [self, shares, objects, done] {
    write_in_turn(self, objects == 1 ? *shares : without_told(*shares), done);
  };
  if (objects == 1 || is_planted(planted_bug::tears_files)) {
    in_turn();
    return;
  }
  const auto add_to = [self, shares](bundle& all) {
    if (!shares->catalog.objects.empty())
      all.add(std::string(queue_tree_shard), self->state.serving->queues, shares->catalog);
    for (const auto& [shard, part] : shares->nodes)
      all.add(shard, part.whom, part.wanted);
    for (const auto& [shard, part] : shares->workloads)
      all.add(shard, part.whom, part.wanted);
  };
  make_together(self, {add_to, in_turn, done}, objects);
}

/// Writes the batch where all its resource groups are served; else says which is not.
std::optional<std::string> write_if_served(self_pointer self, batch_pointer batch,
                                           const batch_terms& terms,
                                           const std::function<void(absl::Status)>& done) {
  const auto shares =
    std::make_shared<const shares_of_batch>(shares_of(self->state, *batch, terms));
  if (!shares->unserved)
    write_served(self, batch->size(), shares, done);
  return shares->unserved;
}

/// Goes on when all resource groups of the batch are served: those that are new in the catalog take
/// a moment to start, and the directory tells when they have.
void write_when_served(self_pointer self, batch_pointer batch, const batch_terms& terms,
                       const std::function<void(absl::Status)>& done) {
  constexpr std::chrono::seconds longest{5};
  if (!write_if_served(self, batch, terms, done))
    return;
  auto& state = self->state;
  const auto number = ++state.waits_for_groups;
  state.for_groups[number] = [self, batch, terms, done] {
    return !write_if_served(self, batch, terms, done);
  };
  self->delayed_send(self, longest, to_do_later{[self, batch, terms, done, number] {
                       if (self->state.for_groups.erase(number) > 0)
                         if (const auto lacking = write_if_served(self, batch, terms, done))
                           done(not_serving(*lacking));
                     }});
}

/// The batch has things for resource groups that come with it. These have to be there first, and go
/// again where nothing comes of the rest.
void write_with_groups(self_pointer self, batch_pointer batch, batch_terms terms,
                       put_catalog groups, std::function<void(absl::Status)> done) {
  groups.unfinished = true;
  remove_catalog otherwise{object_kind::resource_group, {}};
  for (const auto& one : groups.objects) {
    terms.add(one, groups.told);
    otherwise.names.push_back(name_of(one));
  }
  // They are there when the rest comes, and their part of the catalog is not as it was.
  std::erase_if(terms.told, [](const auto& one) { return in_catalog(one.first.kind); });
  const auto written = [self, done, otherwise](const absl::Status& how) {
    if (!how.ok() && is_marked_nothing_changed(how))
      remove_entries(self, otherwise, [done, how](const absl::Status&) { done(how); });
    else
      done(how);
  };
  gathering made([self, batch, terms, done, written](const absl::Status& how) {
    if (how.ok())
      write_when_served(self, batch, terms, written);
    else
      done(how);
  });
  made.ask(self, self->state.serving->queues, std::move(groups));
  made.complete();
}

} // namespace

void look_at_groups(gateway_state& state) {
  auto waiting = std::exchange(state.for_groups, {});
  std::erase_if(waiting, [](const auto& one) { return one.second(); });
  state.for_groups.merge(waiting);
}

void write_batch(self_pointer self, batch_pointer batch, const batch_terms& terms,
                 std::function<void(absl::Status)> done) {
  const auto unserved = write_if_served(self, batch, terms, done);
  if (!unserved)
    return;
  put_catalog groups;
  for (const auto& one : *batch)
    if (const auto* made = std::get_if<resource_group>(&one->what);
        made != nullptr && !self->state.known->groups.contains(made->name))
      groups.objects.push_back(one->what);
  if (groups.objects.empty())
    done(not_serving(*unserved));
  else
    write_with_groups(self, batch, terms, std::move(groups), std::move(done));
}

} // namespace reprieve
