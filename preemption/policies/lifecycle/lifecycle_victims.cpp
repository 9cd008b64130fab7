#include "preemption/policies/lifecycle/lifecycle_victims.hpp"

#include <algorithm>

namespace reprieve {

namespace {

constexpr guards no_guards{};

/// What the phase alone says.
victim_stage stage_by_phase(pod_phase phase, bool leaving) {
  if (phase == pod_phase::force_deleting)
    return victim_stage::force_deleting;
  if (phase == pod_phase::terminating)
    return victim_stage::terminating;
  // A victim of a decision that has not been told yet goes without us, like surplus.
  return leaving || phase == pod_phase::surplus ? victim_stage::surplus : victim_stage::committed;
}

pod_standing why_not_taken(const lifecycle_candidate& one, bool named_surplus) {
  if (named_surplus || one.may_be_scaled_down())
    return pod_standing::last_replica;
  return one.below ? pod_standing::too_often : pod_standing::at_or_above;
}

} // namespace

std::optional<victim_stage> replicas_left::take(bool named_surplus, bool may_scale_down) {
  if (bound <= 1)
    return std::nullopt;
  if (named_surplus || surplus > 0) {
    --bound;
    if (!named_surplus)
      --surplus;
    return victim_stage::surplus;
  }
  if (!may_scale_down || committed <= 1)
    return std::nullopt;
  --bound;
  --committed;
  return victim_stage::committed;
}

// -- pods and replicas ---------------------------------------------------------------------------

lifecycle_victims::lifecycle_victims(const cluster_view& view, const lifecycle_input& given)
    : view_(view), now_(given.now) {
  for (const auto& one : given.deployments)
    owners_[add_owner(one.name)].given = &one;
  for (const auto& one : given.placements) {
    auto& share = shares_[add_share(one.deployment, one.cluster)];
    owners_[share.owner].placed = true;
    if (share.given == nullptr || one.name < share.given->name)
      share.given = &one;
  }
  for (const auto& one : given.clusters)
    limits_.emplace(one.name, one.limits);
  for (const auto& one : given.pods)
    if (const auto row = view.find_pod(one.uid); row != no_row)
      known_.emplace(row, &one);

  first_.push_back(0);
  for (node_row n = 0; n < view.node_rows(); ++n) {
    if (view.present(n)) {
      add_pods(n, view.pods_on(n));
      add_pods(n, view.leaving_on(n));
    }
    first_.push_back(static_cast<std::uint32_t>(entries_.size()));
  }
  count_replicas();
  for (auto& owner : owners_)
    if (const auto lately = given.recent_preemptions.find(owner.name);
        lately != given.recent_preemptions.end())
      owner.recent_preemptions = lately->second;
}

std::uint32_t lifecycle_victims::add_owner(std::string_view name) {
  if (const auto known = owners_by_name_.find(name); known != owners_by_name_.end())
    return known->second;
  const auto number = static_cast<std::uint32_t>(owners_.size());
  owners_.push_back({.name = std::string(name)});
  owners_by_name_.emplace(name, number);
  return number;
}

std::uint32_t lifecycle_victims::add_share(std::string_view workload, std::string_view cluster) {
  const auto owner = add_owner(workload);
  const auto [at, fresh] = shares_by_key_.try_emplace({owner, std::string(cluster)},
                                                      static_cast<std::uint32_t>(shares_.size()));
  if (fresh)
    shares_.push_back({.owner = owner, .cluster = std::string(cluster)});
  return at->second;
}

void lifecycle_victims::add_pods(node_row n, std::span<const pod_row> pods) {
  const auto& cluster = view_.node_at(n).resource_group;
  for (const auto p : pods) {
    const auto phase = view_.phase(p);
    if (phase == pod_phase::nominated)
      continue; // a hold, even where it is given up: somebody decides about it elsewhere
    const bool leaves = view_.leaving(p);
    const auto stage = stage_by_phase(phase, leaves);
    const auto number = add_share(view_.id_of(view_.portion_of(p)).workload, cluster);
    auto& share = shares_[number];
    if (!leaves) {
      ++share.left.bound;
      if (stage == victim_stage::surplus)
        ++share.named_surplus;
    }
    if (stage != victim_stage::committed)
      owners_[share.owner].going = true;
    entries_.push_back({p, number, stage, leaves, nullptr});
  }
}

void lifecycle_victims::count_replicas() {
  for (auto& share : shares_) {
    if (share.given == nullptr)
      continue;
    // Replicas that have no pod on a node would go first: they are given up with the first that
    // has one, so that the cluster has to act (docs/policies.md#lifecycle).
    auto& left = share.left;
    const auto staying = left.bound - share.named_surplus;
    left.committed = std::min(share.given->committed, staying);
    left.surplus = staying - left.committed;
    if (left.surplus > 0)
      owners_[share.owner].going = true;
  }
}

bool lifecycle_victims::is_going(std::string_view workload) const {
  const auto found = owners_by_name_.find(workload);
  return found != owners_by_name_.end() && owners_[found->second].going;
}

time_point lifecycle_victims::grace_over(pod_row p) const {
  const auto known = known_.find(p);
  return known == known_.end() ? no_time : known->second->grace_over;
}

std::string lifecycle_victims::name_of(pod_row p) const {
  const auto known = known_.find(p);
  return known == known_.end() ? view_.pod_uid(p) : known->second->name;
}

/// At least that of its deployment in this phase: with less, two could preempt each other in turn
/// (docs/policies.md#lifecycle).
std::int32_t lifecycle_victims::priority_of(std::uint32_t entry) const {
  const auto own = view_.priority(entries_[entry].pod);
  const auto* deployment = owners_[shares_[entries_[entry].share].owner].given;
  return deployment == nullptr ? own : std::max(own, deployment->priority);
}

const guards& lifecycle_victims::limits_on(node_row n) const {
  const auto found = limits_.find(view_.node_at(n).resource_group);
  return found == limits_.end() ? no_guards : found->second;
}

// -- who may go, in which order ------------------------------------------------------------------

/// As far as it does not depend on who else goes. Guards are for those who would stay otherwise.
pod_standing lifecycle_victims::judge(const entry_type& entry, node_row n) const {
  const auto p = entry.pod;
  if (entry.matched_to != nullptr)
    return pod_standing::matched;
  if (view_.is_daemon(p))
    return pod_standing::daemon;
  if (entry.leaves)
    return pod_standing::candidate;
  const auto card = view_.card(view_.portion_of(p));
  if (!card.evictable)
    return pod_standing::protected_member;
  if (entry.by_phase == victim_stage::surplus)
    return pod_standing::candidate;
  if (card.group)
    return pod_standing::whole_replica;
  if (shares_[entry.share].given == nullptr)
    return pod_standing::unmanaged;
  const auto& limits = limits_on(n);
  if (limits.opt_out_is_veto && view_.opted_out(p))
    return pod_standing::opted_out;
  if (const auto started = view_.started(p);
      started != no_time && now_ - started < std::max(limits.minimum_runtime, card.minimum_runtime))
    return pod_standing::too_young;
  return pod_standing::candidate;
}

/// This is only in the way of scaling it down: the one who goes since it was scaled down the last
/// time must be found again.
bool lifecycle_victims::too_often(const entry_type& entry, node_row n) const {
  const auto most = limits_on(n).preemptions_per_workload_per_hour;
  return most && owners_[shares_[entry.share].owner].recent_preemptions >= *most;
}

std::vector<lifecycle_candidate>
lifecycle_victims::candidates_on(node_row n, const lifecycle_deployment& who,
                                 std::vector<lifecycle_passed>* passed) const {
  auto found = collect(n, who, passed);
  restage(found, passed);
  return found;
}

std::vector<lifecycle_candidate>
lifecycle_victims::candidates_among(std::span<const pod_row> pods, node_row n,
                                    const lifecycle_deployment& who) const {
  auto found = collect(n, who, nullptr);
  std::erase_if(found,
                [&](const auto& one) { return std::ranges::find(pods, one.pod) == pods.end(); });
  restage(found);
  return found;
}

std::vector<lifecycle_candidate>
lifecycle_victims::collect(node_row n, const lifecycle_deployment& who,
                           std::vector<lifecycle_passed>* passed) const {
  std::vector<lifecycle_candidate> found;
  const auto scored = who.scores.find(view_.node_at(n).resource_group);
  const auto score = scored == who.scores.end() ? 0 : scored->second;
  for (auto e = first_[n]; e < first_[n + 1]; ++e) {
    const auto standing = judge(entries_[e], n);
    if (standing == pod_standing::candidate) {
      const auto priority = priority_of(e);
      found.push_back({.entry = e,
                       .pod = entries_[e].pod,
                       .priority = priority,
                       .score = score,
                       .below = priority < who.priority,
                       .too_often = too_often(entries_[e], n)});
    } else if (passed != nullptr) {
      passed->push_back({e, standing});
    }
  }
  return found;
}

void lifecycle_victims::restage(std::vector<lifecycle_candidate>& some,
                                std::vector<lifecycle_passed>* passed) const {
  const auto preferred = [this](const lifecycle_candidate& a, const lifecycle_candidate& b) {
    const auto order = compare(a, b);
    return order != 0 ? order < 0 : view_.pod_uid(a.pod) > view_.pod_uid(b.pod);
  };
  for (auto& one : some)
    one.stage = entries_[one.entry].by_phase;
  std::ranges::sort(some, preferred);

  tried_.forget_all();
  std::size_t kept = 0;
  for (auto one : some) {
    const auto& entry = entries_[one.entry];
    if (!entry.leaves) {
      auto& left = tried_[entry.share];
      if (!left)
        left = shares_[entry.share].left;
      const bool named = entry.by_phase == victim_stage::surplus;
      const auto stage = left->take(named, one.may_be_scaled_down());
      if (!stage) {
        if (passed != nullptr)
          passed->push_back({one.entry, why_not_taken(one, named)});
        continue;
      }
      one.stage = *stage;
    }
    some[kept++] = one;
  }
  some.resize(kept);
  std::ranges::sort(some, preferred);
}

std::weak_ordering lifecycle_victims::compare(const lifecycle_candidate& a,
                                              const lifecycle_candidate& b) const {
  if (a.stage != b.stage)
    return a.stage <=> b.stage;
  if (a.priority != b.priority)
    return a.priority <=> b.priority;
  if (a.score != b.score)
    return a.score <=> b.score;
  if (const auto recent = view_.created(b.pod) <=> view_.created(a.pod); recent != 0)
    return recent;
  return name_of(b.pod) <=> name_of(a.pod);
}

void lifecycle_victims::match(const lifecycle_candidate& one,
                              const lifecycle_deployment& preemptor) {
  auto& entry = entries_[one.entry];
  entry.matched_to = &preemptor;
  if (entry.leaves)
    return;
  auto& share = shares_[entry.share];
  if (share.left.take(entry.by_phase == victim_stage::surplus, one.may_be_scaled_down())
      == victim_stage::committed)
    ++share.scaled_down;
}

} // namespace reprieve
