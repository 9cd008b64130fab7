#include "state/store/memory/memory_store.hpp"

#include "state/store/store_errors.hpp"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace reprieve {

namespace {

/// The key as it was at revision `at`, null when it was absent.
const key_value* at_revision(const std::vector<change>& history, revision at) {
  auto later =
    std::ranges::upper_bound(history, at, {}, [](const change& c) { return c.value.modified; });
  if (later == history.begin() || std::prev(later)->kind == change::type::erase)
    return nullptr;
  return &std::prev(later)->value;
}

} // namespace

memory_store::memory_store(memory_store_options options) : options_(std::move(options)) {}

template <class T, class Work>
void memory_store::answer(store_callback<T> done, Work work) {
  {
    std::lock_guard lock(mutex_);
    end_due_leases();
    answers_.push_back([done = std::move(done), result = absl::StatusOr<T>(work())]() mutable {
      done(std::move(result));
    });
  }
  run_answers();
}

/// One thread at a time hands answers out, so that they keep their order even when an answer makes
/// the next call.
void memory_store::run_answers() {
  std::unique_lock lock(mutex_);
  if (std::exchange(answering_, true))
    return;
  while (!answers_.empty()) {
    auto next = std::move(answers_.front());
    answers_.pop_front();
    lock.unlock();
    options_.executor(std::move(next));
    lock.lock();
  }
  answering_ = false;
}

void memory_store::read(range_request request, store_callback<range_result> done) {
  answer(std::move(done), [&] { return find(request); });
}

void memory_store::commit(transaction writes, store_callback<transaction_result> done) {
  answer(std::move(done), [&] { return apply(std::move(writes)); });
}

std::unique_ptr<watch_handle> memory_store::watch(key_range range, revision from,
                                                  store_callback<watch_batch> each) {
  auto checked = check_limits(range_request{.range = range, .at = from});
  auto watch = std::make_shared<local_watch>(std::move(range), from, std::move(each));
  {
    std::lock_guard lock(mutex_);
    if (checked.ok() && from != 0 && from < oldest_)
      checked = compacted_away(from, oldest_);
    if (checked.ok())
      start(watch);
    else
      answers_.push_back([watch, checked] { watch->pass(checked); });
  }
  run_answers();
  return std::make_unique<local_watch_handle>(std::move(watch));
}

void memory_store::grant(duration time_to_live, store_callback<lease_id> done,
                         std::function<void()> lost) {
  answer(std::move(done), [&]() -> absl::StatusOr<lease_id> {
    if (time_to_live <= duration::zero())
      return absl::InvalidArgumentError("the time to live of a lease must be more than 0");
    leases_.emplace(++last_lease_, held_lease{time_to_live, std::move(lost), std::nullopt});
    return last_lease_;
  });
}

void memory_store::revoke(lease_id lease, store_callback<revision> done) {
  answer(std::move(done), [&] { return end_lease(lease); });
}

void memory_store::compact(revision before, store_callback<revision> done) {
  answer(std::move(done), [&] { return forget(before); });
}

void memory_store::abandon(lease_id lease) {
  std::lock_guard lock(mutex_);
  if (auto held = leases_.find(lease); held != leases_.end())
    held->second.expires = options_.clock() + held->second.time_to_live;
}

void memory_store::expire_leases() {
  {
    std::lock_guard lock(mutex_);
    end_due_leases();
  }
  run_answers();
}

absl::StatusOr<range_result> memory_store::find(const range_request& request) const {
  if (auto checked = check_limits(request); !checked.ok())
    return checked;
  if (auto checked = check_read_revision(request.at, oldest_, current_); !checked.ok())
    return checked;
  const revision at = request.at == 0 ? current_ : request.at;
  range_result result;
  result.current = current_;
  for (auto key = keys_.lower_bound(request.range.begin);
       key != keys_.end() && before_end(request.range, key->first); ++key) {
    const auto* found = at_revision(key->second, at);
    if (!found)
      continue;
    if (request.limit != 0 && std::ssize(result.values) == request.limit) {
      result.more = true;
      break;
    }
    result.values.push_back(*found);
    if (request.keys_only)
      result.values.back().value.clear();
  }
  return result;
}

absl::StatusOr<transaction_result> memory_store::apply(transaction writes) {
  if (auto checked = check_limits(writes); !checked.ok())
    return checked;
  for (const auto& wanted : writes.comparisons) {
    const auto* found = live(wanted.key);
    if (!holds(wanted, found ? *found : key_value{}))
      return transaction_result{.succeeded = false, .current = current_};
  }
  for (const auto& one : writes.operations)
    if (const auto* written = std::get_if<put>(&one))
      if (written->lease != 0 && !leases_.contains(written->lease))
        return lease_gone(written->lease);
  std::vector<change> changes;
  for (auto& one : writes.operations) {
    if (auto* written = std::get_if<put>(&one))
      write(std::move(*written), changes);
    else
      remove(std::get<erase>(one).range, changes);
  }
  publish(std::move(changes));
  return transaction_result{.succeeded = true, .current = current_};
}

absl::StatusOr<revision> memory_store::end_lease(lease_id lease) {
  if (leases_.erase(lease) == 0)
    return lease_gone(lease);
  std::vector<std::string> held;
  for (const auto& [key, history] : keys_)
    if (const auto* found = live(key); found && found->lease == lease)
      held.push_back(key);
  std::vector<change> changes;
  for (auto& key : held)
    remove(just(std::move(key)), changes);
  publish(std::move(changes));
  return current_;
}

absl::StatusOr<revision> memory_store::forget(revision before) {
  if (auto checked = check_compaction(before, oldest_, current_); !checked.ok())
    return checked;
  oldest_ = before;
  for (auto key = keys_.begin(); key != keys_.end();) {
    auto& history = key->second;
    auto kept =
      std::ranges::find_if(history, [&](const change& c) { return c.value.modified >= before; });
    if (kept != history.begin() && std::prev(kept)->kind == change::type::put)
      --kept; // what the key was just before history begins
    history.erase(history.begin(), kept);
    key = history.empty() ? keys_.erase(key) : std::next(key);
  }
  return current_;
}

void memory_store::start(const std::shared_ptr<local_watch>& watch) {
  if (watch->next() == 0)
    watch->start_at(current_ + 1);
  watches_.add(watch);
  if (watch->next() > current_)
    return;
  std::vector<change> missed;
  for (const auto& history : std::views::values(keys_))
    std::ranges::copy(history, std::back_inserter(missed));
  std::ranges::stable_sort(missed, {}, [](const change& c) { return c.value.modified; });
  if (auto batch = watch->select(missed, current_); !batch.changes.empty())
    answers_.push_back([watch, batch = std::move(batch)] { watch->pass(batch); });
}

void memory_store::end_due_leases() {
  const auto now = options_.clock();
  std::vector<lease_id> due;
  for (const auto& [id, held] : leases_)
    if (held.expires && *held.expires <= now)
      due.push_back(id);
  for (const auto id : due) {
    if (auto& lost = leases_.at(id).lost)
      answers_.push_back(std::move(lost));
    (void)end_lease(id);
  }
}

const key_value* memory_store::live(const std::string& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : at_revision(found->second, current_);
}

void memory_store::write(put&& written, std::vector<change>& changes) {
  auto& history = keys_[written.key];
  const auto* old = at_revision(history, current_);
  key_value now;
  now.created = old ? old->created : current_ + 1;
  now.modified = current_ + 1;
  now.version = old ? old->version + 1 : 1;
  now.lease = written.lease;
  now.key = std::move(written.key);
  now.value = std::move(written.value);
  changes.push_back({change::type::put, watches_.want(now.key) ? now : key_value{}});
  if (!options_.keep_history)
    history.clear();
  history.push_back({change::type::put, std::move(now)});
}

void memory_store::remove(const key_range& range, std::vector<change>& changes) {
  for (auto key = keys_.lower_bound(range.begin);
       key != keys_.end() && before_end(range, key->first);) {
    if (at_revision(key->second, current_)) {
      change gone{change::type::erase, {}};
      gone.value.key = key->first;
      gone.value.modified = current_ + 1;
      changes.push_back(gone);
      key->second.push_back(std::move(gone));
    }
    key = options_.keep_history ? std::next(key) : keys_.erase(key);
  }
}

void memory_store::publish(std::vector<change> changes) {
  if (changes.empty())
    return;
  ++current_;
  if (!options_.keep_history)
    oldest_ = current_ + 1;
  watches_.publish(changes, current_, [&](auto watch, watch_batch batch) {
    answers_.push_back(
      [watch = std::move(watch), batch = std::move(batch)] { watch->pass(batch); });
  });
}

} // namespace reprieve
