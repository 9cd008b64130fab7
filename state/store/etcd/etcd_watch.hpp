#pragma once

#include "state/store/callback_gate.hpp"
#include "state/store/etcd/backoff.hpp"
#include "state/store/etcd/etcd_channel.hpp"
#include "state/store/etcd/etcd_keys.hpp"

namespace reprieve {

/// One watch, on a stream of its own that it opens again whenever it breaks. Used on the event
/// thread, but for `close`.
class etcd_watch : public std::enable_shared_from_this<etcd_watch> {
public:
  etcd_watch(etcd_channel& channel, const etcd_keys& keys, key_range range, revision from,
             store_callback<watch_batch> each);

  void open();

  /// Ends it with an error, its last callback.
  void fail(const absl::Status& error);

  /// Ends it for good, without waiting for the stream to close.
  void stop();

  /// No callback runs any more when this returns; the rest follows on the event thread. On any
  /// thread, even when the store is gone.
  void close();

private:
  using stream = etcd_stream<etcd_wire::WatchRequest, etcd_wire::WatchResponse>;

  etcd_wire::WatchRequest create_request() const;
  void answered(etcd_wire::WatchResponse response);
  void cancelled(const etcd_wire::WatchResponse& response);
  void deliver(revision current);
  void lost();
  void expect_creation();

  etcd_channel& channel_;
  const std::shared_ptr<event_thread> thread_;
  const etcd_keys& keys_;
  const key_range range_; ///< in etcd
  revision next_;         ///< the first revision not delivered; 0: from now on
  const store_callback<watch_batch> each_;
  callback_gate gate_;
  backoff backoff_;
  std::shared_ptr<stream> stream_;
  std::int64_t streams_ = 0; ///< opened so far: reports from earlier ones are stale
  bool created_ = false;
  bool stopped_ = false;
  std::vector<change> gathered_; ///< of an answer that came in fragments
};

} // namespace reprieve
