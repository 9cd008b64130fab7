#include "actors/gateway_answers.hpp"

#include "actors/gateway_facts.hpp"
#include "state/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <tuple>

namespace reprieve {

namespace {

/// The object as it is now, or nothing.
std::optional<object> existing(const gateway_state& state, object_kind kind,
                               const std::string& name) {
  const auto copy = [&](const auto& entries) -> std::optional<object> {
    const auto found = entries.find(name);
    return found == entries.end() ? std::nullopt : std::optional<object>{found->second};
  };
  const auto copy_spec = [&](const auto& records) -> std::optional<object> {
    const auto found = records.find(name);
    return found == records.end() ? std::nullopt : std::optional<object>{found->second->spec};
  };
  switch (kind) {
  case object_kind::node:
    return copy_spec(state.nodes);
  case object_kind::queue:
    return copy(state.known->queues);
  case object_kind::priority_class:
    return copy(state.known->classes);
  case object_kind::resource_group:
    return copy(state.known->groups);
  case object_kind::workload:
    return copy_spec(state.workloads);
  case object_kind::placement:
    return copy(state.placements);
  case object_kind::disruption_budget:
    return copy(state.budgets);
  case object_kind::pod:
    break;
  }
  return std::nullopt;
}

/// Whether the object belongs to the group and queue that the request names.
bool is_asked_for(const gateway_state& state, const get_request& wanted, const object& o) {
  if (!wanted.name.empty() && name_of(o) != wanted.name)
    return false;
  const auto group_is = [&](const std::string& group) {
    return wanted.resource_group.empty() || group == wanted.resource_group;
  };
  const auto queue_is = [&](const std::string& queue) {
    return wanted.queue.empty() || queue == wanted.queue;
  };
  if (const auto* n = std::get_if<node>(&o))
    return group_is(n->resource_group) && queue_is({});
  if (const auto* w = std::get_if<workload>(&o))
    return group_is(w->resource_group) && queue_is(w->queue);
  if (const auto* b = std::get_if<disruption_budget>(&o))
    return group_is(b->resource_group) && queue_is({});
  if (const auto* share = std::get_if<placement>(&o))
    return group_is(share->cluster) && queue_is({});
  if (const auto* p = std::get_if<pod>(&o)) {
    if ((!wanted.node.empty() && p->node != wanted.node)
        || (!wanted.workload.empty() && p->workload != wanted.workload))
      return false;
    const auto owner = state.workloads.find(p->workload);
    return owner == state.workloads.end() ? wanted.resource_group.empty() && wanted.queue.empty()
                                          : group_is(owner->second->spec->resource_group)
                                              && queue_is(owner->second->spec->queue);
  }
  return true;
}

/// Calls `f` with the pods among which those are that the request asks for: not more of them than
/// it must be.
template <class F>
void each_pod(const gateway_state& state, const get_request& wanted, F f) {
  const auto on = [&](const node_record& record) {
    std::for_each(record.pods.begin(), record.pods.end(), f);
  };
  const auto among = [&](const auto& pods) {
    for (const auto& p : pods)
      f(p->what());
  };
  if (!wanted.name.empty()) {
    among(state.pods.named(wanted.name));
  } else if (!wanted.workload.empty()) {
    among(state.pods.of(wanted.workload));
  } else if (!wanted.node.empty()) {
    if (const auto found = state.nodes.find(wanted.node); found != state.nodes.end())
      on(*found->second);
  } else {
    for (const auto& [name, record] : state.nodes)
      on(*record);
  }
}

} // namespace

std::optional<std::string> home_of(const gateway_state& state, object_kind kind,
                                   const std::string& name) {
  switch (kind) {
  case object_kind::node:
    if (const auto found = state.nodes.find(name); found != state.nodes.end())
      return found->second->spec->resource_group;
    break;
  case object_kind::workload:
    if (const auto found = state.workloads.find(name); found != state.workloads.end())
      return found->second->spec->resource_group;
    break;
  case object_kind::disruption_budget:
    if (const auto found = state.budgets.find(name); found != state.budgets.end())
      return found->second.resource_group;
    break;
  case object_kind::placement:
    if (const auto found = state.placements.find(name); found != state.placements.end())
      return found->second.cluster;
    break;
  default:
    break;
  }
  return std::nullopt;
}

apply_outcome outcome_of(const gateway_state& state, const object& o) {
  const auto before = existing(state, kind_of(o), name_of(o));
  return outcome_over(before ? &*before : nullptr, o);
}

namespace {

/// As many as one answer may have, whatever is asked for: they are copied.
constexpr std::size_t most_in_an_answer = 500;
constexpr std::size_t most_pods_in_an_answer = 5000;
constexpr std::size_t most_name_bytes = 253; // as nodes may have; a damaged record may have any

/// Gathers one page of a list, in its order.
class page {
public:
  page(const gateway_state& state, const get_request& wanted)
      : state_(state), wanted_(wanted),
        most_(wanted.kind == object_kind::pod ? most_pods_in_an_answer : most_in_an_answer) {
    if (wanted.most > 0)
      most_ = std::min(most_, wanted.most);
  }

  /// Calls `f` with the entries that may be on the page until it is full; `f` shows one.
  template <class Entries, class F>
  void fill(const Entries& entries, F f) {
    // One of many is found by its name, without a look at the others.
    if (!wanted_.name.empty()) {
      if (const auto one = entries.find(wanted_.name); one != entries.end())
        f(*one);
      return;
    }
    auto at = wanted_.after.empty() ? entries.begin() : entries.upper_bound(wanted_.after);
    for (; at != entries.end() && !is_full(); ++at)
      f(*at);
  }

  /// Puts the object on the page where it is asked for; null where it is not.
  shown_object* show(const object& o) {
    if (!is_asked_for(state_, wanted_, o) || is_aside(name_of(o)))
      return nullptr;
    if (found_.objects.size() == most_) {
      found_.next = place_in_list(found_.objects.back().what);
      return nullptr;
    }
    return &found_.objects.emplace_back(shown_object{o, {}, {}});
  }

  void show_pods() {
    if (wanted_.name.empty() && wanted_.workload.empty() && wanted_.node.empty()) {
      const auto node = wanted_.after.substr(0, wanted_.after.find('/'));
      for (const auto& [name, record] : state_.nodes) {
        if (is_full())
          return;
        if (name >= node)
          for (const auto& p : record->pods)
            if (is_behind(p))
              show(p);
      }
      return;
    }
    std::vector<const pod*> some;
    each_pod(state_, wanted_, [&](const pod& p) {
      if (is_behind(p) && is_asked_for(state_, wanted_, p))
        some.push_back(&p);
    });
    const auto in_order = [](const pod* a, const pod* b) {
      return std::tie(a->node, a->uid) < std::tie(b->node, b->uid);
    };
    const auto shown = std::min(some.size(), most_ + 1);
    std::partial_sort(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(shown), some.end(),
                      in_order);
    for (const auto* p : std::span(some).first(shown))
      show(*p);
  }

  /// Names what would be in the list, could it be read. Its queue, node or workload is not known.
  void name_unreadable() {
    constexpr std::size_t most_named = 100;
    if (!wanted_.name.empty() || !wanted_.after.empty())
      return;
    for (const auto& [shard, objects] : state_.aside)
      for (const auto& [key, one] : objects)
        if (one.kind == wanted_.kind
            && (wanted_.resource_group.empty() || one.resource_group == wanted_.resource_group))
          found_.unreadable.push_back(printable(one.name, most_name_bytes));
    std::ranges::sort(found_.unreadable);
    found_.unreadable_in_all = found_.unreadable.size();
    if (found_.unreadable.size() > most_named)
      found_.unreadable.resize(most_named);
  }

  get_result end() && {
    if (!wanted_.name.empty() && found_.objects.empty() && wanted_.after.empty())
      return absl::NotFoundError(
        fmt::format("there is no {} {}", to_string(wanted_.kind), wanted_.name));
    return std::move(found_);
  }

private:
  /// One more was asked for than there is room for.
  bool is_full() const {
    return !found_.next.empty();
  }

  bool is_aside(const std::string& name) const {
    return !state_.aside.empty() && find_aside(state_, wanted_.kind, name) != nullptr;
  }

  bool is_behind(const pod& p) const {
    const auto& after = wanted_.after;
    const auto slash = after.find('/');
    if (slash == std::string::npos)
      return true;
    const std::string_view node(after.data(), slash);
    return p.node == node ? p.uid > std::string_view(after).substr(slash + 1) : p.node > node;
  }

  const gateway_state& state_;
  const get_request& wanted_;
  std::size_t most_;
  shown_objects found_;
};

} // namespace

get_result look_up(const gateway_state& state, const get_request& wanted,
                   const by_name<queue_status>& queues) {
  if (const auto* aside =
        wanted.name.empty() ? nullptr : find_aside(state, wanted.kind, wanted.name))
    return cannot_be_read(*aside);
  page found(state, wanted);
  switch (wanted.kind) {
  case object_kind::node:
    found.fill(state.nodes, [&](const auto& one) {
      if (auto* shown = found.show(one.second->spec); shown && one.second->status != node_status{})
        shown->node = one.second->status;
    });
    break;
  case object_kind::queue:
    found.fill(state.known->queues, [&](const auto& one) {
      if (auto* shown = found.show(one.second))
        if (const auto* status = find(queues, one.first))
          shown->queue = *status;
    });
    break;
  case object_kind::priority_class:
    found.fill(state.known->classes, [&](const auto& one) { found.show(one.second); });
    break;
  case object_kind::resource_group:
    found.fill(state.known->groups, [&](const auto& one) { found.show(one.second); });
    break;
  case object_kind::workload:
    found.fill(state.workloads, [&](const auto& one) {
      if (auto* shown = found.show(one.second->spec))
        shown->workload = one.second->status;
    });
    break;
  case object_kind::placement:
    found.fill(state.placements, [&](const auto& one) { found.show(one.second); });
    break;
  case object_kind::disruption_budget:
    found.fill(state.budgets, [&](const auto& one) { found.show(one.second); });
    break;
  case object_kind::pod:
    found.show_pods();
    break;
  }
  found.name_unreadable();
  return std::move(found).end();
}

std::vector<pod> pods_of(const gateway_state& state, object_kind kind, std::string_view name) {
  std::vector<pod> pods;
  const auto take_from = [&](const get_request& wanted) {
    each_pod(state, wanted, [&](const pod& p) { pods.push_back(p); });
  };
  get_request wanted;
  if (kind == object_kind::node) {
    wanted.node = name;
    take_from(wanted);
  } else if (kind == object_kind::pod) {
    wanted.name = name;
    take_from(wanted);
  } else if (kind == object_kind::workload) {
    wanted.workload = name;
    take_from(wanted);
  } else if (kind == object_kind::queue) {
    for (const auto& [workload, record] : state.workloads)
      if (record->spec->queue == name) {
        wanted.workload = workload;
        take_from(wanted);
      }
  }
  std::sort(pods.begin(), pods.end(), [](const pod& a, const pod& b) { return a.uid < b.uid; });
  return pods;
}

} // namespace reprieve
