#include "preemption/room_after.hpp"

#include <algorithm>

namespace reprieve {

bool room_after::place(amounts request) {
  auto& from = reached_[{request.begin(), request.end()}];
  const auto& blocks = view_.blocks();
  for (; from.block < blocks.count(); from = {from.block + 1, 0}) {
    const auto& block = blocks.at(from.block);
    if (from.node == 0 && !may_take(block, request))
      continue;
    for (; from.node < block.nodes.size(); ++from.node) {
      const auto n = block.nodes[from.node];
      if (view_.usable(n) && covers(room(n), request)) {
        take(n, request);
        return true;
      }
    }
  }
  return false;
}

bool room_after::may_take(const node_block& block, amounts request) const {
  return covers(block.amounts_at(node_block::most_promised, view_.width()), request)
         || std::ranges::any_of(
           changed_, [&](const auto& one) { return view_.blocks().of(one.first) == &block; });
}

amounts room_after::room(node_row n) const {
  const auto changed = changed_.find(n);
  return changed == changed_.end() ? view_.promised(n) : amounts{changed->second};
}

void room_after::change(node_row n, amounts request, std::int64_t sign) {
  auto [at, fresh] = changed_.try_emplace(n);
  if (fresh)
    at->second.assign(view_.promised(n).begin(), view_.promised(n).end());
  for (std::size_t c = 0; c < request.size(); ++c)
    at->second[c] += sign * request[c];
}

} // namespace reprieve
