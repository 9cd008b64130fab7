#include "actors/gateway/gateway.hpp"

#include "actors/gateway/gateway_admission.hpp"
#include "actors/gateway/gateway_backup.hpp"
#include "actors/gateway/gateway_bundle.hpp"
#include "actors/gateway/gateway_confirmation.hpp"
#include "actors/gateway/gateway_explanation.hpp"
#include "actors/gateway/gateway_heartbeats.hpp"
#include "actors/gateway/gateway_lookup.hpp"
#include "actors/gateway/gateway_routes.hpp"
#include "actors/gateway/gateway_snapshot.hpp"
#include "actors/gateway/gateway_turns.hpp"
#include "actors/interfaces/gathering.hpp"
#include "state/admission/access_rules.hpp"
#include "state/membership/membership_rules.hpp"
#include "state/text/printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = gateway_actor::stateful_pointer<gateway_state>;
using batch_pointer = std::list<admitted_batch>::iterator;

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

/// How a batch is written.
struct batch_terms {
  revision known_at = 0; ///< where the catalog stood that it was let in by
  /// What whoever applies it is told of each object; of none where it is empty.
  std::map<object_reference, apply_outcome> told;

  void add(const object& what, std::vector<apply_outcome>& to) const {
    if (const auto found = told.find({kind_of(what), name_of(what)}); found != told.end())
      to.push_back(found->second);
  }
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

/// What goes into one transaction together, at most.
constexpr std::size_t most_in_a_bundle = 100;

/// Whether all of it can't be done by one transaction, or by replicas that know of that.
bool is_to_be_done_in_turn(const absl::Status& how) {
  return absl::IsOutOfRange(how) || absl::IsUnimplemented(how);
}

/// What is done together, or in turn where that can't be.
struct joint_change {
  std::function<void(bundle&)> together;
  std::function<void()> in_turn;
  std::function<void(absl::Status)> done;
};

void make_together(self_pointer self, const joint_change& change, enum bundle::size size) {
  const auto all = std::make_shared<bundle>(self, size, [=](const absl::Status& how) {
    if (absl::IsOutOfRange(how) && size == bundle::little)
      make_together(self, change, bundle::much);
    else if (is_to_be_done_in_turn(how))
      change.in_turn();
    else
      change.done(how);
  });
  change.together(*all);
  all->start();
}

void make_together(self_pointer self, const joint_change& change, std::size_t objects) {
  make_together(self, change, objects > most_in_a_bundle ? bundle::much : bundle::little);
}

/// Has the shards of a resource group know that something goes.
template <class Shards>
void close_all(bundle& all, char kind, const std::string& group, const Shards& shards,
               const close_shard& what) {
  for (std::uint32_t k = 0; k < shards.size(); ++k)
    all.add(fmt::format("{}/{}", kind, shard_name(group, k)), shards[k], what);
}

/// Removes entries of the catalog. Shards may have got something since it was seen that nothing
/// stands on them: those of a resource group are closed with it, and all who have workloads see to
/// it that none names what goes.
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
  if (objects == 1 || planted == planted_bug::tears_files) {
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

/// Others are served by now.
void look_at_groups(gateway_state& state) {
  auto waiting = std::exchange(state.for_groups, {});
  std::erase_if(waiting, [](const auto& one) { return one.second(); });
  state.for_groups.merge(waiting);
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

/// Makes all of the batch durable, or nothing of it.
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

batch_pointer put_under_way(gateway_state& state, std::vector<admitted> objects) {
  const auto batch = state.under_way.insert(state.under_way.end(), admitted_batch{});
  for (auto& one : objects)
    batch->push_back(std::make_shared<const admitted>(std::move(one)));
  for (const auto& one : *batch) {
    auto& coming = state.coming[kind_of(one->what)][name_of(one->what)];
    coming.forms.push_back(one.get());
    count_if_new(state, coming);
  }
  return batch;
}

void end_under_way(gateway_state& state, batch_pointer batch) {
  for (const auto& one : *batch) {
    auto& of_kind = state.coming[kind_of(one->what)];
    const auto found = of_kind.find(name_of(one->what));
    std::erase(found->second.forms, one.get());
    count_if_new(state, found->second);
    if (found->second.forms.empty())
      of_kind.erase(found);
  }
  state.under_way.erase(batch);
}

constexpr int most_tries = 5;

/// Whether it may be tried again: somebody else changed something meanwhile, and nothing was done.
bool was_in_the_way(const absl::Status& how) {
  return absl::IsAborted(how) && is_marked_nothing_changed(how);
}

/// A workload that is being deleted has to be gone before there is another of its name. Shards see
/// to that; here it is seen before anything is written.
absl::Status check_that_nobody_goes(const gateway_state& state,
                                    const std::vector<object>& objects) {
  for (const auto& one : objects)
    if (const auto* w = std::get_if<workload>(&one))
      if (const auto known = state.workloads.find(w->name);
          known != state.workloads.end() && known->second->deleting)
        return absl::FailedPreconditionError(fmt::format(
          "workload {} is being deleted; apply it again when it has gone", printable(w->name)));
  return absl::OkStatus();
}

void begin_apply(self_pointer self, std::shared_ptr<const apply_request> wanted,
                 promise<apply_result> answer, int tries);

void admit_and_write(self_pointer self, const std::shared_ptr<const apply_request>& asked,
                     const confirmation& found, promise<apply_result> answer, int tries) {
  auto& state = self->state;
  const auto& wanted = *asked;
  for (const auto& one : wanted.objects)
    if (const auto* aside = find_aside(state, kind_of(one), name_of(one))) {
      answer.deliver(apply_result(mark_nothing_changed(cannot_be_made(*aside))));
      return;
    }
  if (auto gone = check_that_nobody_goes(state, wanted.objects); !gone.ok()) {
    answer.deliver(apply_result(mark_nothing_changed(gone)));
    return;
  }
  auto let_in = admit(wanted.objects, *catalog_with_under_way(state, found.known),
                      gateway_admission_facts{state}, wanted.by ? &*wanted.by : nullptr);
  if (!let_in.ok()) {
    answer.deliver(apply_result(let_in.status()));
    return;
  }
  std::vector<apply_outcome> outcomes;
  for (const auto& one : wanted.objects)
    outcomes.push_back(outcome_of(state, one));
  if (wanted.dry_run) {
    answer.deliver(apply_result(std::move(outcomes)));
    return;
  }
  // In the end it is done whatever is told.
  batch_terms terms{found.known_at, {}};
  for (std::size_t i = 0; tries > 0 && i < wanted.objects.size(); ++i)
    terms.told[{kind_of(wanted.objects[i]), name_of(wanted.objects[i])}] = outcomes[i];
  const auto batch = put_under_way(state, *std::move(let_in));
  write_batch(self, batch, terms,
              [self, batch, asked, answer, outcomes, tries](absl::Status how) mutable {
                end_under_way(self->state, batch);
                if (how.ok())
                  answer.deliver(apply_result(std::move(outcomes)));
                else if (was_in_the_way(how) && tries > 0)
                  begin_apply(self, asked, answer, tries - 1);
                else
                  answer.deliver(apply_result(how));
              });
}

/// Whether the group gets settings that all its workloads have to go with.
bool binds_others(const gateway_state& state, const resource_group& g) {
  const auto* before = find(state.known->groups, g.name);
  return before != nullptr
         && (before->policy != g.policy
             || before->preemption_priority_gap != g.preemption_priority_gap);
}

/// Has those confirm what is known who own what the request is about, and goes by that.
void begin_apply(self_pointer self, std::shared_ptr<const apply_request> wanted,
                 promise<apply_result> answer, int tries) {
  auto& state = self->state;
  std::vector<asked_object> about{{object_kind::queue, {}}}; // whose catalog admission goes by
  std::vector<asked_workload> workloads;
  for (const auto& one : wanted->objects) {
    about.push_back({kind_of(one), name_of(one)});
    if (const auto* g = std::get_if<resource_group>(&one); g != nullptr && binds_others(state, *g))
      about.push_back({object_kind::workload, {}, g->name});
    if (const auto* w = std::get_if<workload>(&one))
      workloads.push_back({w->name, w->resource_group});
  }
  const bool only_workloads = workloads.size() == wanted->objects.size();
  auto go_on = [self, wanted, answer, tries](const confirmation& found) mutable {
    if (found.how.ok())
      admit_and_write(self, wanted, found, answer, tries);
    else
      answer.deliver(apply_result(saying_nothing_changed(found.how)));
  };
  if (only_workloads)
    confirm_workloads(self, workloads, std::move(go_on));
  else
    confirm(self, about, std::move(go_on));
}

caf::result<apply_result> apply_all(self_pointer self, apply_request& wanted) {
  if (!self->state.serving || !self->state.known)
    return apply_result(starting());
  auto answer = promise_from<apply_result>(self);
  // Not copied with the functions that it goes along with.
  begin_apply(self, std::make_shared<const apply_request>(std::move(wanted)), answer, most_tries);
  return answer;
}

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

caf::result<absl::Status> delete_all(self_pointer self, const delete_request& wanted) {
  if (!self->state.serving || !self->state.known)
    return starting();
  auto answer = promise_from<absl::Status>(self);
  begin_delete(self, wanted, answer, most_tries);
  return answer;
}

/// What was found, with how old that may be. What was not found may be there by now, where nobody
/// can say.
get_result with_age(get_result found, const confirmation& sure) {
  if (found.ok())
    found->age = sure.age;
  else if (!sure.how.ok())
    return get_result(sure.how);
  return found;
}

/// Whether more is to be looked at than one object that is found by its name.
bool takes_a_while(const get_request& wanted) {
  return wanted.name.empty() || wanted.kind == object_kind::pod;
}

void get_confirmed(self_pointer self, const get_request& wanted, const confirmation& found,
                   promise<get_result> answer) {
  const auto give = [self, wanted, found, answer] {
    answer.deliver(with_age(look_up(self->state, wanted, {}), found));
    return true;
  };
  if (takes_a_while(wanted))
    read_in_turn(self, give);
  else
    give();
}

caf::result<get_result> get(self_pointer self, const get_request& wanted) {
  auto& state = self->state;
  if (!state.serving || !state.known)
    return get_result(starting());
  auto answer = promise_from<get_result>(self);
  confirm(
    self, {{wanted.kind, wanted.name, wanted.resource_group}},
    [self, wanted, answer](const confirmation& found) mutable {
      if (wanted.kind != object_kind::queue || !found.how.ok()) {
        get_confirmed(self, wanted, found, answer);
        return;
      }
      self->request(self->state.serving->queues, answer_time, read_queues{})
        .then(
          [self, wanted, answer](const by_name<queue_status>& queues) mutable {
            answer.deliver(look_up(self->state, wanted, queues));
          },
          [answer](caf::error& error) mutable { answer.deliver(get_result(to_status(error))); });
    });
  return answer;
}

/// Follows the shards that are new in the directory.
void follow_new(self_pointer self, const std::shared_ptr<const directory>& next) {
  auto& state = self->state;
  if (!state.serving || state.serving->queues != next->queues)
    self->send(next->queues, follow_catalog{self});
  const auto is_new = [](const auto& known, const auto& shard) {
    return std::ranges::find(known, shard) == known.end();
  };
  std::set<std::string> unheard;
  for (const auto& [name, group] : next->groups) {
    const auto* before = group_named(state, name);
    const auto known = before == nullptr ? group_shards{} : before->shards;
    const auto follow = [&](const auto& shards, const auto& earlier, char kind, auto wanted) {
      for (std::uint32_t k = 0; k < shards.size(); ++k) {
        auto shard = fmt::format("{}/{}", kind, shard_name(name, k));
        if (is_new(earlier, shards[k]))
          self->send(shards[k], wanted);
        else if (!state.unheard.contains(shard))
          continue;
        unheard.insert(std::move(shard));
      }
    };
    follow(group.shards.nodes, known.nodes, 'n', follow_nodes{self});
    follow(group.shards.workloads, known.workloads, 'w', follow_workloads{self});
  }
  state.unheard = std::move(unheard);
  state.serving = next;
}

} // namespace

gateway_actor::behavior_type limited_gateway(self_pointer self, gateway_limits limits) {
  self->state.limits = limits;
  return gateway(self);
}

gateway_actor::behavior_type gateway(self_pointer self) {
  self->state.started = self->clock().now();
  return {
    [self](apply_request& wanted) { return apply_all(self, wanted); },
    [self](const get_request& wanted) { return get(self, wanted); },
    [self](const describe_request& wanted) { return describe(self, wanted); },
    [self](const delete_request& wanted) { return delete_all(self, wanted); },
    [self](const explain_request& wanted) { return explain(self, wanted); },
    [self](heartbeat_request& alive) { return pass_on(self, alive); },
    [self](backup_page_request& wanted) { return read_backup(self, std::move(wanted)); },
    [self](snapshot_request) { return take_snapshot(self); },
    [self](read_events& wanted) -> caf::result<event_list> {
      if (!self->state.serving)
        return event_list{};
      return self->delegate(self->state.serving->events, std::move(wanted));
    },
    [self](next_events wanted) -> caf::result<event_page> {
      if (!self->state.serving)
        return event_page{};
      return self->delegate(self->state.serving->events, wanted);
    },
    [self](const directory_update& update) {
      follow_new(self, update.serving);
      look_at_groups(self->state);
    },
    [self](node_delta& delta) { apply_delta(self->state, delta); },
    [self](workload_delta& delta) { apply_delta(self->state, delta); },
    [self](catalog_update& update) { apply_catalog(self, update); },
    [](const to_do_later& later) { later.with(); },
  };
}

} // namespace reprieve
