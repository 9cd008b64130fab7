#include "actors/gateway/gateway_delete.hpp"

#include "actors/gateway/gateway_admission.hpp"
#include "actors/gateway/gateway_bundle.hpp"
#include "actors/gateway/gateway_catalog.hpp"
#include "actors/gateway/gateway_confirmation.hpp"
#include "actors/gateway/gateway_lookup.hpp"
#include "actors/gateway/gateway_routes.hpp"
#include "actors/gateway/gateway_tries.hpp"
#include "actors/interfaces/gathering.hpp"
#include "state/admission/access_rules.hpp"
#include "state/text/printable.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

using self_pointer = gateway_pointer;

/// Whose queue a workload is in is known here only.
absl::Status may_delete(const gateway_state& state, const delete_request& wanted) {
  if (!wanted.by)
    return absl::OkStatus();
  auto asked = asked_by(wanted);
  const gateway_admission_facts facts{state};
  for (auto& o : asked.objects)
    if (o.kind == object_kind::workload) {
      if (const auto* known = facts.find_workload(o.name))
        o.queue = known->queue;
      else if (wanted.by->role == caller_role::submitter
               && find_aside(state, o.kind, o.name) != nullptr)
        return absl::PermissionDeniedError(
          fmt::format("workload {} can't be read, nor which queue it is in; to delete it needs the "
                      "role admin",
                      printable(o.name)));
    }
  return check_access(*wanted.by, asked.what, asked.objects);
}

/// What can't be read goes by force only; by force goes nothing else, nodes apart.
absl::Status check_force(const gateway_state& state, const delete_request& wanted,
                         bool all_are_aside) {
  if (wanted.force)
    return all_are_aside ? absl::OkStatus() : check_force(wanted);
  for (const auto& name : wanted.names)
    if (const auto* aside = find_aside(state, wanted.kind, name))
      return cannot_be_read(*aside);
  return absl::OkStatus();
}

/// What is in the way of the removal, or ok where it goes on and `done` is called.
absl::Status remove_all(self_pointer self, const delete_request& wanted,
                        std::shared_ptr<const catalog> durable,
                        const std::function<void(absl::Status)>& done) {
  auto& state = self->state;
  if (auto allowed = may_delete(state, wanted); !allowed.ok())
    return allowed;
  auto readable = wanted.names;
  std::erase_if(readable, [&](const std::string& name) {
    return find_aside(state, wanted.kind, name) != nullptr;
  });
  const bool all_are_aside = readable.empty() && !wanted.names.empty();
  if (auto possible = check_force(state, wanted, all_are_aside); !possible.ok())
    return possible;
  const auto known = catalog_with_under_way(state, std::move(durable));
  if (auto possible = admit_removals(wanted.kind, readable, *known, gateway_admission_facts{state});
      !possible.ok())
    return possible;
  if (in_catalog(wanted.kind) && all_are_aside) {
    gathering one(done);
    one.ask(self, state.serving->queues, remove_catalog{wanted.kind, wanted.names});
    one.complete();
    return absl::OkStatus();
  }
  if (in_catalog(wanted.kind)) {
    remove_entries(self, {wanted.kind, wanted.names}, done);
    return absl::OkStatus();
  }
  std::map<std::string, std::pair<node_shard_actor, remove_nodes>> nodes;
  std::map<std::string, std::pair<workload_shard_actor, remove_workloads>> workloads;
  for (const auto& name : wanted.names) {
    const auto* aside = find_aside(state, wanted.kind, name);
    const auto owner = aside != nullptr ? aside->resource_group : home_of(state, wanted.kind, name);
    const auto* group = owner ? group_named(state, *owner) : nullptr;
    if (group == nullptr)
      return owner ? not_serving(*owner)
                   : absl::NotFoundError(
                     fmt::format("there is no {} {}", to_string(wanted.kind), printable(name)));
    const auto& shards = group->shards;
    const auto number = [&](const auto& of) {
      return shard_number(name, static_cast<std::uint32_t>(of.size()));
    };
    if (wanted.kind == object_kind::node) {
      const auto k = number(shards.nodes);
      auto& [whom, order] = nodes[fmt::format("n/{}", shard_name(*owner, k))];
      whom = shards.nodes[k];
      order.names.push_back(name);
      order.force = wanted.force;
    } else {
      const auto k = number(shards.workloads);
      auto& [whom, order] = workloads[fmt::format("w/{}", shard_name(*owner, k))];
      whom = shards.workloads[k];
      order.kind = wanted.kind;
      order.names.push_back(name);
    }
  }
  const auto in_turn = [self, done, nodes, workloads] {
    gathering all(done);
    for (const auto& [shard, part] : nodes)
      all.ask(self, part.first, part.second);
    for (const auto& [shard, part] : workloads)
      all.ask(self, part.first, part.second);
    all.complete();
  };
  // Nodes that go by force wait for what becomes of their pods.
  if (wanted.names.size() == 1 || wanted.force) {
    in_turn();
    return absl::OkStatus();
  }
  const auto add_to = [nodes, workloads](bundle& all) {
    for (const auto& [shard, part] : nodes)
      all.add(shard, part.first, part.second);
    for (const auto& [shard, part] : workloads)
      all.add(shard, part.first, part.second);
  };
  make_together(self, {add_to, in_turn, done}, wanted.names.size());
  return absl::OkStatus();
}

void begin_delete(self_pointer self, const delete_request& wanted, promise<absl::Status> answer,
                  int tries) {
  auto& state = self->state;
  const auto done = [self, wanted, answer, tries](const absl::Status& how) {
    if (was_in_the_way(how) && tries > 0)
      begin_delete(self, wanted, answer, tries - 1);
    else
      answer.deliver(how);
  };
  auto go_on = [self, wanted, done](const confirmation& found) {
    const auto in_the_way = found.how.ok() ? remove_all(self, wanted, found.known, done)
                                           : saying_nothing_changed(found.how);
    if (!in_the_way.ok())
      done(in_the_way);
  };
  std::vector<asked_object> about;
  std::vector<asked_workload> workloads;
  for (const auto& name : wanted.names) {
    about.push_back({wanted.kind, name});
    const auto known = state.workloads.find(name);
    if (wanted.kind == object_kind::workload && known != state.workloads.end())
      workloads.push_back({name, known->second->spec->resource_group});
  }
  if (!workloads.empty() && workloads.size() == wanted.names.size())
    confirm_workloads(self, workloads, std::move(go_on));
  else
    confirm(self, about, std::move(go_on));
}

} // namespace

caf::result<absl::Status> delete_all(self_pointer self, const delete_request& wanted) {
  if (!self->state.serving || !self->state.known)
    return starting();
  auto answer = promise_from<absl::Status>(self);
  begin_delete(self, wanted, answer, most_tries);
  return answer;
}

} // namespace reprieve
