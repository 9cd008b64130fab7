#pragma once

#include "state/store/boot_clock.hpp"
#include "state/store/local_watch.hpp"
#include "state/store/store.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <optional>

namespace reprieve {

struct memory_store_options {
  /// Is given every answer to run, in order. The default runs it at once, on the calling thread,
  /// when the store is not locked any more.
  std::function<void(std::function<void()>)> executor = [](auto answer) { answer(); };
  /// What leases are counted on.
  std::function<duration()> clock = boot_time;
  /// Whether what was before the newest write is kept until it is compacted; else it never is.
  bool keep_history = true;
};

/// The store contract in memory, for tests and simulations: nothing is durable, and one thread
/// with one executor gives the same answers in the same order every time.
class memory_store final : public store {
public:
  explicit memory_store(memory_store_options options = {});

  void read(range_request request, store_callback<range_result> done) override;
  void commit(transaction writes, store_callback<transaction_result> done) override;
  std::unique_ptr<watch_handle> watch(key_range range, revision from,
                                      store_callback<watch_batch> each) override;
  void grant(duration time_to_live, store_callback<lease_id> done,
             std::function<void()> lost) override;
  void revoke(lease_id lease, store_callback<revision> done) override;
  void compact(revision before, store_callback<revision> done) override;

  /// As if the lease's holder were gone: it is not renewed any more, and expires its time to live
  /// from now on.
  void abandon(lease_id lease);

  /// Ends the abandoned leases whose time is over. Every other call does so, too.
  void expire_leases();

private:
  /// The changes of one key since history began, oldest first.
  using key_history = std::vector<change>;

  struct held_lease {
    duration time_to_live{};
    std::function<void()> lost;
    std::optional<duration> expires; ///< once it is abandoned
  };

  template <class T, class Work>
  void answer(store_callback<T> done, Work work);
  void run_answers();

  absl::StatusOr<range_result> find(const range_request& request) const;
  absl::StatusOr<transaction_result> apply(transaction writes);
  absl::StatusOr<revision> end_lease(lease_id lease);
  absl::StatusOr<revision> forget(revision before);
  void start(const std::shared_ptr<local_watch>& watch);
  void end_due_leases();

  const key_value* live(const std::string& key) const;
  void write(put&& written, std::vector<change>& changes);
  void remove(const key_range& range, std::vector<change>& changes);
  void publish(std::vector<change> changes);

  const memory_store_options options_;
  std::mutex mutex_;
  std::map<std::string, key_history> keys_;
  revision current_ = 1;
  revision oldest_ = 1; ///< history starts here
  std::map<lease_id, held_lease> leases_;
  lease_id last_lease_ = 0;
  local_watches watches_;
  std::deque<std::function<void()>> answers_;
  bool answering_ = false;
};

} // namespace reprieve
