#include "preemption/policies/lifecycle/lifecycle_explain.hpp"

#include "state/quantities/quantity.hpp"
#include "state/text/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace reprieve {

std::string lifecycle_explainer::why_victim(const lifecycle_candidate& one,
                                            const lifecycle_deployment& who) const {
  const auto& share = victims_.share_of(one.entry);
  const auto& owner = victims_.owner(share.owner).name;
  switch (one.stage) {
  case victim_stage::force_deleting:
    return "is being force-deleted";
  case victim_stage::terminating: {
    const auto over = victims_.grace_over(one.pod);
    if (over == no_time)
      return "terminates, nobody knows since when";
    return over <= now_ ? "terminates, and its grace period is over"
                        : "terminates, with grace until " + format_time(over);
  }
  case victim_stage::surplus:
    if (view_.leaving(one.pod))
      return "goes by an earlier decision";
    return fmt::format("{} has more pods in {} than are committed", owner, share.cluster);
  case victim_stage::committed:
    break;
  }
  return fmt::format("its priority {} is below {} and {} does not fit on {} beside it; {} is "
                     "scaled down in {}",
                     one.priority, who.priority, who.name, view_.node_name(view_.node_of(one.pod)),
                     owner, share.cluster);
}

std::string lifecycle_explainer::why_no_room(const lifecycle_demand& asked,
                                             std::span<const node_row> nodes) const {
  std::map<resource_column, std::size_t> short_of;
  std::vector<lifecycle_passed> passed;
  for (const auto n : nodes) {
    std::vector<wide_int> room{stock_.room(n).begin(), stock_.room(n).end()};
    for (const auto& one : victims_.candidates_on(n, asked.who, &passed))
      add(room, view_.requests(one.pod));
    for (resource_column c = 0; c < room.size(); ++c)
      if (asked.request[c] > 0 && asked.request[c] > room[c]) {
        ++short_of[c];
        break;
      }
  }
  if (short_of.empty())
    return "every node with enough room needs more victims than a decision may have";
  const auto most =
    std::ranges::max_element(short_of, {}, [](const auto& one) { return one.second; });
  const auto resource = view_.resource_name(most->first);
  auto text = fmt::format(
    "{} of {} nodes that suit it are short of {} even once all have gone who may", most->second,
    nodes.size(), resource == resource::pods ? "places for pods" : resource);
  if (const auto important =
        std::ranges::count(passed, pod_standing::at_or_above, &lifecycle_passed::standing);
      important > 0)
    text += fmt::format("; {} pod{} of priority {} or above stay{}", important,
                        important == 1 ? "" : "s", asked.who.priority, important == 1 ? "s" : "");
  return text;
}

std::vector<passed_over_pod> lifecycle_explainer::who_stays(const lifecycle_deployment& who,
                                                            std::span<const node_row> nodes) const {
  std::vector<passed_over_pod> told;
  for (const auto n : nodes) {
    std::vector<lifecycle_passed> passed;
    for (const auto& one : victims_.candidates_on(n, who, &passed))
      passed.push_back({one.entry, pod_standing::candidate});
    for (auto& one : passed)
      if (one.standing == pod_standing::last_replica && may_go_alone(one, n, who))
        one.standing = pod_standing::candidate;
    for (const auto& one : passed)
      if (victims_.matched_to(one.entry) != &who)
        told.push_back(
          {who.name, view_.pod_uid(victims_.row_of(one.entry)), why_passed_over(one, who)});
  }
  return told;
}

bool lifecycle_explainer::may_go_alone(const lifecycle_passed& one, node_row n,
                                       const lifecycle_deployment& who) const {
  const auto p = victims_.row_of(one.entry);
  return !victims_.candidates_among({&p, 1}, n, who).empty();
}

std::vector<passed_over_pod>
lifecycle_explainer::who_may_not_go(const lifecycle_deployment& who,
                                    std::span<const node_row> nodes) const {
  std::vector<passed_over_pod> told;
  for (const auto n : nodes) {
    std::vector<lifecycle_passed> passed;
    victims_.candidates_on(n, who, &passed);
    for (const auto& one : passed)
      if ((one.standing != pod_standing::at_or_above || nodes.size() == 1)
          && victims_.matched_to(one.entry) != &who)
        told.push_back(
          {who.name, view_.pod_uid(victims_.row_of(one.entry)), why_passed_over(one, who)});
  }
  return told;
}

std::string lifecycle_explainer::why_passed_over(const lifecycle_passed& one,
                                                 const lifecycle_deployment& who) const {
  const auto p = victims_.row_of(one.entry);
  const auto& share = victims_.share_of(one.entry);
  switch (one.standing) {
  case pod_standing::matched:
    return fmt::format("makes room for {} already", victims_.matched_to(one.entry)->name);
  case pod_standing::daemon:
    return "daemon pods are never victims";
  case pod_standing::protected_member:
    return "it is a protected member of its group";
  case pod_standing::whole_replica:
    return "its replica goes whole or not at all";
  case pod_standing::unmanaged:
    return fmt::format("{} has no placement in {} to scale down", victims_.owner(share.owner).name,
                       share.cluster);
  case pod_standing::opted_out:
    return "has opted out of preemption";
  case pod_standing::too_young:
    return fmt::format(
      "has run for {}, less than the minimum runtime of {}",
      format_duration(now_ - view_.started(p)),
      format_duration(std::max(victims_.limits_on(view_.node_of(p)).minimum_runtime,
                               view_.card(view_.portion_of(p)).minimum_runtime)));
  case pod_standing::at_or_above:
    return fmt::format("its priority {} is not below {}", victims_.priority_of(one.entry),
                       who.priority);
  case pod_standing::too_often:
    return fmt::format("its workload was preempted {} in the last hour already",
                       counted(victims_.owner(share.owner).recent_preemptions, "time"));
  case pod_standing::last_replica:
    return fmt::format("{} would be left without a replica in {}", victims_.owner(share.owner).name,
                       share.cluster);
  case pod_standing::candidate:
    break;
  }
  return fmt::format("{} finds room on {} without it", who.name, view_.node_name(view_.node_of(p)));
}

} // namespace reprieve
