#include "state/store/etcd_cpp/etcd_cpp_lease.hpp"

#include "state/store/boot_clock.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

namespace reprieve {

namespace {

constexpr duration first_wait = std::chrono::milliseconds(50);
constexpr duration longest_wait = std::chrono::seconds(1);

/// One that hangs does not keep the next from going to another member.
constexpr std::size_t renewals_at_once = 2;

/// How long the thread of a keep-alive takes from its start to its waiting.
constexpr std::chrono::milliseconds until_it_waits{10};
constexpr std::chrono::milliseconds until_it_surely_waits{300};

} // namespace

etcd_cpp_leases::etcd_cpp_leases(std::shared_ptr<event_thread> thread, etcd_cpp_members& members)
    : thread_(std::move(thread)), members_(members), backoff_(first_wait, longest_wait),
      threads_(renewals_at_once) {}

void etcd_cpp_leases::keep(lease_id lease, duration time_to_live, duration sent,
                           std::function<void()> lost) {
  leases_[lease] = {
    .time_to_live = time_to_live, .deadline = sent + time_to_live, .lost = std::move(lost)};
  know_deadline(lease, sent + time_to_live);
  attend(lease);
}

void etcd_cpp_leases::begin_revoking(lease_id lease) {
  if (auto held = leases_.find(lease); held != leases_.end())
    held->second.revoking = true;
}

void etcd_cpp_leases::end_revoking(lease_id lease, bool gone) {
  if (gone) {
    leases_.erase(lease);
    know_deadline(lease, {});
  } else if (auto held = leases_.find(lease); held != leases_.end()) {
    held->second.revoking = false;
  }
}

void etcd_cpp_leases::stop() {
  stopped_ = true;
  leases_.clear();
}

/// Renews the lease, and comes back at a third of its time to live or when that is over.
void etcd_cpp_leases::attend(lease_id id) {
  const auto held = leases_.find(id);
  if (held == leases_.end())
    return;
  auto& lease = held->second;
  const auto now = boot_time();
  if (now >= lease.deadline) {
    lose(id);
    return;
  }
  renew(id);
  thread_->post_at(std::min(now + lease.time_to_live / 3, lease.deadline),
                   [this, id] { attend(id); });
}

void etcd_cpp_leases::renew(lease_id id) {
  auto& lease = leases_.at(id);
  if (lease.revoking || lease.under_way == renewals_at_once)
    return;
  const bool hangs = lease.under_way++ > 0;
  threads_.post([this, id, hangs] {
    if (stopped_)
      return;
    auto to = members_.present();
    if (hangs) { // no answer from there all this time
      members_.rotate_from(to.number);
      to = members_.present();
    }
    auto sent = boot_time();
    const auto how = renew_once(*to.client, id, sent);
    if (how == outcome::failed) {
      members_.rotate_from(to.number);
      members_.forget(to); // the library does not tell whether the token was refused
    }
    thread_->post([this, id, sent, how] { renewed(id, sent, how); });
  });
}

/// The library's keep-alive renews at a time of its own choosing, does not tell when it did, and
/// ends at the first failure. Only its check says what became of one renewal; so there is a
/// keep-alive for each.
etcd_cpp_leases::outcome etcd_cpp_leases::renew_once(etcd::SyncClient& by, lease_id lease,
                                                     duration& sent) {
  constexpr int shortest = 1; // its own renewals are a second apart; there should be none
  const auto failed = std::make_shared<std::atomic<bool>>(false);
  try {
    const auto once = std::make_shared<etcd::KeepAlive>(
      by, [failed](const std::exception_ptr&) { *failed = true; }, shortest, lease);
    std::this_thread::sleep_for(until_it_waits);
    sent = boot_time();
    once->Check();
    end_later(once);
    return *failed ? outcome::failed : outcome::renewed; // it may be built without exceptions
  } catch (const std::out_of_range&) { // the time to live that etcd answered with is 0
    return outcome::gone;
  } catch (const std::exception&) {
    return outcome::failed;
  }
}

/// A keep-alive misses that it is to end as long as its thread has not come to its waiting; whoever
/// ends it then waits for a second.
void etcd_cpp_leases::end_later(std::shared_ptr<etcd::KeepAlive> used) {
  thread_->post_at(boot_time() + until_it_surely_waits, [this, used = std::move(used)]() mutable {
    threads_.post([used = std::move(used)] {});
  });
}

void etcd_cpp_leases::renewed(lease_id id, duration sent, outcome how) {
  const auto held = leases_.find(id);
  if (held == leases_.end())
    return;
  auto& lease = held->second;
  --lease.under_way;
  switch (how) {
  case outcome::renewed:
    backoff_.reset();
    lease.deadline = std::max(lease.deadline, sent + lease.time_to_live);
    know_deadline(id, lease.deadline);
    break;
  case outcome::gone:
    if (!lease.revoking)
      lose(id);
    break;
  case outcome::failed:
    thread_->post_at(boot_time() + backoff_.next(), [this, id] {
      if (leases_.contains(id))
        renew(id);
    });
    break;
  }
}

duration etcd_cpp_leases::lasts_until(lease_id lease) const {
  const std::lock_guard lock(deadlines_mutex_);
  const auto found = deadlines_.find(lease);
  return found == deadlines_.end() ? duration::zero() : found->second;
}

/// Zero for one that is gone.
void etcd_cpp_leases::know_deadline(lease_id lease, duration deadline) {
  const std::lock_guard lock(deadlines_mutex_);
  if (deadline == duration::zero())
    deadlines_.erase(lease);
  else
    deadlines_[lease] = deadline;
}

void etcd_cpp_leases::lose(lease_id lease) {
  know_deadline(lease, {});
  if (auto held = leases_.extract(lease); held && held.mapped().lost)
    held.mapped().lost();
}

} // namespace reprieve
