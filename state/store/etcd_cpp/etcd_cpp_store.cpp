#include "state/store/etcd_cpp/etcd_cpp_store.hpp"

#include "state/store/boot_clock.hpp"
#include "state/store/closing_handle.hpp"
#include "state/store/etcd_cpp/etcd_cpp_calls.hpp"
#include "state/store/etcd_cpp/etcd_cpp_keys.hpp"
#include "state/store/etcd_cpp/etcd_cpp_lease.hpp"
#include "state/store/etcd_cpp/etcd_cpp_watch.hpp"

#include <etcd/v3/Transaction.hpp>
#include <fmt/format.h>

#include <future>
#include <limits>

namespace reprieve {

namespace {

constexpr std::size_t watches_opened_at_once = 2;

/// The library counts keys in an `int`. No read has so many.
constexpr std::int64_t most_keys = std::numeric_limits<int>::max() - 1;

etcdv3::Transaction to_etcd(const etcd_keys& keys, const transaction& writes) {
  etcdv3::Transaction wire;
  for (const auto& wanted : writes.comparisons) {
    const auto key = keys.to_etcd(wanted.key);
    switch (wanted.field) {
    case compared::created:
      wire.add_compare_create(key, wanted.to);
      break;
    case compared::modified:
      wire.add_compare_mod(key, wanted.to);
      break;
    case compared::version:
      wire.add_compare_version(key, wanted.to);
      break;
    }
  }
  for (const auto& one : writes.operations) {
    if (const auto* written = std::get_if<put>(&one)) {
      wire.add_success_put(keys.to_etcd(written->key), written->value, written->lease);
    } else {
      const auto range = keys.to_etcd(std::get<erase>(one).range);
      wire.add_success_delete(range.begin, range.end);
    }
  }
  return wire;
}

/// The library does not tell whether the limit cut the answer off; so one more key is asked for.
range_result from_etcd(const etcd_keys& keys, const etcd::Response& found, std::int64_t limit) {
  range_result result;
  result.current = found.index();
  const auto number = static_cast<std::int64_t>(found.values().size());
  result.more = limit > 0 && number > limit;
  const auto wanted = result.more ? limit : number;
  result.values.reserve(static_cast<std::size_t>(wanted));
  for (std::int64_t i = 0; i < wanted; ++i)
    result.values.push_back(from_etcd(keys, found.values()[static_cast<std::size_t>(i)]));
  return result;
}

} // namespace

/// What runs on the event thread, and the threads that block for it.
class etcd_cpp_store::session {
public:
  session(std::shared_ptr<event_thread> thread, etcd_options options)
      : thread_(std::move(thread)), keys_(options.prefix), call_timeout_(options.call_timeout),
        members_(std::move(options)), calls_(thread_, members_, call_timeout_),
        leases_(thread_, members_), watch_calls_(watches_opened_at_once) {}

  ~session() {
    std::promise<void> ended;
    thread_->post([&] {
      closing_ = true;
      for (const auto& held : watches_)
        if (auto watch = held.lock())
          watch->stop();
      leases_.stop();
      calls_.stop();
      ended.set_value();
    });
    ended.get_future().wait();
    watch_calls_.stop();
    leases_.wait();
    calls_.wait();
    thread_->stop();
  }

  void post(std::function<void(session&)> task) {
    thread_->post([this, task = std::move(task)] { task(*this); });
  }

  void read(const range_request& request, store_callback<range_result> done) {
    if (auto checked = check_limits(request); !checked.ok()) {
      done(checked);
      return;
    }
    const auto limit = request.limit < most_keys ? request.limit : 0;
    calls_.call<range_result>(
      [range = keys_.to_etcd(request.range), limit, at = request.at,
       keys_only = request.keys_only](etcd::SyncClient& to) {
        const auto asked = static_cast<std::size_t>(limit == 0 ? 0 : limit + 1);
        return keys_only ? to.keys(range.begin, end_of(range), asked, at)
                         : to.ls(range.begin, end_of(range), asked, at);
      },
      [this, limit](const etcd_cpp_answer& answer) -> absl::StatusOr<range_result> {
        if (!answer.end.status.ok())
          return read_status(answer.end);
        return from_etcd(keys_, answer.response, limit);
      },
      std::move(done));
  }

  void commit(const transaction& writes, store_callback<transaction_result> done) {
    if (auto checked = check_limits(writes); !checked.ok()) {
      done(checked);
      return;
    }
    calls_.call<transaction_result>(
      [wire = to_etcd(keys_, writes)](etcd::SyncClient& to) { return to.txn(wire); },
      [](const etcd_cpp_answer& answer) -> absl::StatusOr<transaction_result> {
        if (!answer.end.status.ok())
          return write_status(answer.end);
        return transaction_result{.succeeded = answer.response.is_ok(),
                                  .current = answer.response.index()};
      },
      std::move(done));
  }

  void grant(duration time_to_live, store_callback<lease_id> done, std::function<void()> lost) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(time_to_live).count();
    if (seconds <= 0 || seconds > std::numeric_limits<int>::max()) {
      done(absl::InvalidArgumentError(
        fmt::format("the time to live of a lease must be more than 0 and at most {} s",
                    std::numeric_limits<int>::max())));
      return;
    }
    struct granted {
      lease_id id = 0;
      duration lives{};
    };
    calls_.call<granted>(
      [seconds](etcd::SyncClient& to) { return to.leasegrant(static_cast<int>(seconds)); },
      [](const etcd_cpp_answer& answer) -> absl::StatusOr<granted> {
        if (!answer.end.status.ok())
          return write_status(answer.end);
        const auto& made = answer.response.value();
        if (made.lease() == 0)
          return absl::UnavailableError(fmt::format("etcd: {}", answer.response.error_message()));
        return granted{made.lease(), std::chrono::seconds(made.ttl())};
      },
      [this, done = std::move(done), lost = std::move(lost),
       sent = boot_time()](const absl::StatusOr<granted>& made) {
        if (!made.ok()) {
          done(made.status());
          return;
        }
        leases_.keep(made->id, made->lives, sent, lost);
        done(made->id);
      });
  }

  void revoke(lease_id lease, store_callback<revision> done) {
    leases_.begin_revoking(lease);
    calls_.call<revision>(
      [lease](etcd::SyncClient& to) { return to.leaserevoke(lease); },
      [](const etcd_cpp_answer& answer) -> absl::StatusOr<revision> {
        if (!answer.end.status.ok())
          return write_status(answer.end);
        return answer.response.index();
      },
      [this, lease, done = std::move(done)](const absl::StatusOr<revision>& revoked) {
        leases_.end_revoking(lease, revoked.ok() || absl::IsNotFound(revoked.status()));
        done(revoked);
      });
  }

  std::shared_ptr<etcd_cpp_watch> watch(key_range range, revision from,
                                        store_callback<watch_batch> each) {
    auto checked = check_limits(range_request{.range = range, .at = from});
    auto watch = std::make_shared<etcd_cpp_watch>(
      etcd_cpp_watch::surroundings{thread_, members_, watch_calls_, keys_}, std::move(range), from,
      std::move(each));
    post([watch, checked = std::move(checked)](session& self) {
      if (self.closing_)
        return;
      if (!checked.ok()) {
        watch->fail(checked);
        return;
      }
      std::erase_if(self.watches_, [](const auto& held) { return held.expired(); });
      self.watches_.push_back(watch);
      watch->open();
    });
    return watch;
  }

  etcd_cpp_members& members() {
    return members_;
  }

  etcd_cpp_leases& leases() {
    return leases_;
  }

private:
  const std::shared_ptr<event_thread> thread_;
  const etcd_keys keys_;
  const duration call_timeout_;
  etcd_cpp_members members_;
  etcd_cpp_calls calls_;
  etcd_cpp_leases leases_;
  std::vector<std::weak_ptr<etcd_cpp_watch>> watches_;
  bool closing_ = false;
  call_threads watch_calls_;
};

absl::StatusOr<std::unique_ptr<etcd_cpp_store>> etcd_cpp_store::open(etcd_options options) {
  if (auto checked = check(options); !checked.ok())
    return checked;
  if (options.tls && !options.user.empty())
    return absl::UnimplementedError(
      "etcd-cpp-apiv3 takes either certificates or a user, not both; leave one out, or speak to "
      "etcd directly");
  auto thread = event_thread::start();
  if (!thread.ok())
    return thread.status();
  return std::unique_ptr<etcd_cpp_store>(
    new etcd_cpp_store(std::make_unique<session>(*std::move(thread), std::move(options))));
}

etcd_cpp_store::etcd_cpp_store(std::unique_ptr<session> session) : session_(std::move(session)) {}

etcd_cpp_store::~etcd_cpp_store() = default;

void etcd_cpp_store::read(range_request request, store_callback<range_result> done) {
  session_->post([request = std::move(request), done = std::move(done)](session& on) {
    on.read(request, done);
  });
}

void etcd_cpp_store::commit(transaction writes, store_callback<transaction_result> done) {
  session_->post(
    [writes = std::move(writes), done = std::move(done)](session& on) { on.commit(writes, done); });
}

std::unique_ptr<watch_handle> etcd_cpp_store::watch(key_range range, revision from,
                                                    store_callback<watch_batch> each) {
  return std::make_unique<closing_handle<etcd_cpp_watch>>(
    session_->watch(std::move(range), from, std::move(each)));
}

void etcd_cpp_store::grant(duration time_to_live, store_callback<lease_id> done,
                           std::function<void()> lost) {
  session_->post([time_to_live, done = std::move(done), lost = std::move(lost)](session& on) {
    on.grant(time_to_live, done, lost);
  });
}

void etcd_cpp_store::revoke(lease_id lease, store_callback<revision> done) {
  session_->post([lease, done = std::move(done)](session& on) { on.revoke(lease, done); });
}

duration etcd_cpp_store::lasts_until(lease_id lease) const {
  return session_->leases().lasts_until(lease);
}

void etcd_cpp_store::compact(revision, store_callback<revision> done) {
  session_->post([done = std::move(done)](session&) {
    done(absl::UnimplementedError(
      "etcd-cpp-apiv3 has no call that compacts; let etcd do it, with --auto-compaction-retention, "
      "or speak to it directly"));
  });
}

absl::Status etcd_cpp_store::use(etcd_tls tls) {
  if (auto checked = check(tls); !checked.ok())
    return checked;
  session_->members().use(std::move(tls));
  return absl::OkStatus();
}

void etcd_cpp_store::use_password(std::string password) {
  session_->members().use_password(std::move(password));
}

} // namespace reprieve
