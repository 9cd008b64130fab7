#include "state/store/etcd/etcd_lease.hpp"

#include "state/store/boot_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

constexpr duration first_wait = std::chrono::milliseconds(50);
constexpr duration longest_wait = std::chrono::seconds(1);

} // namespace

etcd_leases::etcd_leases(etcd_channel& channel)
    : channel_(channel), backoff_(first_wait, longest_wait) {}

void etcd_leases::grant(duration time_to_live, store_callback<lease_id> done,
                        std::function<void()> lost) {
  if (time_to_live <= duration::zero()) {
    done(absl::InvalidArgumentError("the time to live of a lease must be more than 0"));
    return;
  }
  etcd_wire::LeaseGrantRequest request;
  request.set_ttl(std::chrono::ceil<std::chrono::seconds>(time_to_live).count());
  channel_.call<etcd_wire::LeaseGrantResponse>(
    etcd_method::lease_grant, std::move(request),
    [this, done = std::move(done), lost = std::move(lost),
     sent = boot_time()](const etcd_end& end, etcd_wire::LeaseGrantResponse& granted) {
      auto status = write_status(end);
      if (status.ok() && !granted.error().empty())
        status = absl::UnavailableError(fmt::format("etcd: {}", granted.error()));
      if (!status.ok()) {
        done(status);
        return;
      }
      const duration lives = std::chrono::seconds(granted.ttl());
      leases_[granted.id()] = {
        .time_to_live = lives, .deadline = sent + lives, .lost = std::move(lost)};
      know_deadline(granted.id(), sent + lives);
      done(granted.id());
      attend(granted.id());
    });
}

/// While it is being revoked nothing is said about it, because a renewal may find it gone before
/// the answer to the revocation is here.
void etcd_leases::revoke(lease_id lease, store_callback<revision> done) {
  if (auto held = leases_.find(lease); held != leases_.end())
    held->second.revoking = true;
  etcd_wire::LeaseRevokeRequest request;
  request.set_id(lease);
  channel_.call<etcd_wire::LeaseRevokeResponse>(
    etcd_method::lease_revoke, std::move(request),
    [this, lease, done = std::move(done)](const etcd_end& end,
                                          etcd_wire::LeaseRevokeResponse& revoked) {
      const auto status = write_status(end);
      if (status.ok() || absl::IsNotFound(status)) {
        leases_.erase(lease);
        know_deadline(lease, duration::zero());
      } else if (auto held = leases_.find(lease); held != leases_.end()) {
        held->second.revoking = false;
      }
      if (status.ok())
        done(revoked.header().revision());
      else
        done(status);
    });
}

void etcd_leases::stop() {
  stopped_ = true;
  leases_.clear();
  leave_stream();
}

/// Renews the lease, and comes back at a third of its time to live or when that is over.
void etcd_leases::attend(lease_id id) {
  const auto held = leases_.find(id);
  if (held == leases_.end())
    return;
  auto& lease = held->second;
  const auto now = boot_time();
  if (now >= lease.deadline) {
    lose(id);
    return;
  }
  if (lease.sent != duration::zero()) { // no answer for all this time: try another member
    leave_stream();
    channel_.rotate();
  }
  if (!lease.revoking)
    renew(id, lease);
  channel_.thread()->post_at(std::min(now + lease.time_to_live / 3, lease.deadline),
                             [this, id] { attend(id); });
}

void etcd_leases::renew(lease_id id, held_lease& lease) {
  if (!stream_) {
    open(); // which renews them all
    return;
  }
  lease.sent = boot_time();
  etcd_wire::LeaseKeepAliveRequest request;
  request.set_id(id);
  stream_->send(std::move(request));
}

void etcd_leases::answered(const etcd_wire::LeaseKeepAliveResponse& response) {
  backoff_.reset();
  const auto held = leases_.find(response.id());
  if (held == leases_.end())
    return;
  auto& lease = held->second;
  if (response.ttl() > 0) {
    lease.deadline = std::exchange(lease.sent, {}) + std::chrono::seconds(response.ttl());
    know_deadline(response.id(), lease.deadline);
  } else if (!lease.revoking) {
    lose(response.id());
  }
}

/// Zero for one that is gone.
void etcd_leases::know_deadline(lease_id lease, duration deadline) {
  const std::lock_guard lock(deadlines_mutex_);
  if (deadline == duration::zero())
    deadlines_.erase(lease);
  else
    deadlines_[lease] = deadline;
}

duration etcd_leases::lasts_until(lease_id lease) const {
  const std::lock_guard lock(deadlines_mutex_);
  const auto found = deadlines_.find(lease);
  return found == deadlines_.end() ? duration::zero() : found->second;
}

void etcd_leases::lose(lease_id lease) {
  know_deadline(lease, duration::zero());
  if (auto held = leases_.extract(lease); held && held.mapped().lost)
    held.mapped().lost();
}

void etcd_leases::open() {
  if (std::exchange(opening_, true))
    return;
  const auto number = ++streams_;
  channel_.open<etcd_wire::LeaseKeepAliveRequest, etcd_wire::LeaseKeepAliveResponse>(
    etcd_method::lease_keep_alive,
    {.answered =
       [this, number](const etcd_wire::LeaseKeepAliveResponse& response) {
         if (streams_ == number)
           answered(response);
       },
     .closed =
       [this, number](const grpc::Status&) {
         if (streams_ == number)
           closed();
       }},
    [this, number](std::shared_ptr<stream> opened) {
      if (stopped_ || streams_ != number) {
        opened->cancel();
        return;
      }
      opening_ = false;
      stream_ = std::move(opened);
      for (auto& [id, lease] : leases_)
        if (!lease.revoking)
          renew(id, lease);
    });
}

/// Opens another one after a while, as long as there is a lease to keep.
void etcd_leases::closed() {
  leave_stream();
  if (stopped_)
    return;
  opening_ = true;
  channel_.thread()->post_at(boot_time() + backoff_.next(), [this, number = streams_] {
    if (streams_ != number)
      return;
    opening_ = false;
    if (!leases_.empty() && !stopped_)
      open();
  });
}

void etcd_leases::leave_stream() {
  ++streams_;
  opening_ = false;
  for (auto& [id, lease] : leases_)
    lease.sent = {};
  if (auto left = std::exchange(stream_, nullptr))
    left->cancel();
}

} // namespace reprieve
