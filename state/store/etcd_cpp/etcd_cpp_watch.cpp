#include "state/store/etcd_cpp/etcd_cpp_watch.hpp"

#include "state/store/boot_clock.hpp"
#include "state/store/etcd_cpp/etcd_cpp_keys.hpp"
#include "state/store/store_errors.hpp"

#include <system_error>
#include <utility>

namespace reprieve {

namespace {

constexpr duration first_wait = std::chrono::milliseconds(100);
constexpr duration longest_wait = std::chrono::seconds(5);

std::vector<change> changes_in(const etcd::Response& response, const etcd_keys& keys) {
  std::vector<change> changes;
  changes.reserve(response.events().size());
  for (const auto& event : response.events())
    changes.push_back({event.event_type() == etcd::Event::EventType::DELETE_ ? change::type::erase
                                                                             : change::type::put,
                       from_etcd(keys, event.kv())});
  return changes;
}

} // namespace

etcd_cpp_watch::etcd_cpp_watch(surroundings shared, key_range range, revision from,
                               store_callback<watch_batch> each)
    : shared_(std::move(shared)), range_(shared_.keys.to_etcd(range)), next_(from),
      each_(std::move(each)), backoff_(first_wait, longest_wait) {}

/// Does `what` on the event thread, unless the stream of this number is not the present one.
template <class F>
void etcd_cpp_watch::report(std::int64_t number, F what) {
  shared_.thread->post([weak = weak_from_this(), number, what = std::move(what)]() mutable {
    if (auto self = weak.lock(); self && self->streams_ == number)
      what(*self);
  });
}

void etcd_cpp_watch::open() {
  shared_.calls.post([self = shared_from_this(), number = ++streams_, from = next_] {
    self->connect(number, from);
  });
}

/// On a call thread. Reads first. That tells whether etcd can be reached and lets us watch: the
/// library is silent about a refused watch, and can never end a watcher that it could not connect.
/// It tells, too, which revision comes next.
void etcd_cpp_watch::connect(std::int64_t number, revision from) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_)
      return;
  }
  const auto now = shared_.members.call(
    [this](etcd::SyncClient& to) { return to.keys(range_.begin, end_of(range_), 1, 0); });
  if (!now.end.status.ok()) {
    report(number, [why = read_status(now.end)](auto& self) { self.refused(why); });
    return;
  }
  if (from == 0)
    from = now.response.index() + 1;
  report(number, [from](auto& self) { self.next_ = from; });
  auto made = watcher(*now.from.client, number, from);
  if (made && !made->Cancelled()) {
    report(number, [](auto& self) { self.backoff_.reset(); });
    keep(std::move(made));
    return;
  }
  // It could not be connected after all. Its thread waits for ever then, and so would whoever
  // destroys it.
  (void)made.release();
  report(number, [](auto& self) { self.lost(); });
}

/// Starts one revision early, and what comes of it is left out. etcd compacts up to and including
/// a revision, and may drop the erases at that one: this way it refuses rather than leaves one out.
/// Null where there is no thread to be had.
std::unique_ptr<etcd::Watcher> etcd_cpp_watch::watcher(etcd::SyncClient& by, std::int64_t number,
                                                       revision from) {
  const auto heard = [weak = weak_from_this(), number](const etcd::Response& response) {
    const auto self = weak.lock();
    if (!self)
      return;
    if (response.is_ok())
      self->report(number, [changes = changes_in(response, self->shared_.keys)](auto& on) mutable {
        on.arrived(std::move(changes));
      });
    else if (response.compact_revision() > 0)
      self->report(number, [oldest = response.compact_revision() + 1](auto& on) {
        on.fail(compacted_away(on.next_, oldest));
      });
  };
  const auto ended = [weak = weak_from_this(), number](bool) {
    if (const auto self = weak.lock())
      self->report(number, [](auto& on) { on.lost(); });
  };
  try {
    return std::make_unique<etcd::Watcher>(by, range_.begin, range_.end, from > 1 ? from - 1 : from,
                                           heard, ended);
  } catch (const std::system_error&) {
    return nullptr;
  }
}

void etcd_cpp_watch::keep(std::unique_ptr<etcd::Watcher> made) {
  const std::lock_guard lock(mutex_);
  if (!stopped_)
    watcher_.swap(made);
}

/// All changes of a revision come in one answer, because the library does not ask for fragments.
void etcd_cpp_watch::arrived(std::vector<change> changes) {
  std::erase_if(changes, [this](const change& one) { return one.value.modified < next_; });
  if (changes.empty())
    return;
  const auto current = changes.back().value.modified;
  next_ = current + 1;
  gate_.pass(each_, watch_batch{.changes = std::move(changes), .current = current});
}

void etcd_cpp_watch::refused(const absl::Status& why) {
  if (absl::IsPermissionDenied(why))
    fail(why);
  else
    lost();
}

void etcd_cpp_watch::fail(const absl::Status& error) {
  stop();
  gate_.pass(each_, error);
}

/// Tries again after a while, from the first revision that was not delivered.
void etcd_cpp_watch::lost() {
  let_go();
  shared_.thread->post_at(boot_time() + backoff_.next(),
                          [weak = weak_from_this(), number = ++streams_] {
                            if (auto self = weak.lock(); self && self->streams_ == number)
                              self->open();
                          });
}

void etcd_cpp_watch::stop() {
  ++streams_;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  let_go();
}

/// The library ends a watcher by asking etcd to, and waits up to a second for that.
void etcd_cpp_watch::let_go() {
  std::unique_lock lock(mutex_);
  if (!watcher_)
    return;
  shared_.calls.post([left = std::shared_ptr<etcd::Watcher>(std::move(watcher_))] {});
}

void etcd_cpp_watch::close() {
  gate_.close();
  shared_.thread->post([self = shared_from_this()] { self->stop(); });
}

} // namespace reprieve
