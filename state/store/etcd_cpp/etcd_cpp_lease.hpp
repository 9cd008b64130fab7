#pragma once

#include "state/store/etcd/backoff.hpp"
#include "state/store/etcd/event_thread.hpp"
#include "state/store/etcd_cpp/call_threads.hpp"
#include "state/store/etcd_cpp/etcd_cpp_members.hpp"
#include "state/store/store.hpp"

#include <etcd/KeepAlive.hpp>

#include <atomic>
#include <map>
#include <mutex>

namespace reprieve {

/// Keeps leases alive through the library: each is renewed at a third of its time to live. Used on
/// the event thread; renewals block threads of their own.
class etcd_cpp_leases {
public:
  etcd_cpp_leases(std::shared_ptr<event_thread> thread, etcd_cpp_members& members);

  /// Keeps one that was asked for at `sent`, in boot time, and granted.
  void keep(lease_id lease, duration time_to_live, duration sent, std::function<void()> lost);

  /// Says nothing of the lease while it is being revoked.
  void begin_revoking(lease_id lease);
  void end_revoking(lease_id lease, bool gone);

  /// Until when the lease surely lasts, in boot time, or 0 where it may be gone; from any thread.
  duration lasts_until(lease_id lease) const;

  /// Renews nothing any more, and calls nobody.
  void stop();

  /// Returns when no renewal is under way. Not to be called on the event thread.
  void wait() {
    threads_.stop();
  }

private:
  enum class outcome { renewed, gone, failed };

  struct held_lease {
    duration time_to_live{};
    duration deadline{};       ///< boot time; it may have expired then
    std::size_t under_way = 0; ///< renewals that are not answered
    bool revoking = false;
    std::function<void()> lost;
  };

  void attend(lease_id lease);
  void renew(lease_id lease);
  void renewed(lease_id lease, duration sent, outcome how);
  void lose(lease_id lease);
  void know_deadline(lease_id lease, duration deadline);
  outcome renew_once(etcd::SyncClient& by, lease_id lease, duration& sent);
  void end_later(std::shared_ptr<etcd::KeepAlive> used);

  const std::shared_ptr<event_thread> thread_;
  etcd_cpp_members& members_;
  std::map<lease_id, held_lease> leases_;
  mutable std::mutex deadlines_mutex_;
  std::map<lease_id, duration> deadlines_; ///< those of the leases, for other threads
  backoff backoff_;
  std::atomic<bool> stopped_ = false;
  call_threads threads_;
};

} // namespace reprieve
