#include "preemption/lifecycle_allocation.hpp"

#include "preemption/node_filter.hpp"
#include "state/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace reprieve {

/// Queues without a grant have no limit.
std::string lifecycle_grants::why_not(std::string_view queue, const resources& more) const {
  const auto* granted = granted_ ? find(*granted_, queue) : nullptr;
  if (granted == nullptr)
    return {};
  const auto* used = find(used_, queue);
  for (const auto& [resource, most] : *granted) {
    const auto asked = amount_of(more, resource);
    const auto taken = used == nullptr ? 0 : amount_of(*used, resource);
    if (asked > 0 && taken + asked > most)
      return fmt::format("queue {} has a limit of {} {} here, {} are taken and {} more are asked for",
                         queue, format_quantity(most, resource), resource,
                         format_quantity(taken, resource), format_quantity(asked, resource));
  }
  return {};
}

void lifecycle_grants::take(std::string_view queue, const resources& more) {
  auto& used = used_[std::string(queue)];
  for (const auto& [resource, amount] : more)
    used[resource] += amount;
}

void lifecycle_grants::give_back(std::string_view queue, const resources& less) {
  auto& used = used_[std::string(queue)];
  for (const auto& [resource, amount] : less)
    used[resource] -= amount;
}

resources taken_by_replica(const lifecycle_deployment& who) {
  auto taken = who.pods.requests;
  ++taken[std::string(resource::pods)];
  return taken;
}

lifecycle_allocation::lifecycle_allocation(const cluster_view& view,
                                           const lifecycle_cycle_input& given)
    : view_(view), given_(given), grants_(given) {
  std::map<std::string_view, const placement*> known; // by deployment
  for (const auto& one : given.placements) {
    auto& kept = known[one.deployment];
    if (one.cluster == given.cluster.name && (kept == nullptr || one.name < kept->name))
      kept = &one;
  }
  for (const auto& one : given.deployments) {
    auto& share = shares_.emplace_back();
    share.of = &one;
    if (const auto found = known.find(one.who.name);
        found != known.end() && found->second != nullptr) {
      share.now = *found->second;
      share.exists = true;
    } else {
      share.now.name = own_placement_name(one.who.name, given.cluster.name);
      share.now.deployment = one.who.name;
      share.now.cluster = given.cluster.name;
    }
    share.committed = share.now.committed;
  }
  std::ranges::sort(shares_, [](const counted_share& a, const counted_share& b) {
    return goes_first(a.of->who, b.of->who);
  });
  for (node_row n = 0; n < view.node_rows(); ++n)
    if (view.present(n))
      nodes_.push_back(n);
  std::ranges::sort(nodes_, {}, [&](node_row n) { return std::string_view(view.node_name(n)); });
  room_.reserve(std::size_t{view.node_rows()} * view.width());
  for (node_row n = 0; n < view.node_rows(); ++n)
    room_.insert(room_.end(), view.free(n).begin(), view.free(n).end());
}

void lifecycle_allocation::run() {
  count_pods();
  hold_nominated();
  // The cluster is about to place those, whoever else asks.
  for (auto& share : shares_)
    seat_those_on_their_way(share);
  for (auto& share : shares_)
    give_more(share);
}

void lifecycle_allocation::count_pods() {
  std::map<std::string, std::int32_t, std::less<>> bound;
  for (const auto n : nodes_)
    for (const auto p : view_.pods_on(n))
      if (view_.phase(p) != pod_phase::nominated)
        ++bound[view_.id_of(view_.portion_of(p)).workload];
  for (auto& share : shares_)
    if (const auto found = bound.find(share.of->who.name); found != bound.end())
      share.bound = share.now.assigned = found->second;
    else
      share.now.assigned = 0;
}

void lifecycle_allocation::hold_nominated() {
  for (const auto& share : shares_) {
    const auto& who = share.of->who;
    if (share.now.nominations.empty())
      continue;
    const auto wanted = one_pod_of(who);
    const auto asked = demand_of(view_, wanted);
    if (!asked.unknown_resource.empty())
      continue;
    for (const auto& one : share.now.nominations) {
      const auto n = view_.find_node(one.node);
      if (n == no_row)
        continue;
      held_room held{who.name, who.priority, asked.groups.front().request};
      for (const auto& uid : one.victims)
        if (const auto p = view_.find_pod(uid); p != no_row && view_.node_of(p) == n)
          for (std::size_t c = 0; c < held.amount.size(); ++c)
            held.amount[c] = std::max<std::int64_t>(held.amount[c] - view_.requests(p)[c], 0);
      held_[n].push_back(std::move(held));
    }
  }
}

bool lifecycle_allocation::is_held(const counted_share& share, node_row n, amounts request) const {
  const auto held = held_.find(n);
  if (held == held_.end())
    return false;
  const auto here = std::span{room_}.subspan(std::size_t{n} * view_.width(), view_.width());
  std::vector<wide_int> left{here.begin(), here.end()};
  for (const auto& one : held->second)
    if (one.deployment != share.of->who.name && one.priority >= share.of->who.priority)
      reprieve::take(left, one.amount);
  return !covers(left, request);
}

/// Finds nodes for the pods of one deployment, in order of name.
class lifecycle_allocation::seat_search {
public:
  seat_search(lifecycle_allocation& all, const counted_share& share)
      : all_(all), share_(share), wanted_(one_pod_of(share.of->who)),
        asked_(demand_of(all.view_, wanted_)), filter_(all.view_, asked_) {}

  /// The next that has room, or `no_row`. With `beside_holds`, what is held for others that are no
  /// less important does not count as room.
  node_row find(bool beside_holds) {
    if (!asked_.unknown_resource.empty())
      return no_row;
    // What a node lacks for one replica, it lacks for the next.
    for (; from_ < all_.nodes_.size(); ++from_) {
      const auto n = all_.nodes_[from_];
      if (filter_.suits(0, n) && covers(all_.room(n), request())
          && !(beside_holds && all_.is_held(share_, n, request())))
        return n;
    }
    return no_row;
  }

  void take(node_row n) {
    reprieve::take(all_.room(n), request());
  }

private:
  amounts request() const {
    return asked_.groups.front().request;
  }

  lifecycle_allocation& all_;
  const counted_share& share_;
  preemptor wanted_;
  demand asked_;
  node_filter filter_;
  std::size_t from_ = 0;
};

/// Replicas that are committed and have no pod on a node yet.
void lifecycle_allocation::seat_those_on_their_way(counted_share& share) {
  share.now.committed = std::min(share.now.committed, share.of->wanted);
  if (share.now.committed <= share.bound)
    return;
  seat_search seats{*this, share};
  for (auto coming = share.now.committed - share.bound; coming > 0; --coming) {
    grants_.take(share.of->queue, taken_by_replica(share.of->who));
    if (const auto n = seats.find(false); n != no_row)
      seats.take(n);
    else
      ++share.unseated;
  }
}

void lifecycle_allocation::give_more(counted_share& share) {
  if (share.now.committed >= share.of->wanted)
    return;
  if (share.now.preempted) {
    share.why_no_more = "gets nothing while pods of it go that it lost to others";
    return;
  }
  if (share.unseated > 0)
    return; // there is no room for those that it has
  // Those that were about to go stay.
  share.now.committed = std::max(share.now.committed, std::min(share.bound, share.of->wanted));
  const auto more = taken_by_replica(share.of->who);
  seat_search seats{*this, share};
  while (share.now.committed < share.of->wanted) {
    const auto n = seats.find(true);
    if (n == no_row)
      return;
    if (auto why = grants_.why_not(share.of->queue, more); !why.empty()) {
      auto& blocked = blocked_[share.of->queue];
      for (const auto& [resource, amount] : more)
        blocked[resource] += amount * (share.of->wanted - share.now.committed);
      share.why_no_more = std::move(why);
      return;
    }
    grants_.take(share.of->queue, more);
    seats.take(n);
    ++share.now.committed;
    // Of the rooms that were nominated for it, it has one now: this one, if it is among them.
    auto& nominated = share.now.nominations;
    if (nominated.empty())
      continue;
    const auto found = std::ranges::find(nominated, view_.node_name(n), &nominated_room::node);
    nominated.erase(found != nominated.end() ? found : std::prev(found));
  }
}

} // namespace reprieve
