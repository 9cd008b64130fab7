#include "apps/bench/plain_puts.hpp"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace reprieve {

namespace {

using clock = std::chrono::steady_clock;

/// Chains of transactions: each begins when the one before it has ended, on the store's thread.
class chains : public std::enable_shared_from_this<chains> {
public:
  chains(store& to, const put_pattern& how, clock::time_point until)
      : to_(to), how_(how), until_(until), open_(how.in_flight) {}

  void begin() {
    for (std::size_t i = 0; i < how_.in_flight; ++i)
      next();
  }

  absl::StatusOr<std::size_t> wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return open_ == 0; });
    if (!worst_.ok())
      return worst_;
    return written_.load();
  }

private:
  void next() {
    if (clock::now() >= until_) {
      end(absl::OkStatus());
      return;
    }
    constexpr std::size_t value_bytes = 256;
    transaction writes;
    for (std::size_t i = 0; i < how_.keys; ++i)
      writes.operations.emplace_back(
        put{fmt::format("puts/{:09}", last_++), std::string(value_bytes, 'x'), 0});
    to_.commit(std::move(writes),
               [me = shared_from_this()](const absl::StatusOr<transaction_result>& how) {
                 if (!how.ok()) {
                   me->end(how.status());
                   return;
                 }
                 me->written_ += me->how_.keys;
                 me->next();
               });
  }

  void end(const absl::Status& how) {
    const std::lock_guard lock(mutex_);
    worst_.Update(how);
    --open_;
    ended_.notify_all();
  }

  static inline std::atomic<std::size_t> last_ = 0;

  store& to_;
  const put_pattern how_;
  const clock::time_point until_;
  std::atomic<std::size_t> written_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t open_;
  absl::Status worst_;
};

} // namespace

absl::StatusOr<double> plain_puts(store& to, const put_pattern& how,
                                  std::chrono::milliseconds for_so_long) {
  const auto began = clock::now();
  const auto all = std::make_shared<chains>(to, how, began + for_so_long);
  all->begin();
  const auto written = all->wait();
  if (!written.ok())
    return written.status();
  return static_cast<double>(*written)
         / std::chrono::duration<double>(clock::now() - began).count();
}

absl::Status wait_until_it_serves(store& etcd) {
  absl::Status how;
  for (int i = 0; i < 100; ++i) {
    const auto rate = plain_puts(etcd, serial_puts, std::chrono::milliseconds{10});
    if (rate.ok())
      return absl::OkStatus();
    how = rate.status();
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
  return absl::UnavailableError(fmt::format(
    "etcd does not serve; is it installed (etcd-server)? {}", std::string(how.message())));
}

} // namespace reprieve
