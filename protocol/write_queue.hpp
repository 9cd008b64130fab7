#pragma once

// For the server only: includes gRPC.

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace reprieve {

/// A stream of gRPC's callback server that takes messages from any thread and writes one at a time.
/// Lives until gRPC is done with the call; whoever pushes may outlast that.
template <class Reactor, class Message>
class write_queue : public Reactor {
public:
  void push(Message next) {
    const std::lock_guard lock(mutex_);
    if (finished_)
      return;
    if (waiting_.size() >= most_waiting) {
      how_ = {grpc::StatusCode::RESOURCE_EXHAUSTED,
              fmt::format("the reader is {} messages behind; begin again from the last one seen",
                          waiting_.size())};
      finish();
      return;
    }
    waiting_.push_back(std::move(next));
    write_next();
  }

  /// Ends the stream when all is written.
  void end(grpc::Status how = grpc::Status::OK) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(ends_, true))
      how_ = std::move(how);
    write_next();
  }

  /// Ends the stream at once, whatever waits to be written.
  void break_off(grpc::Status how) {
    const std::lock_guard lock(mutex_);
    if (!finished_)
      how_ = std::move(how);
    finish();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    waiting_.pop_front();
    writing_ = false;
    if (!ok)
      finish();
    else
      write_next();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    finish();
  }

  void OnDone() override {
    std::function<void()> gone;
    {
      const std::lock_guard lock(mutex_);
      gone = std::move(gone_);
    }
    if (gone)
      gone();
    self_.reset();
  }

  /// Keeps the stream alive until gRPC is done; `gone` is called then.
  void keep(std::shared_ptr<write_queue> self, std::function<void()> gone) {
    const std::lock_guard lock(mutex_);
    self_ = std::move(self);
    gone_ = std::move(gone);
  }

protected:
  /// Calls `f` unless the call is over, for nothing may be begun on it then.
  template <class F>
  void while_open(F f) {
    const std::lock_guard lock(mutex_);
    if (!finished_)
      f();
  }

private:
  void write_next() {
    if (writing_ || finished_)
      return;
    if (!waiting_.empty()) {
      writing_ = true;
      this->StartWrite(&waiting_.front());
    } else if (ends_) {
      finish();
    }
  }

  void finish() {
    if (!std::exchange(finished_, true))
      this->Finish(how_);
  }

  /// So that one who reads slowly, or not at all, does not fill the memory.
  static constexpr std::size_t most_waiting = 50'000;

  std::mutex mutex_;
  std::deque<Message> waiting_;
  bool writing_ = false;
  bool finished_ = false;
  bool ends_ = false;
  grpc::Status how_ = grpc::Status::OK;
  std::shared_ptr<write_queue> self_;
  std::function<void()> gone_;
};

} // namespace reprieve
