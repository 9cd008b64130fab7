#pragma once

// For the server only: includes gRPC.

#include "protocol/limits/client_limit.hpp"
#include "protocol/limits/waiting_for_callers.hpp"
#include "protocol/transport/grpc_status.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace reprieve {

inline std::size_t bytes_of(const grpc::ByteBuffer& message) {
  return message.Length();
}

template <class Message>
std::size_t bytes_of(const Message& message) {
  return message.ByteSizeLong();
}

/// A stream of gRPC's callback server that takes messages from any thread and writes one at a time.
/// Lives until gRPC is done with the call; whoever pushes may outlast that.
template <class Reactor, class Message>
class write_queue : public Reactor, public waiting_call {
public:
  /// The context is gRPC's, and there as long as the call.
  explicit write_queue(grpc::CallbackServerContext& context) : context_(context) {}

  using room_finder = std::function<absl::StatusOr<client_limit::ticket>(std::int64_t)>;

  void push(Message next) {
    const std::lock_guard lock(mutex_);
    put(std::move(next));
  }

  /// Ends the stream when all is written.
  void end(grpc::Status how = grpc::Status::OK) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(ends_, true))
      how_ = std::move(how);
    write_next();
  }

  /// Both at once, which costs less than one after the other.
  void push_last(Message last) {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    put(std::move(last));
  }

  /// From now on, asks for room for all that waits to be written; without it the stream ends.
  void count_by(room_finder room) {
    const std::lock_guard lock(mutex_);
    room_ = std::move(room);
  }

  /// How long the caller may take for what is written.
  void allow_for_a_write(std::chrono::milliseconds most) {
    const std::lock_guard lock(mutex_);
    longest_write_ = most;
  }

  /// For the end of the answer.
  void add_trailer(const std::string& key, const std::string& value) {
    const std::lock_guard lock(mutex_);
    if (!finished_)
      context_.AddTrailingMetadata(key, value);
  }

  /// Ends the stream at once, whatever waits to be written.
  void break_off(grpc::Status how) {
    const std::lock_guard lock(mutex_);
    if (!finished_)
      how_ = std::move(how);
    finish();
  }

  /// Several, between which nothing is asked for.
  void push_all(std::vector<Message> next) {
    const std::lock_guard lock(mutex_);
    for (auto& one : next)
      put(std::move(one));
  }

  bool is_open() {
    const std::lock_guard lock(mutex_);
    return !finished_;
  }

  /// Whether nothing waits to be written.
  bool all_is_written() {
    const std::lock_guard lock(mutex_);
    return waiting_.empty();
  }

  /// Asks `more` for what comes next whenever all is written, until the stream ends.
  void when_written(std::function<void()> more) {
    const std::lock_guard lock(mutex_);
    if (!done_)
      more_ = std::move(more);
  }

  void OnWriteDone(bool ok) override {
    std::function<void()> more;
    {
      const std::lock_guard lock(mutex_);
      waiting_.pop_front();
      writing_ = false;
      if (!ok)
        finish();
      else
        write_next();
      if (waiting_.empty() && !finished_)
        more = more_;
    }
    if (more)
      more();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    finish();
  }

  void OnDone() override {
    std::function<void()> gone;
    std::function<void()> more; // may be all that keeps its parts
    {
      const std::lock_guard lock(mutex_);
      finished_ = done_ = true;
      gone = std::move(gone_);
      more = std::move(more_);
    }
    if (gone)
      gone();
    self_.reset();
  }

  /// Keeps the stream alive until gRPC is done; `gone` is called then.
  void keep(std::shared_ptr<write_queue> self, std::function<void()> gone) {
    {
      const std::lock_guard lock(mutex_);
      if (!done_) {
        self_ = std::move(self);
        gone_ = std::move(gone);
        return;
      }
    }
    if (gone)
      gone();
  }

  /// Who does not take what is written keeps it in memory: such a call is cut off.
  void look_at_the_time(instant now) override {
    const std::lock_guard lock(mutex_);
    if (writing_ && !done_ && now - began_writing_ > longest_write_)
      context_.TryCancel();
  }

protected:
  /// Calls `f` unless the call is over, for nothing may be begun on it then.
  template <class F>
  void while_open(F f) {
    locked([&] {
      if (!finished_)
        f();
    });
  }

  template <class F>
  void locked(F f) {
    const std::lock_guard lock(mutex_);
    f();
  }

private:
  struct waiting_message {
    Message what;
    client_limit::ticket room;
  };

  void put(Message next) {
    if (finished_)
      return;
    if (waiting_.size() >= most_waiting) {
      how_ = {grpc::StatusCode::RESOURCE_EXHAUSTED,
              fmt::format("the reader is {} messages behind; begin again from the last one seen",
                          waiting_.size())};
      finish();
      return;
    }
    client_limit::ticket room;
    if (room_) {
      auto found = room_(static_cast<std::int64_t>(bytes_of(next) + sizeof(waiting_message)));
      if (!found.ok()) {
        how_ = to_grpc(found.status());
        finish();
        return;
      }
      room = *std::move(found);
    }
    waiting_.push_back({std::move(next), std::move(room)});
    write_next();
  }

  void write_next() {
    if (writing_ || finished_)
      return;
    if (waiting_.empty()) {
      if (ends_)
        finish();
      return;
    }
    writing_ = true;
    began_writing_ = instant::clock::now();
    if (ends_ && waiting_.size() == 1 && how_.ok()) {
      finished_ = true;
      this->StartWriteAndFinish(&waiting_.front().what, {}, how_);
    } else {
      this->StartWrite(&waiting_.front().what);
    }
  }

  void finish() {
    if (std::exchange(finished_, true))
      return;
    // All but what gRPC has at the moment: the end comes behind that.
    waiting_.erase(waiting_.begin() + (writing_ ? 1 : 0), waiting_.end());
    this->Finish(how_);
  }

  /// So that one who reads slowly, or not at all, does not fill the memory.
  static constexpr std::size_t most_waiting = 50'000;

  grpc::CallbackServerContext& context_;
  std::chrono::milliseconds longest_write_ = std::chrono::seconds{60};
  std::mutex mutex_;
  std::deque<waiting_message> waiting_;
  room_finder room_;
  std::function<void()> more_;
  instant began_writing_; ///< the first of them, where it is being written
  bool writing_ = false;
  bool finished_ = false;
  bool done_ = false; ///< gRPC is
  bool ends_ = false;
  grpc::Status how_ = grpc::Status::OK;
  std::shared_ptr<write_queue> self_;
  std::function<void()> gone_;
};

} // namespace reprieve
