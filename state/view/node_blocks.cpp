#include "state/view/node_blocks.hpp"

#include "state/containers/heap_size.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

void node_blocks::insert(std::uint32_t node, const name_of& names) {
  if (block_of_.size() <= node)
    block_of_.resize(node + 1, no_row);
  const auto name = names(node);
  if (order_.empty())
    order_.push_back(make_block());
  auto after = std::ranges::upper_bound(order_.begin() + 1, order_.end(), name, {},
                                        [&](auto id) { return names(slots_[id].block.nodes[0]); });
  auto id = *(after - 1);
  const auto position = [&](const node_block& block) {
    return std::ranges::upper_bound(block.nodes, name, {}, names);
  };
  if (slots_[id].block.nodes.size() == most_nodes) {
    const auto fresh = make_block();
    auto& full = slots_[id].block.nodes;
    auto& rest = slots_[fresh].block.nodes;
    // Nodes often come in order of name; then blocks are left full behind them.
    const bool at_the_end = position(slots_[id].block) == full.end();
    const auto stay = static_cast<std::ptrdiff_t>(at_the_end ? most_nodes : most_nodes / 2);
    rest.assign(full.begin() + stay, full.end());
    full.erase(full.begin() + stay, full.end());
    for (const auto moved : rest)
      block_of_[moved] = fresh;
    order_.insert(after, fresh);
    mark(id);
    mark(fresh);
    if (at_the_end || !(name < names(rest.front())))
      id = fresh;
  }
  auto& nodes = slots_[id].block.nodes;
  nodes.insert(position(slots_[id].block), node);
  block_of_[node] = id;
  mark(id);
}

void node_blocks::erase(std::uint32_t node) {
  if (!contains(node))
    return;
  const auto id = std::exchange(block_of_[node], no_row);
  std::erase(slots_[id].block.nodes, node);
  mark(id);
  if (slots_[id].block.nodes.empty()) {
    std::erase(order_, id);
    spare_.push_back(id);
  }
}

void node_blocks::touch(std::uint32_t node) {
  if (!contains(node))
    return;
  const auto id = block_of_[node];
  auto& [block, stale, loose, rises, touched] = slots_[id];
  if (rises < most_rises) {
    ++rises;
    touched.push_back(node);
  }
  list_as_stale(id);
}

void node_blocks::settle(const std::function<void(node_block&)>& describe,
                         const std::function<bool(node_block&, std::uint32_t)>& raise) {
  for (const auto id : stale_) {
    auto& [block, stale, loose, rises, touched] = slots_[id];
    stale = false;
    const bool can_rise = rises < most_rises && std::ranges::all_of(touched, [&](auto node) {
                            return raise(block, node);
                          });
    touched.clear();
    if (block.nodes.empty())
      continue;
    if (can_rise) {
      if (!std::exchange(loose, true))
        loose_.push_back(id);
      continue;
    }
    describe(block);
    loose = false;
    rises = 0;
  }
  stale_.clear();
}

void node_blocks::tighten(const std::function<void(node_block&)>& describe,
                          const std::function<bool(node_block&)>& close) {
  for (const auto id : std::exchange(loose_, {})) {
    auto& one = slots_[id];
    if (!std::exchange(one.loose, false) || one.block.nodes.empty() || close(one.block))
      continue;
    describe(one.block);
    one.rises = 0;
  }
}

std::uint32_t node_blocks::make_block() {
  if (spare_.empty()) {
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const auto id = spare_.back();
  spare_.pop_back();
  return id;
}

void node_blocks::mark(std::uint32_t id) {
  slots_[id].rises = most_rises;
  list_as_stale(id);
}

void node_blocks::list_as_stale(std::uint32_t id) {
  if (!std::exchange(slots_[id].stale, true))
    stale_.push_back(id);
}

std::size_t node_blocks::memory() const {
  auto bytes = heap_size(slots_) + heap_size(spare_) + heap_size(order_) + heap_size(block_of_)
               + heap_size(stale_) + heap_size(loose_);
  for (const auto& [block, stale, loose, rises, touched] : slots_)
    bytes += heap_size(block.nodes) + heap_size(block.steps) + heap_size(block.amounts)
             + heap_size(touched);
  return bytes;
}

} // namespace reprieve
