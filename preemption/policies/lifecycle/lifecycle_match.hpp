#pragma once

#include "preemption/policies/lifecycle/lifecycle_victims.hpp"
#include "preemption/problem/amounts.hpp"
#include "preemption/problem/effort.hpp"

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace reprieve {

/// What one pod of a preemptor asks for.
struct lifecycle_demand {
  const lifecycle_deployment& who;
  amounts request;
};

/// A node for one pod of a preemptor, and who makes room there: most preferred first.
struct node_match {
  node_row node = no_row;
  std::vector<lifecycle_candidate> victims;
};

/// What is there to be matched: pods that may make room, and the room itself. Pods that leave take
/// room until they have left, so that it is counted as theirs (docs/policies.md#lifecycle); holds
/// are taken.
class lifecycle_stock {
public:
  lifecycle_stock(const cluster_view& view, const lifecycle_input& given);

  const cluster_view& view() const {
    return view_;
  }
  const lifecycle_victims& victims() const {
    return victims_;
  }
  std::span<const wide_int> room(node_row n) const {
    return std::span{room_}.subspan(std::size_t{n} * view_.width(), view_.width());
  }

  /// Gives the victims' room to the preemptor. What they have beyond its request is left over, for
  /// whoever comes next.
  void settle(const node_match& made, const lifecycle_demand& asked);

private:
  const cluster_view& view_;
  lifecycle_victims victims_;
  std::vector<wide_int> room_; ///< a row of amounts for each node
};

/// Whether `room` has all that `request` asks for.
bool covers(std::span<const wide_int> room, amounts request);
void add(std::span<wide_int> room, amounts request);
void take(std::span<wide_int> room, amounts request);

/// The cheapest victims that make room on the node: taken in order of preference until the pod
/// fits, less those that turned out not to be needed, the least preferred first. Nothing where even
/// all of them are too few, or they are more than a decision may have (docs/policies.md#guards). A
/// deployment that never preempts gets none, not even of those that leave: that would hurry them.
std::optional<node_match> match_on(const lifecycle_stock& stock, const lifecycle_demand& asked,
                                   node_row n);

/// Likewise with the victims of an earlier match, as long as nobody has to be scaled down for it
/// (any more). A pod that was matched to another then stays with that one, even where it moved on
/// first.
std::optional<node_match> match_again(const lifecycle_stock& stock, const lifecycle_demand& asked,
                                      node_row n, std::span<const pod_row> victims);

/// Finds the nodes for the pods of one preemptor, one after another: the node whose worst victim is
/// the most preferred, then the one with fewer victims, then by name. Where one victim is enough,
/// that is the node with the most preferred victim of all.
///
/// What is matched is only ever lost to the others, so that a node's match can't get better by it:
/// a node is looked at again only once what was known of it comes first.
///
/// The search budget of a cluster (docs/policies.md#guards) is spent on its nodes in the order of
/// their names, a unit for each look at a node and at each pod there. Once it has been, no more is
/// known of them.
class node_search {
public:
  node_search(const lifecycle_stock& stock, const lifecycle_demand& asked,
              std::span<const node_row> nodes);

  /// The best match. The caller settles it before it asks for the next.
  std::optional<node_match> next();

  /// Whether there was more to look at than a budget allowed.
  bool budget_reached() const {
    return budget_reached_;
  }

private:
  struct ranked_match {
    node_match found;
    std::size_t after; ///< how many matches had been settled then
  };

  void consider(node_row n);
  bool may_look_at(node_row n);
  bool worse(const node_match& a, const node_match& b) const;
  auto by_preference() const {
    return [this](const auto& a, const auto& b) { return worse(a.found, b.found); };
  }

  const lifecycle_stock& stock_;
  const lifecycle_demand& asked_;
  std::vector<ranked_match> heap_; ///< the best one first
  std::size_t settled_ = 0;
  node_row last_ = no_row;                   ///< what `next` found before
  std::map<std::string_view, effort> spent_; ///< by cluster
  bool budget_reached_ = false;
};

} // namespace reprieve
