#include "state/store/sqlite/sqlite_store.hpp"

#include "state/files/directory_lock.hpp"
#include "state/store/local_watch.hpp"
#include "state/store/sqlite/sqlite_keys.hpp"
#include "state/store/store_errors.hpp"

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

namespace reprieve {

/// The one thread that uses the database. It takes whatever has queued up, runs all its writes in
/// one SQLite transaction, and answers when that is on the disk.
class sqlite_store::worker {
public:
  worker(directory_lock lock, std::unique_ptr<sqlite_keys> keys, sqlite_store_options options)
      : lock_(std::move(lock)), keys_(std::move(keys)), options_(std::move(options)),
        thread_([this] { run(); }) {}

  ~worker() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void read(range_request request, store_callback<range_result> done) {
    push(&queue::reads, [this, request = std::move(request), done = std::move(done)] {
      done(keys_->read(request));
    });
  }

  void watch(std::shared_ptr<local_watch> watch, absl::Status checked) {
    push(&queue::starts,
         [this, watch = std::move(watch), checked = std::move(checked)] { start(watch, checked); });
  }

  /// `work` is done in the transaction, `done` is called after it.
  template <class T>
  void write(std::function<absl::StatusOr<T>(sqlite_keys&)> work, store_callback<T> done) {
    push(&queue::writes, make_write<T>(std::move(work), std::move(done)));
  }

  void grant(duration time_to_live, store_callback<lease_id> done, std::function<void()> lost) {
    write<lease_id>(
      [time_to_live](sqlite_keys& keys) { return keys.add_lease(time_to_live); },
      [this, time_to_live, done = std::move(done), lost = std::move(lost)](auto granted) {
        if (granted.ok())
          leases_[*granted] = {time_to_live, batch_time_, lost};
        done(std::move(granted));
      });
  }

  void revoke(lease_id lease, store_callback<revision> done) {
    write<revision>([lease](sqlite_keys& keys) { return keys.end_lease(lease); },
                    [this, lease, done = std::move(done)](auto revoked) {
                      if (revoked.ok())
                        leases_.erase(lease);
                      done(std::move(revoked));
                    });
  }

private:
  using task = std::function<void()>;

  struct write_call {
    std::function<void(sqlite_keys&)> apply;
    std::function<void(const absl::Status&)> answer; ///< with what became of the transaction
  };

  struct queue {
    std::vector<task> starts; ///< of watches
    std::vector<write_call> writes;
    std::vector<task> reads;

    bool empty() const {
      return starts.empty() && writes.empty() && reads.empty();
    }
  };

  struct held_lease {
    duration time_to_live{};
    duration renewed{};
    std::function<void()> lost; ///< empty once it was called
  };

  template <class T>
  static write_call make_write(std::function<absl::StatusOr<T>(sqlite_keys&)> work,
                               store_callback<T> done) {
    auto result = std::make_shared<absl::StatusOr<T>>();
    return {[result, work = std::move(work)](sqlite_keys& keys) { *result = work(keys); },
            [result, done = std::move(done)](const absl::Status& committed) {
              if (committed.ok())
                done(std::move(*result));
              else
                done(committed);
            }};
  }

  template <class Call>
  void push(std::vector<Call> queue::*calls, std::type_identity_t<Call> call) {
    {
      std::lock_guard lock(mutex_);
      (waiting_.*calls).push_back(std::move(call));
    }
    wake_.notify_one();
  }

  void run() {
    queue batch;
    while (wait(batch)) {
      batch_time_ = options_.clock();
      for (const auto& begin : std::exchange(batch.starts, {}))
        begin();
      auto writes = end_due_leases();
      std::ranges::move(std::exchange(batch.writes, {}), std::back_inserter(writes));
      if (!writes.empty() || keys_->has_garbage())
        run_writes(writes);
      for (const auto& read : std::exchange(batch.reads, {}))
        read();
    }
  }

  /// Takes what is queued; waits for it no longer than until leases or garbage want attention.
  /// False when there is nothing left to do at the end.
  bool wait(queue& batch) {
    std::unique_lock lock(mutex_);
    const auto woken = [&] { return stopping_ || !waiting_.empty(); };
    if (!keys_->has_garbage()) {
      if (leases_.empty())
        wake_.wait(lock, woken);
      else
        wake_.wait_for(lock, time_to_renewal(), woken);
    }
    std::swap(batch, waiting_);
    return !stopping_ || !batch.empty();
  }

  duration time_to_renewal() const {
    auto shortest = duration::max();
    for (const auto& [id, lease] : leases_)
      shortest = std::min(shortest, lease.time_to_live / 3);
    return std::clamp<duration>(shortest, std::chrono::milliseconds(10), std::chrono::minutes(1));
  }

  void start(const std::shared_ptr<local_watch>& watch, absl::Status checked) {
    if (checked.ok() && watch->next() != 0 && watch->next() < keys_->oldest())
      checked = compacted_away(watch->next(), keys_->oldest());
    if (checked.ok() && watch->next() == 0)
      watch->start_at(keys_->current() + 1);
    if (checked.ok() && watch->next() <= keys_->current())
      checked = keys_->replay(watch->next(), [&](auto changes, revision current) {
        if (auto batch = watch->select(changes, current); !batch.changes.empty())
          watch->pass(std::move(batch));
      });
    if (checked.ok())
      watches_.add(watch);
    else
      watch->pass(checked);
  }

  void run_writes(const std::vector<write_call>& writes) {
    keys_->begin();
    for (const auto& call : writes)
      call.apply(*keys_);
    const auto changes = keys_->commit();
    for (const auto& call : writes)
      call.answer(changes.status());
    if (changes.ok() && !changes->empty())
      watches_.publish(*changes, keys_->current(),
                       [](const auto& watch, watch_batch b) { watch->pass(std::move(b)); });
  }

  /// Renews every lease that still lives, which is all it takes within one process, and ends those
  /// that this process, suspended, did not renew in time.
  std::vector<write_call> end_due_leases() {
    std::vector<write_call> ends;
    for (auto& [id, lease] : leases_) {
      if (batch_time_ - lease.renewed < lease.time_to_live) {
        lease.renewed = batch_time_;
        continue;
      }
      if (auto lost = std::exchange(lease.lost, {}))
        lost();
      ends.push_back(
        make_write<revision>([id = id](sqlite_keys& keys) { return keys.end_lease(id); },
                             [this, id = id](const auto& ended) {
                               if (ended.ok() || absl::IsNotFound(ended.status()))
                                 leases_.erase(id); // else there was no room, and it is tried again
                             }));
    }
    return ends;
  }

  const directory_lock lock_; // goes last, when the database is closed
  const std::unique_ptr<sqlite_keys> keys_;
  const sqlite_store_options options_;
  local_watches watches_;
  std::map<lease_id, held_lease> leases_;
  duration batch_time_{};

  std::mutex mutex_;
  std::condition_variable wake_;
  queue waiting_;
  bool stopping_ = false;
  std::thread thread_; // starts when all else is there
};

absl::StatusOr<std::unique_ptr<sqlite_store>>
sqlite_store::open(const std::filesystem::path& directory, sqlite_store_options options) {
  if (options.history < 1)
    return absl::InvalidArgumentError(
      fmt::format("the store must keep a history of 1 revision or more, not {}", options.history));
  auto lock = directory_lock::take(directory);
  if (!lock.ok())
    return lock.status();
  auto keys = sqlite_keys::open((directory / "store.sqlite").string(),
                                {.file_bytes = options.most_bytes, .history = options.history});
  if (!keys.ok())
    return keys.status();
  return std::unique_ptr<sqlite_store>(new sqlite_store(
    std::make_unique<worker>(*std::move(lock), *std::move(keys), std::move(options))));
}

sqlite_store::sqlite_store(std::unique_ptr<worker> worker) : worker_(std::move(worker)) {}

sqlite_store::~sqlite_store() = default;

void sqlite_store::read(range_request request, store_callback<range_result> done) {
  worker_->read(std::move(request), std::move(done));
}

void sqlite_store::commit(transaction writes, store_callback<transaction_result> done) {
  worker_->write<transaction_result>(
    [writes = std::move(writes)](sqlite_keys& keys) { return keys.apply(writes); },
    std::move(done));
}

std::unique_ptr<watch_handle> sqlite_store::watch(key_range range, revision from,
                                                  store_callback<watch_batch> each) {
  auto checked = check_limits(range_request{.range = range, .at = from});
  auto watch = std::make_shared<local_watch>(std::move(range), from, std::move(each));
  worker_->watch(watch, std::move(checked));
  return std::make_unique<local_watch_handle>(std::move(watch));
}

void sqlite_store::grant(duration time_to_live, store_callback<lease_id> done,
                         std::function<void()> lost) {
  worker_->grant(time_to_live, std::move(done), std::move(lost));
}

void sqlite_store::revoke(lease_id lease, store_callback<revision> done) {
  worker_->revoke(lease, std::move(done));
}

void sqlite_store::compact(revision before, store_callback<revision> done) {
  worker_->write<revision>([before](sqlite_keys& keys) { return keys.compact(before); },
                           std::move(done));
}

} // namespace reprieve
