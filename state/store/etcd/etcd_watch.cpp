#include "state/store/etcd/etcd_watch.hpp"

#include "state/store/boot_clock.hpp"
#include "state/store/store_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

constexpr duration first_wait = std::chrono::milliseconds(100);
constexpr duration longest_wait = std::chrono::seconds(5);

} // namespace

etcd_watch::etcd_watch(etcd_channel& channel, const etcd_keys& keys, key_range range, revision from,
                       store_callback<watch_batch> each)
    : channel_(channel), thread_(channel.thread()), keys_(keys), range_(keys.to_etcd(range)),
      next_(from), each_(std::move(each)), backoff_(first_wait, longest_wait) {}

void etcd_watch::open() {
  if (stopped_)
    return;
  created_ = false;
  gathered_.clear();
  const auto number = ++streams_;
  const auto current = [weak = weak_from_this(), number] {
    auto self = weak.lock();
    return self && !self->stopped_ && self->streams_ == number ? self : nullptr;
  };
  channel_.open<etcd_wire::WatchRequest, etcd_wire::WatchResponse>(
    etcd_method::watch,
    {.answered =
       [current](etcd_wire::WatchResponse response) {
         if (auto self = current())
           self->answered(std::move(response));
       },
     .closed =
       [current](const grpc::Status&) {
         if (auto self = current())
           self->lost();
       }},
    [current](std::shared_ptr<stream> opened) {
      auto self = current();
      if (!self) {
        opened->cancel();
        return;
      }
      opened->send(self->create_request());
      self->stream_ = std::move(opened);
      self->expect_creation();
    });
}

/// Starts one revision early, and what comes of it is left out. etcd compacts up to and including
/// a revision, and may drop the erases at that one: this way it refuses rather than leaves one out.
etcd_wire::WatchRequest etcd_watch::create_request() const {
  etcd_wire::WatchRequest request;
  auto& create = *request.mutable_create_request();
  create.set_key(range_.begin);
  create.set_range_end(range_.end);
  create.set_start_revision(next_ > 1 ? next_ - 1 : next_);
  create.set_progress_notify(true);
  create.set_fragment(true);
  return request;
}

void etcd_watch::answered(etcd_wire::WatchResponse response) {
  if (response.canceled()) {
    cancelled(response);
    return;
  }
  const auto current = response.header().revision();
  if (response.created()) {
    created_ = true;
    backoff_.reset();
    if (next_ == 0)
      next_ = current + 1;
    return;
  }
  for (auto& event : *response.mutable_events())
    if (event.kv().mod_revision() >= next_)
      gathered_.push_back(
        {event.type() == etcd_wire::Event::DELETE ? change::type::erase : change::type::put,
         keys_.from_etcd(*event.mutable_kv())});
  if (response.fragment())
    return;
  if (response.events().empty())
    next_ = std::max(next_, current + 1); // says how far we are, so that we can resume there
  else if (!gathered_.empty())
    deliver(gathered_.back().value.modified);
}

void etcd_watch::deliver(revision current) {
  next_ = current + 1;
  gate_.pass(each_, watch_batch{.changes = std::exchange(gathered_, {}), .current = current});
}

void etcd_watch::cancelled(const etcd_wire::WatchResponse& response) {
  const auto& reason = response.cancel_reason();
  if (response.compact_revision() > 0) {
    fail(compacted_away(next_, response.compact_revision() + 1));
  } else if (reason.find("permission denied") != std::string::npos) {
    fail(absl::PermissionDeniedError(fmt::format("etcd: {}", reason)));
  } else {
    if (reason.find("token") != std::string::npos)
      channel_.forget_token();
    stream_->cancel();
    lost();
  }
}

void etcd_watch::fail(const absl::Status& error) {
  stop();
  gate_.pass(each_, error);
}

/// Tries again after a while, from the first revision that was not delivered.
void etcd_watch::lost() {
  stream_.reset();
  ++streams_;
  thread_->post_at(boot_time() + backoff_.next(), [weak = weak_from_this(), number = streams_] {
    if (auto self = weak.lock(); self && self->streams_ == number)
      self->open();
  });
}

/// A member that takes the connection and says nothing is given up.
void etcd_watch::expect_creation() {
  thread_->post_at(boot_time() + channel_.options().call_timeout,
                   [weak = weak_from_this(), number = streams_] {
                     auto self = weak.lock();
                     if (!self || self->created_ || self->streams_ != number || !self->stream_)
                       return;
                     self->stream_->cancel();
                     self->channel_.rotate();
                     self->lost();
                   });
}

void etcd_watch::stop() {
  stopped_ = true;
  if (auto stream = std::exchange(stream_, nullptr))
    stream->cancel();
}

void etcd_watch::close() {
  gate_.close();
  thread_->post([self = shared_from_this()] { self->stop(); });
}

} // namespace reprieve
