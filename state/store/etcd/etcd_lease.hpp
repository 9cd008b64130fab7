#pragma once

#include "state/store/etcd/backoff.hpp"
#include "state/store/etcd/etcd_channel.hpp"
#include "state/store/store.hpp"

#include <map>
#include <mutex>

namespace reprieve {

/// Keeps leases alive, all on one stream: each is renewed at a third of its time to live. Used on
/// the event thread.
class etcd_leases {
public:
  explicit etcd_leases(etcd_channel& channel);

  void grant(duration time_to_live, store_callback<lease_id> done, std::function<void()> lost);
  void revoke(lease_id lease, store_callback<revision> done);

  /// Until when the lease surely lasts, in boot time; from any thread.
  duration lasts_until(lease_id lease) const;

  /// Renews nothing any more, and calls nobody.
  void stop();

private:
  using stream = etcd_stream<etcd_wire::LeaseKeepAliveRequest, etcd_wire::LeaseKeepAliveResponse>;

  struct held_lease {
    duration time_to_live{};
    duration deadline{}; ///< boot time; it may have expired then
    duration sent{};     ///< boot time of the renewal that is not answered; 0 for none
    bool revoking = false;
    std::function<void()> lost;
  };

  void attend(lease_id lease);
  void renew(lease_id id, held_lease& lease);
  void answered(const etcd_wire::LeaseKeepAliveResponse& response);
  void lose(lease_id lease);
  void open();
  void closed();
  void leave_stream();

  etcd_channel& channel_;
  void know_deadline(lease_id lease, duration deadline);

  std::map<lease_id, held_lease> leases_;
  mutable std::mutex deadlines_mutex_;
  std::map<lease_id, duration> deadlines_; ///< the same, for other threads
  std::shared_ptr<stream> stream_;
  std::int64_t streams_ = 0; ///< opened so far: reports from earlier ones are stale
  bool opening_ = false;     ///< or waiting to
  bool stopped_ = false;
  backoff backoff_;
};

} // namespace reprieve
