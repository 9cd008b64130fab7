#include "state/admission/admission.hpp"

#include "state/admission/admission_rules.hpp"

#include <tuple>

namespace reprieve {

namespace {

/// Copies the catalog only when the batch changes it, which is rare.
class catalog_after {
public:
  catalog_after(std::span<const object> batch, const catalog& known) : after_{&known} {
    if (std::none_of(batch.begin(), batch.end(),
                     [](const object& o) { return in_catalog(kind_of(o)); }))
      return;
    changed_ = known;
    for (const auto& o : batch)
      put_in(changed_, o);
    after_ = &changed_;
  }
  catalog_after(const catalog_after&) = delete;
  catalog_after& operator=(const catalog_after&) = delete;

  const catalog& operator*() const {
    return *after_;
  }

private:
  catalog changed_;
  const catalog* after_;
};

rules::prospect with_batch(std::span<const object> batch, const catalog& known,
                           const catalog& after, const admission_facts& facts, const caller* by) {
  rules::prospect result{known, after, facts, by, {}, {}, {}, {}, {}, {}, {}, {}};
  for (const auto& o : batch) {
    if (const auto* n = std::get_if<node>(&o))
      result.nodes.emplace(n->name, n);
    else if (const auto* q = std::get_if<queue>(&o))
      result.queues.emplace(q->name, q);
    else if (const auto* w = std::get_if<workload>(&o))
      if (result.workloads.emplace(w->name, w).second && facts.find_workload(w->name) == nullptr)
        ++result.overfilled[w->queue];
  }
  std::erase_if(result.overfilled, [&](const auto& added) {
    const auto fill = facts.fill_of_queue(added.first);
    return added.second <= fill.most - fill.workloads;
  });
  if (!result.queues.empty()) {
    result.guaranteed_below = rules::sum_guaranteed_by_parent(after.queues);
    result.levels_below = rules::count_levels_below(after.queues, result.queues);
  }
  if (!result.nodes.empty())
    result.too_much = rules::too_much_in_all(result);
  result.pods_by_queue = rules::pods_by_queue_with(result);
  return result;
}

std::vector<refusal> check_against(std::span<const object> batch, const catalog& known,
                                   const catalog& after, const admission_facts& facts,
                                   const caller* by) {
  const auto cluster = with_batch(batch, known, after, facts, by);
  std::vector<refusal> refusals;
  std::set<std::pair<object_kind, std::string_view>> seen;
  for (const auto& o : batch) {
    rules::findings out{kind_of(o), name_of(o), refusals};
    if (!seen.emplace(kind_of(o), name_of(o)).second)
      out.refuse("metadata.name", "is that of an earlier {} of the batch; give each object once",
                 to_string(kind_of(o)));
    std::visit([&](const auto& alternative) { rules::check(out, cluster, alternative); }, o);
  }
  return refusals;
}

/// Where a kind stands in the order of application: each after all that it may refer to.
int turn_of(object_kind kind) {
  switch (kind) {
  case object_kind::priority_class:
    return 0;
  case object_kind::resource_group:
    return 1;
  case object_kind::queue:
    return 2;
  case object_kind::node:
    return 3;
  case object_kind::disruption_budget:
    return 4;
  case object_kind::workload:
    return 5;
  case object_kind::placement:
    return 6;
  case object_kind::pod:
    break;
  }
  return 7;
}

/// Within a kind: a class that stops being the global default before the one that becomes it, and
/// queues from the top of the tree.
std::size_t turn_within_kind(const object& o, const catalog& after) {
  if (const auto* c = std::get_if<priority_class>(&o))
    return c->global_default ? 1 : 0;
  if (const auto* q = std::get_if<queue>(&o))
    return rules::depth_of(*q, after.queues);
  return 0;
}

std::vector<const object*> in_order_of_application(std::span<const object> batch,
                                                   const catalog& after) {
  std::vector<std::tuple<int, std::size_t, std::string_view, const object*>> turns;
  turns.reserve(batch.size());
  for (const auto& o : batch)
    turns.emplace_back(turn_of(kind_of(o)), turn_within_kind(o, after), name_of(o), &o);
  std::sort(turns.begin(), turns.end());
  std::vector<const object*> ordered;
  ordered.reserve(turns.size());
  for (const auto& turn : turns)
    ordered.push_back(std::get<const object*>(turn));
  return ordered;
}

bool exists(object_kind kind, std::string_view name, const catalog& known,
            const admission_facts& facts) {
  switch (kind) {
  case object_kind::node:
    return facts.group_of_node(name).has_value();
  case object_kind::queue:
    return known.queues.contains(name);
  case object_kind::priority_class:
    return known.classes.contains(name);
  case object_kind::resource_group:
    return known.groups.contains(name);
  case object_kind::workload:
    return facts.find_workload(name) != nullptr;
  case object_kind::placement:
  case object_kind::disruption_budget:
  case object_kind::pod:
    break;
  }
  return true; // not for admission to know
}

bool is_built_in(object_kind kind, std::string_view name) {
  return (kind == object_kind::queue && name == default_queue)
         || (kind == object_kind::resource_group && name == default_group)
         || (kind == object_kind::priority_class
             && (name == system_node_critical().name || name == system_cluster_critical().name));
}

} // namespace

std::optional<object_reference> user_in_catalog(object_kind kind, std::string_view name,
                                                const catalog& known) {
  if (kind != object_kind::queue)
    return std::nullopt;
  for (const auto& [child, q] : known.queues)
    if (q.parent == name)
      return object_reference{object_kind::queue, child};
  return std::nullopt;
}

bool uses(const workload& w, object_kind kind, std::string_view name) {
  switch (kind) {
  case object_kind::queue:
    return w.queue == name;
  case object_kind::priority_class:
    return w.priority_class == name || w.preemption_priority_class == name
           || std::ranges::any_of(
             w.groups, [&](const pod_group& group) { return group.priority_class == name; });
  case object_kind::resource_group:
    return w.resource_group == name;
  default:
    return false;
  }
}

std::string to_string(const refusal& r) {
  return fmt::format("{} {}: {}", to_string(r.kind), rules::in_quotes(r.name), r.message);
}

std::vector<refusal> check(std::span<const object> batch, const catalog& known,
                           const admission_facts& facts, const caller* by) {
  const catalog_after after{batch, known};
  return check_against(batch, known, *after, facts, by);
}

std::vector<refusal> check_in_snapshot(const pod& p) {
  std::vector<refusal> refusals;
  rules::findings out{object_kind::pod, p.name, refusals};
  rules::check_at_least(out, "spec.replica", p.replica, 0);
  rules::check_at_least(out, "spec.index", p.index, 0);
  rules::check_amounts(out, "spec.requests", p.requests);
  rules::check_wait(out, "spec.minimumRuntime", p.minimum_runtime);
  rules::check_wait(out, "spec.gracePeriod", p.grace_period);
  rules::check_wait(out, "spec.checkpointTimeNeeded", p.checkpoint_time);
  return refusals;
}

absl::StatusOr<std::vector<admitted>> admit(std::span<const object> batch, const catalog& known,
                                            const admission_facts& facts, const caller* by) {
  const catalog_after after{batch, known};
  if (const auto refusals = check_against(batch, known, *after, facts, by); !refusals.empty()) {
    auto message = to_string(refusals.front());
    if (refusals.size() > 1)
      message += fmt::format(" (and {} more)", refusals.size() - 1);
    return absl::InvalidArgumentError(message);
  }
  std::vector<admitted> result;
  result.reserve(batch.size());
  for (const auto* o : in_order_of_application(batch, *after)) {
    auto& one = result.emplace_back(admitted{*o, std::nullopt});
    if (const auto* w = std::get_if<workload>(o))
      one.priorities = resolve_priorities(*w, *after, facts.find_status(w->name));
  }
  return result;
}

absl::Status in_use(const object_reference& what, const object_reference& user) {
  return absl::FailedPreconditionError(
    fmt::format("{} {} is in use by {} {}; remove or change that first", to_string(what.kind),
                rules::in_quotes(what.name), to_string(user.kind), rules::in_quotes(user.name)));
}

absl::Status used_goes(const object_reference& what, const object_reference& used) {
  return absl::NotFoundError(
    fmt::format("{} {}: {} {} is being deleted; name another, or apply that one again first",
                to_string(what.kind), rules::in_quotes(what.name), to_string(used.kind),
                rules::in_quotes(used.name)));
}

namespace {

/// Whether it may go from what is known; `left` is what is left of that.
absl::Status admit_removal_of(object_kind kind, std::string_view name, const catalog& known,
                              const catalog& left, const admission_facts& facts) {
  const auto what = fmt::format("{} {}", to_string(kind), rules::in_quotes(name));
  if (kind == object_kind::pod)
    return absl::FailedPreconditionError(
      fmt::format("{} can't be removed by itself; remove or scale its workload", what));
  if (!exists(kind, name, known, facts))
    return absl::NotFoundError(fmt::format("there is no {}", what));
  if (is_built_in(kind, name))
    return absl::FailedPreconditionError(
      fmt::format("{} is there from the start and can't be removed", what));
  auto user = user_in_catalog(kind, name, left);
  if (!user)
    user = facts.user_of(kind, name);
  return user ? in_use({kind, std::string(name)}, *user) : absl::OkStatus();
}

} // namespace

absl::Status admit_removal(object_kind kind, std::string_view name, const catalog& known,
                           const admission_facts& facts) {
  return admit_removal_of(kind, name, known, known, facts);
}

absl::Status admit_removals(object_kind kind, std::span<const std::string> names,
                            const catalog& known, const admission_facts& facts) {
  std::optional<catalog> left;
  if (kind == object_kind::queue && names.size() > 1) { // others have nothing below them
    left = known;
    for (const auto& name : names)
      remove_from(*left, kind, name);
  }
  for (const auto& name : names)
    if (auto possible = admit_removal_of(kind, name, known, left ? *left : known, facts);
        !possible.ok())
      return possible;
  return absl::OkStatus();
}

} // namespace reprieve
