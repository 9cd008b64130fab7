#include "actors/gateway/gateway_lookup.hpp"

#include "actors/gateway/gateway_admission.hpp"
#include "actors/gateway/gateway_turns.hpp"
#include "state/text/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <type_traits>

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
template <class T>
bool is_asked_for(const gateway_state& state, const get_request& wanted, const T& one) {
  if (!wanted.name.empty() && one.name != wanted.name)
    return false;
  const auto is_in = [&](std::string_view group, std::string_view queue) {
    return (wanted.resource_group.empty() || group == wanted.resource_group)
           && (wanted.queue.empty() || queue == wanted.queue);
  };
  if constexpr (std::is_same_v<T, workload>) {
    return is_in(one.resource_group, one.queue);
  } else if constexpr (std::is_same_v<T, placement>) {
    return is_in(one.cluster, {});
  } else if constexpr (std::is_same_v<T, node> || std::is_same_v<T, disruption_budget>) {
    return is_in(one.resource_group, {});
  } else if constexpr (std::is_same_v<T, pod>) {
    if ((!wanted.node.empty() && one.node != wanted.node)
        || (!wanted.workload.empty() && one.workload != wanted.workload))
      return false;
    if (wanted.resource_group.empty() && wanted.queue.empty())
      return true;
    const auto owner = state.workloads.find(one.workload);
    return owner != state.workloads.end()
           && is_in(owner->second->spec->resource_group, owner->second->spec->queue);
  } else {
    return true;
  }
}

/// Whether the pods that the request asks for are found without a look at many others.
bool are_few(const gateway_state& state, const get_request& wanted) {
  return !wanted.name.empty() || !wanted.node.empty()
         || (!wanted.workload.empty() && state.pods.of(wanted.workload).size() <= most_looked_at);
}

/// Calls `f` with the few pods among which those are that the request asks for.
template <class F>
void each_of_few(const gateway_state& state, const get_request& wanted, F f) {
  if (!wanted.name.empty()) {
    for (const auto& p : state.pods.named(wanted.name))
      f(p);
  } else if (!wanted.node.empty()) {
    if (const auto found = state.nodes.find(wanted.node); found != state.nodes.end())
      for (const auto& p : found->second->pods.shared())
        f(p);
  } else {
    for (const auto& p : state.pods.of(wanted.workload))
      f(p);
  }
}

/// The first node that is not before this one in order.
auto first_node_from(const gateway_state& state, std::string_view name) {
  const auto found = state.nodes.find(name);
  return found == state.nodes.end() ? state.nodes.upper_bound(name) : found;
}

/// The bytes of what may be long in an object: what it costs to copy it, about.
std::size_t bytes_of(const string_map& texts) {
  constexpr std::size_t beside_text = 64;
  std::size_t bytes = 0;
  for (const auto& [key, text] : texts)
    bytes += key.size() + text.size() + beside_text;
  return bytes;
}

std::size_t bytes_of(const node& n) {
  return bytes_of(n.labels) + n.taints.size() * sizeof(taint);
}

std::size_t bytes_of(const workload& w) {
  auto bytes = bytes_of(w.labels);
  for (const auto& group : w.groups)
    bytes += sizeof group + bytes_of(group.pods.labels) + bytes_of(group.pods.annotations)
             + bytes_of(group.pods.node_selector)
             + group.pods.tolerations.size() * sizeof(toleration)
             + group.protected_members.size() * sizeof(std::int32_t);
  return bytes;
}

std::size_t bytes_of(const pod& p) {
  return bytes_of(p.labels) + bytes_of(p.annotations);
}

std::size_t bytes_of(const placement& share) {
  std::size_t bytes = 0;
  for (const auto& one : share.nominations)
    bytes += bytes_of(one);
  return bytes;
}

/// Of those that are never long.
template <class T>
std::size_t bytes_of(const T&) {
  return 0;
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

/// As many as one answer may have, whatever is asked for: they are copied. What one may take when
/// it goes out is less than these bytes.
constexpr std::size_t most_in_an_answer = 500;
constexpr std::size_t most_pods_in_an_answer = 5000;
constexpr std::size_t most_bytes_in_an_answer = std::size_t{4} << 20;
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

  /// Calls `f` with the entries that may be on the page until it ends; `f` shows one.
  template <class Entries, class F>
  void fill(const Entries& entries, F f) {
    // One of many is found by its name, without a look at the others.
    if (!wanted_.name.empty()) {
      if (const auto one = entries.find(wanted_.name); one != entries.end())
        f(*one);
      return;
    }
    auto at = wanted_.after.empty() ? entries.begin() : entries.upper_bound(wanted_.after);
    for (std::size_t looked_at = 0; at != entries.end() && !has_ended(); ++at) {
      if (looked_at++ == most_looked_at) {
        found_.next = std::prev(at)->first;
        return;
      }
      f(*at);
    }
  }

  /// Puts the object on the page where it is asked for; null where it is not.
  template <class T>
  shown_object* show(const T& one) {
    if (!is_asked_for(state_, wanted_, one) || is_aside(one.name))
      return nullptr;
    if (found_.objects.size() == most_ || bytes_ >= most_bytes_in_an_answer) {
      found_.next = place_in_list(found_.objects.back().what);
      return nullptr;
    }
    bytes_ += bytes_of(one);
    return &found_.objects.emplace_back(shown_object{one, {}, {}});
  }

  void show_pods() {
    if (!are_few(state_, wanted_)) {
      show_pods_by_node();
      return;
    }
    std::vector<const pod*> some;
    each_of_few(state_, wanted_, [&](const pod_list::pointer& p) {
      if (is_behind(p->what()) && is_asked_for(state_, wanted_, p->what()))
        some.push_back(&p->what());
    });
    const auto in_order = [](const pod* a, const pod* b) {
      return std::tie(a->node, a->uid) < std::tie(b->node, b->uid);
    };
    const auto shown = std::min(some.size(), most_ + 1);
    std::partial_sort(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(shown), some.end(),
                      in_order);
    for (std::size_t i = 0; i < shown && !has_ended(); ++i)
      show(*some[i]);
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
        fmt::format("there is no {} {}", to_string(wanted_.kind), printable(wanted_.name)));
    return std::move(found_);
  }

private:
  /// Another one has to go on: there is more than this one has room for, or looks at.
  bool has_ended() const {
    return !found_.next.empty();
  }

  /// All pods of a node are looked at together.
  void show_pods_by_node() {
    auto at =
      first_node_from(state_, std::string_view(wanted_.after).substr(0, wanted_.after.find('/')));
    for (std::size_t looked_at = 0; at != state_.nodes.end() && !has_ended(); ++at) {
      const auto& [name, record] = *at;
      if (looked_at >= most_looked_at) {
        found_.next = name + '/';
        return;
      }
      looked_at += 1 + record->pods.size();
      for (auto p = record->pods.begin(); p != record->pods.end() && !has_ended(); ++p)
        if (is_behind(*p))
          show(*p);
    }
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
  std::size_t bytes_ = 0; ///< of what is shown
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
      if (auto* shown = found.show(*one.second->spec); shown && one.second->status != node_status{})
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
      if (auto* shown = found.show(*one.second->spec))
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

first_pods::first_pods(object_kind kind, const std::string& name, std::size_t most) : most_(most) {
  if (kind == object_kind::node)
    wanted_.node = name;
  else if (kind == object_kind::pod)
    wanted_.name = name;
  else if (kind == object_kind::workload)
    wanted_.workload = name;
  else if (kind == object_kind::queue)
    wanted_.queue = name;
  else
    is_of_any_ = false;
}

bool first_pods::look(const gateway_state& state) {
  if (!is_of_any_)
    return true;
  if (next_ || !are_few(state, wanted_))
    return look_on_nodes(state);
  each_of_few(state, wanted_, [&](const pod_list::pointer& p) { add(p); });
  return true;
}

bool first_pods::look_on_nodes(const gateway_state& state) {
  std::size_t looked_at = 0;
  for (auto at = first_node_from(state, next_.value_or("")); at != state.nodes.end(); ++at) {
    if (looked_at >= most_looked_at) {
      next_ = at->first;
      return false;
    }
    const auto& pods = at->second->pods.shared();
    looked_at += 1 + pods.size();
    for (const auto& p : pods)
      if (is_asked_for(state, wanted_, p->what()))
        add(p);
  }
  return true;
}

namespace {

std::string_view uid_in(const pod_list::pointer& p) {
  return p->what().uid;
}

} // namespace

void first_pods::add(const pod_list::pointer& p) {
  ++in_all_;
  if (first_.size() == most_) {
    if (uid_in(p) >= uid_in(first_.front()))
      return;
    std::ranges::pop_heap(first_, {}, uid_in);
    first_.pop_back();
  }
  first_.push_back(p);
  std::ranges::push_heap(first_, {}, uid_in);
}

std::vector<pod> first_pods::take() && {
  std::ranges::sort_heap(first_, {}, uid_in);
  std::vector<pod> pods;
  std::size_t bytes = 0;
  for (const auto& p : first_) {
    if (bytes >= most_bytes_in_an_answer)
      break;
    bytes += bytes_of(p->what());
    pods.push_back(p->what());
  }
  return pods;
}

} // namespace reprieve
