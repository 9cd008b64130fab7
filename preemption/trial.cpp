#include "preemption/trial.hpp"

#include <algorithm>

namespace reprieve {

trial::trial(const cluster_view& view, basis from)
    : view_(view), from_(from), width_(view.width()),
      cells_(std::make_unique_for_overwrite<std::int64_t[]>(2 * width_ * view.node_rows())),
      scratch_(width_) {}

void trial::start_domain() {
  first_kept_.forget_all();
  kept_.clear();
  start_placement();
}

void trial::start_placement() {
  nodes_.forget_all();
  claimed_nodes_.clear();
}

void trial::keep(node_row n, std::uint32_t position) {
  auto& first = first_kept_[n];
  kept_.push_back({position, view_.pods_on(n)[position], first});
  first = kept_.size();
}

void trial::open(node_row n, std::size_t step) {
  if (step >= opened(n))
    return;
  const auto room = touch(n);
  add_gain(n, step, room);
  nodes_[n].opened = step;
}

std::size_t trial::opened(node_row n) const {
  return nodes_.has(n) ? nodes_.at(n).opened : view_.steps(n).size();
}

bool trial::fits_at(node_row n, std::size_t step, amounts request) const {
  const auto now = room(n);
  if (step >= opened(n))
    return covers(now, request);
  std::ranges::copy(now, scratch_.begin());
  add_gain(n, step, scratch_);
  return covers(scratch_, request);
}

amounts trial::room(node_row n) const {
  return nodes_.has(n) ? amounts{&cells_[2 * width_ * n], width_} : base(n);
}

std::vector<std::int64_t> trial::room_at(node_row n, std::size_t step) const {
  const auto now = room(n);
  std::vector<std::int64_t> then{now.begin(), now.end()};
  if (step < opened(n))
    add_gain(n, step, then);
  return then;
}

void trial::claim(node_row n, amounts request) {
  take(n, request);
  const auto claimed_here = claims(n);
  for (std::size_t c = 0; c < width_; ++c)
    claimed_here[c] += request[c];
  if (auto& state = nodes_[n]; !state.claimed) {
    state.claimed = true;
    claimed_nodes_.push_back(n);
  }
}

bool trial::claimed(node_row n) const {
  return nodes_.has(n) && nodes_.at(n).claimed;
}

bool trial::fits_beside(node_row n, amounts request) const {
  if (!claimed(n))
    return true;
  const auto now = room(n);
  const auto claimed_here = claims(n);
  for (std::size_t c = 0; c < width_; ++c)
    if (claimed_here[c] > 0 && request[c] > 0 && request[c] > now[c])
      return false;
  return true;
}

void trial::take(node_row n, amounts request) {
  const auto room = touch(n);
  for (std::size_t c = 0; c < width_; ++c)
    room[c] -= request[c];
}

void trial::give(node_row n, amounts request) {
  const auto room = touch(n);
  for (std::size_t c = 0; c < width_; ++c)
    room[c] += request[c];
}

amounts trial::base(node_row n) const {
  return from_ == basis::free ? view_.free(n) : view_.promised(n);
}

std::span<std::int64_t> trial::touch(node_row n) {
  const std::span<std::int64_t> room{&cells_[2 * width_ * n], width_};
  if (!nodes_.has(n)) {
    std::ranges::copy(base(n), room.begin());
    std::ranges::fill(claims(n), 0);
    nodes_[n].opened = view_.steps(n).size();
  }
  return room;
}

std::span<std::int64_t> trial::claims(node_row n) const {
  return {&cells_[2 * width_ * n + width_], width_};
}

void trial::add_gain(node_row n, std::size_t step, std::span<std::int64_t> room) const {
  const auto steps = view_.steps(n);
  const auto from = opened(n);
  const auto held = view_.held_from(n, step);
  for (std::size_t c = 0; c < width_; ++c)
    room[c] += held[c];
  if (from < steps.size()) {
    const auto gone_before = view_.held_from(n, from);
    for (std::size_t c = 0; c < width_; ++c)
      room[c] -= gone_before[c];
  }
  if (!first_kept_.has(n))
    return;
  const auto begin = steps[step].first;
  const auto end = from < steps.size() ? steps[from].first : view_.pods_on(n).size();
  for (auto k = first_kept_.at(n); k != 0; k = kept_[k - 1].next) {
    const auto& kept = kept_[k - 1];
    if (kept.position < begin || kept.position >= end)
      continue;
    const auto stays = view_.requests(kept.pod);
    for (std::size_t c = 0; c < width_; ++c)
      room[c] -= stays[c];
  }
}

} // namespace reprieve
