#include "preemption/policies/lifecycle/lifecycle_match.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

bool covers(std::span<const wide_int> room, amounts request) {
  for (std::size_t c = 0; c < request.size(); ++c)
    if (request[c] > 0 && request[c] > room[c])
      return false;
  return true;
}

void add(std::span<wide_int> room, amounts request) {
  for (std::size_t c = 0; c < room.size(); ++c)
    room[c] += request[c];
}

void take(std::span<wide_int> room, amounts request) {
  for (std::size_t c = 0; c < room.size(); ++c)
    room[c] -= request[c];
}

// -- what is there -------------------------------------------------------------------------------

lifecycle_stock::lifecycle_stock(const cluster_view& view, const lifecycle_input& given)
    : view_(view), victims_(view, given) {
  room_.reserve(std::size_t{view.node_rows()} * view.width());
  for (node_row n = 0; n < view.node_rows(); ++n)
    room_.insert(room_.end(), view.free(n).begin(), view.free(n).end());
}

void lifecycle_stock::settle(const node_match& made, const lifecycle_demand& asked) {
  const auto here = std::span{room_}.subspan(std::size_t{made.node} * view_.width(), view_.width());
  for (const auto& one : made.victims) {
    victims_.match(one, asked.who);
    add(here, view_.requests(one.pod));
  }
  take(here, asked.request);
}

// -- one node ------------------------------------------------------------------------------------

namespace {

std::optional<node_match> match_with(const lifecycle_stock& stock, const lifecycle_demand& asked,
                                     node_row n, std::span<const lifecycle_candidate> candidates) {
  const auto& view = stock.view();
  std::vector<wide_int> room{stock.room(n).begin(), stock.room(n).end()};
  std::size_t enough = 0;
  while (enough < candidates.size() && !covers(room, asked.request))
    add(room, view.requests(candidates[enough++].pod));
  if (!covers(room, asked.request))
    return std::nullopt;

  node_match made{.node = n, .victims = {}};
  for (auto at = enough; at-- > 0;) {
    const auto freed = view.requests(candidates[at].pod);
    take(room, freed);
    if (covers(room, asked.request))
      continue;
    add(room, freed);
    made.victims.push_back(candidates[at]);
  }
  stock.victims().restage(made.victims);

  const auto scaled_down =
    std::ranges::count(made.victims, victim_stage::committed, &lifecycle_candidate::stage);
  if (const auto most = stock.victims().limits_on(n).victims_per_decision;
      most && scaled_down > *most)
    return std::nullopt;
  return made;
}

} // namespace

std::optional<node_match> match_on(const lifecycle_stock& stock, const lifecycle_demand& asked,
                                   node_row n) {
  if (covers(stock.room(n), asked.request))
    return node_match{.node = n, .victims = {}};
  if (!asked.who.may_preempt)
    return std::nullopt;
  return match_with(stock, asked, n, stock.victims().candidates_on(n, asked.who));
}

std::optional<node_match> match_again(const lifecycle_stock& stock, const lifecycle_demand& asked,
                                      node_row n, std::span<const pod_row> victims) {
  if (!asked.who.may_preempt)
    victims = {};
  auto made = match_with(stock, asked, n, stock.victims().candidates_among(victims, n, asked.who));
  if (made && !made->victims.empty() && made->victims.back().stage == victim_stage::committed)
    return std::nullopt;
  return made;
}

// -- all nodes -----------------------------------------------------------------------------------

node_search::node_search(const lifecycle_stock& stock, const lifecycle_demand& asked,
                         std::span<const node_row> nodes)
    : stock_(stock), asked_(asked) {
  const auto& view = stock.view();
  std::vector<node_row> limited;
  for (const auto n : nodes)
    if (stock.victims().limits_on(n).search_budget)
      limited.push_back(n);
    else
      consider(n);
  // Rows are in no order that means anything.
  std::ranges::sort(limited, {}, [&](node_row n) { return std::string_view(view.node_name(n)); });
  for (const auto n : limited)
    consider(n);
}

std::optional<node_match> node_search::next() {
  if (last_ != no_row) {
    ++settled_;
    consider(std::exchange(last_, no_row));
  }
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, by_preference());
    auto best = std::move(heap_.back());
    heap_.pop_back();
    if (best.after == settled_) {
      last_ = best.found.node;
      return std::move(best.found);
    }
    consider(best.found.node);
  }
  return std::nullopt;
}

bool node_search::may_look_at(node_row n) {
  const auto budget = stock_.victims().limits_on(n).search_budget;
  if (!budget)
    return true;
  auto& spent = spent_.try_emplace(stock_.view().node_at(n).resource_group, budget).first->second;
  spent.spend(1 + stock_.victims().count_on(n));
  budget_reached_ = budget_reached_ || spent.exhausted();
  return !spent.exhausted();
}

void node_search::consider(node_row n) {
  if (!may_look_at(n))
    return;
  if (auto found = match_on(stock_, asked_, n)) {
    heap_.push_back({*std::move(found), settled_});
    std::ranges::push_heap(heap_, by_preference());
  }
}

bool node_search::worse(const node_match& a, const node_match& b) const {
  if (a.victims.empty() != b.victims.empty())
    return b.victims.empty();
  if (!a.victims.empty())
    if (const auto order = stock_.victims().compare(a.victims.back(), b.victims.back()); order != 0)
      return order > 0;
  if (a.victims.size() != b.victims.size())
    return a.victims.size() > b.victims.size();
  return stock_.view().node_name(a.node) > stock_.view().node_name(b.node);
}

} // namespace reprieve
