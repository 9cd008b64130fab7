#include "preemption/policies/queues/queue_victims.hpp"

#include "preemption/problem/apportion.hpp"
#include "state/quantities/quantity.hpp"
#include "state/text/counted.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace reprieve {

namespace {

/// Whether `a` goes before `b`.
bool goes_before(const queue_portion& a, const queue_portion& b) {
  if (a.priority != b.priority)
    return a.priority < b.priority;
  if (a.started != b.started) {
    if (a.started == no_time || b.started == no_time)
      return a.started == no_time;
    return a.started > b.started;
  }
  return a.id < b.id;
}

void add_pod(queue_portion& to, const queue_pod& p, std::span<const std::string> resources) {
  const bool first = to.pods.empty();
  to.priority = first ? p.priority : std::max(to.priority, p.priority);
  if (p.started != no_time)
    to.started = to.started == no_time ? p.started : std::min(to.started, p.started);
  to.minimum_runtime = std::max(to.minimum_runtime, p.minimum_runtime);
  to.resource_group = p.resource_group;
  to.daemon = to.daemon || p.daemon;
  to.opted_out = to.opted_out || p.opted_out;
  to.protected_member = to.protected_member || p.protected_member;
  to.being_placed = to.being_placed || p.phase == pod_phase::nominated;
  to.pods.push_back({p.uid, p.node});
  to.holds.resize(resources.size());
  for (std::size_t r = 0; r < resources.size(); ++r)
    to.holds[r] = narrowed(static_cast<wide_int>(to.holds[r]) + taken_of(p, resources[r]));
}

/// A start that is still to come, by another clock, is now.
duration run_time(const queue_portion& one, time_point now) {
  return std::max(now - one.started, duration{0});
}

bool is_too_young(const queue_portion& one, const guards& limits, time_point now) {
  return one.started != no_time
         && run_time(one, now) < std::max(limits.minimum_runtime, one.minimum_runtime);
}

/// Why the portion may not go, whoever it is for (docs/policies.md#guards); empty where it may. Who
/// takes back what is deserved goes by `is_shielded` no more.
std::string why_exempt(const queue_portion& one, const guards& limits, const queue_reclaim& what) {
  if (one.daemon)
    return "daemon pods are never victims";
  const bool overruled = what.made_for != nullptr && what.made_for->takes_back;
  if (one.protected_member && !overruled)
    return one.id.whole_replica() ? "one of its pods is protected, and it goes whole or not at all"
                                  : "it is a protected member of its group";
  // Its room is held by a decision that is under way, which alone can let it go as a whole.
  if (one.being_placed)
    return "it is being placed";
  if (limits.opt_out_is_veto && one.opted_out && !overruled)
    return "has opted out of preemption";
  if (is_too_young(one, limits, what.now) && !overruled)
    return fmt::format("has run for {}, less than the minimum runtime of {}",
                       format_duration(run_time(one, what.now)),
                       format_duration(std::max(limits.minimum_runtime, one.minimum_runtime)));
  if (const auto most = limits.preemptions_per_workload_per_hour) {
    const auto* lately = find(what.recent_preemptions, one.id.workload);
    const auto times = lately == nullptr ? 0 : *lately;
    if (times >= *most)
      return fmt::format("its workload was preempted {} in the last hour, of {} allowed",
                         counted(times, "time"), *most);
  }
  return {};
}

/// The choice within one queue while it is made.
class chooser {
public:
  chooser(const queue_reclaim& what, std::span<const queue_portion> in_order)
      : what_(what), in_order_(in_order), excess_(what.resources.size()),
        taken_(what.on_their_way) {
    for (std::size_t r = 0; r < excess_.size(); ++r)
      excess_[r] = static_cast<wide_int>(what.staying[r]) - what.allowed[r];
  }

  queue_choice run() && {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < in_order_.size() && too_much(); ++i)
      if (consider(in_order_[i])) {
        chosen.push_back(i);
        ++taken_[in_order_[i].resource_group];
        move(in_order_[i], -1);
      }
    tell(still_needed(chosen));
    return std::move(made_);
  }

private:
  bool too_much() const {
    return std::ranges::any_of(excess_, [](wide_int one) { return one > 0; });
  }

  /// Whether it holds some of what is used too much.
  bool helps(const queue_portion& one) const {
    for (std::size_t r = 0; r < excess_.size(); ++r)
      if (one.holds[r] > 0 && excess_[r] > 0)
        return true;
    return false;
  }

  void move(const queue_portion& one, int sign) {
    for (std::size_t r = 0; r < excess_.size(); ++r)
      excess_[r] += sign * static_cast<wide_int>(one.holds[r]);
  }

  bool consider(const queue_portion& one) {
    static const guards none;
    const auto* given = find(what_.limits, one.resource_group);
    const auto& limits = given == nullptr ? none : *given;
    auto reason = why_exempt(one, limits, what_);
    if (reason.empty() && !helps(one))
      reason = fmt::format("holds no {}", fmt::join(names_of_excess(), " and no "));
    if (const auto most = limits.victims_per_decision;
        reason.empty() && most && taken_[one.resource_group] >= *most)
      reason = fmt::format("a decision may have {} victim{}, and has as many", *most,
                           *most == 1 ? "" : "s");
    if (reason.empty())
      return true;
    made_.passed_over.push_back({one.id, one.priority, std::move(reason)});
    return false;
  }

  std::vector<std::string_view> names_of_excess() const {
    std::vector<std::string_view> names;
    for (std::size_t r = 0; r < excess_.size(); ++r)
      if (excess_[r] > 0)
        names.emplace_back(what_.resources[r]);
    return names;
  }

  /// Puts back who is not, most important first: the other way round.
  std::vector<std::size_t> still_needed(std::span<const std::size_t> chosen) {
    std::vector<std::size_t> needed;
    for (auto i = chosen.size(); i-- > 0;) {
      const auto& one = in_order_[chosen[i]];
      move(one, 1);
      if (helps(one)) {
        move(one, -1);
        needed.push_back(chosen[i]);
      } else {
        made_.reprieved.push_back({one.id, one.priority, "the others free enough"});
      }
    }
    std::ranges::reverse(needed);
    return needed;
  }

  void tell(std::span<const std::size_t> chosen) {
    made_.freed.resize(excess_.size());
    made_.lacked.resize(excess_.size());
    for (std::size_t r = 0; r < excess_.size(); ++r) {
      const auto before = static_cast<wide_int>(what_.staying[r]) - what_.allowed[r];
      made_.freed[r] = narrowed(before - excess_[r]);
      made_.lacked[r] = narrowed(std::max<wide_int>(excess_[r], 0));
    }
    for (const auto i : chosen) {
      const auto& one = in_order_[i];
      auto& told = made_.victims.emplace_back();
      told.portion = one.id;
      told.priority = one.priority;
      told.pods = one.pods;
      told.reason = why_victim(one);
    }
  }

  /// What the queue uses and may use of a resource, and what of it the portion holds.
  std::string use_of(const queue_portion& one, std::size_t r) const {
    const auto amount = [&](std::int64_t of) { return format_quantity(of, what_.resources[r]); };
    const auto more = what_.made_for == nullptr ? 0 : what_.made_for->asked[r];
    return fmt::format("{} {} and may use {}, of which this holds {}", amount(what_.staying[r]),
                       what_.resources[r], amount(what_.allowed[r] + more), amount(one.holds[r]));
  }

  std::string why_victim(const queue_portion& one) const {
    std::vector<std::string> too_much;
    for (std::size_t r = 0; r < excess_.size(); ++r)
      if (one.holds[r] > 0 && what_.staying[r] > what_.allowed[r])
        too_much.push_back(use_of(one, r));
    const auto age =
      one.started == no_time
        ? std::string{"it has not started"}
        : fmt::format("it has run for {}", format_duration(run_time(one, what_.now)));
    auto why = fmt::format("queue {} uses {}; its priority is {} and {}", what_.queue,
                           fmt::join(too_much, ", and "), one.priority, age);
    if (const auto* who = what_.made_for)
      why = fmt::format("it goes for {} (priority {}), which {} and within the same {}: {}",
                        who->workload, who->priority,
                        who->takes_back ? "its queue deserves the room for" : "is more important",
                        who->within_limit ? "limit" : "share", why);
    return why;
  }

  const queue_reclaim& what_;
  std::span<const queue_portion> in_order_;
  std::vector<wide_int> excess_; ///< what is used too much; below zero where more could be used
  by_name<std::int32_t> taken_;  ///< by resource group, with those still on their way
  queue_choice made_;
};

} // namespace

std::int64_t taken_of(const queue_pod& p, std::string_view resource) {
  return amount_of(p.requests, resource) + (resource == resource::pods ? 1 : 0);
}

queue_pod queue_pod_of(const pod& p, std::string queue, std::string resource_group) {
  queue_pod made;
  made.queue = std::move(queue);
  made.resource_group = std::move(resource_group);
  made.uid = p.uid;
  made.node = p.node;
  made.portion = portion_of(p);
  made.requests = p.requests;
  made.priority = p.priority;
  made.phase = p.phase;
  made.started = p.started;
  made.minimum_runtime = p.minimum_runtime;
  made.chosen = !p.evicted_by.empty();
  made.daemon = p.daemon;
  made.opted_out = p.opted_out;
  made.protected_member = p.protected_member;
  made.overdue = p.stop_told != no_time && !is_leaving(p.phase);
  return made;
}

std::vector<queue_portion> portions_in_order(std::span<const queue_pod* const> pods,
                                             std::span<const std::string> resources) {
  std::map<portion_id, queue_portion> by_id;
  for (const auto* p : pods)
    if (takes_room(p->phase) && !p->leaving())
      add_pod(by_id[p->portion], *p, resources);
  std::vector<queue_portion> ordered;
  ordered.reserve(by_id.size());
  for (auto& [id, one] : by_id) {
    one.id = id;
    std::ranges::sort(one.pods, {}, [](const victim_pod& p) { return std::tie(p.node, p.uid); });
    ordered.push_back(std::move(one));
  }
  std::ranges::sort(ordered, goes_before);
  return ordered;
}

bool is_shielded(const queue_portion& one, const guards& limits, time_point now) {
  return one.protected_member || (limits.opt_out_is_veto && one.opted_out)
         || is_too_young(one, limits, now);
}

by_name<std::int32_t> count_on_their_way(std::span<const queue_pod* const> pods) {
  std::set<std::pair<std::string_view, portion_id>> portions;
  for (const auto* p : pods)
    if (p->chosen && takes_room(p->phase))
      portions.emplace(p->resource_group, p->portion);
  by_name<std::int32_t> counts;
  for (const auto& [group, id] : portions)
    ++counts[std::string{group}];
  return counts;
}

queue_choice choose_victims(const queue_reclaim& what, std::span<const queue_portion> in_order) {
  return chooser{what, in_order}.run();
}

} // namespace reprieve
