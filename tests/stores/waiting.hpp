#pragma once

#include "state/store/store.hpp"

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <thread>

namespace reprieve {

using namespace std::chrono_literals;

/// Longer than anything in these tests takes.
inline constexpr duration patience = 60s;

/// Makes a call and waits for its answer.
template <class T, class Call>
absl::StatusOr<T> answer_to(Call call) {
  auto answer = std::make_shared<std::promise<absl::StatusOr<T>>>();
  auto future = answer->get_future();
  call([answer](absl::StatusOr<T> result) { answer->set_value(std::move(result)); });
  if (future.wait_for(patience) != std::future_status::ready)
    return absl::DeadlineExceededError("the store did not answer");
  return future.get();
}

inline absl::StatusOr<range_result> read(store& from, range_request request) {
  return answer_to<range_result>([&](auto done) { from.read(std::move(request), done); });
}

inline absl::StatusOr<transaction_result> commit(store& to, transaction writes) {
  return answer_to<transaction_result>([&](auto done) { to.commit(std::move(writes), done); });
}

inline absl::StatusOr<transaction_result> commit(store& to, std::vector<operation> operations) {
  return commit(to, transaction{{}, std::move(operations)});
}

inline absl::StatusOr<lease_id> grant(
  store& from, duration time_to_live, std::function<void()> lost = [] {}) {
  return answer_to<lease_id>([&](auto done) { from.grant(time_to_live, done, std::move(lost)); });
}

inline absl::StatusOr<revision> revoke(store& from, lease_id lease) {
  return answer_to<revision>([&](auto done) { from.revoke(lease, done); });
}

inline absl::StatusOr<revision> compact(store& in, revision before) {
  return answer_to<revision>([&](auto done) { in.compact(before, done); });
}

/// The value of `key`, or `(absent)`, or the error.
inline std::string value_of(store& from, const std::string& key) {
  const auto found = read(from, {.range = just(key)});
  if (!found.ok())
    return std::string(found.status().message());
  return found->values.empty() ? "(absent)" : found->values[0].value;
}

/// Asks again until `holds` or patience is at an end.
template <class Condition>
bool eventually(Condition holds) {
  for (const auto end = std::chrono::steady_clock::now() + patience;
       std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(10ms))
    if (holds())
      return true;
  return false;
}

/// Everything that one watch reports.
class watch_log {
public:
  store_callback<watch_batch> callback() {
    return [this](absl::StatusOr<watch_batch> batch) {
      std::lock_guard lock(mutex_);
      if (batch.ok())
        batches_.push_back(*std::move(batch));
      else
        error_ = batch.status();
      reported_.notify_all();
    };
  }

  /// Waits for at least `count` changes; answers with all there are, such as `+a=1@7 -b@8`.
  std::string changes(std::size_t count) {
    std::unique_lock lock(mutex_);
    reported_.wait_for(lock, patience, [&] { return number() >= count || !error_.ok(); });
    std::string text;
    for (const auto& batch : batches_)
      for (const auto& one : batch.changes) {
        const bool written = one.kind == change::type::put;
        text += (text.empty() ? "" : " ") + std::string(written ? "+" : "-") + one.value.key
                + (written ? "=" + one.value.value : "") + "@" + std::to_string(one.value.modified);
      }
    return text;
  }

  absl::Status error() {
    std::unique_lock lock(mutex_);
    reported_.wait_for(lock, patience, [&] { return !error_.ok(); });
    return error_;
  }

  std::vector<watch_batch> batches() {
    std::lock_guard lock(mutex_);
    return batches_;
  }

private:
  std::size_t number() const {
    std::size_t sum = 0;
    for (const auto& batch : batches_)
      sum += batch.changes.size();
    return sum;
  }

  std::mutex mutex_;
  std::condition_variable reported_;
  std::vector<watch_batch> batches_;
  absl::Status error_;
};

} // namespace reprieve
