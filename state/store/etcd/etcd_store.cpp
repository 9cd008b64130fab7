#include "state/store/etcd/etcd_store.hpp"

#include "state/store/closing_handle.hpp"
#include "state/store/etcd/etcd_channel.hpp"
#include "state/store/etcd/etcd_keys.hpp"
#include "state/store/etcd/etcd_lease.hpp"
#include "state/store/etcd/etcd_watch.hpp"

#include <future>

namespace reprieve {

/// Everything that runs on the event thread.
class etcd_store::session {
public:
  session(std::shared_ptr<event_thread> thread, etcd_options options)
      : thread_(std::move(thread)), keys_(options.prefix), channel_(thread_, std::move(options)),
        leases_(channel_) {}

  ~session() {
    std::promise<void> ended;
    thread_->post([&] {
      for (const auto& held : watches_)
        if (auto watch = held.lock())
          watch->stop();
      leases_.stop();
      channel_.shut_down([&] { ended.set_value(); });
    });
    ended.get_future().wait();
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
    channel_.call<etcd_wire::RangeResponse>(
      etcd_method::range, keys_.to_etcd(request),
      [this, done = std::move(done)](const etcd_end& end, etcd_wire::RangeResponse& found) {
        if (!end.status.ok()) {
          done(read_status(end));
          return;
        }
        range_result result;
        result.values.reserve(static_cast<std::size_t>(found.kvs_size()));
        for (auto& one : *found.mutable_kvs())
          result.values.push_back(keys_.from_etcd(one));
        result.more = found.more();
        result.current = found.header().revision();
        done(std::move(result));
      });
  }

  void commit(transaction writes, store_callback<transaction_result> done) {
    if (auto checked = check_limits(writes); !checked.ok()) {
      done(checked);
      return;
    }
    channel_.call<etcd_wire::TxnResponse>(
      etcd_method::transaction, keys_.to_etcd(std::move(writes)),
      [done = std::move(done)](const etcd_end& end, etcd_wire::TxnResponse& committed) {
        if (end.status.ok())
          done(transaction_result{.succeeded = committed.succeeded(),
                                  .current = committed.header().revision()});
        else
          done(write_status(end));
      });
  }

  /// etcd keeps the state at the revision that it compacts to, and what happened after it.
  void compact(revision before, store_callback<revision> done) {
    etcd_wire::CompactionRequest request;
    request.set_revision(before - 1);
    channel_.call<etcd_wire::CompactionResponse>(
      etcd_method::compact, std::move(request),
      [done = std::move(done)](const etcd_end& end, etcd_wire::CompactionResponse& answer) {
        if (end.status.ok())
          done(answer.header().revision());
        else
          done(write_status(end));
      });
  }

  void ask_member(store_callback<etcd_member> done) {
    channel_.call<etcd_wire::StatusResponse>(
      etcd_method::status, etcd_wire::StatusRequest(),
      [done = std::move(done)](const etcd_end& end, etcd_wire::StatusResponse& answer) {
        if (end.status.ok())
          done(etcd_member{.version = answer.version(),
                           .bytes = answer.db_size(),
                           .has_leader = answer.leader() != 0});
        else
          done(read_status(end));
      });
  }

  std::shared_ptr<etcd_watch> watch(key_range range, revision from,
                                    store_callback<watch_batch> each) {
    auto checked = check_limits(range_request{.range = range, .at = from});
    auto watch =
      std::make_shared<etcd_watch>(channel_, keys_, std::move(range), from, std::move(each));
    post([watch, checked = std::move(checked)](session& self) {
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

  etcd_leases& leases() {
    return leases_;
  }

  etcd_channel& channel() {
    return channel_;
  }

private:
  const std::shared_ptr<event_thread> thread_;
  const etcd_keys keys_;
  etcd_channel channel_;
  etcd_leases leases_;
  std::vector<std::weak_ptr<etcd_watch>> watches_;
};

absl::StatusOr<std::unique_ptr<etcd_store>> etcd_store::open(etcd_options options) {
  if (auto checked = check(options); !checked.ok())
    return checked;
  auto thread = event_thread::start();
  if (!thread.ok())
    return thread.status();
  return std::unique_ptr<etcd_store>(
    new etcd_store(std::make_unique<session>(*std::move(thread), std::move(options))));
}

etcd_store::etcd_store(std::unique_ptr<session> session) : session_(std::move(session)) {}

etcd_store::~etcd_store() = default;

void etcd_store::read(range_request request, store_callback<range_result> done) {
  session_->post([request = std::move(request), done = std::move(done)](session& on) mutable {
    on.read(request, std::move(done));
  });
}

void etcd_store::commit(transaction writes, store_callback<transaction_result> done) {
  session_->post([writes = std::move(writes), done = std::move(done)](session& on) mutable {
    on.commit(std::move(writes), std::move(done));
  });
}

std::unique_ptr<watch_handle> etcd_store::watch(key_range range, revision from,
                                                store_callback<watch_batch> each) {
  return std::make_unique<closing_handle<etcd_watch>>(
    session_->watch(std::move(range), from, std::move(each)));
}

void etcd_store::grant(duration time_to_live, store_callback<lease_id> done,
                       std::function<void()> lost) {
  session_->post([time_to_live, done = std::move(done), lost = std::move(lost)](session& on) {
    on.leases().grant(time_to_live, done, lost);
  });
}

void etcd_store::revoke(lease_id lease, store_callback<revision> done) {
  session_->post([lease, done = std::move(done)](session& on) { on.leases().revoke(lease, done); });
}

duration etcd_store::lasts_until(lease_id lease) const {
  return session_->leases().lasts_until(lease);
}

void etcd_store::compact(revision before, store_callback<revision> done) {
  session_->post([before, done = std::move(done)](session& on) { on.compact(before, done); });
}

absl::Status etcd_store::use(etcd_tls tls) {
  if (auto checked = check(tls); !checked.ok())
    return checked;
  session_->post([tls = std::move(tls)](session& on) { on.channel().use(tls); });
  return absl::OkStatus();
}

void etcd_store::use_password(std::string password) {
  session_->post(
    [password = std::move(password)](session& on) { on.channel().use_password(password); });
}

void etcd_store::ask_member(store_callback<etcd_member> done) {
  session_->post([done = std::move(done)](session& on) { on.ask_member(done); });
}

} // namespace reprieve
