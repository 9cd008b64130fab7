#pragma once

#include "preemption/problem/plan.hpp"
#include "preemption/problem/preemptor.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

/// Room that a decision holds for pods which are not bound yet belongs to them as far as others of
/// their priority or below are concerned. A more important preemptor may have it
/// (docs/policies.md#delayed-actuation).
namespace reprieve {

/// A decision that holds room, and has not begun to bind its pods.
struct held_decision {
  std::string id;
  std::vector<pod> nominated; ///< as they stand in the view
  std::vector<pod> untold;    ///< its victims that were not told to stop yet, likewise
  bool stops_others = false;  ///< some of its victims are still there
};

/// The decisions that hold room among these pods, by id. One that has bound some of its pods
/// already is past giving up.
std::vector<held_decision> holds_among(std::span<const pod> pods);

/// Whether somebody still has to leave before its pods can start.
bool waits_for_room(const cluster_view& view, const held_decision& held);

/// Whether the decision places the unit and nobody else, wherever there is room: it may place it
/// elsewhere instead.
bool moves_with(const preemptor& unit, const held_decision& held);

/// Takes out of the view what the decision does: its nominations, and that its victims go, as far
/// as they were not told. The others go on leaving. Leaves the view to be settled.
void give_up(const held_decision& held, cluster_view& view);
/// Puts it back.
void restore(const held_decision& held, cluster_view& view);

/// A decision that is given up for a more important preemptor.
struct given_up {
  std::string decision;
  std::string reason;

  bool operator==(const given_up&) const = default;
};

struct plan_over_holds {
  plan made;
  std::vector<given_up> gives_up; ///< without which there is no such plan; by id
};

/// Without victims: in what is free or will be, else in room of a node that weaker decisions wait
/// for themselves, as others have not left it yet; nobody has started there. Not that of decisions
/// with victims of their own: they would stop others once more. The weakest are given up, then
/// those that place fewest pods, then the newest. Costs a look at each hold for a lone pod; for a
/// gang about as many searches for room as decisions are given up, times the logarithm of how many
/// there are. The view is as it was.
plan_over_holds find_room_over_waiting(cluster_view& view, const preemptor& who,
                                       const plan_settings& settings,
                                       std::span<const held_decision> holds);

/// As `decide`. Where that finds no place, decisions that hold room for pods of lower priority are
/// given up whole, if there is a place then: as few and as weak ones as can be. All of them go at
/// first; then each comes back without which there is a place as well, the strongest first. A
/// decision is as strong as the highest preemption priority that it holds room for; of two that are
/// equally strong the older, with the lower id, is the stronger.
///
/// The view has the holds in it, and has them again afterwards: nothing is copied. Where no weaker
/// decision holds room on a node that suits the preemptor, this costs no more than `decide`; where
/// giving up all of them is no help, twice that; else about as many times as much as there are
/// decisions given up, times the logarithm of how many hold room. What `made.followed` says is of
/// the view without those that are given up.
plan_over_holds decide_over_holds(cluster_view& view, const preemptor& who,
                                  const plan_settings& settings,
                                  std::span<const held_decision> holds);

/// Without victims: decisions that hold room for pods of lower priority are given up whole, as few
/// and as weak ones as can be, where there is room then and `is_enough` says so of those that are
/// given up. With none of them given up it says no, or there is no room; the more are given up, the
/// sooner it says yes. Costs about as much as `decide_over_holds`.
plan_over_holds
find_room_without(cluster_view& view, const preemptor& who, const plan_settings& settings,
                  std::span<const held_decision> holds,
                  const std::function<bool(std::span<const held_decision* const>)>& is_enough);

} // namespace reprieve
