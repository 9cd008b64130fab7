#pragma once

#include "state/containers/row_index.hpp"
#include "state/quantities/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace reprieve {

/// What goes from the nodes of a block when everybody up to a priority does. Where a block has more
/// priorities than steps, neighbours share one.
struct block_step {
  std::int32_t highest = 0; ///< priority in this step
  std::int32_t lowest = 0;  ///< likewise
  bool only_groups = true;  ///< no portion of the step is a single pod
  /// Where one, two, three … portions up to the step go from one node, the latest that all those
  /// of the step among them can have started; no time where no node has so many.
  std::array<time_point, 8> latest_starts{};
  std::uint32_t least_pods = 0; ///< of a portion up to the step, wherever they run
  std::int64_t least_gpu = 0;   ///< at work in a portion up to the step that holds any
  /// Up to which second work is safe: the most that the best one, two, three … portions with GPUs
  /// on one node have together; the lowest number where no node has so many.
  std::array<std::int64_t, 8> safe_until{};
};

/// Some dozen nodes that are neighbours by name, and for each amount the most that one of them has.
/// Bounds, to rule out all of them with one look: no node is better than this in any respect. While
/// nodes change, bounds only rise with them; now and then they are made anew.
struct node_block {
  std::vector<std::uint32_t> nodes;  ///< in order of name
  std::vector<block_step> steps;     ///< highest priority first
  std::vector<std::int64_t> amounts; ///< rows of amounts: two for the block, two for each step

  /// Rows of `amounts`. Nodes that take no pods do not count.
  enum row : std::size_t { most_free, most_promised, rows_before_steps };
  static std::size_t most_room(std::size_t step) { ///< promised, and all up to the step gone
    return rows_before_steps + 2 * step;
  }
  static std::size_t largest_portion(std::size_t step) { ///< up to the step, on one node
    return rows_before_steps + 2 * step + 1;
  }

  std::span<const std::int64_t> amounts_at(std::size_t row, std::size_t width) const {
    return std::span{amounts}.subspan(row * width, width);
  }
  std::span<std::int64_t> amounts_at(std::size_t row, std::size_t width) {
    return std::span{amounts}.subspan(row * width, width);
  }
};

/// All nodes in order of name, in blocks.
class node_blocks {
public:
  using name_of = std::function<std::string_view(std::uint32_t)>;

  static constexpr std::size_t most_nodes = 64;
  static constexpr std::size_t most_steps = 32;
  /// So often may bounds rise before they are made anew, to be close again.
  static constexpr std::size_t most_rises = 24;

  std::size_t count() const {
    return order_.size();
  }
  /// In order of name; none is empty.
  const node_block& at(std::size_t position) const {
    return slots_[order_[position]].block;
  }

  /// The block that the node is in, or null.
  const node_block* of(std::uint32_t node) const {
    return contains(node) ? &slots_[block_of_[node]].block : nullptr;
  }

  node_block* of(std::uint32_t node) {
    return contains(node) ? &slots_[block_of_[node]].block : nullptr;
  }

  bool contains(std::uint32_t node) const {
    return node < block_of_.size() && block_of_[node] != no_row;
  }
  void insert(std::uint32_t node, const name_of& names);
  void erase(std::uint32_t node);
  /// The bounds of its block have to hold for the node as it is now.
  void touch(std::uint32_t node);

  /// Makes bounds hold for the nodes that were touched: `raise` for one of them where that does,
  /// which returns false where it can't, or else `describe` for all of the block.
  void settle(const std::function<void(node_block&)>& describe,
              const std::function<bool(node_block&, std::uint32_t)>& raise);

  /// Calls `close` for each block whose bounds hold and may not be close; where it returns false,
  /// `describe`.
  void tighten(const std::function<void(node_block&)>& describe,
               const std::function<bool(node_block&)>& close);

  std::size_t memory() const;

private:
  struct slot {
    node_block block;
    bool stale = false;
    bool loose = false;             ///< has risen since it was close
    std::size_t rises = most_rises; ///< since the bounds were made, with those to come
    std::vector<std::uint32_t> touched;
  };

  std::uint32_t make_block();
  /// All of the block is to be described.
  void mark(std::uint32_t id);
  void list_as_stale(std::uint32_t id);

  std::vector<slot> slots_;
  std::vector<std::uint32_t> spare_;
  std::vector<std::uint32_t> order_;    ///< of the blocks, by name
  std::vector<std::uint32_t> block_of_; ///< by node
  std::vector<std::uint32_t> stale_;
  std::vector<std::uint32_t> loose_;
};

} // namespace reprieve
