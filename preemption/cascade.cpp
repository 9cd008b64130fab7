#include "preemption/cascade.hpp"

#include <algorithm>
#include <optional>

namespace reprieve {

namespace {

/// Every node in order of name, with the room that a plan leaves there. Victims that come back take
/// of it, so that it only shrinks: a size that was looked for before goes on where it stopped.
class room_after {
public:
  room_after(const problem& given, std::span<const evicted_portion> victims,
             std::span<const seat> seats)
      : view_(given.view) {
    for (const auto& one : victims)
      for (const auto p : one.pods)
        change(view_.node_of(p), view_.requests(p), 1);
    for (const auto& one : seats)
      change(one.node, given.asked.groups[one.group].request, -1);
  }

  /// Puts the pod on the first node by name that has room; false where none has.
  bool place(amounts request) {
    auto& from = reached_[{request.begin(), request.end()}];
    const auto& blocks = view_.blocks();
    for (; from.block < blocks.count(); from = {from.block + 1, 0}) {
      const auto& block = blocks.at(from.block);
      if (from.node == 0 && !may_take(block, request))
        continue;
      for (; from.node < block.nodes.size(); ++from.node) {
        const auto n = block.nodes[from.node];
        if (view_.usable(n) && covers(room(n), request)) {
          change(n, request, -1);
          return true;
        }
      }
    }
    return false;
  }

private:
  struct place_in_order {
    std::size_t block = 0;
    std::size_t node = 0;
  };

  bool may_take(const node_block& block, amounts request) const {
    return covers(block.amounts_at(node_block::most_promised, view_.width()), request)
           || std::ranges::any_of(
             changed_, [&](const auto& one) { return view_.blocks().of(one.first) == &block; });
  }

  amounts room(node_row n) const {
    const auto changed = changed_.find(n);
    return changed == changed_.end() ? view_.promised(n) : amounts{changed->second};
  }

  void change(node_row n, amounts request, std::int64_t sign) {
    auto [at, fresh] = changed_.try_emplace(n);
    if (fresh)
      at->second.assign(view_.promised(n).begin(), view_.promised(n).end());
    for (std::size_t c = 0; c < request.size(); ++c)
      at->second[c] += sign * request[c];
  }

  const cluster_view& view_;
  std::map<node_row, std::vector<std::int64_t>> changed_;
  std::map<std::vector<std::int64_t>, place_in_order> reached_;
};

} // namespace

bool cascade_check::cascades(std::span<const evicted_portion> victims,
                             std::span<const seat> seats) const {
  std::int64_t at_or_below = 0; // pods of victims that are not more important than the one at hand
  for (const auto& one : victims)
    at_or_below += std::ssize(one.pods);
  std::optional<room_after> after;
  for (std::size_t first = 0; first < victims.size();) {
    const auto priority = view_.card(victims[first].portion).priority;
    auto last = first;
    while (last < victims.size() && view_.card(victims[last].portion).priority == priority)
      at_or_below -= std::ssize(victims[last++].pods);
    if (view_.pods_below(priority) == at_or_below)
      return false; // nobody is left for these to preempt, nor for those who follow
    if (!after)
      after.emplace(given_, victims, seats);
    for (const auto& one : victims.subspan(first, last - first))
      for (const auto p : one.pods)
        if (!after->place(view_.requests(p)))
          return true;
    first = last;
  }
  return false;
}

} // namespace reprieve
