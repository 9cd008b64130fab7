#include "preemption/nomination.hpp"

#include "preemption/engine.hpp"
#include "preemption/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

/// Takes the holds out of the view for as long as it lives.
class without_holds {
public:
  without_holds(cluster_view& view, const nomination& held) : view_(view), held_(held) {
    for (const auto& one : held_.assignments)
      view_.remove_pod(one.placed.uid);
    view_.settle();
  }
  ~without_holds() {
    for (const auto& one : held_.assignments) {
      auto hold = one.placed;
      hold.phase = pod_phase::nominated;
      hold.placed_by = held_.decision;
      view_.put_pod(hold);
    }
    view_.settle();
  }
  without_holds(const without_holds&) = delete;
  without_holds& operator=(const without_holds&) = delete;

private:
  cluster_view& view_;
  const nomination& held_;
};

/// Whether the node may still run the pod, whoever is on it: it may have been tainted meanwhile.
bool suits(const problem& given, const pod& held, node_row n) {
  const auto& groups = given.asked.groups;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (groups[g].wanted->name == held.group)
      return given.filter.suits(g, n);
  return true;
}

/// Why one of the held nodes can't be had any more; empty where all can.
std::string why_lost(const problem& given, const nomination& held) {
  const auto& view = given.view;
  if (!held.stuck.empty())
    return fmt::format("victim {} did not leave within its limit", held.stuck.front());
  for (const auto& one : held.assignments) {
    const auto n = view.find_node(one.placed.node);
    if (n == no_row || !view.usable(n))
      return fmt::format("node {} takes no pods any more", one.placed.node);
    if (!suits(given, one.placed, n))
      return fmt::format("node {} does not suit its pods any more", one.placed.node);
    const auto request = view.columns(one.placed.requests);
    // The hold is in the view, so that less than nothing is left where another took its room.
    for (resource_column c = 0; request && c < request->size(); ++c)
      if ((*request)[c] > 0 && view.promised(n)[c] < 0)
        return fmt::format("its room on node {} was taken: {} is short", one.placed.node,
                           view.resource_name(c));
  }
  return {};
}

} // namespace

nomination_review review(cluster_view& view, const preemptor& who, const nomination& held,
                         const plan_settings& settings) {
  auto lost = why_lost(problem{view, who, settings}, held);
  const without_holds meanwhile{view, held};
  if (auto elsewhere = place(view, who, settings); elsewhere.result == plan::outcome::placed) {
    auto why = fmt::format("there is room without victims: {}", elsewhere.why.summary);
    return {nomination_review::fate::moves, std::move(elsewhere), std::move(why)};
  }
  if (!lost.empty())
    return {nomination_review::fate::fails, {}, std::move(lost)};
  return {nomination_review::fate::stands, {}, "its placement is valid; its victims are leaving"};
}

} // namespace reprieve
