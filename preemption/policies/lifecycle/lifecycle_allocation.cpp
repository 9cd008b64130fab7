#include "preemption/policies/lifecycle/lifecycle_allocation.hpp"

#include "preemption/problem/node_filter.hpp"
#include "state/model/queue_limits.hpp"
#include "state/quantities/resource_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace reprieve {

lifecycle_grants::lifecycle_grants(const std::optional<queue_stage_input>& queues,
                                   const replica_needs& asked) {
  if (!queues)
    return;
  in_ = *queues;
  add_demand(in_, asked);
  shares_.emplace(in_);
}

std::string lifecycle_grants::in_the_way(std::string_view queue, const resources& more,
                                         bool from_others) const {
  if (!shares_)
    return {};
  const auto leaf = shares_->leaf_of(queue);
  if (leaf == no_vertex)
    return fmt::format("queue {} does not exist any more", queue);
  const auto asked = shares_->columns_of(more);
  if (const auto limits = shares_->limits_in_the_way(leaf, asked); !limits.empty())
    return shares_->sentence_of(limits.front(), asked);
  const auto share = shares_->share_in_the_way(leaf, asked);
  if (!share || (!from_others && shares_->may_borrow(leaf, asked) && keeps(queue, more)))
    return {};
  return shares_->sentence_of(*share, asked);
}

namespace {

/// What a replica takes is not asked for any more, and who loses one asks for it again. One that
/// comes instead of another that leaves is no more demand than that was.
void move_demand(queue_stage_input& in, const std::string& queue, const resources& amounts,
                 std::int64_t sign) {
  auto& staying = in.totals[queue].staying;
  auto& pending = in.pending[queue];
  auto& again = in.again[queue];
  for (const auto& [resource, amount] : amounts) {
    staying[resource] += sign * amount;
    const auto asked = amount_of(pending, resource) - sign * amount;
    pending[resource] = std::max<std::int64_t>(asked, 0);
    if (asked < 0)
      again[resource] -= asked;
  }
}

} // namespace

bool lifecycle_grants::keeps(std::string_view queue, const resources& more) const {
  auto after = in_;
  move_demand(after, std::string(queue), more, 1);
  const auto has_to_go = [&] {
    const auto result = run_queue_stage(after);
    return std::ranges::any_of(result.queues, [&](const queue_outcome& one) {
      return one.queue == queue && std::ranges::any_of(one.lines, [](const queue_line& line) {
               return line.to_free > 0;
             });
    });
  };
  if (has_to_go())
    return false;
  // Nor when those have gone who leave.
  for (auto& [name, used] : after.totals)
    used.leaving.clear();
  after.again.clear();
  return !has_to_go();
}

void lifecycle_grants::add(std::string_view queue, const resources& amounts, std::int64_t sign) {
  const auto leaf = shares_ ? shares_->leaf_of(queue) : no_vertex;
  if (leaf == no_vertex)
    return;
  shares_->add(leaf, shares_->columns_of(amounts), sign);
  move_demand(in_, std::string(queue), amounts, sign);
}

resources taken_by_replica(const lifecycle_deployment& who) {
  auto taken = who.pods.requests;
  ++taken[std::string(resource::pods)];
  return taken;
}

namespace {

/// Those that are committed and have no pod count as coming, or, before it was seen whether they
/// may have one, as asked for.
replica_needs needs_of(const std::vector<counted_share>& shares, bool with_coming) {
  replica_needs found;
  for (const auto& share : shares) {
    const auto one = taken_by_replica(share.of->who);
    const auto add = [&](by_name<resources>& to, std::int32_t count) {
      if (count > 0)
        add_times(to[share.of->queue], one, count);
    };
    const auto coming = with_coming ? std::max(share.now.committed - share.bound, 0) : 0;
    const auto missing = share.of->wanted - share.bound - share.leaving - coming;
    add(found.coming, coming);
    add(found.again, std::min(-missing, share.leaving));
    if (share.could_run)
      add(found.pending, missing);
  }
  return found;
}

} // namespace

lifecycle_allocation::lifecycle_allocation(const cluster_view& view,
                                           const lifecycle_cycle_input& given)
    : view_(view), given_(given) {
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
  see_who_could_run();
  grants_.emplace(given_.queues, needs_of(shares_, false));
  hold_nominated();
  // The cluster is about to place those, whoever else asks.
  for (auto& share : shares_)
    seat_those_on_their_way(share);
  for (auto& share : shares_)
    keep_those_about_to_go(share);
  // Those first that are within what their queue deserves. Where one of them gets more, the others
  // come after it, as the cluster would place them in its room.
  for (auto& share : shares_)
    give_more(share, gives::what_is_deserved);
  const bool waits = std::ranges::any_of(
    shares_, [](const counted_share& share) { return share.now.committed > share.committed; });
  for (auto& share : shares_)
    give_more(share, waits ? gives::only_reasons : gives::what_is_left);
}

void lifecycle_allocation::count_pods() {
  std::map<std::string, counted_share*, std::less<>> by_deployment;
  for (auto& share : shares_)
    by_deployment.emplace(share.of->who.name, &share);
  const auto count = [&](std::span<const pod_row> pods, std::int32_t counted_share::*of) {
    for (const auto p : pods)
      if (view_.phase(p) != pod_phase::nominated)
        if (const auto found = by_deployment.find(view_.id_of(view_.portion_of(p)).workload);
            found != by_deployment.end())
          ++(found->second->*of);
  };
  for (const auto n : nodes_) {
    count(view_.pods_on(n), &counted_share::bound);
    count(view_.leaving_on(n), &counted_share::leaving);
  }
  for (auto& share : shares_)
    share.now.assigned = share.bound;
}

void lifecycle_allocation::see_who_could_run() {
  for (auto& share : shares_) {
    const auto wanted = one_pod_of(share.of->who);
    const auto asked = demand_of(view_, wanted);
    if (!asked.unknown_resource.empty())
      continue;
    const node_filter filter{view_, asked};
    share.could_run = std::ranges::any_of(nodes_, [&](node_row n) {
      return filter.suits(0, n) && covers(view_.capacity(n), asked.groups.front().request);
    });
  }
}

replica_needs lifecycle_allocation::needs() const {
  return needs_of(shares_, true);
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

/// Replicas that are committed and have no pod on a node yet. Those that no node has room for, or
/// their queue does not allow any more, are taken back: they would take what is made free for
/// others, and hold a part of their queue for nothing.
void lifecycle_allocation::seat_those_on_their_way(counted_share& share) {
  share.now.committed = std::min(share.now.committed, share.of->wanted);
  if (share.now.committed <= share.bound)
    return;
  seat_search seats{*this, share};
  const auto more = taken_by_replica(share.of->who);
  // One may come in the room that another of the same leaves, as long as that is not for others.
  auto rooms_left = share.now.preempted ? 0 : share.leaving;
  for (auto coming = share.now.committed - share.bound; coming > 0; --coming) {
    const auto n = seats.find(false);
    const bool has_room = n != no_row || rooms_left-- > 0;
    auto forbids = has_room ? grants_->in_the_way(share.of->queue, more, false) : std::string{};
    if (!has_room || !forbids.empty()) {
      share.now.committed -= coming;
      share.taken_back = true;
      share.why_no_more = std::move(forbids);
      return;
    }
    grants_->take(share.of->queue, more);
    if (n != no_row)
      seats.take(n);
  }
}

/// Pods of replicas that were taken back and have not gone yet: they stay where their queue allows
/// it, as it would have to allow those that came instead of them.
void lifecycle_allocation::keep_those_about_to_go(counted_share& share) {
  if (share.now.preempted || share.taken_back)
    return;
  const auto one = taken_by_replica(share.of->who);
  while (share.now.committed < std::min(share.bound, share.of->wanted)) {
    grants_->give_back(share.of->queue, one);
    if (auto found = grants_->in_the_way(share.of->queue, one, false); !found.empty()) {
      share.taken_back = true;
      share.why_no_more = std::move(found);
      return;
    }
    grants_->take(share.of->queue, one);
    ++share.now.committed;
  }
}

void lifecycle_allocation::give_more(counted_share& share, gives what) {
  const bool deserved = what == gives::what_is_deserved;
  if (share.now.committed >= share.of->wanted)
    return;
  if (share.now.preempted) {
    share.why_no_more = "gets nothing while pods of it go that it lost to others";
    return;
  }
  if (share.taken_back)
    return; // there is nothing for those that it had
  const auto more = taken_by_replica(share.of->who);
  seat_search seats{*this, share};
  while (share.now.committed < share.of->wanted) {
    const auto n = seats.find(true);
    if (n == no_row)
      return;
    if (auto found = grants_->in_the_way(share.of->queue, more, deserved); !found.empty()) {
      if (!deserved)
        share.why_no_more = std::move(found);
      return;
    }
    if (what == gives::only_reasons)
      return;
    grants_->take(share.of->queue, more);
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
