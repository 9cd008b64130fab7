#include "preemption/policies/queues/queue_balance.hpp"

#include "preemption/problem/apportion.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

namespace reprieve {

namespace {

std::int64_t above_zero(std::int64_t amount) {
  return std::max<std::int64_t>(amount, 0);
}

wide_int sum_of(std::span<const std::int64_t> all) {
  return std::accumulate(all.begin(), all.end(), wide_int{0});
}

/// What was preempting becomes allocated.
void turn(queue_account& one, std::int64_t amount) {
  one.allocated += amount;
  one.preempting -= amount;
}

std::int64_t overused(const queue_account& one) {
  return above_zero(one.staying - one.allocated);
}

/// Of that, what it deserves.
std::int64_t rightly_overused(const queue_account& one) {
  return above_zero(std::min(one.staying, one.deserved) - one.allocated);
}

std::int64_t lacking(const queue_account& one) {
  return above_zero(one.deserved - one.allocated - one.preempting);
}

std::int64_t promised_above(const queue_account& one) {
  return std::min(one.preempting, above_zero(one.allocated + one.preempting - one.deserved));
}

std::int64_t unused_above(const queue_account& one) {
  return above_zero(one.allocated - std::max(one.deserved, one.used));
}

std::int64_t all_above(const queue_account& one) {
  return above_zero(one.allocated - one.deserved);
}

} // namespace

queue_balance::queue_balance(std::int64_t capacity, std::int64_t used_outside,
                             std::vector<queue_account> accounts)
    : capacity_(above_zero(capacity)), used_outside_(above_zero(used_outside)),
      accounts_(std::move(accounts)) {
  auto room = std::numeric_limits<std::int64_t>::max();
  for (auto& one : accounts_) {
    one.allocated = std::clamp<std::int64_t>(one.allocated, 0, room);
    room -= one.allocated;
    one.preempting = std::clamp<std::int64_t>(one.preempting, 0, room);
    room -= one.preempting;
  }
}

wide_int queue_balance::unassigned() const {
  return std::accumulate(
    accounts_.begin(), accounts_.end(), wide_int{capacity_},
    [](wide_int left, const queue_account& one) { return left - one.allocated - one.preempting; });
}

void queue_balance::settle() {
  cover_what_stays();
  keep_promises();
}

void queue_balance::cover_what_stays() {
  for (auto& one : accounts_)
    turn(one, std::min(one.preempting, overused(one)));
  const auto wanted = each(rightly_overused);
  const auto given = apportion(std::min(unassigned(), sum_of(wanted)), wanted);
  for (std::size_t i = 0; i < accounts_.size(); ++i)
    accounts_[i].allocated += given[i];
}

void queue_balance::keep_promises() {
  auto free = static_cast<wide_int>(capacity_) - used_outside_;
  for (const auto& one : accounts_)
    free -= std::max(one.allocated, one.used);
  if (free < 0)
    return;
  for (auto& one : accounts_)
    // Its own pods have the room until they leave, so that nobody else waits for it.
    turn(one, std::min(one.preempting, above_zero(one.used - one.allocated)));
  const auto promised = each(&queue_account::preempting);
  const auto kept = apportion(std::min(free, sum_of(promised)), promised);
  for (std::size_t i = 0; i < accounts_.size(); ++i)
    turn(accounts_[i], kept[i]);
}

std::vector<queue_movement> queue_balance::promise_what_is_deserved() {
  std::vector<queue_movement> moved(accounts_.size());
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    auto& one = accounts_[i];
    moved[i].promises = promised_above(one);
    one.preempting -= moved[i].promises;
    moved[i].unused = unused_above(one);
    moved[i].used = all_above(one) - moved[i].unused;
    one.allocated -= moved[i].unused + moved[i].used;
    moved[i].received = lacking(one);
    one.preempting += moved[i].received;
  }
  return moved;
}

std::vector<std::int64_t> queue_balance::each(const amount_of_account& amount) const {
  std::vector<std::int64_t> all;
  all.reserve(accounts_.size());
  for (const auto& one : accounts_)
    all.push_back(amount(one));
  return all;
}

} // namespace reprieve
