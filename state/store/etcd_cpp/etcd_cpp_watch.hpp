#pragma once

#include "state/store/callback_gate.hpp"
#include "state/store/etcd/backoff.hpp"
#include "state/store/etcd/etcd_keys.hpp"
#include "state/store/etcd/event_thread.hpp"
#include "state/store/etcd_cpp/call_threads.hpp"
#include "state/store/etcd_cpp/etcd_cpp_members.hpp"

#include <etcd/Watcher.hpp>

namespace reprieve {

/// One watch through the library, which brings a thread of its own for each and opens none again
/// that broke; this does. Used on the event thread, but for `close`. The library's watcher is made
/// and unmade on the call threads, as both may block.
class etcd_cpp_watch : public std::enable_shared_from_this<etcd_cpp_watch> {
public:
  /// What all watches of a store share. Outlives the call threads.
  struct surroundings {
    std::shared_ptr<event_thread> thread;
    etcd_cpp_members& members;
    call_threads& calls;
    const etcd_keys& keys;
  };

  etcd_cpp_watch(surroundings shared, key_range range, revision from,
                 store_callback<watch_batch> each);

  void open();

  /// Ends it with an error, its last callback.
  void fail(const absl::Status& error);

  /// Ends it for good, without waiting for the library.
  void stop();

  /// No callback runs any more when this returns; the rest follows. On any thread, even when the
  /// store is gone.
  void close();

private:
  void connect(std::int64_t number, revision from);
  std::unique_ptr<etcd::Watcher> watcher(etcd::SyncClient& by, std::int64_t number, revision from);
  void keep(std::unique_ptr<etcd::Watcher> made);
  void arrived(std::vector<change> changes);
  void refused(const absl::Status& why);
  void lost();
  void let_go();
  template <class F>
  void report(std::int64_t number, F what);

  const surroundings shared_;
  const key_range range_; ///< in etcd
  revision next_;         ///< the first revision not delivered; 0: from now on
  const store_callback<watch_batch> each_;
  callback_gate gate_;
  backoff backoff_;
  std::int64_t streams_ = 0; ///< opened so far: reports from earlier ones are stale

  std::mutex mutex_; ///< for what follows, which the call threads use, too
  std::unique_ptr<etcd::Watcher> watcher_;
  bool stopped_ = false;
};

} // namespace reprieve
