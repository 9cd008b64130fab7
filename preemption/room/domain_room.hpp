#pragma once

#include "preemption/problem/epoch_array.hpp"
#include "preemption/problem/problem.hpp"
#include "preemption/room/seating.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reprieve {

/// The room in one domain while something is tried out: who is assumed to go and to stay, and
/// whether the preemptor finds seats then. The view stays as it is.
///
/// Where no node suits two of the preemptor's groups, the seats of every node are counted as its
/// room changes, so that `fits` is a comparison. Groups that compete for nodes are seated anew each
/// time, in several orders, and on few nodes by a search.
class domain_room {
public:
  enum class basis {
    free,    ///< what can start now
    promised ///< and what leaves anyway
  };

  explicit domain_room(const problem& given);

  /// Begins with these nodes, in order of name, as the view has them.
  void start(std::span<const node_row> nodes, basis from);

  /// The pod stays, whichever level the domain is opened to from now on.
  void keep(pod_row p);
  void keep_portion(portion_row p);
  /// How many pods are kept; `forget_kept` lets those go again that came after so many.
  std::size_t kept() const {
    return kept_.size();
  }
  void forget_kept(std::size_t beyond) {
    kept_.resize(beyond);
  }
  /// Everybody of this priority or below has gone, but for those kept; all others are back.
  void open(std::int64_t level);

  /// The pods of a portion go from the domain, or come back. Those elsewhere do not matter.
  void vacate(portion_row p);
  void occupy(portion_row p);
  /// As if it were vacated: how many seats more there would be. Only where seats are counted.
  std::int64_t seats_gained(portion_row p);

  bool fits() const;
  /// How many seats are lacking; zero where the preemptor fits. Only where seats are counted.
  std::int64_t lacking() const;
  bool counts_seats() const {
    return !competing_;
  }

  /// Seats for as many pods as each group needs, by name of node where seats are counted. Says in
  /// `lacking` which group found too few.
  bool seat(seating& found) const;
  /// The plain way: groups as they are listed, each pod on the first node by name that takes it.
  bool seat_as_listed(seating& found) const;
  /// Takes the room of the seats. From here until it is opened again seats are not counted.
  void claim(const seating& found);
  /// Puts the portion back where it runs, if it fits there beside what is claimed. Only what the
  /// preemptor itself takes counts, so that a node which was too full before stays as it is.
  bool put_back_beside_claims(portion_row p);
  /// Seats pods beyond those needed in the room that is left.
  void seat_the_rest(seating& found);

  std::span<const node_row> nodes() const {
    return nodes_;
  }
  std::size_t size() const {
    return nodes_.size();
  }
  node_row node(std::size_t position) const {
    return nodes_[position];
  }
  /// Where the node is among those of the domain, or `no_row`.
  std::uint32_t position_of(node_row n) const;
  amounts room(std::size_t position) const {
    return {rooms_.data() + position * width_, width_};
  }
  std::int64_t seats_at(std::size_t position) const {
    return seats_[position];
  }
  /// Which group may sit on the node. Only where seats are counted.
  std::size_t group_at(std::size_t position) const {
    return group_of_[position];
  }
  void give(std::size_t position, amounts request);
  void take(std::size_t position, amounts request);
  /// How many pods of the node's group fit into `room`.
  std::int64_t seats_in(std::size_t position, amounts room) const;

private:
  struct kept_pod {
    std::uint32_t position = 0;
    std::int32_t priority = 0;
    pod_row pod = no_row;
  };
  /// A resource that a group asks for, and how much of it a pod takes.
  struct asked_column {
    resource_column column = 0;
    std::int64_t amount = 0;
  };
  enum class node_order { by_name, tightest_first };

  std::span<std::int64_t> room_of(std::size_t position) {
    return {rooms_.data() + position * width_, width_};
  }
  void recount(std::size_t position);
  bool seat_in(std::vector<std::int64_t>& rooms, std::span<const turn> turns, node_order order,
               seating& found) const;
  void seat_on(std::vector<std::int64_t>& rooms, std::size_t position, std::size_t group,
               std::size_t most, seating& found) const;
  template <class F>
  void for_pods_here(portion_row p, F use) const;

  const problem& given_;
  const cluster_view& view_;
  std::size_t width_;
  std::vector<turn> listed_;
  std::vector<turn> hardest_first_;
  std::vector<std::vector<asked_column>> asked_columns_; ///< by group
  bool competing_ = false;                               ///< some node suits several groups

  basis from_ = basis::promised;
  std::span<const node_row> nodes_;
  epoch_array<std::uint32_t> positions_;
  std::vector<std::uint32_t> group_of_; ///< by position
  std::vector<std::int64_t> rooms_;
  std::vector<std::int64_t> claims_; ///< what the preemptor takes of each node, where it does
  std::vector<std::int64_t> seats_;  ///< by position
  std::vector<std::int64_t> totals_; ///< seats by group
  std::vector<kept_pod> kept_;
  mutable std::vector<std::int64_t> scratch_;
};

} // namespace reprieve
