#pragma once

#include "preemption/amounts.hpp"
#include "preemption/epoch_array.hpp"
#include "state/cluster_view.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace reprieve {

/// The room on the nodes while something is tried out: what the view says, changed by who is
/// assumed to go and who is assumed to come. The view itself stays as it is, and starting anew
/// costs nothing.
///
/// Candidates on a node are assumed gone from a step of the view's priorities down, never one by
/// one, so that running sums tell the room at once; the few pods that stay although they are below
/// the step are named by `keep` before.
class trial {
public:
  enum class basis {
    free,    ///< what can start now
    promised ///< and what leaves anyway
  };

  trial(const cluster_view& view, basis from);

  /// Forgets everything.
  void start_domain();
  /// Forgets everything but who is kept.
  void start_placement();

  /// The pod at `position` of `pods_on(n)` stays, whichever step the node is opened to.
  void keep(node_row n, std::uint32_t position);

  /// Assumes candidates of this step and all lower ones gone, in addition to those already gone.
  void open(node_row n, std::size_t step);
  /// The highest step that is assumed gone; the number of steps where none is.
  std::size_t opened(node_row n) const;
  /// Whether `request` would fit if the node were opened to `step`.
  bool fits_at(node_row n, std::size_t step, amounts request) const;
  bool fits(node_row n, amounts request) const {
    return covers(room(n), request);
  }
  amounts room(node_row n) const;
  /// What there would be with all candidates of `step` and lower ones gone, in all.
  std::vector<std::int64_t> room_at(node_row n, std::size_t step) const;

  /// Gives room on the node to the preemptor.
  void claim(node_row n, amounts request);
  /// The nodes the preemptor has claims on, in the order of their first ones.
  std::span<const node_row> claimed_nodes() const {
    return claimed_nodes_;
  }
  bool claimed(node_row n) const;

  /// Whether one who ran here can stay beside the preemptor: only what the preemptor itself takes
  /// counts, so that a node without its pods, or one that was too full before, stays as it is.
  bool fits_beside(node_row n, amounts request) const;
  void take(node_row n, amounts request);
  void give(node_row n, amounts request);

private:
  struct node_state {
    std::size_t opened = 0;
    bool claimed = false;
  };
  struct kept_pod {
    std::uint32_t position = 0;
    pod_row pod = no_row;
    std::size_t next = 0; ///< one above its place in `kept_`; zero ends the list
  };

  amounts base(node_row n) const;
  std::span<std::int64_t> touch(node_row n);
  std::span<std::int64_t> claims(node_row n) const;
  /// What opening the node from where it is now to `step` adds to `room`.
  void add_gain(node_row n, std::size_t step, std::span<std::int64_t> room) const;

  const cluster_view& view_;
  basis from_;
  std::size_t width_;
  std::unique_ptr<std::int64_t[]> cells_; ///< room, then claims, of each node that is in `nodes_`
  epoch_array<node_state> nodes_;
  std::vector<node_row> claimed_nodes_;
  epoch_array<std::size_t> first_kept_; ///< by node, as in `kept_pod::next`
  std::vector<kept_pod> kept_;
  mutable std::vector<std::int64_t> scratch_;
};

} // namespace reprieve
